// SPDX-License-Identifier: GPL-2.0-or-later
// Series over time as a stacked chart. A drag, or the arrow keys and Enter, choose a range of time.

import { element, number } from "./parts.js";

const space = "http://www.w3.org/2000/svg", width = 1000, height = 120, colours = 9;

export function drawn(name, attributes) {
	const made = document.createElementNS(space, name);
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	return made;
}

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
export const timeText = (seconds) => new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });

// The outline of a band between the sums below and above it, step by step.
function outline(below, above, scale) {
	const x = (i) => (i * width / above.length).toFixed(1), y = (v) => (height - v * scale).toFixed(1);
	const forth = above.map((v, i) => `${x(i)} ${y(v)} ${x(i + 1)} ${y(v)}`);
	const back = below.map((v, i) => `${x(i + 1)} ${y(v)} ${x(i)} ${y(v)}`).reverse();
	return `M${forth.join("L")}L${back.join("L")}Z`;
}

function bands(svg, series, steps) {
	const sums = new Array(steps).fill(0);
	for (const one of series)
		one.values.forEach((v, i) => { sums[i] += v; });
	const scale = height / Math.max(...sums, 1);
	let below = new Array(steps).fill(0);
	series.forEach((one, i) => {
		const above = below.map((v, k) => v + one.values[k]);
		svg.append(drawn("path", { d: outline(below, above, scale), class: `band c${i % colours}` }));
		below = above;
	});
}

function legend(series, by, onValue) {
	const list = element("ul", undefined, { class: "legend" });
	series.forEach((one, i) => {
		const item = element("li"), name = one.other ? `${one.other} others` : String(one[by]);
		item.append(element("span", undefined, { class: `swatch c${i % colours}`, "aria-hidden": "true" }));
		if (one.other || !onValue)
			item.append(element("span", name));
		else {
			const button = element("button", name, { type: "button", title: `Select ${by} ${name}` });
			button.addEventListener("click", () => onValue(by, one));
			item.append(button);
		}
		item.append(element("span", ` ${number(one.samples)}`, { class: "quiet" }));
		list.append(item);
	});
	return list;
}

// Two steps, in order, as times: the end of the second one is not included.
function chooser(svg, json, onRange) {
	const mark = drawn("rect", { y: 0, height, class: "chosen", visibility: "hidden" });
	let from = 0, to = 0;
	const show = () => {
		const first = Math.min(from, to), last = Math.max(from, to);
		mark.setAttribute("x", first * width / json.steps);
		mark.setAttribute("width", (last - first + 1) * width / json.steps);
		mark.setAttribute("visibility", "visible");
	};
	const take = () => onRange(json.start_seconds + Math.min(from, to) * json.step_seconds,
		json.start_seconds + (Math.max(from, to) + 1) * json.step_seconds);
	const stepAt = (event) => {
		const box = svg.getBoundingClientRect();
		return Math.max(0, Math.min(json.steps - 1, Math.floor((event.clientX - box.left) / box.width * json.steps)));
	};
	svg.append(mark);
	svg.addEventListener("pointerdown", (event) => {
		svg.setPointerCapture(event.pointerId);
		from = to = stepAt(event);
		show();
	});
	svg.addEventListener("pointermove", (event) => {
		if (!svg.hasPointerCapture(event.pointerId))
			return;
		to = stepAt(event);
		show();
	});
	svg.addEventListener("pointerup", () => from !== to && take());
	svg.addEventListener("keydown", (event) => {
		const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (event.key === "Enter")
			take();
		if (!move)
			return;
		event.preventDefault();
		to = Math.max(0, Math.min(json.steps - 1, to + move));
		if (!event.shiftKey)
			from = to;
		show();
	});
}

// Windows beside this one, and a longer one around it.
function moves(from, to, onRange) {
	const made = element("span", undefined, { class: "moves" }), length = to - from;
	for (const [title, begin, end] of [["Earlier", from - length, from], ["Longer", from - length, to + length], ["Later", to, to + length]]) {
		const button = element("button", title, { type: "button" });
		button.addEventListener("click", () => onRange(begin, end));
		made.append(button);
	}
	return made;
}

// The chart of an answer of the API. onRange takes two times in seconds, onValue a key and a series (without it, no series can be chosen). isWindow: it is not all time.
export function seriesChart(json, by, onRange, onValue, isWindow) {
	const event = json.series[0]?.event, series = json.series.filter((one) => one.event === event);
	const figure = element("figure");
	if (!series.length)
		return element("p", "No samples.", { class: "quiet" });
	if (json.steps < 2)
		figure.className = "short"; // one step has no shape
	const end = json.start_seconds + json.steps * json.step_seconds;
	const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", tabindex: 0, role: "application",
		"aria-label": `${event} by ${by} over time. Arrow keys move, with shift they choose a range, Enter shows it.` });
	bands(svg, series, json.steps);
	json.lost.forEach((n, i) => n && svg.append(drawn("rect", { x: i * width / json.steps, y: 0, width: width / json.steps, height: 6, class: "lost" })));
	chooser(svg, json, onRange);
	const caption = element("figcaption");
	caption.append(element("span", timeText(json.start_seconds)), ...(isWindow ? [moves(json.start_seconds, end, onRange)] : []),
		element("span", `${event}, steps of ${json.step_seconds} s, ${zone}`), element("span", timeText(end)));
	figure.append(svg, caption, legend(series, by, onValue));
	return figure;
}
