// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph on a canvas. Only boxes that can be seen are visited: a subtree that is narrower
// than half a pixel, or beside the window, is stepped over by its `end`.
"use strict";

const ROW = 19, GAP = 1, FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const LEAST_BOX = 0.5, LEAST_TEXT = 26, ZOOM_MS = 180;
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

class Graph {
	// `actions`: hover(node, event), select(node), zoomed(), menu(node), open(node): whether it did
	constructor(canvas, profile, colours, actions) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d"); // transparent, so that it is the page's colour at first
		this.raster = new Raster(this.context);
		this.profile = profile;
		this.colours = colours;
		this.actions = actions;
		this.isUpward = true;
		this.firstDepth = 1;
		this.tree = null;
		this.view = { from: 0, to: 1 }; // in weight
		this.zoomNode = 0;
		this.selected = this.hovered = -1;
		this.matches = null; // by frame
		this.differ = null;
		this.scroll = 0;
		this.context.font = FONT;
		this.fitter = Graph.fitter = Graph.fitter || new NameFitter(text => this.context.measureText(text).width);
		this.frameMs = [];
		this.listen();
	}

	// ---- what is shown ----

	setTree(tree, firstDepth) {
		this.tree = tree;
		this.firstDepth = firstDepth;
		this.selected = this.hovered = -1;
		this.zoomNode = 0;
		this.view = { from: 0, to: Math.max(tree.total[0], 1e-9) };
		this.resize();
	}

	// The same nodes with other weights: the window stays on its node.
	reweigh(tree) {
		const node = this.zoomNode;
		this.tree = tree;
		this.view = this.windowOf(node);
		this.resize();
	}

	get isZoomed() {
		return Boolean(this.tree) && this.view.to - this.view.from < this.tree.total[0] * (1 - 1e-9);
	}

	windowOf(node) {
		const { x, total } = this.tree;
		return total[node] > 0 ? { from: x[node], to: x[node] + total[node] }
				       : { from: 0, to: Math.max(total[0], 1e-9) };
	}

	zoomTo(node) {
		this.zoomNode = node;
		this.animate(this.windowOf(node));
	}

	openOrZoom(node, goal) {
		this.select(node);
		if (!this.actions.open(node))
			this.zoomTo(goal);
	}

	animate(goal) {
		const start = { ...this.view }, begin = performance.now();
		cancelAnimationFrame(this.animation);
		if (stillness.matches) {
			this.view = goal;
			this.draw();
			this.actions.zoomed();
			return;
		}
		const step = now => {
			const t = Math.min(1, Math.max(0, (now - begin) / ZOOM_MS)), ease = 1 - (1 - t) ** 3;
			this.view = { from: start.from + (goal.from - start.from) * ease,
				      to: start.to + (goal.to - start.to) * ease };
			this.drawNow();
			if (t < 1)
				this.animation = requestAnimationFrame(step);
			else
				this.actions.zoomed();
		};
		this.animation = requestAnimationFrame(step);
	}

	// ---- size ----

	get height() {
		return this.canvas.clientHeight;
	}

	get contentHeight() {
		return (this.tree.deepest - this.firstDepth + 1) * ROW + 4;
	}

	resize() {
		const ratio = devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = this.canvas;
		const isResized = this.canvas.width !== Math.round(w * ratio) || this.canvas.height !== Math.round(h * ratio);
		if (isResized) {
			this.canvas.width = Math.round(w * ratio);
			this.canvas.height = Math.round(h * ratio);
		}
		this.width = w;
		this.clampScroll();
		if (isResized && this.colours.theme)
			this.drawNow(); // a canvas that was resized is empty
		else
			this.draw();
	}

	clampScroll() {
		const most = this.tree ? Math.max(0, this.contentHeight - this.height) : 0;
		this.scroll = Math.min(most, Math.max(0, this.scroll));
	}

	// The upper edge of a row.
	rowY(depth) {
		const row = (depth - this.firstDepth) * ROW;
		return this.isUpward ? this.height - row - ROW + this.scroll : row - this.scroll;
	}

	depthAt(y) {
		const row = this.isUpward ? this.height - y + this.scroll : y + this.scroll;
		return Math.floor(row / ROW) + this.firstDepth;
	}

	// ---- drawing ----

	draw() {
		if (this.pending)
			return;
		this.pending = requestAnimationFrame(() => {
			this.pending = 0;
			this.drawNow();
		});
	}

	drawNow() {
		const begin = performance.now();
		this.paint();
		this.frameMs.push(performance.now() - begin);
		if (this.frameMs.length > 240)
			this.frameMs.shift();
	}

	paint() {
		const g = this.context, ratio = devicePixelRatio || 1, { colours, raster } = this, { theme } = colours;
		const isThere = this.tree && this.tree.total[0] > 0;
		if (!raster.begin(colours.pixel(theme.paper)))
			return;
		const texts = isThere ? this.paintBoxes(theme, ratio) : [];
		raster.finish();
		if (!isThere)
			return;
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.font = FONT;
		g.textBaseline = "middle";
		this.paintTexts(g, theme, texts);
		this.paintMark(g, this.hovered, theme.ink, 1);
		this.paintMark(g, this.selected, theme.accent, 2);
		this.paintScroll(g, theme);
	}

	// How much of the depth is seen, where it is not all of it.
	paintScroll(g, theme) {
		const share = this.height / this.contentHeight, length = Math.max(20, this.height * share);
		if (share >= 1)
			return;
		const done = this.scroll / (this.contentHeight - this.height), room = this.height - length - 4;
		g.globalAlpha = 0.45;
		g.fillStyle = theme.faint;
		g.fillRect(this.width - 6, 2 + room * (this.isUpward ? 1 - done : done), 4, length);
		g.globalAlpha = 1;
	}

	// Where rows begin and end in pixels, and the first pixel of each; -1: the row is not in view.
	rowsInView(ratio) {
		const n = this.tree.deepest + 2, tops = new Int32Array(n), ends = new Int32Array(n), lines = new Int32Array(n);
		for (let d = 0; d < n; d++) {
			const y = this.rowY(d);
			tops[d] = Math.round(y * ratio);
			ends[d] = Math.round((y + ROW - GAP) * ratio);
			lines[d] = this.raster.lineOf(tops[d], ends[d]);
		}
		return { tops, ends, lines };
	}

	// Draws boxes as pixels. Returns what has room for text: its node, left, right, top, and
	// whether it is dimmed.
	paintBoxes(theme, ratio) {
		const { n, depth, end, total, x, frame } = this.tree, { from, to } = this.view, { raster, colours, matches } = this;
		const { pixels, width } = raster, scale = width / (to - from), texts = [], { tops, ends, lines } = this.rowsInView(ratio);
		const paper = colours.pixel(theme.paper), match = colours.pixel(theme.match), gap = Math.max(1, Math.round(GAP * ratio));
		const least = LEAST_BOX * ratio, leastText = LEAST_TEXT * ratio, painted = new Int32Array(lines.length);
		let i = this.firstDepth === 0 ? 0 : 1;

		while (i < n) {
			const left = (x[i] - from) * scale, size = total[i] * scale, right = left + size, d = depth[i];
			if (!(size > 0) || left >= width || right <= 0) {
				i = end[i];
				continue;
			}
			const isDust = size < least, a = left > 0 ? Math.min(Math.round(left), width - 1) : 0;
			// Of dust, the first box of a pixel gives the colour.
			if (lines[d] >= 0 && !(isDust && a < painted[d])) {
				const found = matches !== null && matches[frame[i]] === 1, dims = matches !== null && !found;
				const b = Math.max(a + 1, Math.min(Math.round(right), width) - (size > 3 * ratio ? gap : 0));
				let pixel = found ? match : colours.pixelOfNode(this.tree, i, this.differ);
				if (isDust)
					pixel = mixedPixel(pixel, paper, 0.5);
				else if (dims)
					pixel = mixedPixel(pixel, paper, theme.dimmed);
				else if (left < -0.5 && size > 1.5 * width)
					pixel = mixedPixel(pixel, paper, 0.72);
				for (let at = lines[d] + a, stop = lines[d] + b; at < stop; at++)
					pixels[at] = pixel;
				painted[d] = b;
				if (b - a >= leastText)
					texts.push(i, a / ratio, b / ratio, this.rowY(d), dims);
			}
			i = isDust ? end[i] : i + 1;
		}
		for (let d = 0; d < lines.length; d++)
			if (painted[d] > 0)
				raster.copyDown(tops[d], ends[d]);
		return texts;
	}

	paintTexts(g, theme, texts) {
		for (let k = 0; k < texts.length; k += 5) {
			const f = this.tree.frame[texts[k]], a = texts[k + 1], b = texts[k + 2];
			const text = this.fitter.fit(this.nameOf(f), b - a - 9);
			if (!text)
				continue;
			g.fillStyle = texts[k + 4] ? theme.faint
				      : this.matches ? theme.onMatch : theme.onBox;
			g.fillText(text, a + 4, texts[k + 3] + (ROW - GAP) / 2 + 0.5);
		}
	}

	paintMark(g, node, colour, width) {
		if (node < 0 || node >= this.tree.n)
			return;
		const scale = this.width / (this.view.to - this.view.from);
		const left = Math.max((this.tree.x[node] - this.view.from) * scale, 0);
		const right = Math.min((this.tree.x[node] + this.tree.total[node] - this.view.from) * scale,
				       this.width);
		if (right <= left)
			return;
		g.strokeStyle = colour;
		g.lineWidth = width;
		g.strokeRect(left + width / 2, this.rowY(this.tree.depth[node]) + width / 2,
			     Math.max(right - left - GAP - width, 0.5), ROW - GAP - width);
	}

	nameOf(frame) {
		return frame < 0 ? "all" : this.profile.names[frame] || "(no name)";
	}

	// ---- places ----

	nodeAt(px, py) {
		const tree = this.tree, depth = this.depthAt(py);
		if (!tree || depth < this.firstDepth)
			return -1;
		const at = this.view.from + px / this.width * (this.view.to - this.view.from);
		let node = 0;
		if (!(at >= tree.x[0] && at < tree.x[0] + tree.total[0]))
			return -1;
		while (tree.depth[node] < depth) {
			let child = node + 1;
			while (child < tree.end[node] && !(at >= tree.x[child] && at < tree.x[child] + tree.total[child]))
				child = tree.end[child];
			if (child >= tree.end[node])
				return -1;
			node = child;
		}
		return node;
	}

	// Where a node's box is, for tooltips and tests; in CSS pixels of the canvas.
	boxOf(node) {
		const scale = this.width / (this.view.to - this.view.from);
		return { x: (this.tree.x[node] - this.view.from) * scale, y: this.rowY(this.tree.depth[node]),
			 width: this.tree.total[node] * scale, height: ROW };
	}

	reveal(node) {
		const y = this.rowY(this.tree.depth[node]);
		if (y < 0)
			this.scroll += this.isUpward ? -y : y;
		else if (y + ROW > this.height)
			this.scroll += this.isUpward ? this.height - y - ROW : y + ROW - this.height;
		this.clampScroll();
		const box = this.boxOf(node);
		if (box.x + box.width < 2 || box.x > this.width - 2 || box.width < 2)
			this.zoomTo(this.tree.parent[node]);
	}

	select(node) {
		this.selected = node;
		if (node >= 0)
			this.reveal(node);
		this.draw();
		this.actions.select(node);
	}

	// ---- input ----

	listen() {
		const c = this.canvas;
		c.addEventListener("pointermove", e => this.onMove(e));
		c.addEventListener("pointerdown", e => this.onDown(e));
		c.addEventListener("pointerup", e => this.onUp(e));
		c.addEventListener("pointerleave", () => this.hover(-1, null));
		c.addEventListener("wheel", e => this.onWheel(e), { passive: false });
		c.addEventListener("keydown", e => this.onKey(e));
		c.addEventListener("contextmenu", e => {
			const node = this.nodeAt(e.offsetX, e.offsetY);
			if (node >= 0) {
				e.preventDefault();
				this.select(node);
				this.actions.menu(node);
			}
		});
	}

	hover(node, event) {
		if (node !== this.hovered) {
			this.hovered = node;
			this.draw();
		}
		this.actions.hover(node, event);
	}

	onMove(e) {
		if (!this.drag) {
			this.hover(this.nodeAt(e.offsetX, e.offsetY), e);
			return;
		}
		const dx = e.offsetX - this.drag.x, dy = e.offsetY - this.drag.y;
		if (!this.drag.moved && Math.hypot(dx, dy) < 4)
			return;
		this.drag.moved = true;
		this.hover(-1, null);
		const span = this.drag.view.to - this.drag.view.from;
		this.moveTo(this.drag.view.from - dx / this.width * span, span);
		this.scroll = this.drag.scroll + (this.isUpward ? dy : -dy);
		this.clampScroll();
		this.draw();
	}

	onDown(e) {
		if (e.button !== 0)
			return;
		this.canvas.setPointerCapture(e.pointerId);
		this.drag = { x: e.offsetX, y: e.offsetY, view: { ...this.view }, scroll: this.scroll, moved: false };
	}

	onUp(e) {
		const moved = this.drag && this.drag.moved;
		this.drag = null;
		if (moved || e.button !== 0)
			return;
		const node = this.nodeAt(e.offsetX, e.offsetY);
		if (node < 0)
			return;
		this.openOrZoom(node, node === this.zoomNode ? this.tree.parent[node] : node);
	}

	onWheel(e) {
		e.preventDefault();
		if (e.ctrlKey || e.metaKey) {
			this.zoomAt(e.offsetX, Math.exp(e.deltaY * 0.0035));
			return;
		}
		const span = this.view.to - this.view.from;
		if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
			this.moveTo(this.view.from + (e.deltaX || e.deltaY) / this.width * span, span);
		else
			this.scroll += this.isUpward ? -e.deltaY : e.deltaY;
		this.clampScroll();
		this.draw();
	}

	zoomAt(px, factor) {
		const whole = this.tree.total[0], span = this.view.to - this.view.from;
		const wanted = Math.min(whole, Math.max(span * factor, whole * 1e-7));
		const at = this.view.from + px / this.width * span;
		this.moveTo(at - px / this.width * wanted, wanted);
		this.draw();
	}

	moveTo(from, span) {
		const whole = this.tree.total[0];
		from = Math.max(0, Math.min(whole - span, from));
		this.view = { from, to: from + span };
		this.actions.zoomed();
	}

	// The nearest box with weight among the siblings, or below.
	neighbour(node, step) {
		const { depth, total, parent, n } = this.tree;
		for (let i = node + step; i > 0 && i < n; i += step) {
			if (depth[i] < depth[node] && parent[i] === 0 && depth[i] === 0)
				break;
			if (depth[i] === depth[node] && total[i] > 0)
				return i;
		}
		return node;
	}

	heaviestChild(node) {
		const { end, total } = this.tree;
		let best = -1;
		for (let c = node + 1; c < end[node]; c = end[c])
			if (total[c] > 0 && (best < 0 || total[c] > total[best]))
				best = c;
		return best < 0 ? node : best;
	}

	onKey(e) {
		const node = this.selected < 0 ? this.zoomNode : this.selected;
		const outward = this.isUpward ? "ArrowUp" : "ArrowDown", inward = this.isUpward ? "ArrowDown" : "ArrowUp";
		const moves = {
			[outward]: () => this.select(this.heaviestChild(node)),
			[inward]: () => this.select(Math.max(this.tree.parent[node], this.firstDepth ? this.tree.parent[node] : 0)),
			ArrowLeft: () => this.select(this.neighbour(node, -1)),
			ArrowRight: () => this.select(this.neighbour(node, 1)),
			Enter: () => this.openOrZoom(node, node),
			" ": () => this.openOrZoom(node, node),
			Backspace: () => this.zoomTo(this.tree.parent[this.zoomNode]),
			Home: () => this.zoomTo(0),
			"+": () => this.zoomAt(this.width / 2, 0.7),
			"=": () => this.zoomAt(this.width / 2, 0.7),
			"-": () => this.zoomAt(this.width / 2, 1 / 0.7),
		};
		if (!moves[e.key] || e.ctrlKey || e.metaKey || e.altKey)
			return;
		e.preventDefault();
		moves[e.key]();
	}
}
