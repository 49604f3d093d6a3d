// SPDX-License-Identifier: GPL-2.0-or-later
// The payload that html.c writes (its layout is described there), as typed arrays.
"use strict";

const IMAGE_GROUP = -2, IMAGE_OTHER = -1, PIECE = 200000;

// Lets the browser do what waits.
function pause() {
	const channel = new MessageChannel();
	return new Promise(done => {
		channel.port1.onmessage = () => { channel.port1.close(); done(); };
		channel.port2.postMessage(0);
	});
}

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	// Beyond 2^53 the nearest double has to do.
	uleb() {
		const bytes = this.bytes;
		let byte = bytes[this.at++], value = byte & 127, factor = 128;
		while (byte & 128) {
			byte = bytes[this.at++];
			value += (byte & 127) * factor;
			factor *= 128;
		}
		return value;
	}

	// As uleb(), but millions of them; most have up to four bytes.
	ulebs(array) {
		const { bytes } = this, n = array.length;
		let at = this.at;
		for (let i = 0; i < n; i++) {
			let byte = bytes[at++], value = byte & 127;
			for (let shift = 7; byte > 127; shift += 7) {
				byte = bytes[at++];
				if (shift > 21) {
					this.at = at - 1 - shift / 7;
					value = this.uleb();
					at = this.at;
					break;
				}
				value |= (byte & 127) << shift;
			}
			array[i] = value;
		}
		this.at = at;
		return array;
	}

	// As ulebs(), with pauses, so that the page answers meanwhile.
	async manyUlebs(array) {
		for (let at = 0; at < array.length; at += PIECE) {
			this.ulebs(array.subarray(at, at + PIECE));
			if (at + PIECE < array.length)
				await pause();
		}
		return array;
	}

	json() {
		const size = this.uleb(), from = this.at;
		this.at += size;
		return JSON.parse(new TextDecoder().decode(this.bytes.subarray(from, this.at)));
	}
}

function bytesOf(base64) {
	if (Uint8Array.fromBase64) // browsers of 2025 and later
		return Uint8Array.fromBase64(base64);
	const text = atob(base64), bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return bytes;
}

