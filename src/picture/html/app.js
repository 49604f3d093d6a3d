// SPDX-License-Identifier: GPL-2.0-or-later
// The page: what is chosen, and everything that follows from it. The address keeps the choice.
"use strict";

const ADDRESS_MS = 150; // browsers refuse an address that changes with every frame

class App extends TimeViews {
	constructor(profile) {
		super();
		this.profile = profile;
		this.first = { ...FIRST_CHOICE, weight: profile.header.weight,
			       colour: profile.baseline ? "difference" : "image" };
		this.code = new CodeView($("code"), $("code-data"), profile);
		this.showTabs();
		this.choice = { ...this.first, ...this.changedOf(choiceFromAddress()) };
		this.readOpened();
		this.colours = new Colours(profile);
		this.makeParts();
		this.fillHead();
		this.fillSelects();
		this.applyBoxes();
		this.listen();
		this.applyTheme();
		this.timeline.setLane(this.choice.event, this.byEvents, this.choice.thread);
		this.applyAll();
	}

	changedOf(choice) {
		const changed = Object.entries(choice).filter(([key, value]) => value !== FIRST_CHOICE[key]);
		const given = Object.fromEntries(changed);
		if (!(given.event >= 0 && given.event < this.profile.lanes.length))
			delete given.event;
		const views = [...$("views").children].filter(tab => !tab.hidden).map(tab => tab.dataset.view);
		if (!views.includes(given.view))
			delete given.view;
		if (!(given.thread >= 0 && given.thread < this.profile.threads.length))
			delete given.thread;
		return given;
	}

	makeParts() {
		const actions = {
			hover: (graph, node, event) => this.showTip(graph, node, event),
			select: (graph, node) => this.showStatus(graph, node),
			zoomed: graph => this.onZoom(graph),
			menu: (graph, node) => this.openSandwich(graph.tree.frame[node]),
		};
		const graphOn = canvas => {
			const graph = new Graph(canvas, this.profile, this.colours, {
				hover: (node, event) => actions.hover(graph, node, event),
				select: node => actions.select(graph, node),
				zoomed: () => actions.zoomed(graph),
				menu: node => actions.menu(graph, node),
				open: node => this.openOther(graph, node),
			});
			return graph;
		};
		this.upper = graphOn($("upper"));
		this.lower = graphOn($("lower"));
		this.lower.isUpward = false;
		this.active = this.upper;
		this.timeline = new Timeline($("timeline"), this.profile, this.colours, range => this.onRange(range), () => this.onTimeView());
		this.tracks = new Tracks($("tracks"), this.timeline, this.profile, this.colours, thread => this.chooseThread(thread));
		this.heat = new HeatMap($("heat"), this.timeline, this.profile, this.colours);
		$("panels").hidden = !this.profile.hasMoments;
		this.table = new Table($("list"), this.profile, this.colours, {
			choose: frame => this.chooseFrame(frame),
			open: frame => this.openSandwich(frame),
		});
	}

	get lane() {
		return this.profile.lanes[this.choice.event];
	}

	get byEvents() {
		return this.choice.weight === "events";
	}

	get unit() {
		return this.byEvents ? this.lane.unit : "samples";
	}

	set(changes) {
		Object.assign(this.choice, changes);
		if (!this.addressPending)
			this.addressPending = setTimeout(() => this.keepAddress(), ADDRESS_MS);
	}

	keepAddress() {
		clearTimeout(this.addressPending);
		this.addressPending = 0;
		history.replaceState(null, "", addressOf(this.choice, this.first));
		hostWindow?.dispatchEvent(new hostWindow.CustomEvent("assay-choice", { detail: location.hash }));
	}

	// ---- what follows from the choice ----

	applyAll() {
		const [from, to] = this.choice.time.split("-").map(Number), { timeline } = this;
		timeline.range = this.choice.time && to > from
			? { from: Math.max(timeline.first, from), to: Math.min(timeline.end, to) } : null;
		this.tracks.thread = this.choice.thread;
		this.applyTransforms();
		this.applyPanel();
		$("search").value = this.choice.search;
		$("colour").value = this.choice.colour;
		$("event").value = this.choice.event;
		$("weight").value = this.choice.weight;
		this.findMatches();
		this.applyColours();
		this.applyWeights();
		this.applyView(true);
		this.applyRangeText();
	}

