// SPDX-License-Identifier: GPL-2.0-or-later
// The stack chart: the chains of one thread in the order of time, as a tree whose boxes are as wide
// as they lasted. A box lasts from its first sample to the sample after its last one. Where the next
// sample is later than an interval and a half, the thread did something else meanwhile, and the box
// ends an interval after its last sample.
"use strict";

const CHART_SAMPLES = 60000;

// Of the seconds [from, to); null: there are too many samples to draw each.
function stackChart(profile, shape, lane, thread, from, to) {
	const { moments } = profile.lanes[lane], range = moments.ranges.find(r => r.thread === thread);
	const start = from * 1e6, stop = to * 1e6;
	const first = range ? firstAt(moments.time, range.from, range.to, start) : 0;
	const end = range ? firstAt(moments.time, first, range.to, stop) : 0;
	if (end - first > CHART_SAMPLES)
		return null;
	const chart = new ChartBuilder(shape, stop - start);
	for (let i = first; i < end; i++) {
		const at = moments.time[i], each = moments.interval, next = i + 1 < end ? moments.time[i + 1] : Infinity;
		const until = Math.min(stop, next - at <= 1.5 * each || !each ? Math.min(next, each ? Infinity : at + 1) : at + each);
		const node = shape.map ? shape.map[moments.node[i]] : moments.node[i];
		chart.add(node, at - start, until - start);
	}
	return chart.finish();
}

class ChartBuilder {
	constructor(shape, span) {
		this.shape = shape;
		this.frame = [-1];
		this.depth = [0];
		this.x = [0];
		this.total = [span];
		this.open = []; // { node, at }: boxes that still last, outermost first
		this.until = -1;
	}

	// The nodes from below the root to this one.
	chainOf(node) {
		const chain = [];
		for (; node > 0; node = this.shape.parent[node])
			chain.push(node);
		return chain.reverse();
	}

	add(node, from, until) {
		const chain = this.chainOf(node);
		let same = 0;
		if (Math.abs(from - this.until) < 0.5)
			while (same < chain.length && same < this.open.length && this.open[same].node === chain[same])
				same++;
		this.open.length = same;
		for (let d = same; d < chain.length; d++) {
			this.open.push({ node: chain[d], at: this.frame.length });
			this.frame.push(this.shape.frame[chain[d]]);
			this.depth.push(d + 1);
			this.x.push(from);
			this.total.push(0);
		}
		for (const { at } of this.open)
			this.total[at] = until - this.x[at];
		this.until = until;
	}

	finish() {
		const depth = Int32Array.from(this.depth), n = depth.length;
		return {
			n, frame: Int32Array.from(this.frame), depth, ...linksOf(depth), isChart: true,
			x: Float64Array.from(this.x), total: Float64Array.from(this.total), self: new Float64Array(n),
			selfBase: new Float64Array(n), totalBase: new Float64Array(n),
			deepest: depth.reduce((a, b) => Math.max(a, b), 0),
		};
	}
}
