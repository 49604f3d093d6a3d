// SPDX-License-Identifier: GPL-2.0-or-later
// What of the page concerns time, threads, code and transforms: app.js builds on it.
"use strict";

class TimeViews {
	// Views that this recording has nothing for are not offered.
	showTabs() {
		$("views").querySelector("[data-view=chart]").hidden = !this.profile.hasMoments;
		$("views").querySelector("[data-view=code]").hidden = !this.code.isThere;
	}

	// The times have come.
	takeTimes() {
		this.timeline.takeTimes();
		this.tracks.findRows();
		this.applyPanel();
		this.applyTimelineMarks();
		if (needsTimes(this.choice)) {
			this.timeline.setLane(this.choice.event, this.byEvents, this.choice.thread);
			this.applyAll();
		}
	}

	heaviestFrame() {
		const { self } = this.sumsNow();
		let best = 0;
		for (let f = 1; f < self.length; f++)
			if (self[f] > self[best])
				best = f;
		return best;
	}

	// Of the chosen thread, or the busiest one; in the range of time, or what the timeline shows.
	showChart() {
		const { timeline, tracks, choice } = this, { from, to } = timeline.range || timeline.view;
		const thread = choice.thread >= 0 ? choice.thread : tracks.heaviest ? tracks.heaviest.thread : -1;
		const shape = this.transforms.length ? this.shape : this.profile.nodes;
		const chart = stackChart(this.profile, shape, choice.event, thread, from, to);
		$("empty").hidden = chart && chart.n > 1;
		$("empty").textContent = chart ? "No samples of this thread here." :
			`More than ${formatCount(CHART_SAMPLES)} samples: select a shorter range of time.`;
		this.chartThread = thread;
		this.upper.setTree(chart || new ChartBuilder(shape, 1).finish(), 1);
		this.upper.shown = "chart";
		this.active = this.upper;
	}

	// The timeline shows another part of time.
	onTimeView() {
		$("whole-view").hidden = !this.timeline.isZoomed;
		this.drawPanels();
		if (this.choice.view === "chart" && !this.timeline.range && this.shape)
			this.showChart();
	}

	// What the range and the part in view are shown in, too.
	drawPanels() {
		if (this.choice.panel === "tracks") {
			this.tracks.draw();
			fillTrackLegend(this);
		}
		if (this.choice.panel === "heat")
			this.heat.draw();
	}

	applyPanel() {
		for (const name of ["tracks", "heat"]) {
			$(`${name}-box`).hidden = this.choice.panel !== name;
			$(`show-${name}`).setAttribute("aria-pressed", this.choice.panel === name);
		}
		$("track-legend").hidden = this.choice.panel !== "tracks";
		if (this.choice.panel === "tracks") {
			this.tracks.resize();
			fillTrackLegend(this);
		}
		if (this.choice.panel === "heat")
			this.heat.resize();
	}

	togglePanel(name) {
		this.set({ panel: this.choice.panel === name ? "" : name });
		this.applyPanel();
	}

	// -1: all threads.
	chooseThread(thread) {
		this.set({ thread, zoom: "" });
		this.tracks.thread = thread;
		this.timeline.setLane(this.choice.event, this.byEvents, thread);
		this.applyWeights();
		this.applyView(false);
		this.applyFound();
		this.applyRangeText();
		this.drawPanels();
	}

	get transforms() {
		return transformsOf(this.choice.transforms).filter(t => t.kind === "recursion" || t.frame < this.profile.names.length);
	}

	addTransform(kind) {
		const frame = this.selectedFrame();
		if (frame >= 0 && this.profile.image[frame] >= 0)
			this.setTransforms([...this.transforms.filter(t => t.kind !== kind || t.frame !== frame), { kind, frame }]);
	}

	toggleRecursion() {
		const rest = this.transforms.filter(t => t.kind !== "recursion");
		this.setTransforms(rest.length < this.transforms.length ? rest : [...rest, { kind: "recursion" }]);
	}

	setTransforms(list) {
		this.set({ transforms: textOfTransforms(list), zoom: "" });
		this.applyTransforms();
		this.applyWeights();
		this.applyView(true);
		this.applyFound();
	}

	// Nodes whose box "other" is open.
	readOpened() {
		const { n } = this.profile.nodes;
		this.opened = new Set(this.choice.open.split(".").filter(Boolean).map(Number).filter(i => i >= 0 && i < n));
	}

	// The boxes as they are without transforms: a box "other" for light ones.
	applyBoxes() {
		this.boxes = joinLight(this.profile.nodes, this.profile.hidden.frame, this.opened);
	}

	// A box "other" gives way to the boxes that it stands for. False: it is no such box.
	openOther(graph, node) {
		const { nodes, image } = this.profile, { tree } = graph;
		if (tree !== this.tree || node <= 0 || image[tree.frame[node]] !== IMAGE_OTHER || !nodes.hasLight)
			return false;
		const parents = parentsOfLight(nodes, this.shape, node), window = graph.windowOf(node), above = tree.parent[node];
		const isNew = parents.some(p => !this.opened.has(p));
		if (!isNew)
			return false;
		parents.forEach(p => this.opened.add(p));
		this.set({ zoom: pathOf(tree, above).join("."), open: [...this.opened].join(".") });
		this.applyBoxes();
		this.applyTransforms();
		this.applyWeights();
		this.applyView(true);
		this.applyFound();
		graph.animate(window);
		return true;
	}

