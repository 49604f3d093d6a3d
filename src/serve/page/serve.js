// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `assay serve`. It asks the API (docs/api.md), and writes names as text only.

import { coverageText, factsView, loadingText, processesView } from "./facts.js";
import { fleetParts, fleetViews, isFleet } from "./fleet.js";
import { focusAgain } from "./list.js";
import { ask, base, byId, element, number, pause, problemOf, quoted, request, share, showTable } from "./parts.js";
import { asOneOperand, offerCompletions, operands, valueOf, withMatcher } from "./selector.js";
import { seriesChart, timeText } from "./series.js";

const fields = ["source", "baseline", "view", "event", "by", "frames", "filter", "since", "until", "baseline_filter", "against", "time", "tid"];
const emptied = ["frames", "filter", "since", "until", "event", "baseline", "baseline_filter", "against", "time", "tid"]; // if the address has none
const downloads = [["page", "HTML"], ["svg", "SVG"], ["pprof", "pprof"], ["folded", "folded"], ["speedscope", "speedscope"]];
const namesMs = 2000; // until a question whose names come later is asked again
const liveMs = 10000; // the server keeps answers of a moving window for so long
const aheadMs = 500; // the view's question goes ahead of the others for so long: several at once hold up each other
const sourcesMs = 10000; // the list of sources is not asked for more often
let asked = 0; // the number of the newest question: answers to older ones are dropped
let running = { address: "", n: 0, control: new AbortController() }; // the questions of the newest address
let sources = [], sourcesTime = 0, price; // of an hour of a CPU

// Questions of what is shown: the next address ends them, and with them their work on the server.
const askNow = (name, query) => ask(name, query, { signal: running.control.signal });

// Questions to the same address go on: live views and late names ask again.
function beginQuestions() {
	const { address } = running, now = location.hash;
	if (address === now)
		return;
	running.control.abort();
	running = { address: now, n: 0, control: new AbortController() };
}

function showProblem(sentence) {
	byId("problem").textContent = sentence;
	byId("problem").hidden = !sentence;
}

// ---- the state: the form, and the same in the address ----

function readForm() {
	const state = {};
	for (const field of fields)
		if (byId(field).value)
			state[field] = byId(field).value;
	if (state.by === "comm" && sourceOf(state.source)?.kind === "clickhouse") // it has no names of threads
		state.by = "service";
	return state;
}

function writeForm(state) {
	for (const field of fields)
		if (state[field] !== undefined)
			byId(field).value = state[field];
		else if (emptied.includes(field))
			byId(field).value = "";
	showFields();
}

const sourceOf = (name) => sources.find((one) => one.name === name);

// Fields that a view alone has, and views that a fleet alone has.
function showFields() {
	byId("fleet-views").hidden = byId("fleet-views").disabled = !isFleet(sourceOf(byId("source").value)) && !byId("view").selectedOptions[0]?.closest("#fleet-views");
	for (const label of document.querySelectorAll("[data-view]"))
		label.hidden = !label.dataset.view.split(" ").includes(byId("view").value);
}

