// SPDX-License-Identifier: GPL-2.0-or-later
// Waits for two seconds: main for a lock that another thread holds, and both in sleeps.
public class waits {
	static final Object lock = new Object();
	static int n;

	static void holds() throws InterruptedException {
		synchronized (lock) {
			Thread.sleep(5);
		}
	}

	static void locks() {
		synchronized (lock) {
			n++;
		}
	}

	static void holder() {
		try {
			while (true) {
				holds();
				java.util.concurrent.locks.LockSupport.parkNanos(5_000_000);
			}
		} catch (InterruptedException e) {
			return;
		}
	}

	public static void main(String[] args) throws InterruptedException {
		Thread other = new Thread(waits::holder, "holder");
		long end = System.nanoTime() + 2_000_000_000L;

		other.setDaemon(true);
		other.start();
		while (System.nanoTime() < end) {
			locks();
			Thread.sleep(3);
		}
	}
}
