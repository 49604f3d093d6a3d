// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `assay serve` in a real browser: node serve.mjs URL. Each check is a TAP line.
import { equal, holds, run, launched } from "./harness.mjs";

const complaints = [], others = [];
const page = await (await launched()).newPage();
const origin = new URL(process.argv[2]).origin;
page.on("console", m => ["error", "warning"].includes(m.type()) && complaints.push(m.text()));
page.on("pageerror", e => complaints.push(e.message));
page.on("dialog", d => { complaints.push(`dialog ${d.message()}`); d.dismiss(); });
page.on("request", r => r.url().startsWith(origin) || r.url().startsWith("data:") || others.push(r.url()));
page.setDefaultTimeout((process.env.DEADLINE || 120) * 1000);
await page.goto(process.argv[2]);

const frame = () => page.frameLocator("iframe");
const choose = async (view, source) => {
	await page.selectOption("#source", source);
	await page.selectOption("#view", view);
	await page.click("button[type=submit]");
};

await run({
	async opens() {
		await frame().locator("html[data-ready]").waitFor();
		holds(await frame().locator("#title").textContent(), "the profile has a title");
		holds(!page.url().includes("token"), "the address keeps no token");
		await page.waitForFunction(() => document.getElementById("coverage").textContent.includes("samples"));
	},
	async views() {
		for (const view of ["top", "values", "processes", "explain", "info"]) {
			await choose(view, "plain");
			await page.locator("main > :is(table, pre, div)").first().waitFor();
			equal(await page.locator("#problem").isHidden(), true, view);
		}
		await choose("top", "plain");
		await page.locator("td", { hasText: "hash" }).first().waitFor();
	},
	async filters() {
		await page.fill("#filter", "comm:worker  symbol:hash");
		await choose("values", "plain");
		await page.waitForFunction(() => {
			const rows = [...document.querySelectorAll("tbody tr")];
			return rows.length > 0 && rows.every(row => row.textContent.includes("worker"));
		});
		await page.fill("#filter", "nothing:x");
		await page.keyboard.press("Enter");
		await page.locator("#problem:not([hidden])").waitFor();
		await page.fill("#filter", "");
		await page.keyboard.press("Enter");
		await page.locator("tbody tr").first().waitFor();
	},
	async back() {
		await choose("values", "plain");
		await page.locator("th", { hasText: "comm" }).waitFor();
		await choose("top", "plain");
		await page.locator("th", { hasText: "Function" }).waitFor();
		await page.goBack();
		await page.locator("th", { hasText: "comm" }).waitFor();
		equal(await page.locator("#view").inputValue(), "values", "the form follows the address");
	},
	async hostile() {
		await choose("page", "hostile");
		await frame().locator("html[data-ready]").waitFor();
		await choose("top", "hostile");
		await page.locator("td", { hasText: "</script><script>alert(1)</script>" }).first().waitFor();
	},
	async downloads() {
		await choose("top", "plain");
		const file = page.waitForEvent("download");
		await page.getByRole("link", { name: "Download as folded" }).click();
		equal((await file).suggestedFilename(), "profile.folded", "name of the file");
	},
	async narrow() {
		await page.setViewportSize({ width: 390, height: 700 });
		await choose("top", "plain");
		await page.locator("tbody tr").first().waitFor();
		holds(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the window");
	},
	async quiet() {
		// The wrong filter is answered by 400, which the browser names an error.
		equal(complaints.filter(text => !/status of 400/.test(text)), [], "complaints");
		equal(others, [], "requests elsewhere");
	},
});