	// Boxes "other" that were opened are one box each again.
	closeOthers() {
		this.opened.clear();
		this.set({ zoom: "", open: "" });
		this.applyBoxes();
		this.applyTransforms();
		this.applyWeights();
		this.applyView(true);
		this.applyFound();
	}

	// The call tree with what is in boxes "other". After transforms, these boxes are all there is.
	wholeNow() {
		const range = this.timeline.range || { from: 0, to: Infinity }, { nodes } = this.profile;
		if (!this.whole)
			this.whole = !nodes.hasLight || this.transforms.length ? this.tree
				: callTree(this.profile, nodes, this.choice.event, this.byEvents, range.from, range.to, this.choice.thread);
		return this.whole;
	}

	applyTransforms() {
		const list = this.transforms;
		this.shape = transformNodes(this.boxes, list);
		$("recursion").setAttribute("aria-pressed", list.some(t => t.kind === "recursion"));
		$("transforms").hidden = !list.length && !this.opened.size;
		const closing = element("button", { textContent: 'boxes "other" are open ✕', title: "Close them" });
		closing.addEventListener("click", () => this.closeOthers());
		$("transforms").replaceChildren(...(this.opened.size ? [closing] : []), ...list.map(t => {
			const text = t.kind === "recursion" ? "recursion collapsed" : `${t.kind === "hide" ? "hidden" : "focus"}: ${this.profile.names[t.frame]}`;
			const chip = element("button", { textContent: `${text} ✕`, title: "Undo" });
			chip.addEventListener("click", () => this.setTransforms(this.transforms.filter(o => o.kind !== t.kind || o.frame !== t.frame)));
			return chip;
		}));
	}

	applyRangeText() {
		const { range } = this.timeline, { thread } = this.choice;
		const digits = range && this.timeline.isFine ? digitsFor((range.to - range.from) / 100) : 0;
		const text = range ? `${formatMoment(range.from, digits)} – ${formatMoment(range.to, digits)}` : "";
		$("range").textContent = text;
		$("all-time").hidden = !range;
		$("zoom-time").hidden = !range || !this.timeline.isFine;
		$("one-thread").hidden = thread < 0;
		$("one-thread").textContent = thread < 0 ? "" : `${this.tracks.nameOf(thread)} ✕`;
		$("timeline").setAttribute("aria-valuetext", text || "all of it");
		$("timeline").setAttribute("aria-valuemin", this.timeline.first);
		$("timeline").setAttribute("aria-valuemax", this.timeline.end);
		$("timeline").setAttribute("aria-valuenow", range ? range.from : this.timeline.first);
	}

	chartLines(tree, node) {
		const { from } = this.timeline.range || this.timeline.view;
		return [["from", formatMoment(from + tree.x[node] / 1e6, 6), ""],
			["lasts", formatNanoseconds(tree.total[node] * 1000), ""],
			["thread", this.chartThread >= 0 ? this.tracks.nameOf(this.chartThread) : "", ""]];
	}

	// What a thread does at a moment.
	showTrackTip(event) {
		const { tracks, timeline } = this, row = tracks.rowAt(event.offsetY), state = row && tracks.stateAt(row, event.offsetX);
		$("tip").hidden = !row;
		if (!row)
			return;
		const frame = state ? this.profile.nodes.frame[state.node] : -1;
		const lines = state ? [[state.text, formatNanoseconds(state.length * 1000), ""],
				       ["until", formatMoment(state.to, 6), ""]] : [["idle", "", ""]];
		this.fillTip(`${tracks.nameOf(row.thread)} · ${formatMoment(timeline.secondAt(event.offsetX), 6)}`,
			     frame >= 0 ? this.profile.names[frame] : "", lines, event);
	}

	// What a bucket of the timeline holds.
	showMomentTip(event) {
		const { timeline } = this, at = timeline.binAt(event.offsetX);
		const sum = timeline.weights.reduce((all, w) => all + w[at], 0), from = timeline.view.from + at * timeline.bin;
		const digits = timeline.isFine ? digitsFor(timeline.bin / 10) : 0;
		const lines = [["all", formatWeight(sum, this.unit), ""]];
		MODES.forEach((mode, m) => timeline.weights[m][at] &&
			lines.push([mode, formatWeight(timeline.weights[m][at], this.unit), formatPercent(timeline.weights[m][at], sum)]));
		if (timeline.matched)
			lines.push([this.matches ? "found" : "selected", formatWeight(timeline.matched[at], this.unit),
				    formatPercent(timeline.matched[at], sum)]);
		if (timeline.lost[at])
			lines.push(["lost", formatWeight(timeline.lost[at], "samples"), ""]);
		$("tip").hidden = false;
		this.fillTip(`${formatMoment(from, digits)} – ${formatMoment(from + timeline.bin, digits)}`, "", lines, event);
	}
}
