// SPDX-License-Identifier: GPL-2.0-or-later
// The table of functions. Only the rows in view exist; the scroll bar is that of all.
"use strict";

const TABLE_ROW = 26, SPARE_ROWS = 12;

class Table {
	// `actions`: choose(frame) on a click or an arrow key, open(frame) on a double click or Enter
	constructor(root, profile, colours, actions) {
		this.root = root;
		this.profile = profile;
		this.colours = colours;
		this.actions = actions;
		this.sort = { key: "self", isReversed: false };
		this.current = -1;
		this.rows = [];
		this.head = root.querySelector("thead");
		this.body = root.querySelector("tbody");
		root.addEventListener("scroll", () => this.draw());
		root.addEventListener("keydown", e => this.onKey(e));
		this.body.addEventListener("click", e => {
			const row = e.target.closest("tr[data-frame]");
			if (row)
				this.choose(Number(row.dataset.frame));
		});
		this.body.addEventListener("dblclick", e => {
			const row = e.target.closest("tr[data-frame]");
			if (row)
				actions.open(Number(row.dataset.frame));
		});
	}

	columns() {
		const isCompared = Boolean(this.profile.baseline);
		return [
			{ key: "self", title: "Self", help: "in the function itself", isNumber: true },
			{ key: "total", title: "Total", help: "in the function and all that it called", isNumber: true },
			...isCompared ? [{ key: "change", title: "Δ total", isNumber: true,
					   help: "change of the total's share against the baseline, in percentage points" }] : [],
			{ key: "name", title: "Function", help: "" },
			{ key: "image", title: "Image", help: "program, library or kernel that the code is in" },
		];
	}

	// `sums` by frame (sumFrames); `whole` is what percentages are of.
	set(sums, whole, wholeBase, unit, matches) {
		this.sums = sums;
		this.whole = whole;
		this.wholeBase = wholeBase;
		this.unit = unit;
		this.matches = matches;
		this.arrange();
	}

	valueOf(frame, key) {
		const { sums, profile } = this;
		if (key === "name")
			return profile.names[frame].toLowerCase();
		if (key === "image")
			return this.imageOf(frame).toLowerCase();
		if (key === "change")
			return Math.abs(this.changeOf(frame));
		return sums[key][frame];
	}

	changeOf(frame) {
		return this.sums.total[frame] / (this.whole || 1) - this.sums.totalBase[frame] / (this.wholeBase || 1);
	}

	imageOf(frame) {
		const image = this.profile.image[frame];
		return image >= 0 ? this.profile.images[image].name : "";
	}

	arrange() {
		const { sums, matches } = this, rows = [];
		for (let f = 0; f < this.profile.names.length; f++)
			if (this.profile.image[f] !== IMAGE_GROUP && (sums.total[f] > 0 || sums.totalBase[f] > 0) &&
			    (!matches || matches[f]))
				rows.push(f);
		const { key, isReversed } = this.sort, isText = key === "name" || key === "image";
		const values = new Map(rows.map(f => [f, this.valueOf(f, key)]));
		const sign = isReversed ? -1 : 1;
		rows.sort((a, b) => {
			const x = values.get(a), y = values.get(b);
			const order = isText ? (x < y ? -1 : x > y ? 1 : 0) : y - x;
			return sign * order || sums.total[b] - sums.total[a] || a - b;
		});
		this.rows = rows;
		this.drawHead();
		this.draw();
	}

	drawHead() {
		const row = document.createElement("tr");
		for (const column of this.columns()) {
			const cell = document.createElement("th"), button = document.createElement("button");
			const isSorted = column.key === this.sort.key;
			const isDown = isSorted && (column.isNumber ? !this.sort.isReversed : this.sort.isReversed);
			cell.scope = "col";
			cell.className = column.isNumber ? "number" : "text";
			if (isSorted)
				cell.setAttribute("aria-sort", isDown ? "descending" : "ascending");
			button.textContent = column.title + (isSorted ? (isDown ? " ▾" : " ▴") : "");
			button.title = column.help;
			button.dataset.sort = column.key;
			button.addEventListener("click", () => {
				this.sort = { key: column.key, isReversed: isSorted && !this.sort.isReversed };
				this.arrange();
				this.head.querySelector(`[data-sort=${column.key}]`).focus();
			});
			cell.append(button);
			row.append(cell);
		}
		this.head.replaceChildren(row);
	}

