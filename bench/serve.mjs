// SPDX-License-Identifier: GPL-2.0-or-later
// Opens assay serve in Chromium, and prints in milliseconds how soon it shows its things. Usage: serve.mjs URL SINCE UNTIL
//
// URL is the once-only address; the only source has the hour from SINCE to UNTIL. `paint` is the first paint of the page, as the
// browser says. `selector` is the time from a click to the functions of another selector, which the server has not answered yet;
// `again` is that of one that it has kept. `graph` is the time until the flame graph of the hour is painted.
import { createRequire } from "node:module";

const require = createRequire(new URL("../tests/npm/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM,
					args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const context = await browser.newContext({ viewport: { width: 1600, height: 900 }, timezoneId: "UTC" });
const page = await context.newPage(), [, , url, since, until] = process.argv;
const paint = () => page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? new Promise(done =>
	new PerformanceObserver(list => done(list.getEntries().at(-1).startTime)).observe({ type: "paint", buffered: true })));

// From the click to the rows of a new table.
const choose = (view, filter) => page.evaluate(([view, filter]) => new Promise(done => {
	const byId = id => document.getElementById(id), begin = performance.now();
	const old = document.querySelector("main table");
	byId("view").value = view;
	byId("filter").value = filter;
	byId("filter").form.requestSubmit();
	const look = () => {
		const now = document.querySelector("main table tbody tr");
		if (now && now.closest("table") !== old)
			done(performance.now() - begin);
		else
			requestAnimationFrame(look);
	};
	look();
}), [view, filter]);

await page.goto(url);
await page.waitForURL(at => !at.search.includes("token")); // the log-in goes on to the page
await page.waitForFunction(() => document.getElementById("source")?.value);
const out = { paint: await paint() };
await page.fill("#since", since);
await page.fill("#until", until);
await choose("top", "");
out.selector = await choose("top", "comm:program1*");
await choose("top", "");
out.again = await choose("top", "comm:program1*");
await page.fill("#filter", "");
await page.selectOption("#view", "page");
const begin = Date.now();
await page.click("button[type=submit]");
await page.frameLocator("iframe").locator("html[data-ready]").waitFor();
out.graph = Date.now() - begin;
console.log(JSON.stringify(out));
await browser.close();
