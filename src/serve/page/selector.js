// SPDX-License-Identifier: GPL-2.0-or-later
// Selectors: filters TAG:VALUE, and matchers as comm="postgres", with blanks between them.

import { ask, byId, element, quoted } from "./parts.js";

// The operands of a text. Blanks between quotation marks, and behind the comma of a list, are part of one.
export function operands(text) {
	const words = text.match(/(?:[^\s"]|"(?:\\.|[^"\\])*"?)+/g) ?? [], joined = [];
	for (const word of words)
		if (joined.length && joined.at(-1).endsWith(",") && joined.at(-1).includes('"'))
			joined[joined.length - 1] += ` ${word}`;
		else
			joined.push(word);
	return joined;
}

// A filter TAG:VALUE as one operand: a value with blanks stands in a matcher.
export function asOneOperand(filter) {
	const at = filter.indexOf(":");
	return at > 0 && operands(filter).length > 1 ? `${filter.slice(0, at)}=${quoted(filter.slice(at + 1))}` : filter;
}

// Adds NAME="VALUE" to a text; one of the same name goes.
export function withMatcher(text, name, value) {
	const others = operands(text).filter((word) => !word.startsWith(`${name}="`));
	return [...others, `${name}=${quoted(value)}`].join(" ");
}

// Keys whose matchers compare numbers, which rows have under another name.
const numbers = { process: "pid", thread: "tid" };
export const valueOf = (by, row) => String(row[numbers[by] ?? by] ?? row[by] ?? "");

const begins = (key, start) => `${key}=~${quoted(`${start.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}.*`)}`;

// Values that begin so, the heaviest first. A number has no matcher for its first digits: then the heaviest of all values have to do.
async function rowsOf(key, start, query) {
	const question = { ...query, by: key, limit: 200 };
	if (start && !numbers[key])
		try {
			return (await ask("values", { ...question, filter: begins(key, start) })).rows;
		} catch {
			// The key has no such matcher, or its rows show another text than the one that it matches.
		}
	return (await ask("values", question)).rows;
}

// Offers keys, and behind KEY=" the values that begin so, of the source and the time at hand.
export function offerCompletions(keys, queryOfForm) {
	const input = byId("filter"), list = byId("completions");
	let asked = 0;
	const offer = (texts) => list.replaceChildren(...texts.map((text) => element("option", undefined, { value: text })));
	input.addEventListener("input", async () => {
		const question = ++asked, begun = /^(.*?)([a-z_-]+)(=|!=)"([^"]*)$/s.exec(input.value);
		if (!begun) {
			const [, before, word] = /^(.*?)([a-z_-]*)$/s.exec(input.value);
			offer(keys.filter((key) => word && key.startsWith(word)).map((key) => `${before}${key}="`));
			return;
		}
		const [, before, key, operator, start] = begun;
		if (!keys.includes(key))
			return;
		try {
			const rows = await rowsOf(key, start, queryOfForm());
			const values = [...new Set(rows.map((row) => valueOf(key, row)))].filter((value) => value.startsWith(start));
			if (question === asked)
				offer(values.slice(0, 50).map((value) => `${before}${key}${operator}${quoted(value)}`));
		} catch {
			offer([]); // the question itself will name the problem
		}
	});
}
