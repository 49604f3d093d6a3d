// SPDX-License-Identifier: GPL-2.0-or-later
// The elements of the page, and what is chosen, as the part of the address behind "#".
"use strict";

const $ = id => document.getElementById(id);

function element(tag, properties, ...children) {
	const e = Object.assign(document.createElement(tag), properties);
	e.append(...children);
	return e;
}

const FIRST_CHOICE = { view: "graph", direction: "up", colour: "image", event: 0, weight: "samples", time: "",
		       search: "", zoom: "", frame: -1, thread: -1, transforms: "", panel: "", open: "" };

// What can't be shown without the times of samples.
const needsTimes = choice => choice.time !== "" || choice.thread >= 0 || choice.view === "chart";

function choiceFromAddress() {
	const choice = { ...FIRST_CHOICE }, words = new URLSearchParams(location.hash.slice(1));
	for (const key of Object.keys(choice))
		if (words.has(key))
			choice[key] = typeof choice[key] === "number" ? Number(words.get(key)) || 0 : words.get(key);
	return choice;
}

function addressOf(choice, first) {
	const words = new URLSearchParams();
	for (const [key, value] of Object.entries(choice))
		if (value !== first[key])
			words.set(key, value);
	return words.size ? "#" + words : location.pathname + location.search;
}

// The page of `assay serve` around this one, whose address keeps the choice, too. null: this page stands alone.
function findHost() {
	try {
		return parent !== window && location.protocol.startsWith("http") && parent.location.origin === location.origin ? parent : null;
	} catch {
		return null; // a page of another site
	}
}

const hostWindow = findHost();
