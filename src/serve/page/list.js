// SPDX-License-Identifier: GPL-2.0-or-later
// Long lists: a table that can be searched and sorted, and that shows its first rows. A browser needs seconds for ten thousand rows.

import { element, number, showTable } from "./parts.js";

const rowsStep = 100; // so many rows are shown first, and so many more each time

const collator = new Intl.Collator(undefined, { numeric: true });
const textOf = (value) => value instanceof Node ? value.textContent : String(value ?? "");

// By the list's name: the text that is searched for, the title of the sorted column, its direction and the number of rows. It stays when the list is made again, as by Live.
const choices = new Map();
const choiceOf = (name) => {
	if (!choices.has(name))
		choices.set(name, { find: "", sort: "", isDown: false, shown: rowsStep });
	return choices.get(name);
};

// Numbers by their size, texts by their words. Rows without a value come last in both directions.
function compare(a, b, isDown) {
	const isEmpty = [a, b].map((one) => one === undefined || one === "");
	if (isEmpty[0] || isEmpty[1])
		return isEmpty[0] - isEmpty[1];
	const order = typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
	return isDown ? -order : order;
}

const sortKey = ([, value, kind, key]) => key ?? (kind === "number" ? () => undefined : (row) => textOf(value(row)));

function rowsOf(rows, columns, choice, textsOf) {
	const wanted = choice.find.toLowerCase();
	const found = wanted ? rows.filter((row) => textsOf(row).some((text) => text.toLowerCase().includes(wanted))) : rows;
	const sorted = columns.find(([title]) => title === choice.sort);
	if (!sorted)
		return found;
	const keyOf = sortKey(sorted), keyed = found.map((row) => [keyOf(row), row]);
	return keyed.sort(([a], [b]) => compare(a, b, choice.isDown)).map(([, row]) => row);
}

// The first press shows the smallest values of a text, and the largest ones of a number.
function sortBy(choice, [title, , kind]) {
	choice.isDown = choice.sort === title ? !choice.isDown : kind === "number";
	choice.sort = title;
}

function sortableHeads(table, columns, choice, again) {
	[...table.tHead.rows[0].cells].forEach((cell, i) => {
		const button = element("button", columns[i][0], { type: "button", class: "link", "data-focus": `sort ${columns[i][0]}` });
		button.addEventListener("click", () => {
			sortBy(choice, columns[i]);
			again();
		});
		cell.replaceChildren(button);
		if (columns[i][0] === choice.sort)
			cell.setAttribute("aria-sort", choice.isDown ? "descending" : "ascending");
	});
}

// A table of `rows` with the columns of showTable(), each with a fourth member: the number of a row by which it is sorted. A column of texts needs none.
// name: of the list, as "hosts". textsOf: the texts of a row that a search looks at.
export function longTable(name, rows, columns, textsOf) {
	const choice = choiceOf(name), made = element("div"), place = element("div"), below = element("p", undefined, { role: "status" });
	const find = element("input", undefined, { type: "search", value: choice.find, autocomplete: "off", spellcheck: "false", "data-focus": "find" });
	const more = element("button", `${rowsStep} more`, { type: "button", "data-focus": "more" }), label = element("label", `Find in these ${name} `, { class: "find" });
	const show = () => {
		const found = rowsOf(rows, columns, choice, textsOf), table = showTable(found.slice(0, choice.shown), columns);
		const focused = place.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
		sortableHeads(table, columns, choice, show);
		place.replaceChildren(table);
		focusAgain(place, focused);
		const shown = Math.min(found.length, choice.shown);
		below.textContent = `${number(shown)} of ${number(rows.length)} ${name}${choice.find ? `; ${number(found.length)} have “${choice.find}”` : ""}`;
		more.hidden = shown === found.length;
	};
	find.addEventListener("input", () => {
		choice.find = find.value;
		choice.shown = rowsStep;
		show();
	});
	more.addEventListener("click", () => {
		choice.shown += rowsStep;
		show();
	});
	label.append(find);
	made.append(label, place, below, more);
	show();
	return made;
}

// Elements that are made again keep the focus: focusAgain(PLACE, the data-focus of the one before).
export function focusAgain(place, focused) {
	if (focused)
		[...place.querySelectorAll("[data-focus]")].find((one) => one.dataset.focus === focused)?.focus();
}
