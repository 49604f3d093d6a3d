// SPDX-License-Identifier: GPL-2.0-or-later
// Calls of a processor trace in a real browser: node calls.mjs FOLDER URL. FOLDER has calls.html, and latency.json of the same
// recording; URL is the address of a server of it. Each check is a TAP line.
import { equal, holds, home, launched, report, run, violationsOf } from "./harness.mjs";

const context = await launched();
const picture = await context.newPage(), page = await context.newPage(), complaints = [];
for (const one of [picture, page]) {
	one.on("console", m => ["error", "warning"].includes(m.type()) && complaints.push(m.text()));
	one.on("pageerror", e => complaints.push(e.message));
}
await picture.goto(`${home}calls.html`);
await picture.locator("#calls[data-drawn]").waitFor();
await page.goto(process.argv[3]);

const seconds = text => text.split(",").map(Number);
const times = async () => (await page.locator("main tbody tr td:first-child").allTextContents()).map(Number);
const shown = kind => page.waitForFunction(kind => document.querySelector("main table th:nth-child(3)")?.textContent === kind, kind);
// An act that brings a new picture, and waits for it: until then, the picture and the table are those of the window before.
const brings = async act => {
	await page.evaluate(() => document.querySelector("main iframe").setAttribute("data-old", ""));
	await act();
	await page.locator("main iframe:not([data-old])").waitFor();
	await page.frameLocator("main iframe:not([data-old])").locator("#calls[data-drawn]").waitFor();
};
const showsWindow = async time => {
	await page.fill("#time", time);
	await brings(() => page.click("button[type=submit]"));
};

