// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers with their units, and names that fit.
"use strict";

const NBSP = "\u202f"; // a narrow space that does not break

// 1234567 as 1,234,567. The browser's own way takes 30 ms when it is first used.
function formatCount(n) {
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

const TIME_UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

function formatNanoseconds(ns) {
	const [size, unit] = TIME_UNITS.find(([s]) => Math.abs(ns) >= s) || TIME_UNITS[3];
	const value = ns / size;
	return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2) + NBSP + unit;
}

function formatLarge(n) {
	for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"]])
		if (n >= size)
			return (n / size).toFixed(2) + NBSP + unit;
	return formatCount(n);
}

// A weight as people read it; `unit` is "samples", "ns" or what the counter counts.
function formatWeight(value, unit) {
	if (unit === "ns")
		return formatNanoseconds(value);
	if (unit === "samples")
		return formatCount(value) + (Math.round(value) === 1 ? " sample" : " samples");
	return formatLarge(value) + " " + unit;
}

function formatPercent(part, whole) {
	const share = whole > 0 ? 100 * part / whole : 0;
	return (share >= 99.995 ? "100" : share.toFixed(2)) + NBSP + "%";
}

function formatPoints(difference) {
	const points = 100 * difference;
	return (points >= 0 ? "+" : "−") + Math.abs(points).toFixed(2);
}

// A moment of the session: 7 s, 1:05, 1:02:03; with digits behind the point, 1:05.25.
function formatMoment(seconds, digits = 0) {
	const s = Number(seconds.toFixed(digits)), two = n => String(n).padStart(2, "0");
	const rest = n => n.toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
	if (s < 60)
		return s.toFixed(digits) + NBSP + "s";
	const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
	return h ? `${h}:${two(m)}:${rest(s % 60)}` : `${m}:${rest(s % 60)}`;
}

// How many digits tell moments apart that have this distance, in seconds. Times are microseconds.
function digitsFor(seconds) {
	return Math.max(0, Math.min(6, Math.ceil(-Math.log10(seconds) - 1e-9)));
}

// The name of a function without its parameters: "f(int) const" gives "f".
function withoutParameters(name) {
	let depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i];
		if (c === "<")
			depth++;
		else if (c === ">" && name[i - 1] !== "-")
			depth = Math.max(0, depth - 1);
		else if (c === "(" && depth === 0 && i > 0 && !name.startsWith("(anonymous", i) &&
			 !name.endsWith("operator", i))
			return name.slice(0, i);
	}
	return name;
}

function withoutArguments(name) {
	if (name.includes("operator"))
		return name;
	let depth = 0, out = "";
	for (let i = 0; i < name.length; i++) {
		const c = name[i];
		if (c === ">" && depth > 0 && name[i - 1] !== "-")
			depth--;
		if (depth === 0)
			out += c;
		if (c === "<" && i > 0 && depth++ === 0)
			out += "…";
	}
	return out;
}

function lastParts(name) {
	const at = name.lastIndexOf("::");
	return at > 0 ? name.slice(at + 2) : name;
}

// Finds what of a name fits into a width, from the whole of it to its beginning.
class NameFitter {
	constructor(measure) {
		this.measure = measure;
		this.forms = new Map();
		this.widths = new Float64Array(128);
		for (let c = 32; c < 127; c++)
			this.widths[c] = measure(String.fromCharCode(c));
		this.wide = measure("漢");
	}

	width(text) {
		let sum = 0;
		for (let i = 0; i < text.length; i++) {
			const c = text.charCodeAt(i);
			sum += c < 127 ? this.widths[c] : this.wide;
		}
		return sum;
	}

	formsOf(name) {
		let forms = this.forms.get(name);
		if (!forms) {
			const base = withoutParameters(name), bare = withoutArguments(base);
			forms = [...new Set([name, base, bare, lastParts(bare)])]
				.map(text => ({ text, width: this.width(text) }));
			this.forms.set(name, forms);
		}
		return forms;
	}

	fit(name, room) {
		const forms = this.formsOf(name);
		for (const form of forms)
			if (form.width <= room)
				return form.text;
		const shortest = forms[forms.length - 1].text;
		let left = room - this.widths[46] * 2.4, n = 0;
		while (n < shortest.length) {
			const c = shortest.charCodeAt(n);
			left -= c < 127 ? this.widths[c] : this.wide;
			if (left < 0)
				break;
			n++;
		}
		return n > 1 ? shortest.slice(0, n) + "…" : "";
	}
}
