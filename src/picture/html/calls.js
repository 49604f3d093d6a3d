// SPDX-License-Identifier: GPL-2.0-or-later
// The calls of each thread over time. Names are text of the payload and go into canvases and text nodes alone.
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const ROW = 18, HEAD = 22, AXIS = 22, LEAST = 0.7;
const canvas = $("calls"), context = canvas.getContext("2d");
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function formatTime(ns, signed) {
	const size = Math.abs(ns), sign = !signed ? "" : ns < 0 ? "−" : ns > 0 ? "+" : "";
	const [scale, unit] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
	return `${sign}${(size / scale).toFixed(unit === "ns" ? 0 : 3)} ${unit}`;
}

// Calls come as numbers, five each: start since the one before, duration, depth, function, flags.
function unpackThread(thread) {
	const rows = [];
	let start = data.first;
	for (let i = 0; i < thread.calls.length; i += 5) {
		start += thread.calls[i];
		const [duration, depth, name, flags] = thread.calls.slice(i + 1, i + 5);
		(rows[depth] ||= []).push({ start, end: start + duration, depth, name, flags });
	}
	return { ...thread, rows: Array.from(rows, row => row || []) };
}

// In the page of `assay serve`, other threads may be left out, and the page brings what a shorter or longer window has.
const host = parent !== window && location.protocol.startsWith("http") ? parent : null, REST_MS = 300;
const chosen = new URLSearchParams(location.hash.slice(1)).get("tid")?.split(",").map(Number);
const threads = data.threads.filter(thread => !chosen || chosen.includes(thread.tid)).map(unpackThread);
const totals = data.functions.map((_, i) => ({ calls: 0, time: 0, insns: data.work[2 * i], cycles: data.work[2 * i + 1] }));
for (const thread of threads)
	for (const row of thread.rows)
		for (const call of row) {
			totals[call.name].calls++;
			totals[call.name].time += call.end - call.start;
		}

// The calls of a function whose begin and end were seen, the slowest first. A jump, or a call by the kernel, has both.
const INCOMPLETE = 1 | 2 | 4 | 8, N_SLOWEST = 10;
function wholeCallsOf(name) {
	const calls = threads.flatMap(thread => thread.rows.flatMap(row => row.filter(c => c.name === name && !(c.flags & INCOMPLETE))));
	return calls.sort((a, b) => b.end - b.start - (a.end - a.start));
}

// How many calls took so long: a bar for each power of two of nanoseconds, from the fastest call to the slowest.
function histogramOf(calls) {
	const bucketOf = call => Math.floor(Math.log2(Math.max(call.end - call.start, 1)));
	const bars = [];
	for (const call of calls) {
		const bucket = bucketOf(call);
		bars[bucket] = (bars[bucket] || 0) + 1;
	}
	const first = bars.findIndex(n => n);
	return Array.from(bars.slice(Math.max(first, 0)), (n, i) => ({ from: 2 ** (first + i), n: n || 0 }));
}

function element(tag, text, parent, attributes = {}) {
	const made = Object.assign(document.createElement(tag), attributes);
	made.textContent = text;
	parent.append(made);
	return made;
}

// The selected function: how long its calls took, and the slowest ones, which a click shows.
function showFunction(name) {
	const panel = $("function"), calls = wholeCallsOf(name), bars = histogramOf(calls), most = Math.max(...bars.map(b => b.n), 1);
	panel.replaceChildren();
	panel.hidden = false;
	element("h2", data.functions[name], panel);
	element("p", `${totals[name].calls} calls, ${formatTime(totals[name].time)}${ipcOf(name)}`, panel);
	const list = element("ul", "", panel, { className: "bars" });
	for (const bar of bars) {
		const row = element("li", "", list);
		element("span", `${formatTime(bar.from)} –`, row);
		element("i", "", row).style.width = `${100 * bar.n / most}px`;
		element("b", String(bar.n), row);
	}
	element("p", calls.length ? "The slowest:" : "The begin or the end of each call was not seen.", panel);
	const slowest = element("ol", "", panel);
	for (const call of calls.slice(0, N_SLOWEST)) {
		const button = element("button", `${formatTime(call.end - call.start)} at ${formatTime(call.start - data.zero, true)}`,
			element("li", "", slowest));
		button.addEventListener("click", () => goTo(call));
	}
	element("button", "Close", panel).addEventListener("click", () => { panel.hidden = true; });
}

