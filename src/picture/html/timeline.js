// SPDX-License-Identifier: GPL-2.0-or-later
// Samples by time: a bar a bucket (several where they are many), user below kernel; what is
// searched for or selected drawn over it; lost samples as marks on top. Dragging selects a range.
"use strict";

const LANE_TOP = 22, AXIS = 16, MODES = ["user", "kernel", "unknown"];

class Timeline {
	// `changed(range)`: { from, to } in buckets, `to` not included, or null for all
	constructor(canvas, profile, colours, changed) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d", { alpha: false });
		this.profile = profile;
		this.colours = colours;
		this.changed = changed;
		this.range = null;
		this.matched = null; // weights by bucket
		this.setExtent();
		this.listen();
	}

	setExtent() {
		let first = Infinity, last = 0;
		for (const { own } of this.profile.lanes)
			if (own.bucket.length) {
				first = Math.min(first, own.bucket[0]);
				last = Math.max(last, own.bucket[own.bucket.length - 1]);
			}
		this.first = first === Infinity ? 0 : first;
		this.end = Math.max(last, this.first) + 1;
	}

	// The weights of a lane by bucket, for each mode of the innermost frame.
	setLane(lane, byEvents) {
		const { own, unit } = this.profile.lanes[lane], { of, factor } = cellWeights(own, byEvents);
		const n = this.end - this.first, nodes = this.profile.nodes;
		const modes = Uint8Array.from(this.profile.names, (_, f) =>
			Math.max(0, MODES.indexOf(this.profile.modeOf(f))));
		this.lane = lane;
		this.byEvents = byEvents;
		this.unit = byEvents ? unit : "samples";
		this.weights = MODES.map(() => new Float64Array(n));
		for (let i = 0; i < own.bucket.length; i++)
			for (let k = own.start[i]; k < own.start[i + 1]; k++)
				this.weights[modes[nodes.frame[own.node[k]]]][own.bucket[i] - this.first] += of[k] * factor;
		this.lost = new Float64Array(n);
		for (const [bucket, count] of this.profile.lost)
			if (bucket >= this.first && bucket < this.end)
				this.lost[bucket - this.first] += count;
		this.draw();
	}

	// `chosen`: by node, whether its samples are to stand out; null: none.
	setMatched(chosen, isFound) {
		this.matched = null;
		this.isFound = isFound;
		if (chosen) {
			const { own } = this.profile.lanes[this.lane], { of, factor } = cellWeights(own, this.byEvents);
			this.matched = new Float64Array(this.end - this.first);
			for (let i = 0; i < own.bucket.length; i++)
				for (let k = own.start[i]; k < own.start[i + 1]; k++)
					if (chosen[own.node[k]])
						this.matched[own.bucket[i] - this.first] += of[k] * factor;
		}
		this.draw();
	}

	weightOf(from, to) {
		let sum = 0;
		for (const weights of this.weights)
			for (let i = from - this.first; i < to - this.first; i++)
				sum += weights[i];
		return sum;
	}

	resize() {
		const ratio = devicePixelRatio || 1;
		this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
		this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
		this.draw();
	}

	get width() {
		return this.canvas.clientWidth;
	}

	xOf(bucket) {
		return (bucket - this.first) / (this.end - this.first) * this.width;
	}

	bucketAt(px) {
		const at = this.first + Math.floor(px / this.width * (this.end - this.first));
		return Math.max(this.first, Math.min(this.end - 1, at));
	}

	draw() {
		if (!this.pending)
			this.pending = requestAnimationFrame(() => {
				this.pending = 0;
				this.paint();
			});
	}

	// Bars no narrower than a pixel: the mean over the buckets of each.
	columns(weights) {
		const n = weights.length, nColumns = Math.max(1, Math.min(n, Math.floor(this.width)));
		const out = new Float64Array(nColumns);
		for (let c = 0; c < nColumns; c++) {
			const from = Math.floor(c * n / nColumns), to = Math.max(from + 1, Math.floor((c + 1) * n / nColumns));
			for (let i = from; i < to; i++)
				out[c] += weights[i] / (to - from);
		}
		return out;
	}

	paint() {
		const g = this.context, ratio = devicePixelRatio || 1, theme = this.colours.theme;
		const height = this.canvas.clientHeight, floor = height - AXIS, room = floor - LANE_TOP;
		const columns = this.weights.map(w => this.columns(w)), n = columns[0].length;
		const most = Math.max(1e-9, ...columns[0].map((_, i) => columns.reduce((sum, c) => sum + c[i], 0)));
		const step = this.width / n, gap = step > 4 ? 1 : 0;

		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = theme.paper;
		g.fillRect(0, 0, this.width, height);
		const bars = (weights, colour, base) => {
			g.fillStyle = colour;
			for (let i = 0; i < n; i++) {
				const h = weights[i] / most * room;
				if (h > 0)
					g.fillRect(i * step, floor - (base ? base[i] : 0) - h, Math.max(step - gap, 0.6), h);
				if (base)
					base[i] += h;
			}
		};
		const base = new Float64Array(n);
		g.globalAlpha = this.matched ? 0.45 : 1;
		MODES.forEach((mode, m) => bars(columns[m], this.colours.ofMode(mode), base));
		g.globalAlpha = 1;
		if (this.matched)
			bars(this.columns(this.matched), this.isFound ? theme.match : theme.accent, null);
		this.columns(this.lost).forEach((lost, i) => {
			if (lost > 0) {
				g.fillStyle = theme.loss;
				g.fillRect(i * step, 0, Math.max(step - gap, 2), 4);
			}
		});
		this.paintAxis(g, theme, floor, height);
		this.paintScale(g, theme, most);
		this.paintRange(g, theme, floor);
	}

	paintAxis(g, theme, floor, height) {
		const seconds = (this.end - this.first) * this.profile.width, about = seconds / Math.max(1, this.width / 90);
		const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]
			.find(s => s >= about) || 604800;
		const start = this.first * this.profile.width;
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		g.fillStyle = theme.line;
		g.fillRect(0, floor, this.width, 1);
		for (let s = Math.ceil(start / step) * step; s <= start + seconds; s += step) {
			const x = this.xOf(s / this.profile.width);
			g.fillStyle = theme.line;
			g.fillRect(x, floor, 1, 4);
			g.fillStyle = theme.faint;
			const text = formatMoment(s), w = g.measureText(text).width;
			if (x + w + 4 < this.width)
				g.fillText(text, x + 4, floor + (height - floor) / 2 + 1);
		}
	}

	paintScale(g, theme, most) {
		const perSecond = most / this.profile.width, unit = this.unit;
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
		const a = this.xOf(this.range.from), b = this.xOf(this.range.to);
		g.fillStyle = theme.veil;
		g.fillRect(0, 0, a, floor);
		g.fillRect(b, 0, this.width - b, floor);
		g.fillStyle = theme.accent;
		g.fillRect(a - 1, 0, 2, floor);
		g.fillRect(b - 1, 0, 2, floor);
	}

	// ---- input ----

	setRange(range) {
		const from = range ? Math.max(this.first, range.from) : this.first;
		const to = range ? Math.min(this.end, range.to) : this.end;
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
			this.stretch(this.bucketAt(e.offsetX));
		});
		c.addEventListener("pointerup", e => {
			if (this.anchor !== undefined && !this.isDragged)
				this.stretch(this.bucketAt(e.offsetX));
			this.anchor = undefined;
		});
		c.addEventListener("dblclick", () => this.setRange(null));
		c.addEventListener("keydown", e => this.onKey(e));
	}

	// Dragging at an edge of the range moves that edge.
	anchorAt(px, extends_) {
		if (this.range && (extends_ || Math.abs(px - this.xOf(this.range.from)) < 6 ||
				   Math.abs(px - this.xOf(this.range.to)) < 6)) {
			const middle = (this.xOf(this.range.from) + this.xOf(this.range.to)) / 2;
			return px < middle ? this.range.to - 1 : this.range.from;
		}
		return this.bucketAt(px);
	}

	stretch(bucket) {
		this.setRange({ from: Math.min(this.anchor, bucket), to: Math.max(this.anchor, bucket) + 1 });
	}

	onKey(e) {
		const whole = { from: this.first, to: this.first + 1 }, r = this.range || whole;
		const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
		if (step) {
			e.preventDefault();
			if (e.shiftKey)
				this.setRange({ from: r.from, to: Math.max(r.from + 1, r.to + step) });
			else if (this.range && r.from + step >= this.first && r.to + step <= this.end)
				this.setRange({ from: r.from + step, to: r.to + step });
			else
				this.setRange(r);
		} else if (e.key === "Escape" && this.range) {
			e.preventDefault();
			e.stopPropagation();
			this.setRange(null);
		}
	}
}