	// The call tree of the range, from which all else is made.
	applyWeights() {
		const range = this.timeline.range || { from: 0, to: Infinity };
		this.tree = callTree(this.profile, this.shape, this.choice.event, this.byEvents, range.from, range.to, this.choice.thread);
		this.sums = null;
		this.inverted = null;
		this.whole = null;
		this.differ = this.differenceOf(range);
	}

	differenceOf(range) {
		if (!this.profile.baseline)
			return null;
		const { profile } = this, { base } = this.lane, count = weights => weights.reduce((a, b) => a + b, 0) || 1;
		const own = sumSelf(profile, this.choice.event, false, range.from, range.to, this.choice.thread);
		return { whole: this.tree.total[0] || 1, base: this.tree.totalBase[0] || 1, samples: count(own),
			 baseSamples: count(sumCells(base, profile.nodes.n, false, 0, Infinity, profile.width)) };
	}

	sumsNow() {
		return this.sums = this.sums || sumFrames(this.wholeNow(), this.profile.names.length);
	}

	invertedNow() {
		return this.inverted = this.inverted || invertedTree(this.wholeNow(), this.profile.names.length);
	}

	applyView(isNew) {
		const { view, direction } = this.choice, nFrames = this.profile.names.length;
		const isSandwich = view === "sandwich";
		$("main").dataset.view = view;
		for (const tab of $("views").children) {
			tab.setAttribute("aria-selected", tab.dataset.view === view);
			tab.tabIndex = tab.dataset.view === view ? 0 : -1;
		}
		$("lower").hidden = $("middle").hidden = !isSandwich;
		$("code").hidden = view !== "code";
		$("upper").style.flexGrow = 1;
		$("direction").hidden = isSandwich || view === "table" || view === "chart";
		$("direction").textContent = direction === "up" ? "Flame ▲" : "Icicle ▼";
		$("upper").setAttribute("aria-label", { graph: "Call tree", inverted: "Inverted call tree: callers of functions",
						       sandwich: "Callers", table: "", code: "Call tree", chart: "Stacks in the order of time" }[view]);
		this.upper.isUpward = isSandwich || (direction === "up" && view !== "chart");
		$("empty").hidden = this.tree.total[0] > 0;
		$("empty").textContent = "No samples in this range of time.";
		for (const graph of [this.upper, this.lower]) {
			graph.differ = this.differ;
			graph.matches = this.matches;
		}
		if (isSandwich)
			this.applySandwich();
		else if (view === "inverted")
			this.showTree(this.invertedNow(), true);
		else if (view === "graph" || view === "code")
			this.showTree(this.tree, isNew);
		else if (view === "chart")
			this.showChart();
		if (isSandwich || view === "table")
			this.applyTable();
		fillLegend(this);
		this.applyReset();
		this.showStatus(this.active, this.active.selected);
	}

	showTree(tree, isNew) {
		const { upper } = this, isSame = !isNew && upper.tree && upper.tree.n === tree.n && upper.shown === this.choice.view;
		if (isSame) {
			upper.reweigh(tree);
		} else {
			upper.setTree(tree, 0);
			upper.shown = this.choice.view;
			const path = this.choice.zoom ? this.choice.zoom.split(".").map(Number) : [];
			upper.zoomNode = nodeAtPath(tree, path);
			upper.view = upper.windowOf(upper.zoomNode);
			upper.draw();
		}
		this.active = upper;
	}

	applySandwich() {
		const nFrames = this.profile.names.length, sums = this.sumsNow();
		let frame = this.choice.frame;
		if (!(frame >= 0 && frame < nFrames))
			frame = this.heaviestFrame();
		this.frame = frame;
		const callers = callersTree(this.wholeNow(), frame, nFrames), callees = calleesTree(this.wholeNow(), frame);
		$("upper").style.flexGrow = Math.max(4, Math.min(40, callers.deepest));
		$("lower").style.flexGrow = Math.max(4, Math.min(40, callees.deepest));
		this.upper.setTree(callers, 1);
		this.lower.setTree(callees, 1);
		this.upper.shown = "sandwich";
		const total = sums.total[frame];
		$("middle").textContent = `${this.profile.names[frame]}   ${formatPercent(total, this.tree.total[0])} of all, ` +
			`${formatPercent(sums.self[frame], this.tree.total[0])} itself`;
	}

