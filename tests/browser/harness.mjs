// SPDX-License-Identifier: GPL-2.0-or-later
// One Chromium for all checks; each check is a TAP line. Nothing here waits for a time: only for
// what the page says of itself.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../npm/package.json", import.meta.url));
const needed = JSON.parse(readFileSync(new URL("../npm/node_modules/playwright-core/package.json", import.meta.url), "utf8")).engines.node;
if (Number(process.versions.node.split(".")[0]) < Number(/\d+/.exec(needed)[0])) {
	console.log(`skip Playwright needs Node.js ${needed}, and ${process.versions.node} is here`);
	process.exit(0);
}
const { chromium } = require("playwright-core");

const folder = process.argv[2];
export const home = `${pathToFileURL(folder)}/`;
export const report = name => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8"));

const complaints = [], requests = [];
const deadline = (process.env.DEADLINE || 120) * 1000;
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM, timeout: deadline,
	// Neither root nor users of most containers may make the namespaces of a sandbox; the pages are ours.
	args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
}).catch(error => {
	const why = error.message.split("\n").find(line => /error|fail|denied|closed/i.test(line)) || error.message;
	console.log(`skip Chromium does not start here: ${why.split("\n")[0]}`);
	process.exit(0);
});

export async function launched() {
	const context = await browser.newContext({ locale: "en-US", timezoneId: "UTC", acceptDownloads: true });
	context.setDefaultTimeout(deadline);
	return context;
}

// Opens a file of the folder; all that it asks for and complains of is kept.
export async function open(file, { hash = "", width = 1200, height = 800, ...options } = {}) {
	const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce", locale: "en-US",
						   timezoneId: "UTC", ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(deadline);
	page.on("request", r => requests.push(r.url()));
	page.on("console", m => ["error", "warning"].includes(m.type()) && complaints.push(`${file}: ${m.text()}`));
	page.on("pageerror", e => complaints.push(`${file}: ${e.message}`));
	page.on("dialog", d => { complaints.push(`${file}: dialog ${d.message()}`); d.dismiss(); });
	await page.goto(`${home}${file}${hash}`);
	if (file.endsWith(".html"))
		await page.waitForSelector("html[data-ready]");
	return page;
}

export const seen = { complaints, requests };

export function equal(got, wanted, what) {
	const a = JSON.stringify(got), b = JSON.stringify(wanted);
	if (a !== b)
		throw new Error(`${what}: ${String(a).slice(0, 400)}, wanted ${String(b).slice(0, 400)}`);
}

export function holds(condition, what) {
	if (!condition)
		throw new Error(what);
}

// What axe-core finds, as sentences. More of its options: axe.run(CONTEXT, OPTIONS).
export async function violationsOf(page, context = {}) {
	if (!await page.evaluate(() => "axe" in window))
		await page.evaluate(readFileSync(new URL("../npm/node_modules/axe-core/axe.min.js", import.meta.url), "utf8"));
	return page.evaluate(async context => (await window.axe.run({ include: [["html"]], ...context }, { resultTypes: ["violations"] })).violations
		.map(v => `${v.id}: ${v.nodes.map(n => n.target.join(" ")).join(", ")}`), context);
}

// The first difference of two {key: value}, as a sentence.
export function sameEntries(got, wanted, what) {
	for (const key of new Set([...Object.keys(got), ...Object.keys(wanted)]))
		equal(got[key], wanted[key], `${what}, ${key}`);
	holds(Object.keys(wanted).length > 0, `${what}: nothing to compare`);
}

export async function run(checks) {
	for (const [name, check] of Object.entries(checks)) {
		try {
			await check();
			console.log(`ok ${name}`);
		} catch (error) {
			const line = /(\w+\.mjs:\d+):\d+/.exec((error.stack || "").split("\n").filter(at => !at.includes("harness.mjs")).join("\n"));
			console.log(`not ok ${name}: ${String(error.message).split("\n")[0]} (${line ? line[1] : "somewhere"})`);
		}
	}
	await browser.close();
}
