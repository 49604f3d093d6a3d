// SPDX-License-Identifier: GPL-2.0-or-later
// The pages of a fleet in a real browser: node fleet.mjs URL. The source "fleet" has the hosts web1, web2 and db1, and "plain" is a session. Each check is a TAP line.
import { equal, holds, run, launched, violationsOf } from "./harness.mjs";

const complaints = [], others = [];
const page = await (await launched()).newPage();
const origin = new URL(process.argv[2]).origin;
page.on("console", (m) => ["error", "warning"].includes(m.type()) && complaints.push(m.text()));
page.on("pageerror", (e) => complaints.push(e.message));
page.on("dialog", (d) => { complaints.push(`dialog ${d.message()}`); d.dismiss(); });
page.on("request", (r) => r.url().startsWith(origin) || r.url().startsWith("data:") || others.push(r.url()));
await page.goto(process.argv[2]);
await page.waitForFunction(() => document.querySelector("#source option"));

const ask = async (path) => (await page.request.get(`${origin}/api/v1/${path}`)).json();
const frame = () => page.frameLocator("iframe");
const column = (n) => page.locator(`main tbody td:nth-child(${n})`).allTextContents();
const show = async (address) => {
	await page.goto(`${origin}/#${address}`);
	await page.waitForFunction((address) => location.hash === `#${address}` && document.getElementById("main").dataset.made === new URLSearchParams(address).get("view") &&
		!document.querySelector("main > p, main section > p:only-child"), address);
	await page.waitForFunction(() => document.getElementById("coverage").textContent.includes("samples"));
};
const accessible = async (title) => equal(await violationsOf(page, { exclude: [["iframe"], ["tbody tr:nth-child(n+4)"]] }), [], title);
// Goes to an element by Tab alone.
const tabTo = async (selector) => {
	for (let i = 0; i < 300; i++) {
		await page.keyboard.press("Tab");
		if (await page.evaluate((selector) => document.activeElement?.matches(selector), selector))
			return;
	}
	throw new Error(`Tab does not reach ${selector}`);
};

await run({
	async offers() {
		// A session has no page of a fleet.
		await show("source=plain&view=top");
		equal(await page.locator("#fleet-views").isDisabled(), true, "views of a session");
		await page.selectOption("#source", "fleet");
		equal(await page.locator("#fleet-views").isEnabled(), true, "views of a fleet");
	},
	async hosts() {
		await show("source=fleet&view=hosts");
		const { hosts } = await ask("hosts?source=fleet");
		equal(await column(1), ["db1", "web1", "web2"], "hosts");
		equal(await column(5), hosts.map((one) => one.samples.toLocaleString("en-US")), "samples");
		holds((await page.locator("#coverage").textContent()).includes("3 of 3 hosts have samples here"), "the coverage");
		// A selector of services chooses no hosts.
		await show(`source=fleet&view=hosts&filter=${encodeURIComponent('host=~"web.*" service=~".*"')}`);
		equal(await column(1), ["web1", "web2"], "hosts that are chosen");
	},
	async facts() {
		// What a gateway knows, and what a host says of itself, as texts.
		const { hosts } = await ask("hosts?source=fleet"), bad = "<img src=x onerror=alert(1)>";
		const facts = { seen_seconds: 1700000000, skew_ms: -1500, backlog: 12, version: bad, cloned_seconds: 1, refused: 3, refusal: bad, expired_on_host: 9, rate_hz: 49, cpus: 8, lost: 5,
			labels: { zone: bad } };
		await page.route((url) => url.pathname === "/api/v1/hosts", (route) => route.fulfill({ json: { schema: 1, hosts: [{ ...hosts[0], ...facts }] } }));
		await show("source=fleet&view=hosts&frames=native");
		const texts = await page.locator("main tbody td").allTextContents();
		for (const wanted of ["−1.5 s", "12", bad, `zone=${bad}`, "49", "8", `two machines run under this name; 3 blocks refused: ${bad}; 9 samples expired before they were sent`])
			holds(texts.includes(wanted), `${wanted} in ${texts}`);
		equal(await page.locator("main img").count(), 0, "no markup");
		await page.unrouteAll({ behavior: "wait" });
	},
	async blocks() {
		// From a host to one of its blocks by keys alone, and to its stacks.
		await show("source=fleet&view=hosts");
		await page.locator("#main").focus();
		await tabTo("main button.link");
		await page.keyboard.press("Enter");
		await page.locator("th", { hasText: "Part of the host" }).waitFor();
		equal(await page.locator("#filter").inputValue(), 'host="db1"', "the host");
		const { blocks } = await ask("blocks?source=fleet&filter=host:db1");
		equal(await column(3), blocks.map((one) => one.samples.toLocaleString("en-US")), "samples of its blocks");
		await tabTo("main button.link");
		await page.keyboard.press("Enter");
		await frame().locator("html[data-ready]").waitFor();
		equal(await page.locator("#since").inputValue(), `@${blocks[0].start_seconds}`, "the time");
		const { header } = await ask(`top?source=fleet&filter=host:db1&since=@${blocks[0].start_seconds}&until=@${blocks[0].end_seconds}`);
		equal(header.samples.selected, blocks[0].samples, "samples of the block");
	},
	async accessible() {
		for (const view of ["hosts", "blocks"]) {
			await show(`source=fleet&view=${view}`);
			await accessible(view);
		}
	},
	async narrow() {
		// Nothing is wider than a phone, but for a table that can be scrolled.
		for (const [width, height] of [[390, 844], [3840, 2160]]) {
			await page.setViewportSize({ width, height });
			for (const view of ["hosts", "blocks"]) {
				await show(`source=fleet&view=${view}`);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				holds(wide <= 0, `${view} at ${width}: ${wide} pixels too wide`);
			}
		}
		await page.setViewportSize({ width: 1280, height: 720 });
	},
	async quiet() {
		equal(complaints, [], "complaints");
		equal(others, [], "requests to others");
	},
});