	draw() {
		if (this.root.clientHeight === 0)
			return;
		const from = Math.max(0, Math.floor(this.root.scrollTop / TABLE_ROW) - SPARE_ROWS);
		const to = Math.min(this.rows.length, from + Math.ceil(this.root.clientHeight / TABLE_ROW) + 2 * SPARE_ROWS);
		const parts = [this.spacer(from)];
		for (let i = from; i < to; i++)
			parts.push(this.rowOf(this.rows[i], i));
		parts.push(this.spacer(this.rows.length - to));
		this.body.replaceChildren(...parts);
		this.root.querySelector("table").setAttribute("aria-rowcount", this.rows.length + 1);
	}

	spacer(n) {
		const row = document.createElement("tr");
		row.setAttribute("aria-hidden", "true");
		row.style.height = n * TABLE_ROW + "px";
		return row;
	}

	rowOf(frame, index) {
		const row = document.createElement("tr");
		row.dataset.frame = frame;
		row.setAttribute("aria-rowindex", index + 2);
		if (frame === this.current)
			row.setAttribute("aria-selected", "true");
		for (const column of this.columns())
			row.append(this.cellOf(frame, column));
		return row;
	}

	cellOf(frame, column) {
		const cell = document.createElement("td");
		if (column.key === "self" || column.key === "total") {
			const value = this.sums[column.key][frame], share = document.createElement("b");
			const count = document.createElement("span");
			cell.className = "number weight";
			cell.style.setProperty("--share", (this.whole ? 100 * value / this.whole : 0).toFixed(2) + "%");
			count.textContent = this.unit === "ns" ? formatNanoseconds(value) : formatLarge(value);
			count.title = formatWeight(value, this.unit);
			share.textContent = formatPercent(value, this.whole);
			cell.append(count, share);
		} else if (column.key === "change") {
			const change = this.changeOf(frame);
			cell.className = "number " + (change > 0.00005 ? "grew" : change < -0.00005 ? "shrank" : "");
			cell.textContent = formatPoints(change) + NBSP + "pp";
		} else if (column.key === "name") {
			const swatch = document.createElement("i"), name = document.createElement("span");
			cell.className = "name";
			swatch.style.background = this.colours.byFrame[frame];
			name.textContent = this.profile.names[frame];
			cell.title = this.profile.names[frame];
			cell.append(swatch, name);
		} else {
			const image = this.profile.image[frame];
			cell.className = "image";
			cell.textContent = this.imageOf(frame);
			cell.title = image >= 0 ? this.profile.images[image].path : "";
		}
		return cell;
	}

	choose(frame) {
		this.actions.choose(frame);
	}

	// Marks the row of a function and brings it into view. Rows stay what they are, as a click
	// may be the first half of a double one.
	show(frame) {
		this.current = frame;
		const at = this.rows.indexOf(frame), top = at * TABLE_ROW, room = this.root.clientHeight - 2 * TABLE_ROW;
		if (at >= 0 && (top < this.root.scrollTop || top > this.root.scrollTop + room)) {
			this.root.scrollTop = Math.max(0, top - room / 2);
			this.draw();
		}
		for (const row of this.body.children)
			if (row.dataset.frame === String(frame))
				row.setAttribute("aria-selected", "true");
			else
				row.removeAttribute("aria-selected");
	}

	onKey(e) {
		const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[e.key];
		if (e.target.tagName === "BUTTON" || !this.rows.length)
			return;
		if (step) {
			const at = this.rows.indexOf(this.current);
			e.preventDefault();
			this.choose(this.rows[Math.max(0, Math.min(this.rows.length - 1, at + step))]);
		} else if (e.key === "Enter" && this.current >= 0) {
			this.actions.open(this.current);
		}
	}
}
