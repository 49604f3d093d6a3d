// SPDX-License-Identifier: GPL-2.0-or-later
// As stops.py, for tests/random_stops.py: runs until it is killed. Each function notes in the file of the argument that it runs:
// words of 4 bytes: the thread's number, the depth, and the number of each function, the outermost first. It then prints their names.
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Method;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.function.IntBinaryOperator;
import java.util.function.IntSupplier;

class stops {
	static final VarHandle WORD = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
	static final int DEPTH = 4, FIRST = 8;
	static MappedByteBuffer notes;
	static volatile int sink;

	static void enter(int id) {
		int n = (int)WORD.getOpaque(notes, DEPTH);
		WORD.setOpaque(notes, FIRST + 4 * n, id);
		WORD.setOpaque(notes, DEPTH, n + 1);
	}

	static int leave(int result) {
		WORD.setOpaque(notes, DEPTH, (int)WORD.getOpaque(notes, DEPTH) - 1);
		return result;
	}

	static final String[] NAMES = { "s_run", "s_leaf", "s_small", "s_loop", "s_recursion", "s_compare", "lambda$s_closure", "s_closure", "s_area_square", "s_area_circle",
		"s_area_point", "s_thrower", "s_exception", "hashCode", "s_map", "s_reflected", "s_reflection", "s_sort", "s_text", "s_locked", "s_shapes", "s_array" };

	static int id(String name) {
		return Arrays.asList(NAMES).indexOf(name);
	}

	static final int RUN = id("s_run"), LEAF = id("s_leaf"), SMALL = id("s_small"), LOOP = id("s_loop"), RECURSION = id("s_recursion"), COMPARE = id("s_compare"),
		LAMBDA = id("lambda$s_closure"), CLOSURE = id("s_closure"), SQUARE = id("s_area_square"), CIRCLE = id("s_area_circle"), POINT = id("s_area_point"),
		THROWER = id("s_thrower"), EXCEPTION = id("s_exception"), HASH = id("hashCode"), MAP = id("s_map"), REFLECTED = id("s_reflected"), REFLECTION = id("s_reflection"),
		SORT = id("s_sort"), TEXT = id("s_text"), LOCKED = id("s_locked"), SHAPES = id("s_shapes"), ARRAY = id("s_array");

	static int s_leaf(int x) {
		enter(LEAF);
		for (int i = 0; i < 40; i++)
			x = x * 31 + i;
		return leave(x);
	}

	static int s_small(int x) {
		enter(SMALL);
		return leave(s_leaf(x) + 1);
	}

	static int s_loop(int n) {
		enter(LOOP);
		int x = 0;
		for (int i = 0; i < n; i++)
			x += s_small(i);
		return leave(x);
	}

	static int s_recursion(int n) {
		enter(RECURSION);
		return leave(n > 0 ? s_recursion(n - 1) + 1 : s_loop(20));
	}

	static int s_compare(Integer a, Integer b) {
		enter(COMPARE);
		return leave(Integer.compare(a, b) + 0 * s_leaf(a));
	}

	static int s_sort() {
		enter(SORT);
		Integer[] list = new Integer[24];
		for (int i = 0; i < list.length; i++)
			list[i] = i * 7919 % 101;
		Arrays.sort(list, stops::s_compare);
		return leave(list[0]);
	}

	static int s_closure(int x) {
		enter(CLOSURE);
		IntSupplier inner = () -> {
			enter(LAMBDA);
			return leave(s_small(x));
		};
		return leave(inner.getAsInt());
	}

	interface Shape {
		int area(int x);
	}

	static class Square implements Shape {
		public int area(int x) {
			return s_area_square(x);
		}

		int s_area_square(int x) {
			enter(SQUARE);
			return leave(s_leaf(x));
		}
	}

	static class Circle implements Shape {
		public int area(int x) {
			return s_area_circle(x);
		}

		int s_area_circle(int x) {
			enter(CIRCLE);
			return leave(s_small(x));
		}
	}

	static class Point implements Shape {
		public int area(int x) {
			return s_area_point(x);
		}

		int s_area_point(int x) {
			enter(POINT);
			return leave(s_loop(3));
		}
	}

	static final Shape[] shapes = { new Square(), new Circle(), new Point(), new Square() };

	static int s_shapes() {
		enter(SHAPES);
		int x = 0;
		for (Shape shape : shapes)
			x += shape.area(x);
		return leave(x);
	}

	static int s_thrower(int x) {
		enter(THROWER);
		int y = s_leaf(x);
		leave(y);
		throw new IllegalStateException("stops");
	}

	static int s_exception() {
		enter(EXCEPTION);
		try {
			sink = s_thrower(1);
		} catch (IllegalStateException e) {
			sink = s_small(2);
		}
		return leave(sink);
	}

	static class Key {
		final int x;

		Key(int x) {
			this.x = x;
		}

		public int hashCode() {
			enter(HASH);
			return leave(s_leaf(x));
		}

		public boolean equals(Object other) {
			return other instanceof Key && ((Key)other).x == x;
		}
	}

	static int s_map() {
		enter(MAP);
		HashMap<Key, Integer> map = new HashMap<>();
		for (int i = 0; i < 12; i++)
			map.put(new Key(i), i);
		return leave(map.get(new Key(3)));
	}

	public static int s_reflected(int x) {
		enter(REFLECTED);
		return leave(s_small(x));
	}

	static Method reflected;

	static int s_reflection() throws Exception {
		enter(REFLECTION);
		return leave((Integer)reflected.invoke(null, 5));
	}

	static int s_text() {
		enter(TEXT);
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < 30; i++)
			text.append(i).append(' ').append(i * 0.5);
		return leave(text.toString().split(" ").length);
	}

	static synchronized int s_locked() {
		enter(LOCKED);
		return leave(s_small(9));
	}

	static int s_array() {
		enter(ARRAY);
		ArrayList<int[]> list = new ArrayList<>();
		for (int i = 0; i < 50; i++)
			list.add(new int[100]);
		return leave(list.size());
	}

	static int s_run() throws Exception {
		enter(RUN);
		return leave(s_loop(5) + s_recursion(25) + s_sort() + s_closure(3) + s_shapes() + s_exception() + s_map() + s_reflection() + s_text() + s_locked() + s_array());
	}

	public static void main(String[] args) throws Exception {
		reflected = stops.class.getMethod("s_reflected", int.class);
		try (FileChannel file = FileChannel.open(Path.of(args[0]), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
			notes = file.map(FileChannel.MapMode.READ_WRITE, 0, 4096);
		}
		notes.order(ByteOrder.nativeOrder()).putInt(0, Integer.parseInt(Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString()));
		System.out.println(String.join(" ", NAMES));
		for (;;)
			sink = s_run();
	}
}