async function unpack(base64) {
	const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

function readNodes(reader, n) {
	const depth = new Int32Array(n), frame = new Int32Array(n), light = new Uint8Array(n);
	let hasLight = false;
	reader.ulebs(depth.subarray(1));
	for (let i = 1; i < n; i++) {
		light[i] = depth[i] & 1;
		hasLight = hasLight || light[i] === 1;
		depth[i] = depth[i - 1] + 1 - (depth[i] >> 1);
	}
	frame[0] = -1;
	reader.ulebs(frame.subarray(1));
	return { n, frame, depth, ...linksOf(depth), light, hasLight };
}

// Parents, and where each node's subtree ends, from the depths in preorder.
function linksOf(depth) {
	const n = depth.length, parent = new Int32Array(n), end = new Int32Array(n), path = [];
	for (let i = 0; i < n; i++) {
		while (path.length > depth[i])
			end[path.pop()] = i;
		parent[i] = path.length ? path[path.length - 1] : 0;
		path.push(i);
	}
	while (path.length)
		end[path.pop()] = n;
	return { parent, end };
}

function readCells(reader, head) {
	const bucket = new Int32Array(head.buckets), start = new Int32Array(head.buckets + 1);
	for (let i = 0, at = 0; i < head.buckets; i++) {
		at += reader.uleb();
		bucket[i] = at;
		start[i + 1] = start[i] + reader.uleb();
	}
	const node = reader.ulebs(new Int32Array(head.cells));
	for (let i = 0; i < head.buckets; i++)
		for (let k = start[i] + 1; k < start[i + 1]; k++)
			node[k] += node[k - 1];
	const samples = reader.ulebs(new Float64Array(head.cells));
	const period = head.cells && !head.period ? inSteps(reader.ulebs(new Float64Array(head.cells)), head.step) : null;
	return { bucket, start, node, samples, period, each: head.period, step: head.step };
}

function inSteps(periods, step) {
	for (let i = 0; step > 1 && i < periods.length; i++)
		periods[i] *= step;
	return periods;
}

// Samples with exact times, of one thread after the other, each thread in the order of time. Times
// are microseconds since the session began.
async function readMoments(reader, head) {
	const time = await reader.manyUlebs(new Float64Array(head.n)), ranges = [], { interval } = head;
	for (let k = 0, at = 0; k < head.threads.length; k += 2) {
		const to = at + head.threads[k + 1];
		ranges.push({ thread: head.threads[k], from: at, to });
		for (let i = at + 1, us = time[at]; i < to; i++) {
			const v = time[i];
			us += interval + (v < 0x80000000 ? v >>> 1 ^ -(v & 1) : v % 2 ? -(v + 1) / 2 : v / 2);
			time[i] = us;
		}
		at = to;
	}
	const node = await reader.manyUlebs(new Int32Array(head.n));
	const samples = head.single ? null : await reader.manyUlebs(new Float64Array(head.n));
	const period = head.n && !head.period ? inSteps(await reader.manyUlebs(new Float64Array(head.n)), head.step) : null;
	const reason = head.waits ? await reader.manyUlebs(new Uint8Array(head.n)) : null;
	return { n: head.n, time, ranges, node, samples, period, reason, each: head.period, interval: head.interval };
}

const NO_MOMENTS = { n: 0, time: [], ranges: [], node: [], samples: null, period: null, reason: null, each: 0, interval: 0 };
const NO_CELLS = { bucket: [], start: [0], node: [], samples: [], period: null, each: 0, step: 1 };

// The moments of [from, to), in microseconds: visit(first, end, thread) for each thread that has some.
function eachRun(moments, from, to, visit) {
	for (const range of moments.ranges) {
		const first = firstAt(moments.time, range.from, range.to, from);
		const end = firstAt(moments.time, first, range.to, to);
		if (end > first)
			visit(first, end, range.thread);
	}
}

// The first index in [from, to) whose time is not before `us`.
function firstAt(time, from, to, us) {
	while (from < to) {
		const middle = (from + to) >>> 1;
		if (time[middle] < us)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

// What a moment counts: `of` null is 1 each.
function momentWeights(moments, byEvents) {
	if (!byEvents)
		return { of: moments.samples, factor: 1 };
	return moments.period ? { of: moments.period, factor: 1 } : { of: moments.samples, factor: moments.each };
}

// What a cell counts: samples, or the events that they stand for.
function cellWeights(cells, byEvents) {
	if (!byEvents)
		return { of: cells.samples, factor: 1 };
	return cells.period ? { of: cells.period, factor: 1 } : { of: cells.samples, factor: cells.each };
}

// All but the times: enough for the call tree.
async function loadProfile(base64) {
	const reader = new Reader(await unpack(base64)), about = reader.json();
	const nodes = readNodes(reader, about.nodes);
	const image = new Int32Array(about.names.length);
	for (let i = 0; i < image.length; i++)
		image[i] = reader.uleb() - 2;
	const ofGo = new Set(about.go);
	const lanes = about.lanes.map(head => {
		const samples = reader.ulebs(new Float64Array(nodes.n));
		const events = head.each ? samples.map(n => n * head.each) : reader.ulebs(new Float64Array(nodes.n));
		return { ...head, head, sums: { samples, events }, base: readCells(reader, head.base), own: NO_CELLS, moments: NO_MOMENTS };
	});
	return {
		header: about.header, names: about.names, images: about.images, hidden: about.hidden,
		baseline: about.baseline || null, width: about.timeline.width_seconds,
		lost: about.timeline.lost, image, nodes, lanes, threads: about.threads, reasons: about.reasons,
		hasMoments: lanes.some(lane => lane.head.moments.n > 0), hasTimes: false,
		hasLanguages: ofGo.size > 0 || about.images.some(i => i.language !== "native"),
		// The kernel is apart from other native code.
		languageOf: frame => ofGo.has(frame) ? "go" : about.images[image[frame]].mode === "kernel" ? "kernel" : about.images[image[frame]].language,
		modeOf: frame => image[frame] >= 0 ? about.images[image[frame]].mode : "none",
	};
}

async function loadTimes(profile, base64) {
	const reader = new Reader(await unpack(base64)), times = [];
	for (const { head } of profile.lanes)
		times.push({ own: readCells(reader, head.own), moments: await readMoments(reader, head.moments) });
	profile.lanes.forEach((lane, i) => Object.assign(lane, times[i]));
	profile.hasTimes = true;
}