	applyTable() {
		this.table.current = this.choice.view === "sandwich" ? this.frame : this.choice.frame;
		this.table.set(this.sumsNow(), this.tree.total[0], this.tree.totalBase[0], this.unit, this.matches);
	}

	applyReset() {
		$("reset").hidden = this.choice.view === "table" || !(this.upper.isZoomed || (this.choice.view === "sandwich" && this.lower.isZoomed));
	}

	// ---- search ----

	findMatches() {
		const words = this.choice.search.trim();
		this.matches = null;
		if (!words)
			return;
		let test;
		try {
			const pattern = new RegExp(words, "i");
			test = text => pattern.test(text);
		} catch {
			test = text => text.toLowerCase().includes(words.toLowerCase());
		}
		const images = this.profile.images.map(i => test(i.name));
		this.matches = Uint8Array.from(this.profile.names, (name, f) =>
			test(name) || (this.profile.image[f] >= 0 && images[this.profile.image[f]]) ? 1 : 0);
	}

	applySearch() {
		this.findMatches();
		this.upper.matches = this.lower.matches = this.matches;
		this.upper.draw();
		this.lower.draw();
		if (this.choice.view === "sandwich" || this.choice.view === "table")
			this.applyTable();
		this.applyFound();
		this.applyTimelineMarks();
	}

	// Selects the next box, in the order of the graph, that the search found.
	nextMatch(step) {
		const { tree, selected } = this.upper;
		if (!this.matches || !tree || this.choice.view === "table")
			return;
		for (let k = 1, i = Math.max(selected, 0); k < tree.n; k++) {
			i = (i + step + tree.n) % tree.n;
			if (i > 0 && tree.total[i] > 0 && this.matches[tree.frame[i]]) {
				this.upper.select(i);
				return;
			}
		}
	}

	applyFound() {
		const found = $("found");
		if (!this.matches) {
			found.textContent = "";
			return;
		}
		const { sum } = matchedWeight(this.wholeNow(), this.matches);
		found.className = sum > 0 ? "" : "none";
		found.dataset.weight = sum;
		found.textContent = sum > 0 ? `${formatPercent(sum, this.tree.total[0])}, ${formatWeight(sum, this.unit)}`
					    : "nothing found";
	}

	// ---- events of the parts ----

	onRange(range) {
		this.set({ time: range ? `${Number(range.from.toFixed(6))}-${Number(range.to.toFixed(6))}` : "" });
		this.applyRangeText();
		this.drawPanels();
		if (this.followPending)
			return;
		this.followPending = requestAnimationFrame(() => {
			this.followPending = 0;
			this.applyWeights();
			this.applyView(false);
			this.applyFound();
		});
	}

	onZoom(graph) {
		if (graph === this.upper && this.choice.view !== "sandwich")
			this.set({ zoom: pathOf(graph.tree, graph.zoomNode).join(".") });
		this.applyReset();
	}

	chooseFrame(frame) {
		this.set({ frame });
		if (this.choice.view === "sandwich")
			this.applySandwich();
		this.table.show(frame);
		this.showFrame(frame);
	}

	openSandwich(frame) {
		if (frame < 0 || this.profile.image[frame] < 0)
			return;
		this.set({ view: "sandwich", frame, zoom: "" });
		this.applyView(true);
		this.table.show(frame);
		this.showFrame(frame);
	}

	// ---- what is said of a frame ----

	numbersOf(tree, node) {
		const whole = this.tree.total[0], total = tree.total[node], self = tree.self[node];
		return { total, self, ofAll: formatPercent(total, whole), selfOfAll: formatPercent(self, whole),
			 ofParent: node > 0 ? formatPercent(total, tree.total[tree.parent[node]]) : "" };
	}

	imageText(frame) {
		const image = frame >= 0 ? this.profile.image[frame] : IMAGE_OTHER;
		if (image >= 0)
			return this.profile.images[image].path || this.profile.images[image].name;
		return image === IMAGE_GROUP ? "samples of this group"
		       : frame >= 0 ? "calls too light for a box each; a click opens them" : "";
	}