function stateOfAddress() {
	return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

function queryOf(state, ...names) {
	const query = {};
	for (const name of names)
		if (state[name])
			query[name] = state[name];
	for (const name of ["filter", "baseline_filter"]) {
		if (name !== "filter" ? !query[name] : !names.includes(name))
			continue;
		const all = operands(state[name] ?? "");
		if (state.event)
			all.push(`event=${quoted(state.event)}`);
		query[name] = all.join("\n");
	}
	return query;
}

function go(changes) {
	const state = { ...readForm(), ...changes };
	location.hash = new URLSearchParams(Object.entries(state).filter(([, value]) => value)).toString();
}

// ---- views ----

// The name of a function, which leads to its callers and callees.
function functionLink(row) {
	if (!row.symbol || row.symbol.startsWith("("))
		return row.symbol ?? "";
	const button = element("button", row.symbol, { type: "button", class: "link" });
	button.addEventListener("click", () => go({ view: "function", by: "comm", filter: withMatcher(byId("filter").value, "symbol", row.symbol) }));
	return button;
}

const roles = { caller: "called by", self: "itself", callee: "calls" };
const nameless = { caller: "(nothing: it is the outermost)", callee: "(nothing)" };

const sampleColumns = [["Samples", (r) => number(r.samples), "number"], ["Share", (r) => share(r.percent), "number"]];
const own = (json) => json.rows.filter((r) => r.samples > 0); // the others are of callers

// ---- a processor trace, from a window of calls down to the instructions ----

const traceRows = 5000, instructionsNs = 1000;
const secondsOf = (ns) => `${Math.floor(ns / 1e9)}.${String(Math.floor(ns % 1e9)).padStart(9, "0")}`;
const windowOf = (from, to) => `${secondsOf(Math.max(from, 0))},${secondsOf(to)}`;

function goButton(title, changes) {
	const button = element("button", title, { type: "button", class: "link" });
	button.addEventListener("click", () => go(changes));
	return button;
}

// The picture of a window of calls; it asks for another window, and its calls are listed below if they are few.
const pictureInstructionsNs = 2000, windowShape = /^(0%-100%|\d+\.\d{9},\d+\.\d{9})$/;

async function listCalls(state, calls, list) {
	const query = { ...views.calls.first, ...queryOf(state, "source", "time", "tid") };
	if (calls > traceRows)
		list.replaceChildren(element("p", `More than ${number(traceRows)} calls: choose a shorter window to list them.`, { class: "quiet" }));
	else
		list.replaceChildren(showTrace(state, await askNow("calls", query), callColumns));
}

async function drawInstructions(state, frame) {
	const [from, to] = (state.time ?? "").split(",").map(Number);
	if (!((to - from) * 1e9 <= pictureInstructionsNs))
		return;
	const { rows } = await askNow("instructions", queryOf(state, "source", "time", "tid"));
	frame.contentWindow?.postMessage({ instructions: rows.filter((row) => row.time_ns) }, location.origin);
}

// A page in a frame. The server keeps the answer, so the frame gets it at once; a failure is shown here.
async function framed(name, query, hash, title) {
	const url = `/api/v1/${name}?${new URLSearchParams(query)}`, question = asked, answer = await request(url, { signal: running.control.signal });
	if (!answer.ok)
		throw await problemOf(answer);
	answer.body.cancel(); // the frame reads it
	if (question === asked)
		showProblem(answer.headers.get("X-Assay-Warning") ?? "");
	return element("iframe", undefined, { src: hash.startsWith("#") ? `${url}${hash}` : url, title }); // an address may hold anything
}

async function showCalls(state) {
	const question = asked, list = element("div"), made = element("div");
	const frame = await framed("timeline", { ...views.calls.first, ...queryOf(state, "source", "time") },
		state.tid ? `#tid=${encodeURIComponent(state.tid)}` : "", "Calls of each thread over time");
	const failed = (problem) => question === asked && showProblem(problem.message);
	made.append(frame, list);
	frame.takeMessage = (message) => {
		if (windowShape.test(message.time))
			go({ time: message.time });
		if (message.calls === undefined)
			return;
		drawInstructions(state, frame).catch(failed);
		listCalls(state, message.left_out ? Infinity : message.calls, list).catch(failed);
	};
	return made;
}

const functionOf = (place) => place?.symbol ?? base(place?.image) ?? "";

const callColumns = [
	["Kind", (r) => r.flags ?? r.error], ["Depth", (r) => r.depth, "number"], ["From", (r) => functionOf(r.frames?.[0])], ["To", (r) => functionOf(r.target)]];

// The windows around the one that is shown; the time of a row leads to the instructions from there on.
function showTrace(state, json, columns) {
	const made = element("div"), rows = json.rows.map(({ event, ...row }) => row), zooms = element("p", `${number(rows.length)} rows `);
	if (rows.length) {
		const first = rows[0].time_ns, last = rows[rows.length - 1].time_ns, middle = (first + last) / 2, half = Math.max((last - first) / 2, 10);
		for (const [title, factor] of [["10 times shorter", 0.1], ["10 times longer", 10]])
			zooms.append(goButton(title, { time: windowOf(middle - half * factor, middle + half * factor) }), " ");
	}
	if (state.view === "instructions")
		zooms.append(goButton("Calls", { view: "calls" }));
	if (rows.length > traceRows)
		zooms.append(`The first ${number(traceRows)} are shown: choose a shorter window.`);
	made.append(zooms, showTable(rows.slice(0, traceRows), [
		["Time", (r) => state.view === "calls" ? goButton(secondsOf(r.time_ns), { view: "instructions", tid: r.tid, time: windowOf(r.time_ns, r.time_ns + instructionsNs) })
			: secondsOf(r.time_ns), "number"],
		["Thread", (r) => `${r.comm ?? ""} ${r.tid ?? ""}`], ...columns]));
	return made;
}

// The header of this answer has the losses, the notes, and the events.
const coverageQuery = { by: "event", limit: 1 };

// A row of each view: its question (its own name, if it says nothing else), the arguments, those that are always the same, and the element that shows the
// answer.
const views = {
	page: { make: (state) => framed("page", { ...queryOf(state, "source", "by", "filter", "since", "until", "frames"),
		...(state.baseline ? { baseline_page: state.baseline } : {}) }, state.shown?.startsWith("#") ? state.shown : "", "Call tree, timeline and tables of the source") },
	explain: { arguments: ["source"], make: (state, json) => {
		const all = element("div");
		for (const f of json.findings) {
			const section = element("section", undefined, { class: "finding" });
			section.append(element("h2", f.sentence));
			if (f.evidence)
				section.append(element("p", f.evidence));
			if (f.next) {
				const next = element("p", "Next: ");
				next.append(element("code", f.next));
				section.append(next);
			}
			all.append(section);
		}
		if (!json.findings.length)
			all.append(element("p", "Nothing stands out."));
		return all;
	} },
	top: { arguments: ["source", "filter", "since", "until", "frames"], fixed: { limit: 500 }, make: (state, json) => showTable(json.rows, [
		...sampleColumns, ["Function", functionLink], ["File of the code", (r) => base(r.image)]]) },
	function: { arguments: ["source", "filter", "since", "until", "frames"], fixed: { threshold: 2 }, make: (state, json) => showTable(json.rows, [
		["Role", (r) => roles[r.role] ?? ""], ["Total", (r) => number(r.total ?? r.samples), "number"], ["Share", (r) => share(r.total_percent ?? r.percent), "number"],
		["Function", (r) => r.symbol ? functionLink(r) : nameless[r.role]], ["File of the code", (r) => base(r.image)]], (r) => r.role),
	parts: [
		{ title: "Files of the code", by: "image", make: (json) => showTable(own(json), [...sampleColumns, ["File of the code", (r) => r.image]]) },
		...fleetParts(goButton),
		{ title: "Lines", by: "file,line", make: (json) => showTable(own(json), [...sampleColumns, ["Source", (r) => r.file], ["Line", (r) => r.line, "number"]]) },
	] },
	diff: { arguments: ["source", "baseline", "filter", "baseline_filter", "since", "until", "against", "frames"], make: (state, json) => showTable(json.rows, [
		["Change", (r) => share(r.change), "number"], ["Before", (r) => share(r.old_percent), "number"],
		["Now", (r) => share(r.new_percent), "number"], ["Significant", (r) => r.is_significant ? "yes" : "no"],
		["Function", functionLink], ["File of the code", (r) => base(r.image)]]) },
	values: { arguments: ["source", "by", "filter", "since", "until", "frames"], make: (state, json) => showTable(json.rows, [
		...sampleColumns, [state.by, (r) => r.name ?? r[state.by] ?? ""]]) },
	processes: { arguments: ["source", "filter", "since", "until"], make: (state, json) => processesView(json,
		(pid) => go({ view: "top", filter: withMatcher(byId("filter").value, "pid", String(pid)) })) },
	calls: { first: { time: "0%-1%" }, keeps: true, make: showCalls },
	instructions: { arguments: ["source", "time", "tid"], first: { time: "0%-1%" }, make: (state, json) => showTrace(state, json, [
		["Function", (r) => functionOf(r.frames?.[0])], ["Address", (r) => r.frames?.[0]?.address, "number"], ["Instruction", (r) => r.disasm]]) },
	info: { question: "values", arguments: ["source", "since", "until"], fixed: coverageQuery, make: (state, json) => {
		const question = asked;
		return factsView(state.source, json.header, () => askNow("top", { ...queryOf(state, "source", "since", "until"), limit: 1 }),
			(is_late, again) => awaitNames(question, is_late, again));
	} },
	...fleetViews({ open: goButton, go, isClickHouse: (name) => sourceOf(name)?.kind === "clickhouse", ask: askNow, query: queryOf, functionLink, price: () => price,
		directory: (name) => sourceOf(name)?.kind === "clickhouse" ? sources.find((one) => one.loading)?.name ?? name : name }),
};

// Each part of a view comes when its own answer does, in the order of the table.
function showParts(state, view, question) {
	for (const part of view.parts?.filter((one) => one.isOf?.(sourceOf(state.source)) ?? true) ?? []) {
		const section = element("section", undefined, { "aria-label": part.title });
		section.append(element("h2", part.title), element("p", "…"));
		byId("main").append(section);
		askNow("values", { ...queryOf(state, ...view.arguments), by: part.by, limit: 100 })
			.then((json) => part.make(json, state), (problem) => element("p", problem.message, { class: "quiet" }))
			.then((made) => question === asked && section.lastChild.replaceWith(made));
	}
}

// The reasons of losses, and of missing names, are a click away.
async function showCoverage(state, question) {
	const { header } = await askNow("values", { ...queryOf(state, "source", "since", "until"), ...coverageQuery });
	if (question !== asked)
		return;
	const chosen = byId("event").value; // perhaps since the question
	const why = element("button", "Why?", { type: "button", class: "link" });
	why.addEventListener("click", () => go({ view: "info" }));
	byId("coverage").replaceChildren(element("span", `${coverageText(header)} `), why);
	byId("event").replaceChildren(element("option", "all", { value: "" }), ...header.events.map((e) => element("option", e.name, { value: e.name })));
	byId("event").value = chosen;
}

async function showSeries(state, question) {
	const json = await askNow("series", { ...queryOf(state, "source", "by", "filter", "since", "until", "frames"), limit: 8 });
	if (question !== asked)
		return;
	byId("series").dataset.shown = location.hash;
	byId("series").replaceChildren(seriesChart(json, state.by,
		(from, to) => go({ since: `@${from}`, until: `@${to}` }),
		(by, one) => go({ filter: withMatcher(byId("filter").value, by, valueOf(by, one)) }), Boolean(state.since || state.until)));
}

// ---- recording ----

function showRecord(state) {
	const source = sourceOf(state.source);
	byId("record").hidden = source?.kind !== "history" || byId("record").dataset.role === "read";
}

async function record(event) {
	event.preventDefault();
	const seconds = Number(byId("seconds").value), button = event.submitter, source = byId("source").value;
	showProblem("");
	button.disabled = true;
	try {
		const answer = await ask("record", { source, target: byId("target").value, seconds, rate: byId("rate").value }, { method: "POST" });
		byId("coverage").textContent = `Recording until ${timeText(answer.until_seconds)} …`;
		// The samples are readable a moment after the end.
		await pause((seconds + 3) * 1000);
		go({ source, since: `@${answer.since_seconds}`, until: `@${answer.until_seconds}`, filter: asOneOperand(answer.filter) });
	} catch (problem) {
		showProblem(problem.message);
	}
	button.disabled = false;
}

function showDownloads(state) {
	const query = new URLSearchParams(queryOf(state, "source", "filter", "since", "until", "frames"));
	const is_recording = sourceOf(state.source)?.kind === "recording" && byId("record").dataset.role !== "read";
	const offered = is_recording ? [...downloads, ["recording", "perf.data"]] : downloads;
	byId("downloads").replaceChildren(...offered.map(([name, title]) => {
		const link = element("a", title, { href: `/api/v1/${name}?${query}`, download: "", "aria-label": `Download as ${title}` });
		link.addEventListener("click", downloadNamed);
		return link;
	}));
}

// A file can't be asked again: its names come first, if they come within a minute.
async function downloadNamed(event) {
	const link = event.currentTarget, until = Date.now() + 60000;
	if (link.dataset.isNamed) {
		delete link.dataset.isNamed;
		return;
	}
	event.preventDefault();
	while (Date.now() < until) {
		const answer = await fetch(link.href, { method: "HEAD" }).catch(() => null);
		if (!answer?.ok || !answer.headers.has("X-Assay-Names"))
			break;
		byId("later").hidden = false;
		await pause(namesMs);
	}
	byId("later").hidden = true;
	link.dataset.isNamed = "yes";
	link.click();
}

// Names that come later: the server reads them meanwhile, and keeps its answer.
function awaitNames(question, is_late, again) {
	if (question !== asked)
		return;
	byId("later").hidden = !is_late;
	if (is_late)
		setTimeout(() => question === asked && again(), namesMs);
}

// A frame's own answer has a header that this page cannot read, so it asks for the headers alone.
async function awaitNamesOf(frame, question) {
	const answer = await fetch(frame.src, { method: "HEAD" }).catch(() => null);
	if (!answer?.ok) { // a busy server: the frame has an answer already
		setTimeout(() => question === asked && frame.dataset.late && awaitNamesOf(frame, question), namesMs);
		return;
	}
	const is_late = answer.headers.has("X-Assay-Names");
	if (!is_late && frame.dataset.late)
		frame.contentWindow.location.reload(); // with names; what was chosen in it stays
	frame.dataset.late = is_late ? "yes" : "";
	awaitNames(question, is_late, () => awaitNamesOf(frame, question));
}

// ---- sources ----

const titles = { session: "Sessions", history: "Histories", recording: "Recordings", file: "Files", fleet: "Fleets", clickhouse: "ClickHouse" };

// The sources as options, a group for each kind.
function optionsOf(list) {
	const kinds = Object.groupBy ? Object.groupBy(list, (s) => s.kind) : { "": list };
	const option = (s) => element("option", s.name, { value: s.name, title: s.path });
	if (Object.keys(kinds).length < 2)
		return list.map(option);
	return Object.entries(kinds).map(([kind, some]) => {
		const group = element("optgroup", undefined, { label: titles[kind] ?? kind });
		group.append(...some.map(option));
		return group;
	});
}

// Sources come and go while the page is open. What is chosen stays chosen.
async function readSources() {
	const all = await ask("sources", {}), names = (list) => JSON.stringify(list.map((s) => s.name));
	const { value } = byId("source"), { value: baseline } = byId("baseline");
	byId("record").dataset.role = all.role;
	price = all.cpu_hour;
	sourcesTime = Date.now();
	if (names(all.sources) !== names(sources)) {
		sources = all.sources;
		byId("source").replaceChildren(...optionsOf(sources));
		byId("baseline").replaceChildren(element("option", "nothing", { value: "" }), ...optionsOf(sources));
		for (const [id, chosen] of [["source", value], ["baseline", baseline]])
			if (chosen && !sources.some((s) => s.name === chosen))
				byId(id).append(element("option", `${chosen} (gone)`, { value: chosen }));
		byId("source").value = value || sources[0]?.name || "";
		byId("baseline").value = baseline;
	}
	sources = all.sources;
}

// The list, if it is old, and how the loading of this source goes.
async function showSources(state, question) {
	if (Date.now() - sourcesTime > sourcesMs)
		await readSources().catch(() => {}); // the view names the problem
	if (question !== asked)
		return;
	const source = sourceOf(state.source);
	const { loading } = source?.kind === "clickhouse" ? sources.find((one) => one.loading) ?? source : source ?? {};
	byId("loading").textContent = loadingText(loading);
	byId("loading").hidden = !loading;
	byId("loading").classList.toggle("bad", Boolean(loading?.failures));
}

// The same question again. The frame's numbers of functions are of the answer before, so these do not stay.
const livingChoices = ["view", "direction", "colour", "weight", "search", "panel"];

function showLive() {
	const shown = new URLSearchParams((stateOfAddress().shown ?? "").slice(1));
	const kept = new URLSearchParams([...shown].filter(([key]) => livingChoices.includes(key))).toString();
	show({ ...readForm(), ...(kept ? { shown: `#${kept}` } : {}) });
}

async function makeView(state, view, question) {
	if (state.view === "diff" && !state.baseline && !state.baseline_filter && !state.against)
		throw new Error("Choose a source to compare with, or another selector or time of this one.");
	const json = view.arguments ? await askNow(view.question ?? state.view, { ...view.first, ...queryOf(state, ...view.arguments), ...view.fixed, ...view.query?.(state) }) : undefined;
	if (question === asked)
		showProblem(json?.warning ?? "");
	return { made: question === asked ? await view.make(state, json) : undefined, json };
}

async function show(state, keeps) {
	beginQuestions();
	const question = ++asked, view = views[state.view] ?? views.page, mine = running;
	mine.n++;
	delete byId("series").dataset.shown; // until it is that of this question
	showProblem("");
	byId("later").hidden = !keeps;
	if (!byId("live").checked && !keeps && !(view.keeps && byId("main").dataset.made === state.view))
		byId("main").replaceChildren(element("p", "…"));
	document.title = `${state.source} · assay`;
	showDownloads(state);
	showRecord(state);
	showSources(state, question);
	try {
		const making = makeView(state, view, question);
		await Promise.race([making.catch(() => {}), pause(aheadMs)]);
		if (question !== asked)
			return;
		// The view names the same problem.
		showCoverage(state, question).catch(() => question === asked && byId("coverage").replaceChildren());
		showSeries(state, question).catch(() => question === asked && byId("series").replaceChildren());
		const { made, json } = await making;
		if (question !== asked)
			return;
		const had_focus = document.activeElement?.tagName === "IFRAME", focused = document.activeElement?.dataset.focus;
		byId("main").replaceChildren(made);
		focusAgain(made, focused);
		byId("main").dataset.made = state.view;
		byId("main").dataset.shown = location.hash;
		if (had_focus) // its keys go on
			made.querySelector("iframe")?.addEventListener("load", (event) => event.target.focus(), { once: true });
		if (made.tagName === "IFRAME")
			made.addEventListener("load", () => awaitNamesOf(made, question), { once: true });
		else
			awaitNames(question, json?.is_without_names, () => show(readForm(), true));
		showParts(state, view, question);
	} catch (problem) {
		if (question !== asked)
			return;
		byId("main").replaceChildren();
		showProblem(problem.message);
	} finally {
		mine.n--;
	}
}

function showAddress() {
	const state = stateOfAddress();
	if (state.event && ![...byId("event").options].some((option) => option.value === state.event))
		byId("event").append(element("option", state.event, { value: state.event }));
	if (state.source && !sources.some((one) => one.name === state.source) && ![...byId("source").options].some((option) => option.value === state.source))
		byId("source").append(element("option", `${state.source} (not here)`, { value: state.source })); // the view names the problem
	writeForm(state);
	if (byId("source").value)
		show({ ...readForm(), ...(state.shown ? { shown: state.shown } : {}) });
}

// Shows what the form says, unless that is on its way.
function showForm() {
	const before = location.hash;
	go({});
	if (location.hash === before && !running.n)
		showAddress();
}

// The last minutes of a history, over and over.
function beginLive() {
	const isHistory = sourceOf(byId("source").value)?.kind === "history";
	if (byId("live").checked && isHistory && !byId("since").value)
		go({ since: "-5m", until: "" });
}

// A profile's own page in the frame shows something else: the address of this page keeps it.
function keepShown(hash) {
	const words = new URLSearchParams(location.hash.slice(1));
	words.set("shown", hash);
	if (!hash)
		words.delete("shown");
	history.replaceState(null, "", `#${words}`);
	running.address = location.hash;
}

function listen() {
	byId("query").addEventListener("submit", (event) => {
		event.preventDefault();
		showForm();
	});
	for (const select of ["source", "baseline", "view", "event", "by", "frames"])
		byId(select).addEventListener("change", () => {
			showFields();
			showForm();
		});
	byId("live").addEventListener("change", beginLive);
	addEventListener("assay-choice", (event) => keepShown(event.detail));
	byId("range").addEventListener("change", () => {
		byId("since").value = byId("range").value;
		byId("until").value = "";
		go({});
	});
	byId("record").addEventListener("submit", record);
	addEventListener("hashchange", showAddress);
	addEventListener("message", (event) => {
		const frame = [...document.querySelectorAll("main iframe")].find((one) => one.contentWindow === event.source);
		if (event.origin === location.origin)
			frame?.takeMessage?.(event.data);
	});
	setInterval(() => byId("live").checked && byId("source").value && document.visibilityState === "visible" && !running.n && showLive(), liveMs);
}

async function begin() {
	const [, labels] = await Promise.all([readSources(), ask("labels", {})]);
	byId("by").replaceChildren(...labels.labels.map((l) => element("option", l.name, { value: l.name, title: l.help })));
	byId("by").value = "comm";
	byId("event").replaceChildren(element("option", "all", { value: "" }));
	offerCompletions(labels.labels.map((l) => l.name), () => queryOf(readForm(), "source", "since", "until"));
	listen();
	if (!sources.length)
		showProblem("There is no session and no recording at the paths of 'assay serve'.");
	showAddress();
}

begin().catch((problem) => showProblem(`The server does not answer: ${problem.message}`));
