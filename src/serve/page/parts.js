// SPDX-License-Identifier: GPL-2.0-or-later
// What the other scripts share: elements whose texts are never markup, tables, and questions to the API.

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
// "1 block", "1,234 blocks".
export const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
export const share = (n) => n === undefined ? "" : `${n.toFixed(2)} %`;
export const base = (path) => path === undefined ? "" : path.split("/").pop() || path;
export const quoted = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;

// A value, or an element such as a button.
function cell(value, kind) {
	const made = element("td", value instanceof Node ? undefined : value, { class: kind || "" });
	if (value instanceof Node)
		made.append(value);
	return made;
}

// A column is its title, the value of a row, and a class. kindOf: the class of a row.
// Rows of several events stand below each other, so each names its event.
export function showTable(rows, columns, kindOf = () => "") {
	if (new Set(rows.map((r) => r.event)).size > 1)
		columns = [["Event", (r) => r.event], ...columns];
	const table = element("table"), head = table.createTHead().insertRow(), body = table.createTBody();
	for (const [title, , kind] of columns)
		head.append(element("th", title, { scope: "col", class: kind || "" }));
	for (const row of rows) {
		const line = body.insertRow();
		line.className = kindOf(row);
		for (const [, value, kind] of columns)
			line.append(cell(value(row) ?? "", kind));
	}
	return table;
}

// ---- questions ----

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const busyTries = 5;

// The answer of the server. While it is busy (429), a question is asked again after the time that the answer names.
export async function request(url, options = {}) {
	for (let tries = 0; ; tries++) {
		const answer = await fetch(url, options);
		if (answer.status !== 429 || options.method === "POST" || tries === busyTries)
			return answer;
		const seconds = Number(answer.headers.get("Retry-After")) || 1;
		await pause(seconds * 1000);
	}
}

// What a failed answer says.
export async function problemOf(answer) {
	const json = await answer.json().catch(() => ({}));
	return new Error(json.error ?? `the server answers ${answer.status} ${answer.statusText}`);
}

const linesOf = (text) => ({ rows: text.split("\n").filter(Boolean).map((line) => JSON.parse(line)) });

export async function ask(name, query, options) {
	const answer = await request(`/api/v1/${name}?${new URLSearchParams(query)}`, options);
	if (!answer.ok)
		throw await problemOf(answer);
	const is_lines = answer.headers.get("Content-Type") === "application/x-ndjson";
	const json = is_lines ? linesOf(await answer.text()) : await answer.json();
	json.is_without_names = answer.headers.has("X-Assay-Names");
	json.warning = answer.headers.get("X-Assay-Warning");
	return json;
}