	// [what, weight, share] of each line that there is to say.
	linesOf(graph, node) {
		const { tree } = graph;
		if (tree.isChart)
			return this.chartLines(tree, node);
		const n = this.numbersOf(tree, node), isCalls = graph === this.lower || ["graph", "code"].includes(this.choice.view);
		const lines = [["total", formatWeight(n.total, this.unit), n.ofAll + " of all"]];
		if (isCalls)
			lines.push(["self", formatWeight(n.self, this.unit), n.selfOfAll + " of all"]);
		if (node > 0 && tree.depth[node] > 0)
			lines.push([isCalls ? "of its caller" : "of what it calls", "", n.ofParent]);
		if (this.differ) {
			const now = n.total / this.differ.whole, then = tree.totalBase[node] / this.differ.base;
			lines.push(["baseline", formatWeight(tree.totalBase[node], this.unit),
				    formatPercent(tree.totalBase[node], this.differ.base) + " of it"]);
			lines.push(["change", "", formatPoints(now - then) + " points"]);
		}
		return lines;
	}

	showTip(graph, node, event) {
		const tip = $("tip");
		tip.hidden = node < 0 || !event;
		if (tip.hidden)
			return;
		const frame = graph.tree.frame[node];
		this.fillTip(graph.nameOf(frame), this.imageText(frame), this.linesOf(graph, node), event);
	}

	fillTip(name, image, lines, event) {
		const tip = $("tip");
		tip.replaceChildren(
			element("div", { className: "name", textContent: name }),
			element("div", { className: "image", textContent: image }),
			element("table", {}, element("tbody", {}, ...lines.map(line =>
				element("tr", {}, ...line.map(text => element("td", { textContent: text })))))));
		const box = tip.getBoundingClientRect(), x = event.clientX + 14, y = event.clientY + 18;
		tip.style.left = Math.max(4, Math.min(x, innerWidth - box.width - 8)) + "px";
		tip.style.top = (y + box.height + 8 > innerHeight ? Math.max(4, event.clientY - box.height - 12) : y) + "px";
	}

	// When the selected box ran, over the timeline; what is searched for comes first.
	applyTimelineMarks() {
		const { tree, selected } = this.active, { nodes } = this.profile;
		let chosen = null;
		if (this.matches) {
			chosen = matchedNodes(nodes, this.matches);
		} else if (tree === this.tree && selected > 0) {
			chosen = nodesBelow(nodes, this.shape, selected);
		} else if (tree && selected > 0) {
			const isFrame = new Uint8Array(this.profile.names.length);
			isFrame[tree.frame[selected]] = 1;
			chosen = matchedNodes(nodes, isFrame);
		}
		if (chosen || this.timeline.chosen)
			this.timeline.setMatched(chosen, Boolean(this.matches));
	}

	showStatus(graph, node) {
		this.active = graph;
		this.applyTimelineMarks();
		const hasNode = node >= 0 && graph.tree && node < graph.tree.n, frame = hasNode ? graph.tree.frame[node] : -1;
		$("to-sandwich").disabled = !hasNode || frame < 0 || this.profile.image[frame] < 0;
		$("copy-name").disabled = $("copy-stack").disabled = !hasNode || frame < 0;
		$("hide-function").disabled = $("focus-function").disabled = $("to-sandwich").disabled;
		if (this.choice.view === "code")
			this.code.show(frame >= 0 ? frame : this.heaviestFrame(), this.choice.event);
		if (!hasNode) {
			this.say(this.choice.view === "table" ? "" : "all", this.wholeText());
			return;
		}
		const lines = this.linesOf(graph, node).map(([what, weight, share]) =>
			[what + " ", [weight, share].filter(Boolean).join(", ")]);
		this.say(graph.nameOf(frame), [...lines, ["", this.imageText(frame)]]);
	}

	wholeText() {
		return [["", `${formatWeight(this.tree.total[0], this.unit)}${this.timeline.range ? " in the range of time" : ""}`],
			["", `${formatCount(this.tree.n - 1)} boxes`]];
	}

