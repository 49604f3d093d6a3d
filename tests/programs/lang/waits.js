// SPDX-License-Identifier: GPL-2.0-or-later
// Waits in one function that two others call, until it is killed.
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

for (;;) {
	one();
	other();
}
