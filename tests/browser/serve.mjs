// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `assay serve` in a real browser: node serve.mjs URL FOLDER, whose sessions it shows. Each check is a TAP line.
import { cpSync, readFileSync, rmSync } from "node:fs";
import { equal, holds, run, launched, violationsOf } from "./harness.mjs";

const complaints = [], others = [];
const page = await (await launched()).newPage();
const origin = new URL(process.argv[2]).origin;
page.on("console", m => ["error", "warning"].includes(m.type()) && complaints.push(m.text()));
page.on("pageerror", e => complaints.push(e.message));
page.on("dialog", d => { complaints.push(`dialog ${d.message()}`); d.dismiss(); });
page.on("request", r => r.url().startsWith(origin) || r.url().startsWith("data:") || others.push(r.url()));
await page.goto(process.argv[2]);

// The frame is the profile's own page, which has other tests. All rows of a table are alike.
const accessible = async (title) => equal(await violationsOf(page, { exclude: [["iframe"], ["tbody tr:nth-child(n+4)"]] }), [], title);
const rowsShow = (text) => page.waitForFunction((text) => document.querySelector("main")?.textContent.includes(text), text);

// The newest choice has its answers. No question is on its way to a request that a check holds.
const settled = () => page.waitForFunction(() => document.getElementById("series").dataset.shown === location.hash &&
	document.getElementById("coverage").textContent.includes("samples") && !document.querySelector("main > p"));
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
		await page.selectOption("#frames", "native");
		const asked = page.waitForRequest(r => r.url().includes("/api/v1/top?") && r.url().includes("frames=native"));
		await page.click("button[type=submit]");
		await asked;
		await page.selectOption("#frames", "");
		await page.click("button[type=submit]");
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
	async series() {
		await choose("values", "plain");
		await page.locator("#series .band").first().waitFor();
		equal(await page.locator("#series .legend li").count(), 2, "two names of threads");
		// A drag over the middle of the chart chooses a range of time. The chart may be drawn anew until the view is settled.
		await settled();
		const box = await page.locator("#series svg").boundingBox();
		await page.mouse.move(box.x + box.width * 0.3, box.y + 20);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 4 });
		await page.mouse.up();
		await page.waitForFunction(() => /^@\d+$/.test(document.getElementById("since").value));
		const seconds = await page.evaluate(() => document.getElementById("until").value.slice(1) - document.getElementById("since").value.slice(1));
		holds(seconds >= 2 && seconds <= 4, `a range of ${seconds} of 10 seconds`);
		await page.goBack();
		await page.waitForFunction(() => !document.getElementById("since").value);
		// A name of the legend becomes a matcher.
		await page.locator("#series .legend button", { hasText: "worker" }).click();
		await page.waitForFunction(() => document.getElementById("filter").value === 'comm="worker"');
		await page.waitForFunction(() => document.querySelectorAll("#series .legend li").length === 1);
		await page.goBack();
		await page.waitForFunction(() => document.querySelectorAll("#series .legend li").length === 2);
	},
	async completes() {
		await page.locator("#filter").pressSequentially("com");
		await page.waitForFunction(() => document.querySelector('#completions option[value=\'comm="\']'));
		await page.locator("#filter").pressSequentially('m="w');
		await page.waitForFunction(() => document.querySelector('#completions option[value=\'comm="worker"\']'));
		// Of 3,000 values, those that begin so.
		await choose("values", "many");
		await page.fill("#filter", "");
		await page.locator("#filter").pressSequentially('comm="task.299');
		await page.waitForFunction(() => document.querySelector('#completions option[value=\'comm="task.2999"\']'));
		await page.fill("#filter", "");
	},
	async event() {
		await page.selectOption("#event", "page-faults");
		await choose("values", "plain");
		await page.waitForFunction(() => document.querySelector("#series figcaption")?.textContent.includes("page-faults"));
		holds(!(await page.locator("main").textContent()).includes("cpu-clock"), "rows of one event");
		await page.selectOption("#event", "");
		await page.waitForFunction(() => !location.hash.includes("event="));
		await settled();
	},
	async late() {
		// Holds requests to a path until release() is called; then they go on.
		const hold = async (path) => {
			let release;
			const held = new Promise(resolve => { release = resolve; });
			await page.route(url => url.pathname === path, async route => {
				await held;
				return route.continue();
			});
			return async () => {
				const answered = page.waitForResponse(r => new URL(r.url()).pathname === path);
				release();
				await (await answered).finished();
			};
		};
		// An event that is chosen while the list of events is on its way stays.
		const release = await hold("/api/v1/values");
		await page.evaluate(() => { document.getElementById("coverage").textContent = ""; });
		await choose("top", "plain");
		await page.evaluate(() => { document.getElementById("event").value = "page-faults"; }); // the list is still open
		await release();
		await page.waitForFunction(() => document.getElementById("coverage").textContent.includes("samples"));
		equal(await page.locator("#event").inputValue(), "page-faults", "the event");
		await page.evaluate(() => { document.getElementById("event").value = ""; });
		await settled();
		await page.unrouteAll({ behavior: "wait" });
	},
	async stops() {
		// The question of another address ends, and with it its work on the server.
		const ended = page.waitForEvent("requestfailed", r => r.url().includes("/api/v1/top?"));
		await page.route(url => url.pathname === "/api/v1/top", () => {});
		await choose("values", "plain");
		await page.locator("main tbody tr").first().waitFor();
		await choose("top", "plain");
		await choose("values", "plain");
		equal((await ended).failure().errorText, "net::ERR_ABORTED", "the question before");
		await page.locator("th", { hasText: "comm" }).waitFor();
		await page.unrouteAll({ behavior: "ignoreErrors" });
	},
	async busy() {
		// A busy server is asked again.
		let n = 0;
		await page.route(url => url.pathname === "/api/v1/top", route => n++ < 2 ? route.fulfill({ status: 429, headers: { "Retry-After": "1" }, json: { error: "busy" } })
			: route.continue());
		await choose("top", "plain");
		await page.locator("td", { hasText: "hash" }).first().waitFor();
		equal(n, 3, "questions");
		equal(await page.locator("#problem").isHidden(), true, "no problem");
		await page.unrouteAll({ behavior: "wait" });
	},
	async kept() {
		// The address keeps the profile's own page in the frame.
		await choose("page", "plain");
		await frame().locator("html[data-ready]").waitFor();
		await frame().locator("[data-view=table]").click();
		await page.waitForFunction(() => location.hash.includes("shown="));
		// If names come later, the frame loads once more, and keeps also what is chosen meanwhile.
		let isLate = true;
		await page.route((url) => url.pathname === "/api/v1/page", async (route) => {
			const response = await route.fetch(), headers = response.headers(), body = await response.text();
			await route.fulfill(isLate ? { response, headers: { ...headers, "x-assay-names": "later" } } : { response, body: body.replace("<html", "<html data-named") });
		});
		await page.reload();
		await frame().locator("[role=tab][aria-selected=true][data-view=table]").waitFor();
		await page.locator("#later:not([hidden])").waitFor();
		await frame().locator("#colour").selectOption("language");
		await page.waitForFunction(() => decodeURIComponent(location.hash).includes("colour=language"));
		isLate = false;
		await frame().locator("html[data-named][data-ready]").waitFor();
		await frame().locator("[role=tab][aria-selected=true][data-view=table]").waitFor();
		equal(await frame().locator("#colour").inputValue(), "language", "the colours");
		await page.locator("#later").waitFor({ state: "hidden" });
		await page.unrouteAll({ behavior: "wait" });
		await choose("top", "plain");
		holds(!page.url().includes("shown="), "another view has no such choice");
		// A failure of the frame stands on the page.
		await page.fill("#filter", "nothing:x");
		await choose("page", "plain");
		await page.locator("#problem", { hasText: "nothing" }).waitFor();
		equal(await page.locator("iframe").count(), 0, "no frame");
		await page.fill("#filter", "");
	},
	async why() {
		await choose("diff", "many");
		await page.locator("#problem", { hasText: "another selector" }).waitFor();
		// Losses and series are of the source that is chosen, whatever the view says.
		await page.waitForFunction(() => document.getElementById("series").dataset.shown === location.hash);
		await page.locator("#coverage button").click();
		await page.locator("main section[aria-label='Samples and losses'] dd").first().waitFor();
		const { header } = await (await page.request.get(`${origin}/api/v1/values?source=many&by=event&limit=1`)).json();
		equal(await page.locator("main section[aria-label='Samples and losses'] dd").first().textContent(), header.samples.stored.toLocaleString("en-US"), "samples");
		const named = await (await page.request.get(`${origin}/api/v1/top?source=many&limit=1`)).json(), [unnamed] = named.header.images ?? [];
		await page.locator("main section[aria-label=Names]", { hasText: unnamed?.text ?? "No file of the code lacks names." }).waitFor();
		// A reason of an answer that came before the names goes when these are there.
		let isLate = true;
		await page.route((url) => url.pathname === "/api/v1/top", async (route) => {
			const response = await route.fetch(), json = await response.json();
			json.header.images = isLate ? [{ samples: 1, text: "x: its names come later" }] : [];
			await route.fulfill({ response, json, headers: { ...response.headers(), ...(isLate ? { "x-assay-names": "later" } : {}) } });
		});
		await choose("info", "plain");
		await page.locator("main section[aria-label=Names]", { hasText: "its names come later" }).waitFor();
		await page.locator("#later:not([hidden])").waitFor();
		isLate = false;
		await page.locator("main section[aria-label=Names]", { hasText: "No file of the code lacks names." }).waitFor();
		await page.locator("#later").waitFor({ state: "hidden" });
		await page.unrouteAll({ behavior: "wait" });
		await page.locator("summary", { hasText: "All facts" }).click();
		await page.locator("main pre", { hasText: '"collector"' }).waitFor();
		await page.locator("summary", { hasText: "permits" }).click();
		await page.locator("main details td", { hasText: "permission" }).first().waitFor();
	},
	async processes() {
		await choose("processes", "plain");
		await page.locator("main tbody tr").first().waitFor();
		const column = (n) => page.locator(`main tbody td:nth-child(${n})`).allTextContents();
		const [samples, shares] = [await column(3), await column(4)].map((texts) => texts.map((text) => parseFloat(text.replaceAll(",", ""))));
		const { statistics } = await (await page.request.get(`${origin}/api/v1/processes?source=plain`)).json();
		equal(samples.reduce((a, b) => a + b, 0), statistics.all.samples, "samples of all processes");
		holds(Math.abs(shares.reduce((a, b) => a + b, 0) - 100) < 0.1, `shares ${shares}`);
		holds((await column(5)).every((text) => /^\d+\.\d{3}$/.test(text)), "seconds of the processes");
		// Samples of so many events each are no time.
		await page.selectOption("#event", "page-faults");
		await page.locator("main tbody tr").first().waitFor();
		await settled();
		for (const n of [5, 6, 7, 8])
			equal((await column(n)).filter(Boolean), [], "seconds of page faults");
		holds((await column(3)).length, "processes with page faults");
		await page.selectOption("#event", "");
		await page.waitForFunction(() => /^\d/.test(document.querySelector("main tbody td:nth-child(5)")?.textContent));
		await page.locator("main tbody button.link").first().click();
		await page.waitForFunction(() => /^pid="\d+"$/.test(document.getElementById("filter").value));
		await page.locator("th", { hasText: "Function" }).waitFor();
		await page.fill("#filter", "");
	},
	async loading() {
		const answer = async (loading) => page.route(url => url.pathname === "/api/v1/sources", async route => {
			const response = await route.fetch(), json = await response.json();
			json.sources[0].loading = loading;
			await route.fulfill({ response, json });
		});
		const state = { round_seconds: 1700000000, success_seconds: 1700000000, next_after_seconds: 5, failures: 0, error: "", blocks: 12, samples: 3456, lost: 7, left_out: 0 };
		for (const [loading, text] of [[state, "3,456 samples in 12 blocks since the loading began · 7 samples lost"],
			[{ ...state, failures: 2, error: "connection refused." }, "2 rounds failed: connection refused. The next one begins in 5 s."]]) {
			await answer(loading);
			await page.reload();
			await page.waitForFunction(() => document.querySelector("#source option"));
			await choose("values", await page.locator("#source option").first().getAttribute("value"));
			await page.locator("#loading:not([hidden])", { hasText: text }).waitFor();
			await page.unrouteAll({ behavior: "wait" });
		}
		await page.reload();
		await page.locator("main tbody tr").first().waitFor();
		equal(await page.locator("#loading").isHidden(), true, "nothing is loaded");
		// A list that comes late says nothing of the loading of a source that is no longer shown.
		const first = await page.locator("#source option").first().getAttribute("value"), held = [];
		let release, isHeld = true;
		const released = new Promise((resolve) => { release = resolve; });
		await page.route((url) => url.pathname === "/api/v1/sources", async (route) => {
			if (isHeld) {
				held.push(route.request());
				await released;
			}
			const response = await route.fetch(), json = await response.json();
			json.sources[0].loading = state;
			await route.fulfill({ response, json });
		});
		await page.evaluate(() => {
			const now = Date.now;
			Date.now = () => now() + 20000; // the list is old
		});
		await choose("top", first);
		await page.locator("main tbody tr").first().waitFor();
		isHeld = false;
		holds(held.length, "lists that come late");
		await choose("values", first === "plain" ? "many" : "plain");
		await page.locator("th", { hasText: "comm" }).waitFor();
		release();
		for (const request of held)
			await (await request.response()).finished();
		await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
		equal(await page.locator("#loading").isHidden(), true, "the source that is shown is not loaded");
		await page.unrouteAll({ behavior: "wait" });
		await page.reload();
		await page.locator("main tbody tr").first().waitFor();
	},
	async windows() {
		// From a window to those beside it, and around it.
		await page.fill("#since", "@1700000004");
		await page.fill("#until", "@1700000006");
		await choose("values", "plain");
		for (const [title, since, until] of [["Earlier", 2, 4], ["Longer", 0, 6], ["Later", 6, 12]]) {
			await page.locator("#series .moves button", { hasText: title }).click();
			await page.waitForFunction(([since, until]) => document.getElementById("since").value === `@170000000${since}` && document.getElementById("until").value === until,
				[since, `@${1700000000 + until}`]);
			await page.waitForFunction(() => document.getElementById("series").dataset.shown === location.hash);
		}
		await page.fill("#since", "");
		await page.fill("#until", "");
	},
	async operands() {
		const one = await page.evaluate(async () => {
			const { asOneOperand } = await import(new URL("selector.js", document.querySelector("script[type=module]").src));
			return ["comm:Web Content", "pid:12", ""].map(asOneOperand);
		});
		equal(one, ['comm="Web Content"', "pid:12", ""], "the target of a recording as a filter");
	},
	async functions() {
		await choose("top", "plain");
		await page.locator("main button.link", { hasText: "hash" }).first().click();
		await rowsShow("called by");
		equal(await page.locator("#view").inputValue(), "function", "the view");
		// Files and lines stand beside callers and callees, and the series above them is of this function.
		for (const [part, text] of [["Files of the code", "bpf_prog"], ["Lines", "(no line)"]])
			await page.locator(`section[aria-label="${part}"] td`, { hasText: text }).first().waitFor();
		await page.waitForFunction(() => document.getElementById("series").dataset.shown === location.hash);
		holds(await page.locator("#series .band").count(), "its series");
		await page.fill("#filter", "");
	},
	async compares() {
		await page.selectOption("#baseline", "base");
		await choose("diff", "plain");
		await page.locator("th", { hasText: "Significant" }).waitFor();
		await page.locator("tbody tr").first().waitFor();
		await page.selectOption("#baseline", "");
		// Two selectors, and two times, of one source.
		const first = async () => (await page.locator("main tbody tr").first().textContent());
		await page.fill("#baseline_filter", "comm:main");
		await page.fill("#filter", "comm:worker");
		await choose("diff", "plain");
		await page.locator("th", { hasText: "Significant" }).waitFor();
		holds(page.url().includes("baseline_filter=comm%3Amain"), "the address has both selectors");
		const bySelector = await first();
		await page.fill("#baseline_filter", "");
		await page.fill("#filter", "");
		await page.fill("#since", "@1700000005");
		await page.fill("#until", "@1700000008");
		await page.fill("#against", "@1700000001");
		await choose("diff", "plain");
		await page.waitForFunction((before) => ![undefined, before].includes(document.querySelector("main tbody tr")?.textContent), bySelector);
		for (const field of ["since", "until", "against"])
			await page.fill(`#${field}`, "");
		await choose("diff", "plain");
		await page.locator("#problem", { hasText: "another selector or time" }).waitFor();
		await page.selectOption("#view", "top");
		equal(await page.locator("#against").isHidden(), true, "fields of a view that is not shown");
	},
	async accessible() {
		for (const view of ["top", "values", "processes", "explain", "info", "function", "diff"]) {
			await page.selectOption("#view", view);
			if (view === "diff")
				await page.fill("#baseline_filter", "comm:main");
			await page.fill("#filter", ["function", "diff"].includes(view) ? "symbol:hash" : ""); // few rows: axe-core looks at each element
			await choose(view, "plain");
			await page.locator("main > :is(table, pre, div)").first().waitFor();
			await accessible(view);
		}
		await page.fill("#baseline_filter", "");
		await page.fill("#filter", "");
		await choose("values", "plain");
		await page.waitForFunction(() => document.getElementById("series").dataset.shown === location.hash);
		for (const colorScheme of ["dark", "light"]) {
			await page.emulateMedia({ colorScheme });
			await accessible(colorScheme);
		}
	},
	async keyboard() {
		// The chart of the check before is there still.
		await page.locator("#series svg").focus();
		await page.keyboard.press("ArrowRight");
		await page.keyboard.press("Shift+ArrowRight");
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => document.getElementById("until").value.slice(1) - document.getElementById("since").value.slice(1) === 2);
		await page.goBack();
		await page.waitForFunction(() => !document.getElementById("since").value);
		// From the source to the button by Tab alone, then Enter.
		await page.locator("#source").focus();
		const seen = [];
		for (let i = 0; i < 20 && seen.at(-1) !== "submit"; i++) {
			await page.keyboard.press("Tab");
			seen.push(await page.evaluate(() => document.activeElement.id || document.activeElement.type));
		}
		equal(seen, ["baseline", "view", "event", "by", "frames", "filter", "range", "since", "until", "live", "submit"], "the order of Tab");
		await page.locator("#view").focus();
		await page.keyboard.press("f"); // the first view that begins so
		await page.locator("button[type=submit]").first().focus();
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => document.querySelector("main :is(section, table, div, pre)"));
	},
	async tasks() {
		// Each task of the page, by keys alone.
		const tabTo = async (selector) => {
			for (let i = 0; i < 500; i++) {
				await page.keyboard.press("Tab");
				if (await page.evaluate((selector) => document.activeElement?.matches(selector), selector))
					return;
			}
			throw new Error(`Tab does not reach ${selector}`);
		};
		const select = async (selector, text) => {
			await tabTo(selector);
			await page.keyboard.type(text);
		};
		await page.goto(`${origin}/#source=base&view=info`);
		await page.reload();
		await page.locator("main dl").first().waitFor();
		await settled(); // the form has all its choices
		await select("#source", "plain");
		await select("#view", "Functions");
		await tabTo("#filter");
		await page.keyboard.type('comm="worker" symbol:hash');
		await page.keyboard.press("Escape"); // the list of completions
		await page.keyboard.press("Enter");
		await page.locator("main button.link", { hasText: "hash" }).first().waitFor();
		await tabTo("main button.link");
		await page.keyboard.press("Enter");
		await rowsShow("called by");
		await select("#baseline", "base");
		await select("#view", "Changes");
		await tabTo("button[type=submit]");
		await page.keyboard.press("Enter");
		await page.locator("th", { hasText: "Significant" }).waitFor();
		const file = page.waitForEvent("download");
		await tabTo("#downloads a[aria-label='Download as folded']");
		await page.keyboard.press("Enter");
		equal((await file).suggestedFilename(), "profile.folded", "name of the file");
		// The profile's own page is reached, and left again.
		await select("#view", "Call t");
		await tabTo("button[type=submit]");
		await page.keyboard.press("Enter");
		await frame().locator("html[data-ready]").waitFor();
		await tabTo("iframe");
		await page.evaluate(() => { document.activeElement.blur(); });
	},
	async history() {
		await page.goto(`${origin}/#source=plain&view=top`);
		await page.reload();
		await page.locator("main tbody tr").first().waitFor();
		await choose("top", "hist");
		await page.locator("main tbody tr").first().waitFor();
		await page.locator("#record").waitFor();
		await page.waitForFunction(() => document.getElementById("series").dataset.shown === location.hash);
		await choose("page", "hist");
		await frame().locator("html[data-ready]").waitFor();
		// No daemon writes this history, so it cannot record.
		await page.fill("#target", "comm:Web Content");
		await page.fill("#seconds", "1");
		await page.click("#record button");
		await page.locator("#problem", { hasText: "daemon" }).waitFor();
		equal(await page.locator("#record button").isEnabled(), true, "the button is there again");
		await page.fill("#seconds", "61");
		await page.click("#record button");
		equal(await page.evaluate(() => document.getElementById("seconds").validity.rangeOverflow), true, "61 seconds are too many");
		await page.fill("#seconds", "10");
	},
	async live() {
		const other = await page.context().newPage(), questions = [];
		await other.clock.install();
		other.on("request", r => r.url().includes("/api/v1/top?") && questions.push(r.url()));
		await other.goto(`${origin}/#source=plain&view=top`);
		await other.locator("main tbody tr").first().waitFor();
		equal(questions.length, 1, "questions at first");
		await other.check("#live");
		const again = other.waitForRequest((r) => r.url().includes("/api/v1/top?"));
		await other.clock.runFor(11000);
		await again;
		await other.waitForFunction(() => !document.querySelector("main")?.textContent.startsWith("…"));
		await other.uncheck("#live");
		await other.clock.runFor(30000);
		equal(questions.length, 2, "questions in all");
		await other.close();
	},
	async vanishes() {
		cpSync(`${process.argv[3]}/plain`, `${process.argv[3]}/brief`, { recursive: true });
		const isListed = async (wanted) => {
			while ((await (await page.request.get(`${origin}/api/v1/sources`)).json()).sources.some((s) => s.name === "brief") !== wanted)
				await new Promise((resolve) => setTimeout(resolve, 100));
		};
		await isListed(true);
		await page.reload();
		await choose("top", "brief");
		await page.locator("td", { hasText: "hash" }).first().waitFor();
		rmSync(`${process.argv[3]}/brief`, { recursive: true });
		await isListed(false);
		await choose("values", "brief");
		await page.locator("#problem", { hasText: "no source 'brief'" }).waitFor();
		await choose("values", "plain");
		await page.locator("main tbody tr").first().waitFor();
		equal(await page.locator("#problem").isHidden(), true, "no problem any more");
	},
	async prints() {
		await page.emulateMedia({ media: "print" });
		const seen = await Promise.all(["form#query", "#coverage", "main table"].map((one) => page.locator(one).isVisible()));
		await page.emulateMedia({ media: "screen" });
		equal(seen, [false, true, true], "no form on paper, but losses and the table");
	},
	async names() {
		// Names come later twice: the page says so, and asks again.
		let n = 0;
		await page.route((url) => url.pathname === "/api/v1/top", async (route) => {
			const response = await route.fetch();
			await route.fulfill({ response, headers: { ...response.headers(), ...(n++ < 2 ? { "x-assay-names": "later" } : {}) } });
		});
		await choose("top", "plain");
		await page.locator("#later:not([hidden])").waitFor();
		await page.locator("#later").waitFor({ state: "hidden" });
		equal(n, 3, "questions");
		await page.unrouteAll({ behavior: "wait" });
	},
	async records() {
		equal(await page.locator("#record").isHidden(), true, "a session has no daemon");
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
		equal(await page.getByRole("link", { name: "Download as perf.data" }).count(), 0, "a session is no recording of perf");
		await page.selectOption("#source", "perf.data");
		await page.click("button[type=submit]");
		const recording = page.waitForEvent("download");
		await page.getByRole("link", { name: "Download as perf.data" }).click();
		equal(readFileSync(await (await recording).path(), "latin1"), "PERFILE2", "the bytes of the file");
	},
	async narrow() {
		await page.setViewportSize({ width: 390, height: 700 });
		await choose("top", "plain");
		await page.locator("tbody tr").first().waitFor();
		for (const width of [390, 1280, 3840]) {
			await page.setViewportSize({ width, height: width === 390 ? 700 : 1000 });
			holds(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `nothing is wider than ${width}`);
		}
		await page.setViewportSize({ width: 390, height: 700 });
	},
	async form() {
		// Without the cookie of this browser.
		const context = await launched(), other = await context.newPage();
		await other.goto(origin);
		await other.fill("input[name=token]", "wrong");
		await other.click("button");
		await other.getByText("There is no such token.").waitFor();
		await other.goto(origin);
		await other.fill("input[name=token]", "all-all-all-all-all-all-all-all-1");
		await other.click("button");
		await other.frameLocator("iframe").locator("html[data-ready]").waitFor();
		await context.close();
	},
	async quiet() {
		// The wrong filter is answered by 400, the session that is gone by 404, and the recording without samples by 422, which the browser names errors.
		equal(complaints.filter(text => !/status of 4(00|04|22|29)/.test(text)), [], "complaints");
		equal(others, [], "requests elsewhere");
	},
});
