// SPDX-License-Identifier: GPL-2.0-or-later
// A track for each thread, below the timeline and with its part of time: when the thread ran (user
// below kernel), and when and why it waited. A thread that does neither is idle.
//
// A sample stands for one interval of its event. A wait ends at the time of its sample, and is as
// long as its events say (off-cpu:… counts nanoseconds). Its reason is in its colour, and as a word where there is
// room.
"use strict";

const TRACK = 22, TRACK_LABEL = 190, LEAST_REASON = 40, TRACKS_SHARE = 0.34; // of the window's height

class Tracks {
	// `chose(thread)`: a click; -1: all threads
	constructor(canvas, timeline, profile, colours, chose) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.raster = new Raster(this.context);
		this.box = canvas.parentElement;
		this.timeline = timeline;
		this.profile = profile;
		this.colours = colours;
		this.chose = chose;
		this.thread = -1;
		this.findRows();
		this.box.addEventListener("scroll", () => this.draw());
		canvas.addEventListener("click", e => {
			const row = this.rowAt(e.offsetY);
			if (row)
				this.chose(row.thread === this.thread ? -1 : row.thread);
		});
	}

	isWait(lane) {
		return this.profile.lanes[lane].head.moments.waits;
	}

	// Threads of a process follow each other; the busiest process and thread come first.
	findRows() {
		const run = new Float64Array(this.profile.threads.length), process = new Map();
		const isThere = new Uint8Array(run.length);
		this.profile.lanes.forEach(({ moments }, lane) => {
			for (const { thread, from, to } of moments.ranges) {
				isThere[thread] = 1;
				run[thread] += !this.isWait(lane) ? (to - from) * (moments.interval || 1) : 0;
			}
		});
		this.profile.threads.forEach(([pid], t) => process.set(pid, (process.get(pid) || 0) + run[t]));
		this.rows = this.profile.threads.map(([pid, tid, comm], thread) => ({ thread, pid, tid, comm, run: run[thread] }))
			.filter(row => isThere[row.thread])
			.sort((a, b) => process.get(b.pid) - process.get(a.pid) || a.pid - b.pid || b.run - a.run || a.tid - b.tid);
		this.rowOf = new Map(this.rows.map((row, i) => [row.thread, i]));
	}

	// The reasons for which threads waited, with the time of all threads. Each frame of a zoom asks, so the sums are kept.
	waitedByReason() {
		return this.waited ??= this.sumWaits();
	}

	sumWaits() {
		const sums = new Float64Array(this.profile.reasons.length);
		this.profile.lanes.forEach(({ moments }, lane) => {
			const { of, factor } = momentWeights(moments, true);
			for (let i = 0; this.isWait(lane) && i < moments.n; i++)
				sums[moments.reason[i]] += of ? of[i] * factor : factor;
		});
		return [...sums].map((ns, reason) => ({ reason, ns })).filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
	}

	get heaviest() {
		return this.rows.reduce((best, row) => !best || row.run > best.run ? row : best, null);
	}

	nameOf(thread) {
		const [pid, tid, comm] = this.profile.threads[thread];
		return `${comm || "?"} ${tid < 0 ? pid : tid}`;
	}

	rowAt(y) {
		return this.rows[Math.floor((y + this.box.scrollTop) / TRACK)] || null;
	}

	// The canvas has the rows in view alone, and stays in view; the element behind it has the height
	// of the others.
	resize() {
		const ratio = devicePixelRatio || 1, whole = this.rows.length * TRACK;
		const height = Math.max(1, Math.min(whole, Math.floor(innerHeight * TRACKS_SHARE)));
		this.canvas.style.height = `${height}px`;
		this.canvas.nextElementSibling.style.height = `${Math.max(0, whole - height)}px`;
		this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.paint();
	}

	// Rows [from, to), and how far the first one is above the canvas.
	get inView() {
		const top = this.box.scrollTop, from = Math.floor(top / TRACK);
		return { from, to: Math.min(this.rows.length, Math.ceil((top + this.canvas.clientHeight) / TRACK)), top };
	}

	draw() {
		if (!this.pending)
			this.pending = requestAnimationFrame(() => {
				this.pending = 0;
				this.paint();
			});
	}

	// The row of a thread less the first in view; -1: it is not in view.
	placeOf(thread, rows) {
		const row = this.rowOf.get(thread);
		return row >= rows.from && row < rows.to ? row - rows.from : -1;
	}

	// By pixel of the rows in view: the share of it that a state has. Lanes that count the same time
	// are not added up: the largest counts.
	sharesOf(width, rows) {
		const n = (rows.to - rows.from) * width, user = new Float32Array(n), kernel = new Float32Array(n);
		const { view } = this.timeline, from = view.from * 1e6, pixel = (view.to - view.from) * 1e6 / width;
		this.profile.lanes.forEach(({ moments }, lane) => {
			if (this.isWait(lane) || (this.runLane ?? lane) !== lane)
				return;
			if (moments.n && this.runLane === undefined)
				this.runLane = lane;
			const each = moments.interval || 1, modes = this.timeline.modesOf(moments), { time } = moments;
			eachRun(moments, from, view.to * 1e6 + each, (first, end, thread) => {
				const row = this.placeOf(thread, rows) * width;
				if (row < 0)
					return;
				for (let i = first; i < end; i++) {
					// The interval before the sample: that is the time which it stands for.
					const b = Math.min(width, (time[i] - from) / pixel), a = Math.max(0, (time[i] - each - from) / pixel);
					const share = modes[i] === 1 ? kernel : user;
					for (let x = a | 0; x < b; x++)
						share[row + x] += Math.min(b, x + 1) - Math.max(a, x);
				}
			});
		});
		return { user, kernel };
	}

	paint() {
		const g = this.context, ratio = devicePixelRatio || 1, { theme } = this.colours, { raster } = this, rows = this.inView;
		if (!theme || this.canvas.hidden || !raster.begin(this.colours.pixel(theme.paper)))
			return;
		const names = this.paintWaits(rows, ratio);
		this.paintRuns(rows, ratio);
		raster.finish();
		g.setTransform(ratio, 0, 0, ratio, 0, -rows.top * ratio);
		this.paintReasons(g, theme, names);
		this.paintLabels(g, theme, this.canvas.clientWidth, rows);
	}

	paintRuns(rows, ratio) {
		const { raster, colours } = this, { width } = raster, { user, kernel } = this.sharesOf(width, rows);
		const inUser = colours.pixel(colours.ofMode("user")), inKernel = colours.pixel(colours.ofMode("kernel"));
		for (let r = rows.from, at = 0; r < rows.to; r++) {
			const floor = Math.round(((r + 1) * TRACK - 2 - rows.top) * ratio);
			for (let x = 0; x < width; x++, at++) {
				const u = Math.min(1, user[at]), k = Math.min(1 - u, kernel[at]);
				if (u + k <= 0)
					continue;
				const h = Math.max(2, (u + k) * (TRACK - 4)) * ratio, edge = Math.round(floor - h * u / (u + k));
				raster.fillBox(x, edge, x + 1, floor, inUser);
				raster.fillBox(x, Math.round(floor - h), x + 1, edge, inKernel);
			}
		}
	}

	// Returns the waits that have room for the name of their reason.
	paintWaits(rows, ratio) {
		const { view } = this.timeline, { raster } = this, from = view.from * 1e6, scale = raster.width / ((view.to - view.from) * 1e6);
		const names = [];
		this.profile.lanes.forEach(({ moments }, lane) => {
			const { of, factor } = momentWeights(moments, true);
			if (!this.isWait(lane))
				return;
			for (const range of moments.ranges) {
				const place = this.placeOf(range.thread, rows);
				if (place < 0)
					continue;
				const y = (rows.from + place) * TRACK + 6 - rows.top;
				const top = Math.round(y * ratio), bottom = Math.round((y + TRACK - 12) * ratio);
				// A wait that ends later may have begun in view.
				for (let i = firstAt(moments.time, range.from, range.to, from), painted = 0; i < range.to; i++) {
					const end = moments.time[i], begin = end - (of ? of[i] * factor : factor) / 1000;
					if (begin > view.to * 1e6)
						break;
					const left = Math.max(painted, Math.floor((begin - from) * scale)), right = Math.ceil((end - from) * scale);
					raster.fillBox(left, top, right, bottom, this.colours.pixel(this.colours.ofWait(moments.reason[i])));
					painted = Math.max(painted, right);
					const seen = Math.max(left, 0) / ratio, room = Math.min(right, raster.width) / ratio - seen;
					if (room >= LEAST_REASON)
						names.push({ x: seen, y: (rows.from + place + 0.5) * TRACK, room, text: this.profile.reasons[moments.reason[i]] });
				}
			}
		});
		return names;
	}

	// Beside the name of the thread, which is at the left.
	paintReasons(g, theme, names) {
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		g.fillStyle = theme.onBox;
		for (const { x, y, room, text } of names) {
			const left = Math.max(x, Math.min(TRACK_LABEL + 10, x + room)) + 4, width = g.measureText(text).width;
			if (left + width + 4 <= x + room)
				g.fillText(text, left, y);
		}
		this.names = names;
	}

	paintLabels(g, theme, width, rows) {
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		for (let r = rows.from; r < rows.to; r++) {
			const row = this.rows[r], y = r * TRACK, text = this.nameOf(row.thread), isFirst = r === 0 || this.rows[r - 1].pid !== row.pid;
			const isChosen = row.thread === this.thread;
			g.fillStyle = theme.line;
			g.fillRect(0, y, width, isFirst ? 1 : 0.5);
			const w = Math.min(TRACK_LABEL, g.measureText(text).width);
			g.globalAlpha = 0.82;
			g.fillStyle = isChosen ? theme.accent : theme.paper;
			g.fillRect(0, y + 3, w + 14, TRACK - 6);
			g.globalAlpha = 1;
			g.fillStyle = isChosen ? theme.paper : theme.ink;
			g.fillText(text, 6, y + TRACK / 2 + 0.5, TRACK_LABEL);
		}
		const { range } = this.timeline;
		if (!range)
			return;
		g.fillStyle = theme.accent;
		for (const second of [range.from, range.to])
			g.fillRect(this.timeline.xOf(second) - 0.5, 0, 1, this.rows.length * TRACK);
	}

	reasonOf(moments, i) {
		return `waits: ${this.profile.reasons[moments.reason[i]]}`;
	}

	// What the thread does at a place: for the tooltip.
	stateAt(row, px) {
		const us = this.timeline.secondAt(px) * 1e6;
		for (let lane = 0; lane < this.profile.lanes.length; lane++) {
			const { moments } = this.profile.lanes[lane], wait = this.isWait(lane);
			const range = moments.ranges.find(r => r.thread === row.thread), { of, factor } = momentWeights(moments, true);
			const i = range ? firstAt(moments.time, range.from, range.to, us) : 0;
			if (!range || i >= range.to)
				continue;
			const length = !wait ? moments.interval || 1 : (of ? of[i] * factor : factor) / 1000;
			if (moments.time[i] - length <= us)
				return { text: !wait ? "runs" : this.reasonOf(moments, i), node: moments.node[i], length, lane,
					 from: (moments.time[i] - length) / 1e6, to: moments.time[i] / 1e6 };
		}
		return null;
	}
}
