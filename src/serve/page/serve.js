// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `assay serve`. It asks the API (docs/api.md), and writes names as text only.

const byId = (id) => document.getElementById(id);
const fields = ["source", "baseline", "view", "by", "filter", "since", "until"];
const downloads = [["page", "HTML"], ["svg", "SVG"], ["pprof", "pprof"], ["folded", "folded"], ["speedscope", "speedscope"]];
let asked = 0; // the number of the newest question: answers to older ones are dropped

function element(name, text, attributes = {}) {
	const made = document.createElement(name);
	if (text !== undefined)
		made.textContent = text;
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	return made;
}

function showProblem(sentence) {
	byId("problem").textContent = sentence;
	byId("problem").hidden = !sentence;
}

async function ask(name, query) {
	const answer = await fetch(`/api/v1/${name}?${new URLSearchParams(query)}`);
	const json = await answer.json();
	if (!answer.ok)
		throw new Error(json.error);
	if (answer.headers.get("X-Assay-Warning"))
		showProblem(answer.headers.get("X-Assay-Warning"));
	return json;
}

// ---- the state: the form, and the same in the address ----

function readForm() {
	const state = {};
	for (const field of fields)
		if (byId(field).value)
			state[field] = byId(field).value;
	return state;
}

function writeForm(state) {
	for (const field of fields)
		if (state[field] !== undefined)
			byId(field).value = state[field];
}

function stateOfAddress() {
	return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

function queryOf(state, ...names) {
	const query = {};
	for (const name of names)
		if (state[name])
			query[name] = state[name];
	if (query.filter)
		query.filter = query.filter.trim().split(/\s+/).join("\n");
	return query;
}

// ---- views ----

// Rows of several events stand below each other, so each names its event.
function showTable(rows, columns) {
	if (new Set(rows.map((r) => r.event)).size > 1)
		columns = [["Event", (r) => r.event], ...columns];
	const table = element("table"), head = table.createTHead().insertRow(), body = table.createTBody();
	for (const [title, , kind] of columns)
		head.append(element("th", title, { scope: "col", class: kind || "" }));
	for (const row of rows) {
		const line = body.insertRow();
		for (const [, value, kind] of columns)
			line.append(element("td", value(row) ?? "", { class: kind || "" }));
	}
	return table;
}

const number = (n) => n === undefined ? "" : n.toLocaleString();
const share = (n) => n === undefined ? "" : `${n.toFixed(2)} %`;
const base = (path) => path === undefined ? "" : path.split("/").pop() || path;

const sampleColumns = [["Samples", (r) => number(r.samples), "number"], ["Share", (r) => share(r.percent), "number"]];

// A row of each view: the arguments of its question, and the element that shows the answer.
const views = {
	page: { make: (state) => element("iframe", undefined, {
		src: `/api/v1/page?${new URLSearchParams({ ...queryOf(state, "source", "by", "filter", "since", "until"),
			...(state.baseline ? { baseline_page: state.baseline } : {}) })}`,
		title: "Call tree, timeline and tables of the source" }) },
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
	top: { arguments: ["source", "filter", "since", "until"], make: (state, json) => showTable(json.rows, [
		...sampleColumns, ["Function", (r) => r.symbol], ["File of the code", (r) => base(r.image)]]) },
	values: { arguments: ["source", "by", "filter", "since", "until"], make: (state, json) => showTable(json.rows, [
		...sampleColumns, [state.by, (r) => r.name ?? r[state.by] ?? ""]]) },
	processes: { arguments: ["source", "filter", "since", "until"], make: (state, json) => showTable(json.processes ?? [], [
		["Process", (r) => r.name], ["PID", (r) => r.pid, "number"], ["Samples", (r) => number(r.samples), "number"]]) },
	info: { arguments: ["source"], make: (state, json) => element("pre", JSON.stringify(json, null, 2)) },
};

// Losses are always in sight, with the share that they are of all samples.
function coverageText(info) {
	const losses = (info.losses ?? []).filter((l) => l.kind !== "note" && l.n);
	const notes = [...(info.warnings ?? []), info.note].filter(Boolean);
	const lost = losses.length ? losses.map((l) => `${number(l.n)} ${l.text}`).join("; ") : "nothing was lost";
	return [`${number(info.samples?.stored ?? info.samples)} samples`, lost, ...notes].join(" · ");
}

async function showCoverage(state, question) {
	const header = (await ask("values", { source: state.source, by: "event", limit: 1 })).header;
	if (question === asked)
		byId("coverage").textContent = coverageText(header);
}

function showDownloads(state) {
	const query = new URLSearchParams(queryOf(state, "source", "filter", "since", "until"));
	byId("downloads").replaceChildren(...downloads.map(([name, title]) =>
		element("a", title, { href: `/api/v1/${name}?${query}`, download: "", "aria-label": `Download as ${title}` })));
}

async function show(state) {
	const question = ++asked, view = views[state.view] ?? views.page;
	showProblem("");
	byId("main").replaceChildren(element("p", "…"));
	byId("coverage").textContent = "";
	document.title = `${state.source} · assay`;
	showDownloads(state);
	try {
		showCoverage(state, question).catch(() => {}); // the view names the same problem
		const json = view.arguments ? await ask(state.view, queryOf(state, ...view.arguments)) : undefined;
		if (question === asked)
			byId("main").replaceChildren(view.make(state, json));
	} catch (problem) {
		if (question !== asked)
			return;
		byId("main").replaceChildren();
		showProblem(problem.message);
	}
}

function showAddress() {
	writeForm(stateOfAddress());
	if (byId("source").value)
		show(readForm());
}

async function begin() {
	const [sources, labels] = await Promise.all([ask("sources", {}), ask("labels", {})]);
	byId("source").replaceChildren(...sources.sources.map((s) => element("option", s.name, { value: s.name, title: s.path })));
	byId("baseline").replaceChildren(element("option", "nothing", { value: "" }),
		...sources.sources.map((s) => element("option", s.name, { value: s.name })));
	byId("by").replaceChildren(...labels.labels.map((l) => element("option", l.name, { value: l.name, title: l.help })));
	byId("by").value = "comm";
	byId("query").addEventListener("submit", (event) => {
		event.preventDefault();
		location.hash = new URLSearchParams(readForm()).toString();
		showAddress();
	});
	addEventListener("hashchange", showAddress);
	if (!sources.sources.length)
		showProblem("There is no session and no recording at the paths of 'assay serve'.");
	showAddress();
}

begin().catch((problem) => showProblem(`The server does not answer: ${problem.message}`));
