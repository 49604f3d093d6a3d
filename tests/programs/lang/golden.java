// SPDX-License-Identifier: GPL-2.0-or-later
// As golden.py: stacks that are known. `java golden ROUNDS` ends, and prints its CPU time in milliseconds.
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.function.LongSupplier;

class golden {
	static volatile long sink;
	static volatile int one = 1;

	static long spin() {
		long x = 0;
		for (int i = 0; i < 20000; i++)
			x += (long)i * i ^ x >> one;
		return x;
	}

	static int spinCallback(Integer a, Integer b) {
		sink = spin();
		return a - b;
	}

	static void callback() {
		Integer[] list = { 3, 1, 2 };
		Arrays.sort(list, golden::spinCallback);
	}

	static int spinLambda() {
		sink = spin();
		return one;
	}

	static void lambda() {
		Integer[] list = { 3, 1, 2 };
		Arrays.sort(list, (a, b) -> a - b + 0 * spinLambda());
	}

	interface Shape {
		long area();
	}

	static class Square implements Shape {
		public long area() {
			return spinMethod();
		}

		synchronized long spinMethod() {
			return spin();
		}
	}

	static class Circle implements Shape {
		public long area() {
			return spinOther();
		}

		long spinOther() {
			return spin();
		}
	}

	static class Point implements Shape {
		public long area() {
			return spinThird();
		}

		long spinThird() {
			return spin();
		}
	}

	static final Shape[] shapes = { new Square(), new Circle(), new Point() };

	static void shapes() {
		for (Shape shape : shapes)
			sink = shape.area();
	}

	static long spinClosure() {
		return spin();
	}

	static long closure() {
		LongSupplier inner = () -> {
			LongSupplier innermost = () -> spinClosure();
			return innermost.getAsLong();
		};
		return inner.getAsLong();
	}

	static long recursion(int n) {
		return n > 0 ? recursion(n - 1) + 1 : spinDeep();
	}

	static long spinDeep() {
		return spin();
	}

	static long spinHandler() {
		return spin();
	}

	static long spinFinally() {
		return spin();
	}

	static void thrower() {
		throw new IllegalStateException("golden");
	}

	static void exception() {
		try {
			thrower();
		} catch (IllegalStateException e) {
			sink = spinHandler();
		} finally {
			sink = spinFinally();
		}
	}

	static class Loader extends ClassLoader {
		protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
			sink = spinNative();
			throw new ClassNotFoundException(name);
		}
	}

	static long spinNative() {
		return spin();
	}

	static final Loader loader = new Loader();
	static int count;

	// The virtual machine calls back: Class.forName() is native, and asks the loader.
	static void fromNative() {
		try {
			Class.forName("absent" + count++, true, loader);
		} catch (ClassNotFoundException e) {
		}
	}

	static void spinThread() {
		sink = spin();
	}

	static class Worker extends Thread {
		public void run() {
			for (;;)
				spinThread();
		}
	}

	static void everything() {
		callback();
		lambda();
		shapes();
		sink = closure();
		sink = recursion(99);
		exception();
		fromNative();
	}

	public static void main(String[] args) {
		int rounds = args.length > 0 ? Integer.parseInt(args[0]) : -1;
		Worker worker = new Worker();

		worker.setDaemon(true);
		worker.start();
		for (; rounds != 0; rounds--)
			everything();
		System.out.println(ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class)
				.getProcessCpuTime() / 1000000);
	}
}