	showFrame(frame) {
		const sums = this.sumsNow(), whole = this.tree.total[0];
		$("copy-name").disabled = false;
		$("to-sandwich").disabled = this.profile.image[frame] < 0;
		$("hide-function").disabled = $("focus-function").disabled = $("to-sandwich").disabled;
		this.say(this.profile.names[frame], [
			["total ", `${formatWeight(sums.total[frame], this.unit)}, ${formatPercent(sums.total[frame], whole)} of all`],
			["self ", `${formatWeight(sums.self[frame], this.unit)}, ${formatPercent(sums.self[frame], whole)} of all`],
			["", this.imageText(frame)],
		]);
		this.spoken = frame;
	}

	say(name, parts) {
		const numbers = element("div", { className: "numbers" });
		parts.filter(([, text]) => text).forEach(([what, text], i) =>
			numbers.append(i ? "  ·  " : "", what, element("b", { textContent: text })));
		$("status").replaceChildren(element("div", { className: "name", textContent: name, title: name }), numbers);
		this.spoken = -1;
	}

	selectedFrame() {
		const { tree, selected } = this.active;
		if (this.spoken >= 0)
			return this.spoken;
		return tree && selected >= 0 ? tree.frame[selected] : -1;
	}

	// The stack of the selected box, innermost first, as people paste it.
	stackText() {
		const { tree, selected } = this.active, isCalls = ["graph", "code"].includes(this.choice.view) || this.active === this.lower;
		const path = pathOf(tree, selected);
		if (this.choice.view === "sandwich")
			path.unshift(this.frame);
		return (isCalls ? path.reverse() : path).map(f => {
			const image = this.profile.image[f];
			return this.profile.names[f] + (image >= 0 ? ` (${this.profile.images[image].name})` : "");
		}).join("\n") + "\n";
	}

	async copy(text, button) {
		const label = button.textContent;
		try {
			await navigator.clipboard.writeText(text);
		} catch {
			const area = element("textarea", { value: text });
			document.body.append(area);
			area.select();
			document.execCommand("copy");
			area.remove();
		}
		this.copied = text;
		button.textContent = "Copied";
		setTimeout(() => button.textContent = label, 900);
	}

	// ---- head and foot ----

	fillHead() {
		const { header } = this.profile, { samples, machine } = header;
		const lost = header.losses.filter(l => l.kind === "lost").reduce((sum, l) => sum + l.n, 0);
		const facts = [
			[samples.selected === samples.stored ? "" : `of ${formatCount(samples.stored)}`,
			 formatWeight(samples.selected, "samples"), ""],
			["", lost ? `${formatCount(lost)} lost (${formatPercent(lost, samples.stored + lost)})` : "0 lost", lost ? "lost" : "whole"],
			["", header.duration_seconds ? `${header.duration_seconds.toFixed(1)}${NBSP}s` : "", ""],
			["", header.events.map(e => e.name).join(", "), ""],
			[[machine.cpus ? `${machine.cpus} CPUs` : "", machine.cpu_model].filter(Boolean).join(", "), machine.hostname, "minor"],
			["", header.filters, ""],
			[header.start ? "" : "", header.start.replace("T", " ").slice(0, 16), "minor"],
			[this.profile.baseline ? "against" : "", this.profile.baseline ? this.profile.baseline.session : "", ""],
		];
		$("title").textContent = header.command || header.target || "assay";
		$("title").title = header.command;
		$("facts").replaceChildren(...facts.filter(([, text]) => text).map(([more, text, kind]) =>
			element("li", { className: kind }, ...kind === "" && more === "against" ? [more + " ", element("b", { textContent: text })]
										      : [element("b", { textContent: text }), more ? " " + more : ""])));
		this.fillDetails();
	}

