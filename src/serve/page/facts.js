// SPDX-License-Identifier: GPL-2.0-or-later
// Facts of a source: its samples and losses, missing names, how it was recorded; and what this machine permits.

import { ask, counted, element, number, share, showTable } from "./parts.js";

const kinds = { lost: "lost", unattributed: "of unknown code", note: "note" };

// Losses are always in sight; "Why?" leads to the rest.
export function coverageText(header) {
	const losses = (header.losses ?? []).filter((l) => l.kind !== "note" && l.n);
	const notes = [...(header.warnings ?? []), header.note].filter(Boolean);
	const hosts = header.hosts ? [`${number(header.hosts.with_samples)} of ${counted(header.hosts.asked, "host")} ${header.hosts.with_samples === 1 ? "has" : "have"} samples here`] : [];
	const lost = losses.length ? losses.map((l) => `${number(l.n)} ${l.text}`).join("; ") : "nothing was lost";
	return [counted(header.samples.stored, "sample"), lost, ...hosts, ...notes].join(" · ");
}

const timeOf = (seconds) => new Date(seconds * 1000).toLocaleTimeString();

// How the loading of a fleet into ClickHouse goes (`loading` of sources).
export function loadingText(loading) {
	if (!loading)
		return "";
	const done = `ClickHouse has ${number(loading.samples)} samples in ${number(loading.blocks)} blocks since the loading began`;
	const missing = [[loading.lost, "samples lost"], [loading.left_out, "blocks left out"]].filter(([n]) => n).map(([n, text]) => `${number(n)} ${text}`);
	if (loading.failures)
		return `ClickHouse gets nothing${loading.success_seconds ? ` since ${timeOf(loading.success_seconds)}` : ""}: ${number(loading.failures)} rounds failed: ${
			loading.error} The next one begins in ${number(loading.next_after_seconds)} s.`;
	return [done, ...missing, `last round ${timeOf(loading.round_seconds)}`].join(" · ");
}

function section(title, ...parts) {
	const made = element("section", undefined, { "aria-label": title });
	made.append(element("h2", title), ...parts);
	return made;
}

// Pairs of a name and a text; those without a text are left out.
function listOf(pairs) {
	const list = element("dl");
	for (const [name, text] of pairs)
		if (text)
			list.append(element("dt", name), element("dd", text));
	return list;
}

function eventText(e) {
	const rate = e.freq_hz ? `${number(e.freq_hz)} samples a second` : e.count ? `a sample every ${number(e.count)} ${e.unit}` : "";
	const modes = e.user && e.kernel ? "user and kernel" : e.user ? "user only" : e.kernel ? "kernel only" : "";
	return [e.name, rate, modes].filter(Boolean).join(", ");
}

function samplesOf({ samples, losses }) {
	const all = (losses ?? []).filter((l) => l.n), lost = all.filter((l) => l.kind === "lost").reduce((sum, l) => sum + l.n, 0);
	const of = samples.stored + lost;
	const table = showTable(all, [["Number", (r) => number(r.n), "number"], ["Share of all samples", (r) => r.kind === "note" ? "" : share(100 * r.n / of), "number"],
		["Kind", (r) => kinds[r.kind]], ["Reason", (r) => r.text]]);
	return section("Samples and losses", listOf([
		["Samples", number(samples.stored)], ["Lost", number(lost)],
		["Idle processors", samples.idle_hidden ? `${number(samples.idle_hidden)} samples are not shown` : ""],
		["Left out by filters", samples.filtered ? number(samples.filtered) : ""]]), ...(all.length ? [table] : []));
}

function recordingOf(h) {
	const machine = h.machine ?? {};
	return section("Recording", listOf([
		["Command", h.command], ["Target", h.target], ...(h.events ?? []).map((e) => ["Event", eventText(e)]), ["Call chains", h.stacks],
		["Start", h.start], ["Length", h.duration_seconds ? `${h.duration_seconds.toFixed(1)} s${h.ended ? "" : "; no end: the recorder was killed, or still runs"}` : ""],
		["Machine", [machine.hostname, machine.cpu_model, machine.cpus && `${machine.cpus} CPUs`, machine.os_release, machine.arch].filter(Boolean).join(", ")],
		["Recorded by", [h.version && `assay ${h.version}`, h.collector].filter(Boolean).join(", ")],
		["Cost", h.own_cpu_seconds ? `${h.own_cpu_seconds.toFixed(2)} s of CPU time` : ""]]));
}

// An answer that is asked for when its part opens.
function later(title, make) {
	const made = element("details"), place = element("div", "…");
	made.append(element("summary", title), place);
	made.addEventListener("toggle", () => make().then((part) => place.replaceChildren(part), (problem) => { place.textContent = problem.message; }), { once: true });
	return made;
}

async function permitted() {
	return showTable((await ask("doctor", {})).checks, [["Check", (r) => r.name], ["State", (r) => r.state], ["Finding", (r) => r.finding],
		["Meaning", (r) => r.meaning], ["Command", (r) => r.command ? element("code", r.command) : ""]]);
}

const allFacts = async (source) => element("pre", JSON.stringify(await ask("info", { source }), null, 2));

const namesOf = ({ header: { images } }) => images?.length
	? showTable(images, [["Samples", (r) => number(r.samples), "number"], ["File of the code, and why it lacks names", (r) => r.text]])
	: element("p", "No file of the code lacks names.");

// The header of an answer as a page. askNames() is for an answer with the files that lack names. awaitNames(is_late, again) calls again() in a while if that answer
// came before the names.
export function factsView(source, header, askNames, awaitNames) {
	const made = element("div"), notes = [header.note, ...(header.warnings ?? [])].filter(Boolean), names = section("Names", element("p", "…"));
	made.append(samplesOf(header), names);
	const showNames = () => askNames().then((json) => {
		names.lastChild.replaceWith(namesOf(json));
		awaitNames(json.is_without_names, showNames);
	}, (problem) => names.lastChild.replaceWith(element("p", problem.message)));
	showNames();
	if (notes.length)
		made.append(section("Notes", ...notes.map((note) => element("p", note))));
	made.append(recordingOf(header), later("All facts of the source", () => allFacts(source)), later("What this machine permits", permitted));
	return made;
}

// Of one part or of the sum of several. Samples of an event that is no time have no seconds.
const secondsOf = (...parts) => parts.some((part) => part?.seconds === undefined) ? "" : parts.reduce((sum, part) => sum + part.seconds, 0).toFixed(3);

// onPid: a process was chosen.
export function processesView(json, onPid) {
	const nameOf = (row) => {
		if (row.pid === undefined)
			return `${number(row.n)} others`;
		const button = element("button", row.name, { type: "button", class: "link", title: `Functions of process ${row.pid}` });
		button.addEventListener("click", () => onPid(row.pid));
		return button;
	};
	const rows = [...(json.processes ?? []), ...(json.other?.n ? [json.other] : [])], all = json.statistics?.all?.samples;
	return showTable(rows, [["Process", nameOf], ["PID", (r) => r.pid, "number"], ["Samples", (r) => number(r.all?.samples), "number"],
		["Share", (r) => all ? share(100 * r.all.samples / all) : "", "number"], ["CPU s", (r) => secondsOf(r.all), "number"], ["User s", (r) => secondsOf(r.user), "number"],
		["System s", (r) => secondsOf(r.system), "number"],
		["Interrupts s", (r) => secondsOf(r.irq, r.softirq), "number"]]);
}