function goTo(call) {
	const margin = (call.end - call.start) * 0.05 + 2;
	view = { from: call.start - margin, to: call.end + margin };
	selected = call;
	draw();
}

function ipcOf(name) {
	const { insns, cycles } = totals[name];
	return cycles ? `, ${(insns / cycles).toFixed(2)} instructions per cycle` : "";
}

const span = Math.max(data.last - data.first, 1);
const margin = host ? 0 : span * 0.01, all = { from: data.first - margin, to: data.last + margin };
let view = { ...all }, asked = view, rest = 0, found = null, selected = null, width = 0, drag = null;

// "12.000000500": a time of the picture on the recording's clock. The numbers of a browser are not exact enough for it.
function secondsText(time) {
	const ns = BigInt(data.begin) + BigInt(Math.round(time)), whole = (ns < 0n ? 0n : ns).toString().padStart(10, "0");
	return `${whole.slice(0, -9)}.${whole.slice(-9)}`;
}

// Once the view rests, the host brings its window: with shorter calls, or with time that is not here.
function askHost() {
	if (!host || view === asked)
		return;
	clearTimeout(rest);
	rest = setTimeout(() => {
		if (drag)
			return askHost();
		asked = view;
		host.postMessage({ time: `${secondsText(view.from)},${secondsText(view.to)}` }, location.origin);
	}, REST_MS);
}

function showAll() {
	if (host)
		host.postMessage({ time: "0%-100%" }, location.origin);
	view = { ...all };
	asked = view;
	draw();
}

// Instructions of a thread. The trace has no time of each: they share the time up to the next one that it has.
function spreadInstructions(rows) {
	const begin = Number(data.begin), made = [];
	for (let i = 0, end; i < rows.length; i = end) {
		for (end = i; end < rows.length && rows[end].time_ns === rows[i].time_ns;)
			end++;
		const start = rows[i].time_ns - begin, until = end < rows.length ? rows[end].time_ns - begin : Math.max(data.last, start + 1);
		for (let k = i; k < end; k++)
			made.push({ start: start + (until - start) * (k - i) / (end - i), end: start + (until - start) * (k + 1 - i) / (end - i), text: rows[k].disasm || "" });
	}
	return made;
}

function takeInstructions(rows) {
	for (const row of rows)
		if (!threads.some(thread => thread.tid === row.tid))
			threads.push({ pid: row.pid, tid: row.tid, comm: row.comm || "", rows: [] });
	for (const thread of threads)
		thread.instructions = spreadInstructions(rows.filter(row => row.tid === thread.tid));
	canvas.dataset.instructions = String(rows.length);
	draw();
}

const timeAt = x => view.from + x / width * (view.to - view.from);
const placeOf = time => (time - view.from) / (view.to - view.from) * width;

