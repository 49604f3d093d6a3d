// SPDX-License-Identifier: GPL-2.0-or-later
// A track for each thread, below the timeline and with its part of time: when the thread ran (user
// below kernel), and when and why it waited. A thread that does neither is idle.
//
// A sample stands for one interval of its event. A wait ends at the time of its sample, and is as
// long as its events say (off-cpu:… counts nanoseconds).
"use strict";

const TRACK = 22, TRACK_LABEL = 190, TRACKS_HEIGHT = 16000;
const WAITS = ["off-cpu:sleep", "off-cpu:disk", "off-cpu:ready", "off-cpu:stopped"];
const WAIT_TEXTS = ["sleeps", "waits for disk or kernel", "ready, waits for a CPU", "stopped"];

class Tracks {
	// `chose(thread)`: a click; -1: all threads
	constructor(canvas, timeline, profile, colours, chose) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.timeline = timeline;
		this.profile = profile;
		this.colours = colours;
		this.chose = chose;
		this.thread = -1;
		this.findRows();
		canvas.addEventListener("click", e => {
			const row = this.rowAt(e.offsetY);
			if (row)
				this.chose(row.thread === this.thread ? -1 : row.thread);
		});
	}

	isWait(lane) {
		return WAITS.indexOf(this.profile.lanes[lane].event);
	}

	// Threads of a process follow each other; the busiest process and thread come first.
	findRows() {
		const run = new Float64Array(this.profile.threads.length), process = new Map();
		const isThere = new Uint8Array(run.length);
		this.profile.lanes.forEach(({ moments }, lane) => {
			for (const { thread, from, to } of moments.ranges) {
				isThere[thread] = 1;
				run[thread] += this.isWait(lane) < 0 ? (to - from) * (moments.interval || 1) : 0;
			}
		});
		this.profile.threads.forEach(([pid], t) => process.set(pid, (process.get(pid) || 0) + run[t]));
		this.rows = this.profile.threads.map(([pid, tid, comm], thread) => ({ thread, pid, tid, comm, run: run[thread] }))
			.filter(row => isThere[row.thread])
			.sort((a, b) => process.get(b.pid) - process.get(a.pid) || a.pid - b.pid || b.run - a.run || a.tid - b.tid);
		// A canvas has no more pixels.
		this.rows.length = Math.min(this.rows.length, Math.floor(TRACKS_HEIGHT / TRACK));
		this.rowOf = new Map(this.rows.map((row, i) => [row.thread, i]));
	}

	get heaviest() {
		return this.rows.reduce((best, row) => !best || row.run > best.run ? row : best, null);
	}

	nameOf(thread) {
		const [pid, tid, comm] = this.profile.threads[thread];
		return `${comm || "?"} ${tid < 0 ? pid : tid}`;
	}

	rowAt(y) {
		return this.rows[Math.floor(y / TRACK)] || null;
	}

	resize() {
		const ratio = devicePixelRatio || 1;
		this.canvas.style.height = `${Math.max(1, this.rows.length * TRACK)}px`;
		this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
		this.canvas.height = Math.round(this.rows.length * TRACK * ratio);
		this.paint();
	}

	draw() {
		if (!this.pending)
			this.pending = requestAnimationFrame(() => {
				this.pending = 0;
				this.paint();
			});
	}

	waitColour(wait) {
		return this.colours.ofWait(wait);
	}

	// By pixel of a track: the share of it that a state has. Lanes that count the same time are not
	// added up: the largest counts.
	sharesOf(width) {
		const n = this.rows.length * width, user = new Float32Array(n), kernel = new Float32Array(n);
		const { view } = this.timeline, from = view.from * 1e6, pixel = (view.to - view.from) * 1e6 / width;
		this.profile.lanes.forEach(({ moments }, lane) => {
			if (this.isWait(lane) >= 0 || (this.runLane ?? lane) !== lane)
				return;
			if (moments.n && this.runLane === undefined)
				this.runLane = lane;
			const each = moments.interval || 1;
			eachRun(moments, from, view.to * 1e6 + each, (first, end, thread) => {
				const row = this.rowOf.get(thread) * width;
				if (isNaN(row))
					return;
				for (let i = first; i < end; i++) {
					// The interval before the sample: that is the time which it stands for.
					const a = Math.max(0, (moments.time[i] - each - from) / pixel);
					const b = Math.min(width, (moments.time[i] - from) / pixel);
					const mode = this.timeline.modeOf[moments.node[i]] === 1 ? kernel : user;
					for (let x = Math.floor(a); x < b; x++)
						mode[row + x] += Math.min(b, x + 1) - Math.max(a, x);
				}
			});
		});
		return { user, kernel };
	}

	paint() {
		const g = this.context, ratio = devicePixelRatio || 1, theme = this.colours.theme;
		const width = Math.max(1, Math.floor(this.canvas.clientWidth)), height = this.rows.length * TRACK;
		if (!theme || this.canvas.hidden)
			return;
		const { user, kernel } = this.sharesOf(width);
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = theme.paper;
		g.fillRect(0, 0, width, height);
		this.paintWaits(g, width);
		const room = TRACK - 4;
		this.rows.forEach((row, r) => {
			for (let x = 0; x < width; x++) {
				const u = Math.min(1, user[r * width + x]), k = Math.min(1 - u, kernel[r * width + x]);
				if (u + k <= 0)
					continue;
				const floor = (r + 1) * TRACK - 2, h = Math.max(2, (u + k) * room);
				g.fillStyle = this.colours.ofMode("user");
				g.fillRect(x, floor - h * u / (u + k), 1, h * u / (u + k));
				g.fillStyle = this.colours.ofMode("kernel");
				g.fillRect(x, floor - h, 1, h * k / (u + k));
			}
		});
		this.paintLabels(g, theme, width);
	}

	paintWaits(g, width) {
		const { view } = this.timeline, scale = width / ((view.to - view.from) * 1e6), from = view.from * 1e6;
		this.profile.lanes.forEach(({ moments }, lane) => {
			const wait = this.isWait(lane), { of, factor } = momentWeights(moments, true);
			if (wait < 0)
				return;
			g.fillStyle = this.waitColour(wait);
			for (const range of moments.ranges) {
				const y = this.rowOf.get(range.thread) * TRACK + 6;
				if (isNaN(y))
					continue;
				// A wait that ends later may have begun in view.
				for (let i = firstAt(moments.time, range.from, range.to, from); i < range.to; i++) {
					const end = moments.time[i], begin = end - (of ? of[i] * factor : factor) / 1000;
					if (begin > view.to * 1e6)
						continue;
					const a = Math.max(0, (begin - from) * scale), b = Math.min(width, (end - from) * scale);
					g.fillRect(a, y, Math.max(0.6, b - a), TRACK - 12);
				}
			}
		});
	}

	paintLabels(g, theme, width) {
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		this.rows.forEach((row, r) => {
			const y = r * TRACK, text = this.nameOf(row.thread), isFirst = r === 0 || this.rows[r - 1].pid !== row.pid;
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
		});
		const { range } = this.timeline;
		if (!range)
			return;
		g.fillStyle = theme.accent;
		for (const second of [range.from, range.to])
			g.fillRect(this.timeline.xOf(second) - 0.5, 0, 1, this.rows.length * TRACK);
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
			const length = wait < 0 ? moments.interval || 1 : (of ? of[i] * factor : factor) / 1000;
			if (moments.time[i] - length <= us)
				return { text: wait < 0 ? "runs" : WAIT_TEXTS[wait], node: moments.node[i], length, lane,
					 from: (moments.time[i] - length) / 1e6, to: moments.time[i] / 1e6 };
		}
		return null;
	}
}
