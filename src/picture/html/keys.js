// SPDX-License-Identifier: GPL-2.0-or-later
// The keys of the whole page.
"use strict";

function onTabKey(app, e) {
	const tabs = [...$("views").children].filter(tab => !tab.hidden), step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
	if (!step)
		return;
	const next = tabs[(tabs.indexOf(e.target) + step + tabs.length) % tabs.length];
	next.focus();
	app.openView(next.dataset.view);
}

function onPageKey(app, e) {
	const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
	const isFind = e.key === "f" && (e.ctrlKey || e.metaKey);
	if (isFind || (e.key === "/" && !isTyping)) {
		e.preventDefault();
		$("search").focus();
		$("search").select();
		return;
	}
	if (isTyping || e.ctrlKey || e.metaKey || e.altKey || $("keys").open)
		return;
	const acts = {
		1: () => app.openView("graph"), 2: () => app.openView("inverted"),
		3: () => app.openView("sandwich"), 4: () => app.openView("table"),
		5: () => app.profile.hasMoments && app.openView("chart"), 6: () => app.code.isThere && app.openView("code"),
		h: () => app.addTransform("hide"), f: () => app.addTransform("focus"), r: () => app.toggleRecursion(),
		i: () => app.turn(),
		s: () => app.openSandwich(app.selectedFrame()),
		c: () => !$("copy-stack").disabled && app.copy(app.stackText(), $("copy-stack")),
		d: () => app.toggleDetails(),
		g: () => $("upper").focus(),
		t: () => $("timeline").focus(),
		"?": () => showKeys(),
		Escape: () => escapeOneStep(app),
	};
	if (acts[e.key]) {
		e.preventDefault();
		acts[e.key]();
	}
}

function escapeOneStep(app) {
	if (!$("reset").hidden)
		app.zoomOut();
	else if (app.choice.search)
		app.search("");
	else if (app.choice.transforms)
		app.setTransforms([]);
	else if (app.opened.size)
		app.closeOthers();
	else if (app.timeline.range)
		app.timeline.setRange(null);
}

function showKeys() {
	const keys = [
		["/", "search, also as a regular expression; Enter goes from box to box"], ["1 2 3 4 5 6", "call tree, inverted, sandwich, table, stack chart, code"],
		["i", "flame graph or icicle graph"], ["g", "to the graph"],
		["↑ ↓ ← →", "in the graph: callees, callers, neighbours"], ["Enter", "zoom to the box"],
		["Backspace", "zoom out one step"], ["+ −", "zoom; also Ctrl and the wheel"], ["Home", "all of it"],
		["s", "callers and callees of the selected function; also a right click"], ["c", "copy the stack"],
		["h", "hide the selected function"], ["f", "focus on it"], ["r", "collapse recursion"],
		["t", "to the timeline; ← → move the range, with Shift they stretch it; + − zoom, Enter zooms to the range, Home shows all"], ["d", "details of the session"],
		["Esc", "undo: zoom, search, transforms, open boxes, range of time"],
	];
	const close = element("button", { textContent: "Close" });
	close.addEventListener("click", () => $("keys").close());
	$("keys").replaceChildren(element("h2", { textContent: "Keys" }), element("dl", {}, ...keys.flatMap(([key, what]) =>
		[element("dt", {}, ...key.split(" ").flatMap(k => [element("kbd", { textContent: k }), " "])), element("dd", { textContent: what })])), close);
	$("keys").showModal();
}
