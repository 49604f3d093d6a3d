// SPDX-License-Identifier: GPL-2.0-or-later
// A heat map, as of FlameScope: a column a second, from the second's begin (below) to its end. A
// dark cell has many samples. Dragging selects from one cell to another.
"use strict";

const HEAT_ROWS = 50;

class HeatMap {
	constructor(canvas, timeline, profile, colours) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.raster = new Raster(this.context);
		this.timeline = timeline;
		this.profile = profile;
		this.colours = colours;
		canvas.addEventListener("pointerdown", e => {
			canvas.setPointerCapture(e.pointerId);
			this.anchor = this.cellAt(e.offsetX, e.offsetY);
			this.select(this.anchor);
		});
		canvas.addEventListener("pointermove", e => this.anchor && e.buttons && this.select(this.cellAt(e.offsetX, e.offsetY)));
		canvas.addEventListener("pointerup", () => this.anchor = null);
	}

	get first() {
		return Math.floor(this.timeline.view.from);
	}

	get nColumns() {
		return Math.max(1, Math.ceil(this.timeline.view.to) - this.first);
	}

	cellAt(px, py) {
		const { clientWidth: w, clientHeight: h } = this.canvas;
		const column = Math.max(0, Math.min(this.nColumns - 1, Math.floor(px / w * this.nColumns)));
		const row = Math.max(0, Math.min(HEAT_ROWS - 1, HEAT_ROWS - 1 - Math.floor(py / h * HEAT_ROWS)));
		return { from: this.first + column + row / HEAT_ROWS, to: this.first + column + (row + 1) / HEAT_ROWS, column, row };
	}

	select(cell) {
		this.timeline.setRange({ from: Math.min(this.anchor.from, cell.from), to: Math.max(this.anchor.to, cell.to) });
	}

	count() {
		const { lane, byEvents, thread } = this.timeline, { moments } = this.profile.lanes[lane];
		const { of, factor } = momentWeights(moments, byEvents), n = this.nColumns * HEAT_ROWS;
		const first = this.first * 1e6, cell = 1e6 / HEAT_ROWS;
		this.cells = new Float64Array(n);
		eachRun(moments, first, first + n * cell, (from, end, own) => {
			if (thread >= 0 && own !== thread)
				return;
			for (let i = from; i < end; i++)
				this.cells[Math.min(n - 1, Math.floor((moments.time[i] - first) / cell))] += of ? of[i] * factor : factor;
		});
		return this.cells;
	}

	resize() {
		const ratio = devicePixelRatio || 1;
		this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
		this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
		this.paint();
	}

	draw() {
		if (!this.pending)
			this.pending = requestAnimationFrame(() => {
				this.pending = 0;
				this.paint();
			});
	}

	paint() {
		const { raster, colours } = this, { theme } = colours;
		if (!theme || !this.canvas.clientWidth || !raster.begin(colours.pixel(theme.paper)))
			return;
		const cells = this.count(), { range } = this.timeline, dx = raster.width / this.nColumns, dy = raster.height / HEAT_ROWS;
		const paper = colours.pixel(theme.paper), match = colours.pixel(theme.match), accent = colours.pixel(theme.accent);
		const most = cells.reduce((a, b) => Math.max(a, b), 1e-9), gapX = dx > 4 ? 1 : 0, gapY = dy > 4 ? 1 : 0;
		for (let i = 0; i < cells.length; i++) {
			const column = Math.floor(i / HEAT_ROWS), row = i % HEAT_ROWS, from = this.first + i / HEAT_ROWS;
			const isIn = range && from + 1e-9 >= range.from && from < range.to - 1e-9;
			if (!isIn && cells[i] === 0)
				continue;
			const left = Math.round(column * dx), right = Math.max(left + 1, Math.round((column + 1) * dx) - gapX);
			const top = Math.round((HEAT_ROWS - row - 1) * dy), bottom = Math.max(top + 1, Math.round((HEAT_ROWS - row) * dy) - gapY);
			if (isIn)
				raster.fillBox(left, top, right, bottom, mixedPixel(match, paper, 0.25));
			if (cells[i] > 0)
				raster.fillBox(left, top, right, bottom, mixedPixel(isIn ? match : accent, paper, 0.08 + 0.92 * cells[i] / most));
		}
		raster.finish();
	}
}