await run({
	async histogram() {
		// A click on the middle of the picture finds a call; the outermost ones are as wide as it.
		const box = await picture.locator("#calls").boundingBox();
		for (let y = 30; y < box.height && await picture.locator("#function").isHidden(); y += 8)
			await picture.mouse.click(box.x + box.width / 2, box.y + y);
		const name = await picture.locator("#function h2").textContent();
		const wanted = report("latency").find(row => row.function === name);
		const counts = (await picture.locator("#function .bars b").allTextContents()).map(Number);
		equal(counts.reduce((sum, n) => sum + n, 0), wanted.calls, `the bars of ${name}`);
	},
	async slowest() {
		await picture.evaluate(() => document.querySelector("#function button:last-of-type").click());
		// Of the function with most calls; a name is found by clicks at the places where calls are drawn.
		const most = report("latency").filter(row => row.calls > 1).map(row => row.function), box = await picture.locator("#calls").boundingBox();
		let name = "";
		for (let y = 30; y < box.height && !most.includes(name); y += 8)
			for (let x = 5; x < box.width && !most.includes(name); x += 15) {
				await picture.mouse.click(box.x + x, box.y + y);
				name = await picture.locator("#function h2").textContent({ timeout: 100 }).catch(() => "");
			}
		holds(most.includes(name), "a function with several calls is drawn");
		const before = await picture.evaluate(() => document.querySelector("canvas").toDataURL());
		const slow = await picture.locator("#function ol button").allTextContents();
		equal(slow.length, Math.min(report("latency").find(row => row.function === name).calls, 10), "the slowest calls");
		await picture.locator("#function ol button").first().click();
		const after = await picture.evaluate(() => document.querySelector("canvas").toDataURL());
		holds(before !== after, "a click shows the slowest call");
	},
	async accessible() {
		equal(await violationsOf(picture), [], "the picture, with the panel of a function");
	},
	async zooms() {
		await page.locator("#source").waitFor();
		await page.waitForFunction(() => document.querySelectorAll("#source option").length > 0);
		await page.selectOption("#view", "calls");
		await page.fill("#time", "0%-100%");
		await page.click("button[type=submit]");
		await shown("Kind");
		await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length > 20);
		const all = await times();
		holds(all.length > 20, `${all.length} calls and returns`);
		await page.locator("main button", { hasText: "10 times shorter" }).click();
		await page.waitForFunction(n => { const rows = document.querySelectorAll("main tbody tr").length; return rows > 0 && rows < n; }, all.length);
		const [from, to] = seconds(await page.inputValue("#time")), some = await times();
		holds(some.every(t => t >= from && t <= to), "calls of the window alone");
		holds(to - from < (all[all.length - 1] - all[0]) / 5, "a shorter window");
	},
	async draws() {
		// The picture has the calls that the table lists, and its wheel asks for a shorter window.
		const drawing = page.frameLocator("main iframe");
		await showsWindow("0%-100%");
		await shown("Kind");
		// The table has no more rows than a limit: the window of these. The mouse is at a call, so that shorter windows have calls, too.
		const before = await times(), first = before[0], last = before[before.length - 1], middle = before[Math.floor(before.length / 2)];
		await showsWindow(`${first.toFixed(9)},${last.toFixed(9)}`);
		await shown("Kind");
		const n = (await times()).length, box = await page.locator("main iframe").boundingBox();
		await page.mouse.move(box.x + box.width * (middle - first) / (last - first), box.y + box.height / 2);
		// One step at a time: a picture that is replaced meanwhile would not see the next ones.
		for (let i = 0; i < 7; i++)
			await brings(() => page.mouse.wheel(0, -100));
		const [from, to] = seconds(await page.inputValue("#time"));
		holds(to - from < (last - first) / 4 && from <= middle && middle <= to, "a shorter window around the mouse");
		await page.waitForFunction(n => { const rows = document.querySelectorAll("main tbody tr").length; return rows > 0 && rows < n; }, n);
		holds((await times()).every(t => t >= from && t <= to), "the table has the calls of the picture");
		// As short as some calls, it draws instructions.
		const at = (await times())[0];
		await showsWindow(`${at.toFixed(9)},${(at + 1e-6).toFixed(9)}`);
		await drawing.locator("#calls[data-instructions]").waitFor();
		const wanted = await page.evaluate(async time => {
			const query = new URLSearchParams({ source: document.querySelector("#source").value, time });
			return (await (await fetch(`/api/v1/instructions?${query}`)).text()).split("\n").filter(Boolean).length;
		}, await page.inputValue("#time"));
		holds(wanted > 0, "instructions in the window");
		equal(Number(await drawing.locator("#calls").getAttribute("data-instructions")), wanted, "instructions drawn");
		// The key 0 shows all time again.
		await drawing.locator("#calls").press("0");
		await page.waitForFunction(() => document.querySelector("#time").value === "0%-100%");
		await shown("Kind");
		await page.waitForFunction(n => document.querySelectorAll("main tbody tr").length === n, before.length);
		// The new picture has the keys of the one before.
		await page.waitForFunction(() => document.activeElement.tagName === "IFRAME");
		await page.keyboard.press("+");
		await page.waitForFunction(() => document.querySelector("#time").value !== "0%-100%");
		// The table has no more rows than a limit. In a longer trace, both windows have as many.
		await page.waitForFunction(from => Number(document.querySelector("main tbody td")?.textContent) >= from, seconds(await page.inputValue("#time"))[0]);
		await showsWindow("0%-100%");
		await page.waitForFunction(n => document.querySelectorAll("main tbody tr").length === n, before.length);
	},
	async instructions() {
		const at = await page.locator("main tbody tr button").first().textContent();
		await page.locator("main tbody tr button").first().click();
		await shown("Function");
		const got = await times(), [from, to] = seconds(await page.inputValue("#time"));
		equal(Number(at), from, "the window begins at the call");
		holds(got.length > 0 && got.every(t => t >= from && t <= to), `${got.length} instructions of the window`);
		holds((await page.locator("main tbody tr td:last-child").allTextContents()).every(text => text), "each has its text");
		equal(await violationsOf(page, { exclude: [["iframe"], ["tbody tr:nth-child(n+4)"]] }), [], "instructions");
		await page.goBack();
		await shown("Kind");
		equal(await violationsOf(page, { exclude: [["iframe"], ["tbody tr:nth-child(n+4)"]] }), [], "calls");
	},
	async quiet() {
		equal(complaints, [], "complaints");
	},
});
