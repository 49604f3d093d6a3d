// SPDX-License-Identifier: GPL-2.0-or-later
// The pages of a fleet in a real browser: node fleet.mjs URL OLD NEW. The source "fleet" has the hosts web1, web2 and db1, and "plain" is a session.
// In the source "updated", web1 and web2 went from the build OLD of the program work to NEW after one of two hours. Each check is a TAP line.
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
const views = ["services", "service", "hosts", "blocks", "builds", "regressions", "coverage"];
const rowsShow = (text) => page.waitForFunction((text) => document.querySelector("main")?.textContent.includes(text), text);
const column = (n) => page.locator(`main tbody td:nth-child(${n})`).allTextContents();
const show = async (address) => {
	await page.goto(`${origin}/#${address}`);
	// The view of this address, with its parts.
	await page.waitForFunction((hash) => document.getElementById("main").dataset.shown === hash && !document.querySelector("main section > p:only-child"), `#${address}`);
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
		await page.locator("#coverage", { hasText: "3 of 3 hosts have samples here" }).waitFor();
		// A selector of services chooses no hosts.
		await show(`source=fleet&view=hosts&filter=${encodeURIComponent('host=~"web.*" service=~".*"')}`);
		equal(await column(1), ["web1", "web2"], "hosts that are chosen");
		for (const filter of ['host="web1", service=~".*"', 'service=~".*", host="web1"', '{host="web1"}']) {
			await show(`source=fleet&view=hosts&filter=${encodeURIComponent(filter)}`);
			equal(await column(1), ["web1"], `hosts of ${filter}`);
		}
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
	async many() {
		// Of ten thousand hosts, the first are shown. They can be searched, sorted and paged, and Live keeps what was chosen.
		const { hosts: [host] } = await ask("hosts?source=fleet"), count = 10000;
		const hosts = Array.from({ length: count }, (_, i) => ({ ...host, host: `web${i}`, samples: i, backlog: (i * 7919) % count, labels: { zone: `z${i % 3}` }, refused: i === 77 ? 2 : 0, refusal: "a wrong clock" }));
		await page.route((url) => url.pathname === "/api/v1/hosts", (route) => route.fulfill({ json: { schema: 1, hosts } }));
		await show("source=fleet&view=hosts&frames=language");
		equal((await column(1)).slice(-2), ["web98", "web99"], "the first hosts");
		await rowsShow("100 of 10,000 hosts");
		await rowsShow("1 of 10,000 hosts have trouble");
		const press = (title) => page.locator("main th button", { hasText: new RegExp(`^${title}$`) }).press("Enter");
		await press("Blocks that wait");
		equal((await column(11)).slice(0, 2), ["9,999", "9,998"], "the longest backlog comes first");
		equal(await page.locator("th[aria-sort=descending]").textContent(), "Blocks that wait", "the sorted column");
		equal(await page.evaluate(() => document.activeElement.dataset.focus), "sort Blocks that wait", "the focus stays");
		await page.keyboard.press("Enter");
		equal((await column(11)).slice(0, 2), ["0", "1"], "the shortest backlog");
		await press("Trouble");
		equal((await column(1))[0], "web77", "trouble comes before no trouble");
		await page.locator("main input[type=search]").fill("zone=z1");
		await press("Samples");
		equal((await column(1)).slice(0, 2), ["web9997", "web9994"], "hosts of a label, by samples");
		await rowsShow("100 of 10,000 hosts; 3,333 have “zone=z1”");
		await page.locator("main button", { hasText: "100 more" }).click();
		equal((await column(1)).length, 200, "more of them");
		await accessible("many hosts");
		await page.locator("main input[type=search]").fill("WEB1234");
		equal(await column(1), ["web1234"], "the host of a name");
		equal(await page.locator("main button", { hasText: "100 more" }).isVisible(), false, "all are shown");
		const first = await page.locator("main table").elementHandle();
		await page.locator("#live").evaluate((box) => box.checked = true); // it shows the old answer until the new one is there
		await page.locator("#query button[type=submit]").evaluate((button) => button.click());
		await page.waitForFunction((old) => !old.isConnected && document.querySelector("main table"), first);
		equal(await column(1), ["web1234"], "the search stays");
		equal(await page.evaluate(() => document.activeElement.dataset.focus), "find", "the focus stays");
		await page.locator("#live").evaluate((box) => box.checked = false);
		await page.locator("main input[type=search]").fill("<img src=x>");
		await rowsShow("0 of 10,000 hosts");
		equal(await page.locator("main img").count(), 0, "no markup");
		await page.locator("main input[type=search]").fill("");
		await page.unrouteAll({ behavior: "wait" });
	},
	async blocks() {
		// From a host to one of its blocks by keys alone, and to its stacks.
		await show("source=fleet&view=hosts");
		await page.locator("#main").focus();
		await tabTo("main tbody button.link");
		await page.keyboard.press("Enter");
		await page.locator("th", { hasText: "Part of the host" }).waitFor();
		equal(await page.locator("#filter").inputValue(), 'host="db1"', "the host");
		const { blocks } = await ask("blocks?source=fleet&filter=host:db1");
		equal(await column(3), blocks.map((one) => one.samples.toLocaleString("en-US")), "samples of its blocks");
		await tabTo("main tbody button.link");
		await page.keyboard.press("Enter");
		await frame().locator("html[data-ready]").waitFor();
		equal(await page.locator("#since").inputValue(), `@${blocks[0].start_seconds}`, "the time");
		const { header } = await ask(`top?source=fleet&filter=host:db1&since=@${blocks[0].start_seconds}&until=@${blocks[0].end_seconds}`);
		equal(header.samples.selected, blocks[0].samples, "samples of the block");
	},
	async services() {
		await show("source=updated&view=services");
		equal(await column(1), ["work"], "services");
		const { header, rows: [row] } = await ask("values?source=updated&by=service");
		equal(header.events[0].unit, "ns", "the unit of the event");
		equal(await column(2), [(row.events / 1e9).toLocaleString("en-US", { maximumFractionDigits: 1 })], "CPU seconds");
		equal(await column(3), [`${(row.events / 3.6e12 * 0.04).toLocaleString("en-US", { maximumFractionDigits: 2 })} EUR`], "cost");
		holds(/^[+−]\d+ %$/.test((await column(6))[0]), "a trend");
		equal(await page.locator("svg.spark polyline").count(), 1, "its line");
		// A service leads to its functions, hosts and builds; these lead on.
		await page.locator("main button.link", { hasText: "work" }).click();
		await page.locator("section[aria-label=Builds] td", { hasText: process.argv[4].slice(0, 12) }).waitFor();
		equal((await page.locator("section[aria-label=Hosts] button.link").allTextContents()).sort(), ["db1", "web1", "web2"], "hosts of the service");
		await page.locator("main button.link", { hasText: "parse" }).first().click();
		await rowsShow("called by");
		await page.locator("section[aria-label=Hosts] button.link", { hasText: "db1" }).click();
		await page.locator("th", { hasText: "Part of the host" }).waitFor();
		equal([...new Set(await column(2))], ["db1"], "blocks of the host");
	},
	async week() {
		// A week before, the same hosts have the same services with half of the CPU time. Whole hours are compared.
		const week = 7 * 86400, asked = [], series = await ask("series?source=updated&by=service&limit=300");
		const start = Math.ceil(series.start_seconds / 3600) * 3600, end = Math.floor((series.start_seconds + series.steps * series.step_seconds) / 3600) * 3600;
		const { rows: [row] } = await ask(`values?source=updated&by=service&since=@${start}&until=@${end}`);
		const before = Math.round(row.events / 2);
		let blockSeconds = 600, warning = "";
		await page.route((url) => url.pathname === "/api/v1/blocks", (route) => {
			const from = Number(new URL(route.request().url()).searchParams.get("since").slice(1));
			return route.fulfill({ json: { schema: 1, blocks: [{ start_seconds: from, end_seconds: from + blockSeconds }] } });
		});
		await page.route((url) => url.pathname === "/api/v1/values" && Number(url.searchParams.get("since")?.slice(1)) < series.start_seconds, async (route) => {
			const query = new URL(route.request().url()).searchParams, [from, to] = ["since", "until"].map((name) => Number(query.get(name).slice(1)));
			asked.push([from, to]);
			query.set("since", `@${from + week}`);
			query.set("until", `@${to + week}`);
			const response = await route.fetch({ url: `${origin}/api/v1/values?${query}` }), json = await response.json();
			json.rows.forEach((one) => one.events = before);
			await route.fulfill({ json, headers: warning ? { "X-Assay-Warning": warning } : {} });
		});
		await show("source=updated&view=services&frames=native");
		equal(await column(6), [`+${(100 * (row.events - before) / before).toFixed(0)} %`], "the trend");
		equal(asked, [[start - week, end - week]], "the time of the week before");
		await rowsShow("against the same time a week before (3 hosts have samples now, 3 hosts had some then). Cost");
		// Of blocks of a day, no two hours can be compared.
		blockSeconds = 86400;
		await show("source=updated&view=services&frames=both");
		await rowsShow("the later half of the time against the earlier half, as the time that is shown has no whole day");
		[blockSeconds, warning] = [600, "shard 2 of 2 is missing"];
		await show("source=updated&view=services&frames=language");
		await rowsShow("against the earlier half, as shard 2 of 2 is missing. Cost");
		await page.unrouteAll({ behavior: "wait" });
		await show("source=updated&view=services&frames=native&by=host");
		await rowsShow("as there are no samples of a week before");
	},
	async events() {
		// CPU seconds of an event at a frequency need one rate of all hosts. Waits are no CPU time.
		const { series: [row] } = await ask("series?source=updated&by=service&limit=300");
		const seconds = (row.samples / 50).toLocaleString("en-US", { maximumFractionDigits: 1 }), samples = row.samples.toLocaleString("en-US");
		for (const [facts, wanted] of [[{}, seconds], [{ lowest_hz: 50, highest_hz: 200 }, samples], [{ unit: "ns", name: "off-cpu:sleep" }, samples]]) {
			await page.route((url) => url.pathname === "/api/v1/series", async (route) => {
				const response = await route.fetch(), json = await response.json();
				Object.assign(json.header.events[0], { unit: "events", freq_hz: 50 }, facts);
				json.series.forEach((one) => one.event = json.header.events[0].name);
				await route.fulfill({ response, json });
			});
			await show(`source=updated&view=services&limit=${300 + Object.keys(facts).length}&frames=${facts.name ? "native" : "both"}`);
			equal(await column(2), [wanted], `the first number of a service: ${JSON.stringify(facts)}`);
			equal(await page.locator("th", { hasText: "Cost" }).count(), facts.highest_hz || facts.name ? 0 : 1, "costs");
			await page.unrouteAll({ behavior: "wait" });
		}
	},
	async builds() {
		await show("source=updated&view=builds");
		equal((await column(2)).slice(0, 2), [process.argv[4], process.argv[3]].map((id) => id.slice(0, 12)), "the newer build comes first");
		await page.locator("main button.link", { hasText: `since ${process.argv[3].slice(0, 12)}` }).click();
		await page.locator("tr", { hasText: "parse" }).locator("td", { hasText: "yes" }).waitFor();
		equal(await page.locator("#filter").inputValue(), `build="${process.argv[4]}"`, "the new build");
		equal(await page.locator("#baseline_filter").inputValue(), `build="${process.argv[3]}"`, "the old build");
	},
	async regressions() {
		await show("source=updated&view=regressions");
		equal((await column(5))[0], "parse", "the function");
		equal((await column(4))[0], "2 of 2", "its hosts");
		await page.locator("main button.link", { hasText: "since" }).first().click();
		await page.locator("th", { hasText: "Significant" }).waitFor();
		await page.goBack();
		await page.locator("main button.link", { hasText: "parse" }).first().click();
		await rowsShow("called by");
		equal(await page.locator("#filter").inputValue(), 'service="work" symbol="parse"', "the selector");
	},
	async coverage() {
		await show("source=updated&view=coverage");
		equal(await column(1), ["db1", "web1", "web2"], "hosts");
		equal(await column(3), ["12 of 12", "12 of 12", "12 of 12"], "steps with samples");
		await page.locator("main figure svg .band").waitFor();
		await show(`source=updated&view=coverage&filter=${encodeURIComponent('host="web1"')}`);
		equal(await column(1), ["web1"], "hosts that are chosen");
	},
	async hostile() {
		// Names of services, functions and builds are texts.
		const bad = "<img src=x onerror=alert(1)>";
		await page.route((url) => ["/api/v1/series", "/api/v1/regressions", "/api/v1/values"].includes(url.pathname), async (route) => {
			const response = await route.fetch(), text = await response.text();
			await route.fulfill({ response, body: text.replaceAll('"work"', JSON.stringify(bad)).replaceAll('"parse"', JSON.stringify(bad)).replaceAll(process.argv[4], "<img>") });
		});
		for (const view of ["services", "regressions", "builds", "coverage"]) {
			await show(`source=updated&view=${view}&frames=native`);
			equal(await page.locator("main img").count(), 0, `no markup in ${view}`);
		}
		await page.unrouteAll({ behavior: "wait" });
	},
	async accessible() {
		for (const view of views) {
			await show(`source=updated&view=${view}`);
			await accessible(view);
		}
	},
	async narrow() {
		// Nothing is wider than a phone, but for a table that can be scrolled.
		for (const [width, height] of [[390, 844], [3840, 2160]]) {
			await page.setViewportSize({ width, height });
			for (const view of views) {
				await show(`source=updated&view=${view}`);
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
