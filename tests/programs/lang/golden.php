<?php
# SPDX-License-Identifier: GPL-2.0-or-later
# As golden.py: stacks that are known. `golden.php ROUNDS` ends, and prints its CPU time in milliseconds.

function spin($n = 20000) {
	$x = 0;
	for ($i = 0; $i < $n; $i++)
		$x += $i * $i;
	return $x;
}

function spin_callback($a, $b) {
	spin();
	return $a <=> $b;
}

function callback() {
	$list = [3, 1, 2];
	usort($list, 'spin_callback');
}

class Shape {
	function area() {
		return $this->spin_method();
	}

	function spin_method() {
		return spin();
	}

	static function spin_static() {
		return spin();
	}
}

function spin_closure() {
	return spin();
}

function closure() {
	$inner = function () {
		$innermost = fn() => spin_closure();
		return $innermost();
	};
	return $inner();
}

function recursion($n) {
	return $n ? recursion($n - 1) : spin_deep();
}

function spin_deep() {
	return spin();
}

function spin_handler() {
	return spin();
}

function spin_finally() {
	return spin();
}

function exception() {
	try {
		throw new Exception("golden");
	} catch (Exception $e) {
		spin_handler();
	} finally {
		spin_finally();
	}
}

function spin_generator() {
	return spin();
}

function generator() {
	for ($i = 0; $i < 3; $i++)
		yield spin_generator();
}

function generators() {
	foreach (generator() as $value)
		;
}

function spin_delegated() {
	return spin();
}

function delegated() {
	for ($i = 0; $i < 3; $i++)
		yield spin_delegated();
}

function delegating() {
	yield from delegated();
}

function delegations() {
	$outermost = (function () {
		yield from delegating();
	})();
	foreach ($outermost as $value)
		;
}

function spin_eval() {
	return spin();
}

function evaluated() {
	return eval('return spin_eval();');
}

class Destroyed {
	function __destruct() {
		spin_destructor();
	}
}

function spin_destructor() {
	return spin();
}

function destruction() {
	$object = new Destroyed;
	$object = null;
}

function everything() {
	callback();
	(new Shape)->area();
	array_map(['Shape', 'spin_static'], [1]);
	closure();
	recursion(99);
	exception();
	generators();
	delegations();
	evaluated();
	destruction();
}

if (($argv[1] ?? '') == '--version') {
	echo 'PHP ', PHP_VERSION, "\n";
	exit;
}
$rounds = (int)($argv[1] ?? -1);
for (; $rounds; $rounds--)
	everything();
$usage = getrusage();
echo (int)(($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1000 +
	($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) / 1000), "\n";
