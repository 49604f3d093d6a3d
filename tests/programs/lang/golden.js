// SPDX-License-Identifier: GPL-2.0-or-later
// As golden.py: stacks that are known. `node golden.js ROUNDS` ends, and prints its CPU time in milliseconds.
'use strict';
const workers = require('worker_threads');

let sink = 0;

function spin() {
	let x = 0;
	for (let i = 0; i < 20000; i++)
		x = (x * 31 + i) | 0;
	return x;
}

function spinCallback(a, b) {
	sink += spin();
	return a - b;
}

function callback() {
	[3, 1, 2].sort(spinCallback);
}

// JSON.parse() is C++, and calls the program back.
function spinReviver(key, value) {
	sink += spin();
	return value;
}

function revive() {
	JSON.parse('[1, 2, 3]', spinReviver);
}

class Shape {
	area() {
		return this.spinMethod();
	}
	spinMethod() {
		return spin();
	}
	get spinGetter() {
		return spin();
	}
	static spinStatic() {
		return spin();
	}
}

function shapes() {
	const shape = new Shape();
	sink += shape.area();
	sink += shape.spinGetter;
	sink += Shape.spinStatic();
}

function spinClosure() {
	return spin();
}

function closure() {
	function inner() {
		const innermost = () => spinClosure() + 1;
		return innermost() + 1;
	}
	sink += inner();
}

function spinDeep() {
	return spin();
}

function recursion(n) {
	return n > 0 ? recursion(n - 1) + 1 : spinDeep() + 1;
}

function spinHandler() {
	return spin();
}

function spinFinally() {
	return spin();
}

function thrower() {
	throw new Error('golden');
}

function exception() {
	try {
		thrower();
	} catch (e) {
		sink += spinHandler();
	} finally {
		sink += spinFinally();
	}
}

function spinGenerator() {
	return spin();
}

function *generator() {
	for (let i = 0; i < 3; i++)
		yield spinGenerator() + i;
}

function generators() {
	for (const x of generator())
		sink += x;
}

function spinEval() {
	return spin();
}

function evaluated() {
	sink += eval('spinEval() + 1');
}

function everything() {
	callback();
	revive();
	shapes();
	closure();
	sink += recursion(99);
	exception();
	generators();
	evaluated();
}

function spinThread() {
	return spin();
}

function work() {
	for (;;)
		sink += spinThread();
}

if (workers.isMainThread) {
	let rounds = process.argv.length > 2 ? Number(process.argv[2]) : -1;
	const worker = new workers.Worker(__filename);

	worker.unref();
	for (; rounds !== 0; rounds--)
		everything();
	const usage = process.cpuUsage();
	console.log(Math.round((usage.user + usage.system) / 1000));
	process.exit(0);
} else {
	work();
}
