// SPDX-License-Identifier: GPL-2.0-or-later
// Compiled frames that must not go on in their code: `outer` relies on Shape having one class, and its callee loads another one.
// deoptimised ROUNDS: spins below such a frame. `outer` and `middle` are compiled before.
import java.util.function.IntUnaryOperator;

class deoptimised {
	static abstract class Shape {
		abstract int area(int x);
	}

	static class Square extends Shape {
		int area(int x) {
			return x * x;
		}
	}

	static class Circle extends Shape {
		int area(int x) {
			return 3 * x * x;
		}
	}

	static volatile int sink;
	static int rounds;

	static int spin(int n) {
		int x = 1;
		for (int i = 0; i < n; i++)
			x = x * 31 + i;
		return x;
	}

	static int spinLong(int x) {
		for (int i = 0; i < rounds; i++)
			sink = spin(100000);
		return x;
	}

	static int loads(int x) {
		return spinLong(new Circle().area(x));
	}

	// Its caller does not inline it: it has many targets.
	static int middle(Shape shape, IntUnaryOperator work, int x) {
		return shape.area(x) + work.applyAsInt(x);
	}

	static int outer(Shape shape, IntUnaryOperator work, int x) {
		return middle(shape, work, x) + 1;
	}

	public static void main(String[] args) {
		Shape shape = new Square();
		IntUnaryOperator[] works = { x -> x + 1, x -> x + 2, x -> x + 3, x -> spin(3) };
		for (int i = 0; i < 200000; i++)
			sink = outer(shape, works[i % works.length], i);
		spinLong(0);
		rounds = Integer.parseInt(args[0]);
		for (int i = 0; i < 20000; i++)
			sink = spin(100);
		sink = outer(shape, deoptimised::loads, 3);
		System.out.println("ended");
	}
}
