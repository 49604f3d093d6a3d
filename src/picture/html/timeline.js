// SPDX-License-Identifier: GPL-2.0-or-later
// Samples by time: bars, user below kernel; what is searched for or selected drawn over it; lost
// samples as marks on top. Dragging selects a range, the wheel zooms, from hours to microseconds.
//
// All times are seconds of the session. Samples with exact times are in the bar of their moment;
// others are spread over their bucket, because no more is known of them.
"use strict";

const LANE_TOP = 22, AXIS = 16, MODES = ["user", "kernel", "unknown"];
const LEAST_SPAN = 20e-6; // seconds in view
const AXIS_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

class Timeline {
	// `changed(range)`: { from, to }, `to` not included, or null for all; `moved()`: another view
	constructor(canvas, profile, colours, changed, moved) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.profile = profile;
		this.colours = colours;
		this.changed = changed;
		this.moved = moved;
		this.range = null;
		this.chosen = null; // by node: stands out
		this.isFine = profile.hasMoments;
		const modes = Uint8Array.from(profile.names, (_, f) => Math.max(0, MODES.indexOf(profile.modeOf(f))));
		const { n, frame } = profile.nodes;
		this.modeOf = new Uint8Array(n);
		for (let i = 1; i < n; i++)
			this.modeOf[i] = modes[frame[i]];
		this.setExtent();
		this.listen();
	}

	// Until the times come, the timeline is empty.
	takeTimes() {
		this.setExtent();
		this.fill();
		this.draw();
	}

	setExtent() {
		const { width } = this.profile;
		let first = Infinity, last = 0;
		for (const { own, moments } of this.profile.lanes) {
			if (own.bucket.length) {
				first = Math.min(first, own.bucket[0] * width);
				last = Math.max(last, (own.bucket[own.bucket.length - 1] + 1) * width);
			}
			for (const { from, to } of moments.ranges) {
				first = Math.min(first, Math.floor(moments.time[from] / 1000) / 1000);
				last = Math.max(last, Math.floor(moments.time[to - 1] / 1000 + 1) / 1000);
			}
		}
		this.first = first === Infinity ? 0 : first;
		this.end = Math.max(last, this.first + (this.isFine ? LEAST_SPAN : width));
		this.view = { from: this.first, to: this.end };
	}

	setLane(lane, byEvents, thread) {
		this.lane = lane;
		this.byEvents = byEvents;
		this.thread = thread;
		this.unit = byEvents ? this.profile.lanes[lane].unit : "samples";
		this.fill();
		this.draw();
	}

	// `chosen`: by node, whether its samples are to stand out; null: none.
	setMatched(chosen, isFound) {
		this.chosen = chosen;
		this.isFound = isFound;
		this.fill();
		this.draw();
	}

	// ---- what is in the bars ----

	// Bars no narrower than a pixel, and no finer than what is known.
	get nBins() {
		const most = Math.max(1, Math.floor(this.width || 1000));
		const span = this.view.to - this.view.from;
		return this.isFine ? Math.max(1, Math.min(most, Math.round(span * 1e6)))
				   : Math.max(1, Math.min(most, Math.round(span / this.profile.width)));
	}

	fill() {
		const n = this.nBins;
		this.bin = (this.view.to - this.view.from) / n;
		this.flat = new Float64Array(MODES.length * n);
		this.weights = MODES.map((_, m) => this.flat.subarray(m * n, m * n + n));
		this.matched = this.chosen ? new Float64Array(n) : null;
		this.lost = new Float64Array(n);
		if (!(this.thread >= 0))
			this.fillCells();
		this.fillMoments();
		for (const [bucket, count] of this.profile.lost)
			this.spread(bucket, (bin, share) => this.lost[bin] += count * share);
		this.filledFor = this.width;
	}

	// Each bar that a bucket is in, with its share of the bucket.
	spread(bucket, put) {
		const { width } = this.profile, from = (bucket * width - this.view.from) / this.bin;
		const to = from + width / this.bin, n = this.lost.length;
		for (let bin = Math.max(0, Math.floor(from + 1e-9)); bin < Math.min(n, Math.ceil(to - 1e-9)); bin++) {
			const share = (Math.min(bin + 1, to) - Math.max(bin, from)) / (to - from);
			put(bin, share > 1 - 1e-9 ? 1 : share);
		}
	}

	fillCells() {
		const { own } = this.profile.lanes[this.lane], { of, factor } = cellWeights(own, this.byEvents);
		const sums = new Float64Array(MODES.length);
		for (let i = 0; i < own.bucket.length; i++) {
			let matched = 0;
			sums.fill(0);
			for (let k = own.start[i]; k < own.start[i + 1]; k++) {
				sums[this.modeOf[own.node[k]]] += of[k] * factor;
				if (this.chosen && this.chosen[own.node[k]])
					matched += of[k] * factor;
			}
			this.spread(own.bucket[i], (bin, share) => {
				sums.forEach((sum, m) => this.weights[m][bin] += sum * share);
				if (this.matched)
					this.matched[bin] += matched * share;
			});
		}
	}

	// The mode of each moment's code: found once, as it is asked for with each look.
	modesOf(moments) {
		const { modeOf } = this, { n, node } = moments;
		if (!moments.mode) {
			moments.mode = new Uint8Array(n);
			for (let i = 0; i < n; i++)
				moments.mode[i] = modeOf[node[i]];
		}
		return moments.mode;
	}

	fillMoments() {
		const { moments } = this.profile.lanes[this.lane], { of, factor } = momentWeights(moments, this.byEvents);
		const { time, node } = moments, from = this.view.from * 1e6, scale = 1e-6 / this.bin, n = this.lost.length;
		const { flat, matched, chosen, thread } = this, mode = this.modesOf(moments);
		eachRun(moments, from, this.view.to * 1e6, (first, end, own) => {
			if (thread >= 0 && own !== thread)
				return;
			for (let i = first; i < end; i++) {
				let bin = (time[i] - from) * scale | 0;
				if (bin >= n)
					bin = n - 1;
				const w = of ? of[i] * factor : factor;
				flat[mode[i] * n + bin] += w;
				if (matched && chosen[node[i]])
					matched[bin] += w;
			}
		});
	}

	// ---- places ----

	resize() {
		const ratio = devicePixelRatio || 1;
		this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
		this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
		if (this.weights)
			this.paintNow(); // a canvas that was resized is empty
		this.moved();
	}

	get width() {
		return this.canvas.clientWidth;
	}

	xOf(second) {
		return (second - this.view.from) / (this.view.to - this.view.from) * this.width;
	}

	secondAt(px) {
		return this.view.from + px / this.width * (this.view.to - this.view.from);
	}

	// The least piece of time that can be selected, at this place.
	pieceAt(px) {
		const at = Math.max(this.first, Math.min(this.end - 1e-9, this.secondAt(px)));
		if (this.isFine) {
			const from = Math.floor(at * 1e6) / 1e6, step = Math.max(1e-6, this.bin);
			return { from, to: from + step };
		}
		const { width } = this.profile, bucket = Math.floor(at / width + 1e-9);
		return { from: bucket * width, to: (bucket + 1) * width };
	}

	binAt(px) {
		return Math.max(0, Math.min(this.lost.length - 1, Math.floor(px / this.width * this.lost.length)));
	}

	// ---- the part in view ----

	setView(from, span) {
		if (!this.profile.hasTimes)
			return;
		const whole = this.end - this.first, least = this.isFine ? LEAST_SPAN : Math.min(whole, 4 * this.profile.width);
		span = Math.min(whole, Math.max(least, span));
		from = Math.max(this.first, Math.min(this.end - span, from));
		this.view = { from, to: from + span };
		this.fill();
		this.draw();
		this.moved();
	}

	zoomAt(px, factor) {
		const span = this.view.to - this.view.from, at = this.secondAt(px);
		this.setView(at - px / this.width * span * factor, span * factor);
	}

	get isZoomed() {
		return this.view.to - this.view.from < (this.end - this.first) * (1 - 1e-9);
	}

	// ---- drawing ----

	draw() {
		if (!this.pending)
			this.pending = requestAnimationFrame(() => {
				this.pending = 0;
				this.paintNow();
			});
	}

	paintNow() {
		if (this.filledFor !== this.width)
			this.fill();
		this.paint();
	}

	paint() {
		const g = this.context, ratio = devicePixelRatio || 1, theme = this.colours.theme;
		const height = this.canvas.clientHeight, floor = height - AXIS, room = floor - LANE_TOP;
		const n = this.lost.length, base = new Float64Array(n);
		let most = 1e-9;
		for (let i = 0; i < n; i++)
			most = Math.max(most, this.weights[0][i] + this.weights[1][i] + this.weights[2][i]);
		const step = this.width / n, gap = step > 4 ? 1 : 0;

		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = theme.paper;
		g.fillRect(0, 0, this.width, height);
		if (!this.profile.hasTimes)
			return;
		const bars = (weights, colour, under) => {
			g.fillStyle = colour;
			for (let i = 0; i < n; i++) {
				const h = weights[i] / most * room;
				if (h > 0)
					g.fillRect(i * step, floor - (under ? under[i] : 0) - h, Math.max(step - gap, 0.6), h);
				if (under)
					under[i] += h;
			}
		};
		g.globalAlpha = this.matched ? 0.45 : 1;
		MODES.forEach((mode, m) => bars(this.weights[m], this.colours.ofMode(mode), base));
		g.globalAlpha = 1;
		if (this.matched)
			bars(this.matched, this.isFound ? theme.match : theme.accent, null);
		this.lost.forEach((lost, i) => {
			if (lost > 0) {
				g.fillStyle = theme.loss;
				g.fillRect(i * step, 0, Math.max(step - gap, 2), 4);
			}
		});
		this.paintAxis(g, theme, floor, height);
		this.paintScale(g, theme, most);
		this.paintRange(g, theme, floor);
	}

	axisStep() {
		const about = (this.view.to - this.view.from) / Math.max(1, this.width / 90);
		if (about > 0.5)
			return AXIS_STEPS.find(s => s >= about) || 604800;
		const power = 10 ** Math.floor(Math.log10(about));
		return Math.max(1e-6, [1, 2, 5, 10].map(s => s * power).find(s => s >= about - 1e-12));
	}

	paintAxis(g, theme, floor, height) {
		const step = this.axisStep(), digits = digitsFor(step), last = Math.floor(this.view.to / step + 1e-9);
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		g.fillStyle = theme.line;
		g.fillRect(0, floor, this.width, 1);
		for (let k = Math.ceil(this.view.from / step - 1e-9); k <= last; k++) {
			const x = this.xOf(k * step);
			g.fillStyle = theme.line;
			g.fillRect(x, floor, 1, 4);
			g.fillStyle = theme.faint;
			const text = formatMoment(k * step, digits), w = g.measureText(text).width;
			if (x + w + 4 < this.width)
				g.fillText(text, x + 4, floor + (height - floor) / 2 + 1);
		}
	}

	paintScale(g, theme, most) {
		const perSecond = most / this.bin, unit = this.unit;
		const text = (unit === "ns" ? formatNanoseconds(perSecond) : formatLarge(perSecond) +
			      (unit === "samples" ? " samples" : " " + unit)) + " / s";
		g.font = "11px system-ui, sans-serif";
		const w = g.measureText(text).width;
		g.globalAlpha = 0.8;
		g.fillStyle = theme.paper;
		g.fillRect(this.width - w - 10, 5, w + 10, 15);
		g.globalAlpha = 1;
		g.fillStyle = theme.faint;
		g.fillText(text, this.width - w - 5, 13);
	}

	paintRange(g, theme, floor) {
		if (!this.range)
			return;
		const a = Math.max(0, this.xOf(this.range.from)), b = Math.min(this.width, this.xOf(this.range.to));
		g.fillStyle = theme.veil;
		g.fillRect(0, 0, Math.min(a, this.width), floor);
		g.fillRect(Math.max(b, 0), 0, this.width - Math.max(b, 0), floor);
		g.fillStyle = theme.accent;
		g.fillRect(a - 1, 0, 2, floor);
		g.fillRect(b - 1, 0, 2, floor);
	}

	// ---- input ----

	setRange(range) {
		if (!this.profile.hasTimes)
			return;
		const exact = s => Number(s.toFixed(6));
		const from = range ? Math.max(this.first, exact(range.from)) : this.first;
		const to = range ? Math.min(this.end, exact(range.to)) : this.end;
		const isAll = !range || from >= to || (from === this.first && to === this.end);
		this.range = isAll ? null : { from, to };
		this.draw();
		this.changed(this.range);
	}

	listen() {
		const c = this.canvas;
		c.addEventListener("pointerdown", e => {
			if (e.button !== 0)
				return;
			c.setPointerCapture(e.pointerId);
			this.anchor = this.anchorAt(e.offsetX, e.shiftKey);
			this.isDragged = false;
		});
		c.addEventListener("pointermove", e => {
			if (this.anchor === undefined || e.buttons === 0)
				return;
			this.isDragged = true;
			this.stretch(this.pieceAt(e.offsetX));
		});
		c.addEventListener("pointerup", e => {
			if (this.anchor !== undefined && !this.isDragged)
				this.stretch(this.pieceAt(e.offsetX));
			this.anchor = undefined;
		});
		c.addEventListener("dblclick", () => this.setRange(null));
		c.addEventListener("wheel", e => this.onWheel(e), { passive: false });
		c.addEventListener("keydown", e => this.onKey(e));
	}

	onWheel(e) {
		const span = this.view.to - this.view.from;
		e.preventDefault();
		if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
			this.setView(this.view.from + (e.deltaX || e.deltaY) / this.width * span, span);
		else
			this.zoomAt(e.offsetX, Math.exp(e.deltaY * 0.0035));
	}

	// Dragging at an edge of the range moves that edge.
	anchorAt(px, extends_) {
		if (this.range && (extends_ || Math.abs(px - this.xOf(this.range.from)) < 6 ||
				   Math.abs(px - this.xOf(this.range.to)) < 6)) {
			const middle = (this.xOf(this.range.from) + this.xOf(this.range.to)) / 2, { from, to } = this.range;
			return px < middle ? { from: to, to } : { from, to: from };
		}
		return this.pieceAt(px);
	}

	stretch(piece) {
		this.setRange({ from: Math.min(this.anchor.from, piece.from), to: Math.max(this.anchor.to, piece.to) });
	}

	onKey(e) {
		const step = this.isFine ? (this.view.to - this.view.from) / 100 : this.profile.width;
		const whole = { from: this.view.from, to: this.view.from + step }, r = this.range || whole;
		const way = (e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0) * step;
		const middle = this.width / 2;
		const acts = {
			"+": () => this.zoomAt(middle, 0.7), "=": () => this.zoomAt(middle, 0.7), "-": () => this.zoomAt(middle, 1 / 0.7),
			Home: () => this.setView(this.first, Infinity),
			Enter: () => this.range && this.setView(this.range.from, this.range.to - this.range.from),
		};
		if (way) {
			e.preventDefault();
			if (e.shiftKey)
				this.setRange({ from: r.from, to: Math.max(r.from + step, r.to + way) });
			else if (this.range && r.from + way >= this.first && r.to + way <= this.end)
				this.setRange({ from: r.from + way, to: r.to + way });
			else
				this.setRange(r);
		} else if (acts[e.key] && !e.ctrlKey && !e.metaKey) {
			e.preventDefault();
			acts[e.key]();
		} else if (e.key === "Escape" && this.range) {
			e.preventDefault();
			e.stopPropagation();
			this.setRange(null);
		}
	}
}
