<?php
# SPDX-License-Identifier: GPL-2.0-or-later
# Calls of many kinds, for ever. tests/random_stops.py reads the stack in the memory of the stopped program.

class Shape {
	public $n = 2;

	function key($x) {
		return inner($x) + $this->n;
	}

	function compare($a, $b) {
		return $this->key($a) <=> $this->key($b);
	}

	function __get($name) {
		return inner(1);
	}

	function __toString() {
		return 'shape' . inner(2);
	}

	static function apply($f, $x) {
		return $f($x);
	}
}

class Gone {
	function __destruct() {
		inner(3);
	}
}

function inner($x) {
	return $x * 3 % 7;
}

function numbers($n) {
	for ($i = 0; $i < $n; $i++)
		yield inner($i);
}

function delegated($n) {
	yield from numbers($n);
	yield inner($n);
}

function recursion($n) {
	return $n ? recursion($n - 1) + 1 : leaf(3);
}

function leaf($n) {
	$sum = 0;
	for ($i = 0; $i < $n; $i++)
		$sum += $i * $i;
	return $sum;
}

function thrower($n) {
	try {
		if ($n)
			thrower($n - 1);
		else
			throw new ValueError('x');
	} catch (ValueError $e) {
		return inner($n);
	} finally {
		inner($n);
	}
}

function destruction() {
	$object = new Gone;
	$object = null;
	return inner(1);
}

function fibers() {
	$fiber = new Fiber(function ($n) {
		for ($i = 0; $i < $n; $i++)
			Fiber::suspend(recursion(3));
		return inner(1);
	});
	$fiber->start(20);
	while (!$fiber->isTerminated())
		$fiber->resume();
}

function everything() {
	$shape = new Shape;
	$closure = fn($v) => $shape->key($v) + inner($v);
	while (true) {
		$list = range(20, 1);
		usort($list, [$shape, 'compare']);
		array_map($closure, $list);
		array_map('inner', $list);
		Shape::apply($closure, 3);
		foreach (numbers(10) as $value)
			;
		iterator_to_array(delegated(10), false);
		recursion(20);
		thrower(5);
		destruction();
		preg_replace_callback('/\d/', fn($m) => inner($m[0]), 'a1b2c3');
		$shape->missing;
		strlen("$shape");
		eval('inner(1); leaf(4);');
		if (PHP_VERSION_ID >= 80100)
			fibers();
	}
}

echo "ready\n";
everything();
