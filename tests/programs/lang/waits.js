// SPDX-License-Identifier: GPL-2.0-or-later
// Waits for two seconds, in one function that two others call.
'use strict';
const words = new Int32Array(new SharedArrayBuffer(4));

function naps(ms) {
	Atomics.wait(words, 0, 0, ms);
}

function one() {
	naps(3);
}

function other() {
	naps(4);
}

const end = Date.now() + 2000;
while (Date.now() < end) {
	one();
	other();
}