// The first call of a row that ends behind a time: calls of a row follow each other.
function firstEndingAfter(row, time) {
	let low = 0, high = row.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (row[middle].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

function colourOf(name) {
	let hash = 0;
	for (const c of data.functions[name])
		hash = (hash * 31 + c.codePointAt(0)) >>> 0;
	return `hsl(${hash % 360} 55% ${style("--box-light")})`;
}
const colours = new Map();
const colour = name => colours.get(name) || (colours.set(name, colourOf(name)), colours.get(name));

function drawRow(row, y) {
	for (let i = firstEndingAfter(row, view.from); i < row.length && row[i].start < view.to;) {
		const call = row[i], left = Math.max(placeOf(call.start), 0), right = Math.min(placeOf(call.end), width);
		const box = Math.max(right - left, LEAST);
		context.fillStyle = found && found.has(call.name) ? style("--found") : colour(call.name);
		context.globalAlpha = found && !found.has(call.name) ? 0.35 : 1;
		context.fillRect(left, y, Math.max(box - 0.5, LEAST), ROW - 1);
		if (call === selected) {
			context.strokeStyle = style("--ink");
			context.strokeRect(left + 0.5, y + 0.5, box - 1, ROW - 2);
		}
		if (box > 24) {
			context.save();
			context.beginPath();
			context.rect(left, y, box - 2, ROW);
			context.clip();
			context.fillStyle = style("--on-box");
			context.fillText(data.functions[call.name], left + 3, y + ROW / 2);
			context.restore();
		}
		// What is narrower than a pixel is not drawn again and again.
		i = box <= LEAST ? Math.max(i + 1, firstEndingAfter(row, timeAt(left + LEAST))) : i + 1;
	}
	context.globalAlpha = 1;
}

function drawInstructions(row, y) {
	for (let i = firstEndingAfter(row, view.from); i < row.length && row[i].start < view.to; i++) {
		const left = Math.max(placeOf(row[i].start), 0), box = Math.max(Math.min(placeOf(row[i].end), width) - left, LEAST);
		context.strokeStyle = style("--line");
		context.strokeRect(left + 0.5, y + 0.5, box, ROW - 2);
		if (box > 24) {
			context.save();
			context.beginPath();
			context.rect(left, y, box - 2, ROW);
			context.clip();
			context.fillStyle = style("--ink");
			context.fillText(row[i].text, left + 3, y + ROW / 2);
			context.restore();
		}
	}
}

function drawAxis(height) {
	// Of 1, 2, 5, 10 … the first with room for a label.
	const least = (view.to - view.from) * 100 / width, power = 10 ** Math.floor(Math.log10(least));
	const step = Math.max([1, 2, 5, 10].find(n => n * power >= least) * power, 1);
	context.fillStyle = style("--faint");
	context.strokeStyle = style("--line");
	for (let t = Math.ceil((view.from - data.zero) / step) * step; data.zero + t < view.to; t += step) {
		const x = placeOf(data.zero + t);
		context.beginPath();
		context.moveTo(x, AXIS - 4);
		context.lineTo(x, height);
		context.stroke();
		context.fillText(formatTime(Math.round(t), true), x + 3, AXIS / 2);
	}
}

function drawMarks(height) {
	context.strokeStyle = context.fillStyle = style("--mark");
	for (const mark of data.marks) {
		const x = placeOf(mark.time);
		context.beginPath();
		context.moveTo(x, 0);
		context.lineTo(x, height);
		context.stroke();
		context.textAlign = x > width / 2 ? "right" : "left";
		context.fillText(mark.text, x > width / 2 ? x - 3 : x + 3, AXIS + 6);
	}
}

const heightOf = thread => HEAD + (thread.rows.length + (thread.instructions ? 1 : 0)) * ROW + 6;

function draw() {
	const height = Math.max(AXIS + threads.reduce((sum, t) => sum + heightOf(t), 0), 60), scale = devicePixelRatio || 1;
	width = $("view").clientWidth;
	canvas.width = width * scale;
	canvas.height = height * scale;
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	context.setTransform(scale, 0, 0, scale, 0, 0);
	context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
	context.textBaseline = "middle";
	drawAxis(height);
	let y = AXIS;
	for (const thread of threads) {
		context.fillStyle = style("--ink");
		context.fillText(`${thread.comm} ${thread.tid}${thread.pid === thread.tid ? "" : ` of ${thread.pid}`}`, 4, y + HEAD / 2);
		thread.rows.forEach((row, depth) => drawRow(row, y + HEAD + depth * ROW));
		drawInstructions(thread.instructions || [], y + HEAD + thread.rows.length * ROW);
		y += heightOf(thread);
	}
	drawMarks(height);
	context.textAlign = "left";
	askHost();
}

function callAt(x, y) {
	let top = AXIS;
	for (const thread of threads) {
		const depth = Math.floor((y - top - HEAD) / ROW), row = thread.rows[depth];
		if (row && y >= top + HEAD && y < top + heightOf(thread)) {
			const call = row[firstEndingAfter(row, timeAt(x))];
			return call && call.start <= timeAt(x + LEAST) ? call : null;
		}
		top += heightOf(thread);
	}
	return null;
}

function describe(call) {
	const { calls, time } = totals[call.name];
	return `${data.functions[call.name]}\nat ${formatTime(call.start - data.zero, true)}, ${call.flags ? "its end or beginning was not seen" :
		`for ${formatTime(call.end - call.start)}`}\nin all: ${calls} calls, ${formatTime(time)}${ipcOf(call.name)}`;
}

function zoom(factor, x) {
	const at = timeAt(x), from = at - (at - view.from) * factor, to = at + (view.to - at) * factor;
	if (to - from < 4)
		return;
	view = !host && to - from > all.to - all.from ? { ...all } : { from, to };
	draw();
}

function move(part) {
	const by = (view.to - view.from) * part;
	view = { from: view.from + by, to: view.to + by };
	draw();
}

function search() {
	const text = $("search").value.toLowerCase();
	found = text ? new Set(data.functions.flatMap((name, i) => name.toLowerCase().includes(text) ? [i] : [])) : null;
	$("found").textContent = found ? `${[...found].reduce((n, i) => n + totals[i].calls, 0)} calls` : "";
	draw();
}

$("title").textContent = data.words.command;
$("cause").textContent = data.words.cause ? `Kept because ${data.words.cause}. Times are from there.` : threads.some(thread => thread.rows.length) ? "Times are from the begin of the first call." :
	"There is no call here: zoom out, or choose another window. Times are from its begin.";
$("source").textContent = `By ${data.words.source}.${data.exact ? "" : " What is shorter than a period is not seen."}${
	!data.left_out ? "" : data.shortest ? ` ${data.left_out} calls below ${formatTime(data.shortest)} are neither drawn nor counted: zoom in.` :
	` ${data.left_out} older calls are left out.`}${
	data.errors ? ` ${data.errors} errors in decoding cut the calls of their threads.` : ""}`;
document.title = `${data.words.command} · assay`;
$("search").addEventListener("input", search);
$("all").addEventListener("click", showAll);
canvas.addEventListener("wheel", event => {
	event.preventDefault();
	zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX);
}, { passive: false });
canvas.addEventListener("pointerdown", event => { drag = { x: event.clientX, view }; canvas.setPointerCapture(event.pointerId); });
canvas.addEventListener("pointerup", event => {
	if (drag && Math.abs(event.clientX - drag.x) < 3) {
		selected = callAt(event.offsetX, event.offsetY);
		$("status").textContent = selected ? describe(selected).replaceAll("\n", " · ") : "";
		if (selected)
			showFunction(selected.name);
		draw();
	}
	drag = null;
});
canvas.addEventListener("pointermove", event => {
	const call = drag ? null : callAt(event.offsetX, event.offsetY);
	if (drag) {
		const by = (drag.x - event.clientX) / width * (drag.view.to - drag.view.from);
		view = { from: drag.view.from + by, to: drag.view.to + by };
		draw();
	}
	$("tip").hidden = !call;
	if (call) {
		$("tip").textContent = describe(call);
		$("tip").style.left = `${Math.min(event.clientX + 12, innerWidth - 320)}px`;
		$("tip").style.top = `${event.clientY + 14}px`;
	}
});
canvas.addEventListener("pointerleave", () => $("tip").hidden = true);
canvas.addEventListener("dblclick", event => {
	const call = callAt(event.offsetX, event.offsetY);
	if (call)
		goTo(call);
});
addEventListener("keydown", event => {
	if (event.target === $("search")) {
		if (event.key === "Escape")
			canvas.focus();
		return;
	}
	const keys = {
		"+": () => zoom(0.8, width / 2), "-": () => zoom(1.25, width / 2), 0: showAll,
		ArrowLeft: () => move(-0.1), ArrowRight: () => move(0.1), "/": () => $("search").focus(),
	};
	if (keys[event.key] && !event.ctrlKey && !event.metaKey) {
		event.preventDefault();
		keys[event.key]();
	}
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours.clear(); draw(); });
new ResizeObserver(draw).observe($("view"));
draw();
canvas.dataset.drawn = String(threads.length);
addEventListener("message", event => host && event.source === host && event.origin === location.origin && takeInstructions(event.data.instructions));
host?.postMessage({ calls: threads.reduce((n, t) => n + t.rows.reduce((sum, row) => sum + row.length, 0), 0), left_out: data.left_out }, location.origin);
