// SPDX-License-Identifier: GPL-2.0-or-later
// What the other scripts share: elements whose texts are never markup, and questions to the API.

export const byId = (id) => document.getElementById(id);

export function element(name, text, attributes = {}) {
	const made = document.createElement(name);
	if (text !== undefined)
		made.textContent = text;
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	return made;
}

export const number = (n) => n === undefined ? "" : n.toLocaleString();
export const quoted = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;

export async function ask(name, query, options = {}) {
	const answer = await fetch(`/api/v1/${name}?${new URLSearchParams(query)}`, options);
	const is_lines = answer.headers.get("Content-Type") === "application/x-ndjson";
	const json = is_lines ? { rows: (await answer.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line)) } : await answer.json();
	if (!answer.ok)
		throw new Error(json.error);
	json.is_without_names = answer.headers.has("X-Assay-Names");
	json.warning = answer.headers.get("X-Assay-Warning");
	return json;
}