	fillDetails() {
		const { header, hidden, width } = this.profile, { machine } = header, list = element("dl", {});
		const put = (what, text, isBad) => {
			if (text)
				list.append(element("dt", { textContent: what }),
					    element("dd", { textContent: text, className: isBad ? "bad" : "" }));
		};
		put("session", header.session);
		put("command", header.command);
		put("target", header.target);
		for (const e of header.events)
			put("event", `${e.name}${e.freq_hz ? `, ${e.freq_hz} samples a second` : e.count ? `, a sample every ${formatCount(e.count)} ${e.unit}` : ""}` +
				`${e.user && e.kernel ? ", user and kernel" : e.user ? ", user only" : e.kernel ? ", kernel only" : ""}`);
		put("machine", [machine.hostname, machine.cpu_model, machine.cpus ? `${machine.cpus} CPUs` : "",
				machine.os_release, machine.arch].filter(Boolean).join(", "));
		put("time", `${header.start}, ${header.duration_seconds.toFixed(1)} s${header.ended ? "" : "; no end: the recorder was killed, or still runs"}`);
		put("call chains", header.stacks);
		put("filters", header.filters);
		put("idle", header.samples.idle_hidden ? `${formatCount(header.samples.idle_hidden)} samples of idle processors are not shown` : "");
		put("left out", header.samples.filtered ? `${formatCount(header.samples.filtered)} samples by the filters` : "");
		for (const l of header.losses)
			put({ lost: "lost", unattributed: "unknown", note: "note" }[l.kind], `${formatCount(l.n)}: ${l.text}`, l.kind === "lost");
		if (!header.losses.some(l => l.kind === "lost"))
			put("lost", "0");
		put("note", header.note);
		for (const w of header.warnings)
			put("warning", w, true);
		for (const i of header.images)
			put("symbols", i.text);
		if (hidden.nodes)
			put("other", `${formatCount(hidden.nodes)} boxes of less than ${hidden.below_percent.toPrecision(2)} % each are joined to boxes named "other", which a click opens` +
				`${hidden.joined ? `; ${formatCount(hidden.joined)} of them are not in this page` : ""}; all totals hold`);
		if (width > 1)
			put("timeline", `in steps of ${width} seconds`);
		put("baseline", this.profile.baseline ? `${this.profile.baseline.session}: ${formatWeight(this.profile.baseline.samples, "samples")}` : "");
		put("recorded by", `assay ${header.version}, ${header.collector}`);
		$("details").replaceChildren(list);
	}

	fillSelects() {
		const { lanes } = this.profile;
		$("event").replaceChildren(...lanes.map((lane, i) => element("option", { value: i, textContent: lane.event })));
		$("event-label").hidden = lanes.length < 2;
		this.fillWeights();
		$("colour").querySelector("[value=language]").hidden = !this.profile.hasLanguages;
		if (this.profile.baseline)
			Object.assign($("colour").querySelector("[value=difference]"), { hidden: false, disabled: false });
	}

	fillWeights() {
		const unit = this.lane.unit === "ns" ? "time" : this.lane.unit;
		$("weight").replaceChildren(element("option", { value: "samples", textContent: "samples" }),
					    element("option", { value: "events", textContent: unit }));
		$("weight").value = this.choice.weight;
	}

	applyTheme() {
		const chosen = this.themeChoice || "auto", wantsDark = matchMedia("(prefers-color-scheme: dark)").matches;
		const isDark = chosen === "dark" || (chosen === "auto" && wantsDark);
		document.documentElement.dataset.theme = isDark ? "dark" : "light";
		$("theme").textContent = { auto: "Auto", light: "Light", dark: "Dark" }[chosen];
		$("theme").setAttribute("aria-label", `Colours of the page: ${$("theme").textContent}`);
		const style = getComputedStyle(document.documentElement), get = name => style.getPropertyValue(name).trim();
		this.colours.theme = {
			paper: get("--paper"), ink: get("--ink"), faint: get("--faint"), line: get("--line"), accent: get("--accent"),
			match: get("--match"), onMatch: get("--on-match"), onBox: get("--on-box"), dust: get("--dust"),
			dimmed: Number(get("--dimmed")), veil: get("--veil"), loss: get("--loss"),
		};
		this.isDark = isDark;
		this.applyColours();
	}

	applyColours() {
		this.colours.set(this.choice.colour, this.isDark);
		this.upper.draw();
		this.lower.draw();
		if (this.timeline.weights)
			this.timeline.draw();
		this.drawPanels();
		if (this.tree) {
			fillLegend(this);
			this.table.draw();
		}
	}

	search(words) {
		$("search").value = words;
		this.set({ search: words });
		this.applySearch();
	}

	// ---- input ----

