// SPDX-License-Identifier: GPL-2.0-or-later
// The pages of a fleet: its hosts and their blocks.

import { element, number, quoted, share, showTable } from "./parts.js";
import { operands, withMatcher } from "./selector.js";
import { timeText } from "./series.js";

export const isFleet = (source) => ["fleet", "clickhouse"].includes(source?.kind);

const whenOf = (seconds) => seconds ? timeText(seconds) : "";

// The part of a selector that chooses hosts: the lists of hosts and blocks take no other.
const hostsOf = (filter) => operands(filter ?? "").filter((word) => /^host(:|=|!)/.test(word)).join("\n");

const skewText = (ms) => `${ms < 0 ? "−" : "+"}${(Math.abs(ms) / 1000).toFixed(1)} s`;

// Losses and samples of a host add up to those that its kernel delivered.
const lostShare = (r) => r.samples + r.lost ? share(100 * r.lost / (r.samples + r.lost)) : "";

// What an operator has to look at.
function troublesOf(r) {
	return [r.cloned_seconds ? "two machines run under this name" : "", r.refused ? `${number(r.refused)} blocks refused: ${r.refusal}` : "",
		r.expired_on_host ? `${number(r.expired_on_host)} samples expired before they were sent` : ""].filter(Boolean).join("; ");
}

// The views of a fleet, as rows of the table of views. open(changes, title) makes a button that leads elsewhere, and directory(name) is the source with the blocks of
// a fleet: beside ClickHouse, the directory.
export function fleetViews(open, directory) {
	const toBlocks = (r) => open(r.host, { view: "blocks", by: "host", filter: `host=${quoted(r.host)}` });
	const toBlock = (state, r) => open(timeText(r.start_seconds), { view: "page", by: "service", source: directory(state.source),
		filter: withMatcher(state.filter ?? "", "host", r.host), since: `@${r.start_seconds}`, until: `@${r.end_seconds}` });
	const ofHosts = (state) => ({ source: directory(state.source), filter: hostsOf(state.filter) });
	return {
		hosts: { arguments: ["source"], query: ofHosts, make: (state, json) => showTable(json.hosts, [
			["Host", toBlocks], ["Last block ends", (r) => whenOf(r.last_seconds)], ["Spoke last", (r) => whenOf(r.seen_seconds)],
			["Blocks", (r) => number(r.blocks), "number"], ["Samples", (r) => number(r.samples), "number"],
			["Lost", (r) => number(r.lost), "number"], ["Share lost", lostShare, "number"],
			["Samples a second on each CPU", (r) => r.rate_hz ? number(r.rate_hz) : "", "number"], ["CPUs", (r) => r.cpus || "", "number"],
			["Clock", (r) => r.seen_seconds ? skewText(r.skew_ms) : "", "number"], ["Blocks that wait", (r) => r.seen_seconds ? number(r.backlog) : "", "number"],
			["Version", (r) => r.version], ["Labels", (r) => Object.entries(r.labels).map(([name, value]) => `${name}=${value}`).join(", ")],
			["Trouble", troublesOf]]) },
		blocks: { arguments: ["source", "since", "until"], query: ofHosts, fixed: { limit: 500 }, make: (state, json) => {
			const made = element("div");
			made.append(element("p", "A block has the samples of a host in ten minutes, with whole stacks. Its time opens it.", { class: "quiet" }),
				showTable(json.blocks, [["Begins", (r) => toBlock(state, r)], ["Host", (r) => r.host], ["Samples", (r) => number(r.samples), "number"],
					["Lost", (r) => number(r.lost), "number"], ["Part of the host's history", (r) => r.part]]));
			if (json.other)
				made.append(element("p", `${number(json.other)} older blocks are not shown: choose less time, or a host.`));
			return made;
		} },
	};
}
