// SPDX-License-Identifier: GPL-2.0-or-later
// The source and assembly of a function, beside the call tree. Their numbers are of the whole
// recording, and of the chosen event. The heaviest functions are there, as far as their files were
// available when the page was made.
"use strict";

class CodeView {
	constructor(root, data, profile) {
		this.root = root;
		this.base64 = data.textContent.trim();
		this.profile = profile;
		this.isThere = this.base64.length > 0;
		data.remove();
	}

	async load() {
		if (!this.functions) {
			const { functions, events } = JSON.parse(new TextDecoder().decode(await unpack(this.base64)));
			this.functions = new Map(functions.map(f => [`${f.image} | ${f.symbol}`, f]));
			this.totals = events.map(e => e.samples);
		}
	}

	async show(frame, lane) {
		await this.load();
		const image = frame >= 0 ? this.profile.image[frame] : -1;
		const f = image >= 0 ? this.functions.get(`${this.profile.images[image].path} | ${this.profile.names[frame]}`) : null;
		if (f) {
			this.fill(f, lane);
			return;
		}
		this.root.replaceChildren(element("p", { textContent: image < 0 ? "Select a function." :
			`${this.profile.names[frame]}: no code here. It has less than 0.5 % itself, or its file was not there when the page was made.` }));
	}

	fill(f, lane) {
		const lines = f.lines.filter(row => row.line);
		this.root.replaceChildren(
			element("h2", { textContent: `${f.symbol}, in samples of the whole recording` }),
			...this.part("Source", lines, lane, row => [String(row.line), row.text || row.file]),
			...this.part("Assembly", f.instructions, lane, row => ["0x" + row.offset.toString(16), row.text]),
			...f.note ? [element("p", { textContent: f.note })] : []);
	}

	part(title, rows, lane, textOf) {
		const weights = rows.map(row => row.samples ? row.samples[lane] || 0 : 0), most = Math.max(1, ...weights);
		const elements = rows.map((row, i) => {
			const [place, text] = textOf(row), w = weights[i];
			const out = element("div", { className: w ? "row hot" : "row", title: row.file ? `${row.file}:${row.line}` : "" },
				element("b", { textContent: w ? formatPercent(w, this.totals[lane]) : "" }),
				element("i", { textContent: place }), element("span", { textContent: text }));
			out.style.setProperty("--heat", w / most);
			out.dataset.line = row.line || "";
			out.addEventListener("pointerenter", () => this.mark(out.dataset.line));
			return out;
		});
		return rows.length ? [element("h2", { textContent: title }), ...elements] : [];
	}

	// The lines and instructions that belong together.
	mark(line) {
		for (const row of this.root.querySelectorAll(".row"))
			row.classList.toggle("same", line !== "" && row.dataset.line === line);
	}
}
