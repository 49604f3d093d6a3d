// SPDX-License-Identifier: GPL-2.0-or-later
// As stops.java. A file can't be mapped here: tests/random_stops_code.py finds the words in the memory of the process, by the text of the argument before them.
'use strict';
const NAMES = [];
const bytes = new SharedArrayBuffer(8192);
const words = new Int32Array(bytes);
new Uint8Array(bytes).set(Buffer.from(process.argv[2]));
const DEPTH = 17, FIRST = 18; // behind the mark of 64 bytes and the number of the thread
words[16] = process.pid;

function id(name) {
	return NAMES.push(name) - 1;
}

function enter(id) {
	const n = words[DEPTH];
	words[FIRST + n] = id;
	words[DEPTH] = n + 1;
}

function leave(result) {
	words[DEPTH] = words[DEPTH] - 1;
	return result;
}

const RUN = id('s_run'), LEAF = id('s_leaf'), SMALL = id('s_small'), LOOP = id('s_loop'), RECURSION = id('s_recursion'), COMPARE = id('s_compare'), SORT = id('s_sort'),
	INNER = id('s_inner'), CLOSURE = id('s_closure'), METHOD = id('s_method'), GETTER = id('get s_getter'), OBJECTS = id('s_objects'), THROWER = id('s_thrower'),
	EXCEPTION = id('s_exception'), NUMBERS = id('s_numbers'), GENERATOR = id('s_generator'), MAPPED = id('s_mapped'), MAP = id('s_map'), EVAL = id('s_eval'),
	TEXT = id('s_text'), REPLACED = id('s_replaced'), ARRAY = id('s_array'), TOJSON = id('toJSON'), JSONS = id('s_json');

function s_leaf(x) {
	enter(LEAF);
	for (let i = 0; i < 40; i++)
		x = (x * 31 + i) | 0;
	return leave(x);
}

function s_small(x) {
	enter(SMALL);
	return leave(s_leaf(x) + 1);
}

function s_loop(n) {
	enter(LOOP);
	let x = 0;
	for (let i = 0; i < n; i++)
		x += s_small(i);
	return leave(x);
}

function s_recursion(n) {
	enter(RECURSION);
	return leave(n > 0 ? s_recursion(n - 1) + 1 : s_loop(20));
}

function s_compare(a, b) {
	enter(COMPARE);
	return leave(a - b + 0 * s_leaf(a));
}

function s_sort() {
	enter(SORT);
	const list = [];
	for (let i = 0; i < 24; i++)
		list.push(i * 7919 % 101);
	list.sort(s_compare);
	return leave(list[0]);
}

function s_closure(x) {
	enter(CLOSURE);
	const s_inner = () => {
		enter(INNER);
		return leave(s_small(x));
	};
	return leave(s_inner());
}

class Shape {
	constructor(x) {
		this.x = x;
	}

	s_method() {
		enter(METHOD);
		return leave(s_small(this.x));
	}

	get s_getter() {
		enter(GETTER);
		return leave(s_leaf(this.x));
	}

	toJSON() {
		enter(TOJSON);
		return leave(s_small(this.x));
	}
}

function s_objects() {
	enter(OBJECTS);
	const shape = new Shape(3);
	return leave(shape.s_method() + shape.s_getter);
}

function s_json() {
	enter(JSONS);
	return leave(JSON.stringify([new Shape(1), new Shape(2)]).length);
}

function s_thrower(x) {
	enter(THROWER);
	s_leaf(x);
	leave(0);
	throw new Error('stops');
}

function s_exception() {
	enter(EXCEPTION);
	let x = 0;
	try {
		s_thrower(1);
	} catch (e) {
		x = s_small(2);
	}
	return leave(x);
}

function *s_numbers(n) {
	for (let i = 0; i < n; i++) {
		enter(NUMBERS);
		const x = s_leaf(i);
		leave(0);
		yield x;
	}
}

function s_generator() {
	enter(GENERATOR);
	let x = 0;
	for (const n of s_numbers(10))
		x += n;
	return leave(x);
}

function s_mapped(x) {
	enter(MAPPED);
	return leave(s_small(x));
}

function s_map() {
	enter(MAP);
	return leave([1, 2, 3, 4, 5].map(s_mapped).length);
}

function s_eval() {
	enter(EVAL);
	return leave(eval('s_small(3) + 1'));
}

function s_replaced(text) {
	enter(REPLACED);
	s_leaf(3);
	return leave(text);
}

function s_text() {
	enter(TEXT);
	let text = '';
	for (let i = 0; i < 30; i++)
		text += i + ' ' + i * 0.5;
	return leave(text.replace(/1/g, s_replaced).length);
}

function s_array() {
	enter(ARRAY);
	const list = [];
	for (let i = 0; i < 50; i++)
		list.push(new Array(100).fill(i));
	return leave(list.length);
}

function s_run() {
	enter(RUN);
	return leave(s_loop(5) + s_recursion(25) + s_sort() + s_closure(3) + s_objects() + s_json() + s_exception() + s_generator() + s_map() + s_eval() + s_text() + s_array());
}

console.log(NAMES.map((name) => name.replace(' ', '_')).join(' '));
setImmediate(() => {
	for (;;)
		s_run();
});