	listen() {
		const on = (id, event, act) => $(id).addEventListener(event, act);
		on("views", "click", e => e.target.dataset.view && this.openView(e.target.dataset.view));
		on("views", "keydown", e => onTabKey(this, e));
		on("direction", "click", () => this.turn());
		on("colour", "change", e => { this.set({ colour: e.target.value }); this.applyColours(); });
		on("event", "change", e => this.changeWeights({ event: Number(e.target.value) }));
		on("weight", "change", e => this.changeWeights({ weight: e.target.value }));
		on("search", "input", e => { this.set({ search: e.target.value }); this.applySearch(); });
		on("search", "keydown", e => {
			if (e.key === "Escape") {
				this.search("");
				e.target.blur();
			} else if (e.key === "Enter") {
				this.nextMatch(e.shiftKey ? -1 : 1);
			}
			e.stopPropagation();
		});
		on("reset", "click", () => this.zoomOut());
		on("all-time", "click", () => this.timeline.setRange(null));
		on("zoom-time", "click", () => this.timeline.setView(this.timeline.range.from, this.timeline.range.to - this.timeline.range.from));
		on("whole-view", "click", () => this.timeline.setView(this.timeline.first, Infinity));
		on("one-thread", "click", () => this.chooseThread(-1));
		on("show-tracks", "click", () => this.togglePanel("tracks"));
		on("show-heat", "click", () => this.togglePanel("heat"));
		on("hide-function", "click", () => this.addTransform("hide"));
		on("focus-function", "click", () => this.addTransform("focus"));
		on("recursion", "click", () => this.toggleRecursion());
		on("tracks", "pointermove", e => this.showTrackTip(e));
		on("tracks", "pointerleave", () => $("tip").hidden = true);
		on("to-sandwich", "click", () => this.openSandwich(this.selectedFrame()));
		on("copy-name", "click", e => this.copy(this.profile.names[this.selectedFrame()], e.target));
		on("copy-stack", "click", e => this.copy(this.stackText(), e.target));
		on("copy-link", "click", e => {
			this.keepAddress();
			this.copy((hostWindow ?? window).location.href, e.target);
		});
		on("about", "click", () => this.toggleDetails());
		on("theme", "click", () => {
			const order = ["auto", "light", "dark"];
			this.themeChoice = order[(order.indexOf(this.themeChoice || "auto") + 1) % 3];
			this.applyTheme();
		});
		on("help", "click", () => showKeys());
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.applyTheme());
		new ResizeObserver(() => this.table.draw()).observe($("main"));
		new ResizeObserver(() => this.timeline.resize()).observe($("timeline"));
		new ResizeObserver(() => this.choice.panel === "tracks" && this.tracks.resize()).observe($("tracks-box"));
		new ResizeObserver(() => this.choice.panel === "heat" && this.heat.resize()).observe($("heat-box"));
		for (const graph of [this.upper, this.lower])
			new ResizeObserver(() => graph.resize()).observe(graph.canvas);
		on("timeline", "pointermove", e => this.showMomentTip(e));
		on("timeline", "pointerleave", () => $("tip").hidden = true);
		addEventListener("keydown", e => onPageKey(this, e));
		addEventListener("hashchange", () => {
			this.choice = { ...this.first, ...this.changedOf(choiceFromAddress()) };
			this.readOpened();
			this.applyBoxes();
			this.timeline.setLane(this.choice.event, this.byEvents, this.choice.thread);
			this.applyAll();
			this.applySearch();
		});
	}

	openView(view) {
		this.set({ view, zoom: "" });
		this.applyView(true);
	}

	changeWeights(changes) {
		this.set(changes);
		this.fillWeights();
		this.timeline.setLane(this.choice.event, this.byEvents, this.choice.thread);
		this.applyWeights();
		this.applyView(false);
		this.applySearch();
	}

	turn() {
		this.set({ direction: this.choice.direction === "up" ? "down" : "up" });
		this.upper.scroll = 0;
		this.applyView(false);
	}

	zoomOut() {
		this.upper.zoomTo(0);
		if (this.choice.view === "sandwich")
			this.lower.zoomTo(0);
	}

	toggleDetails() {
		const isShown = $("details").toggleAttribute("hidden") === false;
		$("about").setAttribute("aria-expanded", isShown);
	}
}
