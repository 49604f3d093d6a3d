// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a page of assay report --html in Chromium, and prints what its parts cost. Usage: page.mjs FILE
//
// Times are wall time of the page's thread, but for `cpu`: the thread's CPU time until the page is ready.
// `interval` is the time from frame to frame while the graph zooms, with all that the browser does.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../tests/npm/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM,
					args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const context = await browser.newContext({ viewport: { width: 1600, height: 900 } });
const page = await context.newPage(), devtools = await context.newCDPSession(page);

await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
await page.goto(pathToFileURL(process.argv[2]).href);
await page.waitForSelector("html[data-ready]");
const { metrics } = await devtools.send("Performance.getMetrics");
const cpu = metrics.find(m => m.name === "TaskDuration").value;

console.log(JSON.stringify(await page.evaluate(async cpu => {
	const { timeline, tracks, heat, upper, profile } = assay;
	const cost = act => { const begin = performance.now(); act(); return performance.now() - begin; };
	const times = (n, act) => Array.from({ length: n }, (_, i) => cost(() => act(i))).sort((a, b) => a - b);
	const longest = (n, act) => times(n, act)[n - 1];
	const frame = () => new Promise(done => requestAnimationFrame(done));
	const zoomBy = i => { upper.view = { from: 0, to: upper.tree.total[0] * 0.9 ** i }; upper.paint(); };
	const panBy = i => { const all = upper.tree.total[0]; upper.view = { from: all * i / 80, to: all * (i / 80 + 0.25) }; upper.paint(); };
	const out = { ready: assay.readyMs / 1000, cpu, boxes: assay.tree.n - 1, samples: assay.tree.total[0] };

	out.tree = longest(5, i => { timeline.range = { from: 60 * i, to: 60 * i + 60 }; assay.applyWeights(); assay.applyView(false); });
	timeline.range = null;
	assay.applyWeights();
	assay.applyView(true);
	// From ten minutes to 40 microseconds in 24 steps.
	out.zoom = longest(24, i => { timeline.setView(300, 600 / 2 ** i); timeline.paintNow(); });
	timeline.setView(0, Infinity);
	assay.togglePanel("tracks");
	out.tracks = longest(5, () => tracks.paint());
	assay.togglePanel("heat");
	out.heat = longest(5, () => heat.paint());
	assay.togglePanel("heat");
	const graph = times(60, zoomBy), intervals = [];
	for (let i = 0, last = await frame(); i < 60; i++) {
		zoomBy(i);
		const now = await frame();
		intervals.push(now - last);
		last = now;
	}
	out.pan = longest(60, panBy);
	out.graph = graph[59];
	out.middle = graph[30];
	out.interval = intervals.sort((a, b) => a - b)[30];
	upper.view = upper.windowOf(0);
	const other = upper.tree.frame.findIndex((f, i) => i > 0 && profile.image[f] === -1 && upper.tree.total[i] > 0);
	out.hidden = profile.hidden.nodes;
	out.other = other > 0 ? cost(() => assay.openOther(upper, other)) : 0;
	return out;
}, cpu)));
await browser.close();
