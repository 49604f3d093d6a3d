// SPDX-License-Identifier: GPL-2.0-or-later
// The pages of a fleet: services and their cost, hosts, blocks, builds, coverage.

import { longTable } from "./list.js";
import { base, counted, element, number, quoted, share, showTable } from "./parts.js";
import { operands, withMatcher } from "./selector.js";
import { drawn, seriesChart, timeText } from "./series.js";

export const isFleet = (source) => ["fleet", "clickhouse"].includes(source?.kind);

const whenOf = (seconds) => seconds ? timeText(seconds) : "";

// The matchers of an operand: `{host="a",service="b"}` has two.
const matchersOf = (word) => word.includes('"') ? word.match(/(?:[^\s",{}]|"(?:\\.|[^"\\])*"?)+/g) ?? [] : [word];

// The part of a selector that chooses hosts: the lists of hosts and blocks take no other.
const hostsOf = (filter) => operands(filter ?? "").flatMap(matchersOf).filter((word) => /^host(:|=|!)/.test(word)).join("\n");

const skewText = (ms) => `${ms < 0 ? "−" : "+"}${(Math.abs(ms) / 1000).toFixed(1)} s`;

// Losses and samples of a host add up to those that its kernel delivered.
const lostShare = (r) => r.samples + r.lost ? share(100 * r.lost / (r.samples + r.lost)) : "";

// What an operator has to look at.
function troublesOf(r) {
	return [r.cloned_seconds ? "two machines run under this name" : "", r.refused ? `${counted(r.refused, "block")} refused: ${r.refusal}` : "",
		r.expired_on_host ? `${counted(r.expired_on_host, "sample")} expired before ${r.expired_on_host === 1 ? "it was" : "they were"} sent` : ""].filter(Boolean).join("; ");
}

const labelText = (r) => Object.entries(r.labels).map(([name, value]) => `${name}=${value}`).join(", ");

function hostsView(json, toBlocks) {
	const spoke = (value) => (r) => r.seen_seconds ? value(r) : "", lost = (r) => r.samples + r.lost ? r.lost / (r.samples + r.lost) : undefined;
	const has = json.hosts.filter(troublesOf).length, made = element("div");
	made.append(element("p", has ? `${number(has)} of ${number(json.hosts.length)} hosts have trouble.` : "No host has trouble.", { class: "quiet" }),
		longTable("hosts", json.hosts, [
			["Host", toBlocks, "name", (r) => r.host], ["Last block ends", (r) => whenOf(r.last_seconds), "", (r) => r.last_seconds || undefined],
			["Spoke last", (r) => whenOf(r.seen_seconds), "", (r) => r.seen_seconds || undefined],
			["Blocks", (r) => number(r.blocks), "number", (r) => r.blocks], ["Samples", (r) => number(r.samples), "number", (r) => r.samples],
			["Lost", (r) => number(r.lost), "number", (r) => r.lost], ["Share lost", lostShare, "number", lost],
			["Samples a second on each CPU", (r) => r.rate_hz ? number(r.rate_hz) : "", "number", (r) => r.rate_hz || undefined],
			["CPUs", (r) => r.cpus || "", "number", (r) => r.cpus || undefined],
			["Clock", spoke((r) => skewText(r.skew_ms)), "number", spoke((r) => Math.abs(r.skew_ms))],
			["Blocks that wait", spoke((r) => number(r.backlog)), "number", spoke((r) => r.backlog)],
			["Version", (r) => r.version], ["Labels", labelText, "name"], ["Trouble", troublesOf, "name"]],
		(r) => [r.host, r.version, labelText(r), troublesOf(r)]));
	return made;
}

// ---- services ----

// Events that count time in which threads wait, as the store names them.
const isWait = (name) => name?.startsWith("off-cpu:") || name === "kernel-lock";

// CPU seconds of the rows of an event, if they are known. A sample of an event that is no time stands for the time between two samples, if all hosts have one rate.
function cpuSecondsOf(event) {
	if (isWait(event?.name))
		return undefined;
	if (event?.unit === "ns")
		return (row) => row.events / 1e9;
	return event?.freq_hz && event.lowest_hz === event.highest_hz ? (row) => row.samples / event.freq_hz : undefined;
}

const sum = (values) => values.reduce((all, one) => all + one, 0);

// In percent.
const growth = (before, now) => before ? 100 * (now - before) / before : undefined;

// The later half of the steps against the earlier half.
function halvesGrowth(values) {
	const half = Math.floor(values.length / 2);
	return half ? growth(sum(values.slice(0, half)), sum(values.slice(values.length - half))) : undefined;
}

const growthText = (n) => n === undefined ? "" : `${n < 0 ? "−" : "+"}${Math.abs(n).toFixed(0)} %`;

// ---- the week before ----

const hour = 3600, day = 24 * hour, week = 7 * day, trendLimit = 1000;
const lateSeconds = 1200; // by then, all hosts have sent a block

// Blocks of a week before may have whole hours, or whole days, and so do the tables of ClickHouse. So whole ones are compared, a week of them at most.
function wholeTimes(json, unit) {
	const shown = json.start_seconds + json.steps * json.step_seconds;
	const end = Math.floor(Math.min(shown, Date.now() / 1000 - lateSeconds) / unit) * unit;
	return { start: Math.ceil(Math.max(json.start_seconds, end - week) / unit) * unit, end };
}

async function sumsOf(page, state, event, start, end) {
	const json = await page.ask("values", { ...page.query({ ...state, since: `@${start}`, until: `@${end}` }, "source", "filter", "since", "until"), by: "service", limit: trendLimit });
	if (json.warning)
		throw new Error(json.warning);
	const secondsOf = cpuSecondsOf(json.header.events.find((one) => one.name === event));
	const rows = json.rows.filter((one) => one.event === event && one.samples && !one.other);
	return { isWhole: json.rows.every((one) => !one.other), hasSeconds: Boolean(secondsOf), hosts: json.header.hosts,
		services: new Map(rows.map((r) => [r.service, { samples: r.samples, seconds: secondsOf?.(r) }])) };
}

const blocksOf = async (page, state, from, to, limit) =>
	(await page.ask("blocks", { source: state.source, filter: hostsOf(state.filter), since: `@${from}`, until: `@${to}`, limit })).blocks;

// The sums of each service in whole units of the time that is shown, and a week before. A failure is the reason why there are none.
async function weekOf(page, state, json, event, unit) {
	const { start, end } = wholeTimes(json, unit);
	if (start >= end)
		throw new Error(`the time that is shown has no whole ${unit === day ? "day" : "hour"} that is over for 20 minutes`);
	if (!(await blocksOf(page, state, start - week, end - week, 1)).length)
		throw new Error("there are no samples of a week before");
	const oldest = await blocksOf(page, state, start - week, start - week + unit, 1000); // the longest ones
	const fits = oldest.length && oldest.every((one) => one.end_seconds - one.start_seconds <= unit);
	if (!fits && unit < day)
		return weekOf(page, state, json, event, day);
	if (!fits && oldest.length)
		throw new Error("blocks of a week before have more than a day");
	const before = await sumsOf(page, state, event, start - week, end - week), now = await sumsOf(page, state, event, start, end);
	return { before, now, start, end, beginsLate: !oldest.length };
}

async function weekBefore(page, state, json, event) {
	try {
		return await weekOf(page, state, json, event, page.isClickHouse(state.source) ? day : hour);
	} catch (problem) {
		if (problem.name === "AbortError")
			throw problem;
		return { problem: problem.message };
	}
}

// The growth of a service as text, and as a number. A service that is beyond the limit of the week before has none.
function weekTrend({ before, now }, service) {
	const old = before.services.get(service), young = now.services.get(service), what = before.hasSeconds && now.hasSeconds ? "seconds" : "samples";
	if (!old)
		return young && before.isWhole ? "new" : "";
	return young ? growthText(growth(old[what], young[what])) : "";
}

const hostsText = (hosts) => hosts ? counted(hosts.with_samples, "host") : "";

function trendSentence({ before, now, start, end, beginsLate, problem }) {
	if (problem !== undefined)
		return `Trend: the later half of the time against the earlier half, as ${problem.replace(/\.$/, "")}`;
	return `Trend: ${before.hasSeconds && now.hasSeconds ? "CPU seconds" : "samples"} from ${timeText(start)} to ${timeText(end)} against the same time a week before${
		before.hosts && now.hosts ? ` (${hostsText(now.hosts)} have samples now, ${hostsText(before.hosts)} had some then)` : ""}${
		beginsLate ? ". The samples of then begin later" : ""}`;
}

// A line of the values, as wide as a word.
function sparkline(values, label) {
	const most = Math.max(...values, 1), last = Math.max(values.length - 1, 1);
	const svg = drawn("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", class: "spark", role: "img", "aria-label": label });
	svg.append(drawn("polyline", { points: values.map((v, i) => `${(100 * i / last).toFixed(1)},${(19 - 18 * v / most).toFixed(1)}`).join(" ") }));
	return svg;
}

const costText = (seconds, price) => `${(seconds / 3600 * price.price).toLocaleString(undefined, { maximumFractionDigits: 2 })} ${price.unit}`;

async function servicesView(page, state, json, toService) {
	const price = page.price();
	const first = json.series.find((one) => !isWait(one.event)) ?? json.series[0], rows = json.series.filter((one) => one.event === first?.event);
	const secondsOf = cpuSecondsOf(json.header.events.find((one) => one.name === first?.event)), all = sum(rows.map((r) => r.samples));
	const seconds = secondsOf ? [["CPU s", (r) => secondsOf(r).toLocaleString(undefined, { maximumFractionDigits: 1 }), "number"]] : [];
	const money = secondsOf && price ? [["Cost", (r) => costText(secondsOf(r), price), "number"]] : [];
	const compared = first ? await weekBefore(page, state, json, first.event) : { problem: "there are no samples" }, made = element("div");
	const trend = (r) => compared.before ? weekTrend(compared, r.service) : growthText(halvesGrowth(r.values));
	made.append(element("p", `${trendSentence(compared)}${money.length ? `. Cost: ${price.price} ${price.unit} for an hour of a CPU` : ""}.`, { class: "quiet" }),
		showTable(rows, [["Service", (r) => r.other ? `${number(r.other)} others` : toService(r.service)],
			...seconds, ...money,
			["Samples", (r) => number(r.samples), "number"], ["Share", (r) => share(100 * r.samples / all), "number"],
			["Trend", trend, "number"],
			["Over time", (r) => sparkline(r.values, `${r.service ?? "others"} over time, ${trend(r) || "no trend"}`)]]));
	return made;
}

// ---- builds ----

const short = (build) => build.length > 16 && /^[0-9a-f]+$/.test(build) ? build.slice(0, 12) : build;

// When a build had samples, by the steps of its series.
function timesOf({ series, start_seconds, step_seconds }) {
	const times = new Map();
	for (const one of series) {
		const has = one.values.map((v) => v > 0), first = has.indexOf(true), last = has.lastIndexOf(true);
		if (one.build !== undefined && first >= 0 && !times.has(one.build))
			times.set(one.build, { from: start_seconds + first * step_seconds, to: start_seconds + (last + 1) * step_seconds });
	}
	return times;
}

// Builds of one file below each other, the newest first; each can be compared with the one before.
function buildsView(json, times, toDiff) {
	const files = new Map(), event = json.rows[0]?.event;
	for (const row of json.rows)
		if (row.build && row.samples && row.event === event)
			files.set(base(row.image), [...files.get(base(row.image)) ?? [], row]);
	const rows = [...files.values()].sort((a, b) => b.length - a.length).flatMap((some) => {
		some.sort((a, b) => (times.get(b.build)?.from ?? 0) - (times.get(a.build)?.from ?? 0));
		return some.map((r, i) => ({ ...r, before: some[i + 1]?.build }));
	});
	const made = element("div");
	made.append(element("p", "Files with several builds come first. Shares are of the code of each build.", { class: "quiet" }),
		showTable(rows, [["File of the code", (r) => base(r.image)], ["Build", (r) => short(r.build)],
			["Samples", (r) => number(r.samples), "number"], ["First seen", (r) => whenOf(times.get(r.build)?.from)], ["Last seen", (r) => whenOf(times.get(r.build)?.to)],
			["Changes", (r) => r.before ? toDiff(`since ${short(r.before)}`, r) : ""]]));
	return made;
}

// ---- coverage ----

function coverageView(json, hosts, { open, go }, state) {
	const first = json.series.find((one) => !isWait(one.event)) ?? json.series[0], rows = new Map(json.series.filter((one) => one.event === first?.event).map((one) => [one.host, one]));
	const counts = new Array(json.steps).fill(0);
	for (const one of json.series.filter((one) => one.host !== undefined && one.event === first.event))
		one.values.forEach((v, i) => { counts[i] += v > 0; });
	const samples = (r) => r.one?.samples ?? 0, steps = (r) => r.one?.values.filter((v) => v > 0).length ?? 0;
	const reporting = [{ event: "hosts", hosts: "hosts with samples", samples: rows.size, values: counts }];
	const made = element("div");
	made.append(seriesChart({ ...json, series: reporting }, "hosts", (from, to) => go({ since: `@${from}`, until: `@${to}` })),
		longTable("known hosts", hosts.map(({ host, last_seconds }) => ({ host, last_seconds, one: rows.get(host) })), [
			["Host", (r) => open(r.host, { view: "blocks", filter: withMatcher(state.filter ?? "", "host", r.host) }), "name", (r) => r.host],
			["Samples here", (r) => number(samples(r)), "number", samples],
			["Steps with samples", (r) => `${steps(r)} of ${json.steps}`, "number", steps],
			["Last block ends", (r) => whenOf(r.last_seconds), "", (r) => r.last_seconds || undefined]], (r) => [r.host]));
	return made;
}

// ---- regressions ----

const points = (n) => `${n < 0 ? "−" : "+"}${Math.abs(n).toFixed(2)}`;

function regressionsView(json, { functionOf, toDiff }) {
	const made = element("div"), left_out = json.left_out ? ` ${counted(json.left_out, "service")} of hosts ${json.left_out === 1 ? "is left out, because it" : "are left out, because they"} changed too often.` : "";
	made.append(element("p", `${counted(json.changes, "time")}, a service of a host got a new build. Each host is compared with itself, before and after. Other causes count as well, such as another load.${
		left_out}`, { class: "quiet" }));
	made.append(json.regressions.length ? showTable(json.regressions, [["Points", (r) => points(r.change), "number"], ["Before", (r) => share(r.old_percent), "number"],
		["Now", (r) => share(r.new_percent), "number"], ["Hosts where it grew", (r) => `${number(r.hosts_grew)} of ${number(r.hosts)}`, "number"],
		["Function", functionOf], ["Service", (r) => r.service], ["New build of", (r) => base(r.file)], ["Since", (r) => timeText(r.since_seconds)],
		["Changes", (r) => toDiff(`since ${short(r.old_build)}`, { build: r.new_build, before: r.old_build, service: r.service })]])
		: element("p", "No function grew significantly after a new build."));
	if (json.other)
		made.append(element("p", `${number(json.other)} more are not shown.`));
	return made;
}

// ---- the views ----

// Parts of a service or a function: its hosts and its builds.
export function fleetParts(open) {
	return [
		{ title: "Hosts", by: "host", isOf: isFleet, make: (json, state) => showTable(json.rows.filter((r) => r.samples), [["Samples", (r) => number(r.samples), "number"],
			["Share", (r) => share(r.percent), "number"],
			["Host", (r) => r.other ? `${number(r.other)} others` : open(r.host, { view: "blocks", filter: withMatcher(state.filter ?? "", "host", r.host) })]]) },
		{ title: "Builds", by: "image,build", isOf: isFleet, make: (json, state) => showTable(json.rows.filter((r) => r.samples), [["Samples", (r) => number(r.samples), "number"],
			["Share", (r) => share(r.percent), "number"], ["File of the code", (r) => r.other ? `${number(r.other)} others` : base(r.image)],
			["Build", (r) => r.other ? "" : open(short(r.build), { view: "builds", by: "build", filter: withMatcher(state.filter ?? "", "image", base(r.image)) })]]) },
	];
}

// The views of a fleet, as rows of the table of views.
// page.open(changes, title) makes a button that leads elsewhere, page.go(changes) goes there, page.ask(name, query) asks the API, page.functionLink(row) leads to a
// function, page.directory(name) is the source with the blocks of a fleet (beside ClickHouse, the directory), page.price() is the price of a CPU's hour, if there is one.
// page.isClickHouse(name): whether a source is ClickHouse.
export function fleetViews(page) {
	const { open, directory } = page;
	const toBlocks = (r) => open(r.host, { view: "blocks", by: "host", filter: `host=${quoted(r.host)}` });
	const toBlock = (state, r) => open(timeText(r.start_seconds), { view: "page", by: "service", source: directory(state.source),
		filter: withMatcher(state.filter ?? "", "host", r.host), since: `@${r.start_seconds}`, until: `@${r.end_seconds}` });
	const toService = (state) => (name) => open(name, { view: "service", by: "host", filter: withMatcher(state.filter ?? "", "service", name) });
	const toDiff = (state) => (title, r) => {
		const filter = r.service === undefined ? state.filter ?? "" : withMatcher(state.filter ?? "", "service", r.service);
		return open(title, { view: "diff", source: directory(state.source), filter: withMatcher(filter, "build", r.build), baseline_filter: withMatcher(filter, "build", r.before) });
	};
	const functionOf = (state) => (r) => open(r.symbol, { view: "function", by: "host", filter: withMatcher(withMatcher(state.filter ?? "", "service", r.service), "symbol", r.symbol) });
	const ofHosts = (state) => ({ source: directory(state.source), filter: hostsOf(state.filter) });
	const chosen = ["source", "filter", "since", "until"];
	return {
		services: { question: "series", arguments: chosen, fixed: { by: "service", limit: 300 }, make: (state, json) => servicesView(page, state, json, toService(state)) },
		service: { question: "top", arguments: [...chosen, "frames"], fixed: { limit: 100 }, parts: fleetParts(open), make: (state, json) => showTable(json.rows, [
			["Samples", (r) => number(r.samples), "number"], ["Share", (r) => share(r.percent), "number"], ["Function", page.functionLink], ["File of the code", (r) => base(r.image)]]) },
		builds: { question: "values", arguments: chosen, fixed: { by: "image,build" }, make: async (state, json) =>
			buildsView(json, timesOf(await page.ask("series", { ...page.query(state, ...chosen), by: "build", limit: 1000 })), toDiff(state)) },
		regressions: { arguments: chosen, fixed: { limit: 300 }, make: (state, json) => regressionsView(json, { functionOf: functionOf(state), toDiff: toDiff(state) }) },
		coverage: { question: "series", arguments: chosen, fixed: { by: "host", limit: 10000 }, make: async (state, json) =>
			coverageView(json, (await page.ask("hosts", ofHosts(state))).hosts, page, state) },
		hosts: { arguments: ["source"], query: ofHosts, make: (state, json) => hostsView(json, toBlocks) },
		blocks: { arguments: ["source", "since", "until"], query: ofHosts, fixed: { limit: 500 }, make: (state, json) => {
			const made = element("div");
			made.append(element("p", "A block has the samples of a host in ten minutes, with whole stacks. Its time opens it.", { class: "quiet" }),
				showTable(json.blocks, [["Begins", (r) => toBlock(state, r)], ["Host", (r) => r.host], ["Samples", (r) => number(r.samples), "number"],
					["Lost", (r) => number(r.lost), "number"], ["Part of the host's history", (r) => r.part]]));
			if (json.other)
				made.append(element("p", `${counted(json.other, "older block")} ${json.other === 1 ? "is" : "are"} not shown: choose less time, or a host.`));
			return made;
		} },
	};
}
