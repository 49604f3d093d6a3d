// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a page of assay report --html in Chromium, and prints what its parts cost. Usage: page.mjs FILE
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../tests/npm/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM,
					args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const page = await (await browser.newContext({ viewport: { width: 1600, height: 900 } })).newPage();

await page.goto(pathToFileURL(process.argv[2]).href);
await page.waitForSelector("html[data-ready]");
console.log(JSON.stringify(await page.evaluate(async () => {
	const { timeline, tracks, heat, upper, profile } = assay;
	const cost = act => { const begin = performance.now(); act(); return performance.now() - begin; };
	const longest = (n, act) => Math.max(...Array.from({ length: n }, (_, i) => cost(() => act(i))));
	const out = { ready: assay.readyMs / 1000, boxes: assay.tree.n - 1, samples: assay.tree.total[0] };

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
	upper.frameMs = [];
	out.graph = longest(60, i => { upper.view = { from: 0, to: upper.tree.total[0] * 0.9 ** i }; upper.paint(); });
	out.moments = profile.lanes[0].moments.n;
	return out;
})));
await browser.close();
