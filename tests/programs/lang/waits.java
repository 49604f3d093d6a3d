// SPDX-License-Identifier: GPL-2.0-or-later
// Waits until it is killed: main for a lock that another thread holds, and both in sleeps.
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

		other.start();
		while (true) {
			locks();
			Thread.sleep(3);
		}
	}
}
