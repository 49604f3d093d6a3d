// SPDX-License-Identifier: GPL-2.0-or-later
// What the HTML page does, in a real browser, against what `assay report --format json` says.
// Usage: page.mjs FOLDER: made by tests/cli/html.bats, which also names the checks.
import { equal, holds, home, open, report, run, sameEntries, seen, violationsOf } from "./harness.mjs";

const plain = await open("plain.html");

const keyOf = row => `${row.image} | ${row.symbol}`;

// Rows of the JSON as {"image | function": [numbers…]}; functions of one name are one.
function byFunction(rows, event, keys) {
	const out = {};
	for (const row of rows.filter(r => r.event === event && keys.some(key => r[key] > 0))) {
		const at = out[keyOf(row)] = out[keyOf(row)] || keys.map(() => 0);
		keys.forEach((key, i) => at[i] += row[key]);
	}
	return out;
}

// The same of the page's own tables, for the event and weight that are chosen.
const pageFunctions = page => page.evaluate(() => {
	const { profile, tree } = assay, sums = assay.sumsNow(), out = {};
	profile.names.forEach((name, f) => {
		if (profile.image[f] >= 0 && sums.total[f] > 0)
			out[`${profile.images[profile.image[f]].path} | ${name}`] = [sums.self[f], sums.total[f]];
	});
	return out;
});

// Totals of call paths, from the rows of a tree view.
function pathsOf(rows, event) {
	const paths = {}, out = {};
	for (const row of rows.filter(r => r.event === event)) {
		const above = row.parent === undefined ? "" : paths[row.parent];
		paths[row.id] = `${above}/${row.symbol ?? row.comm}`;
		if (row.total > 0)
			out[paths[row.id]] = (out[paths[row.id]] || 0) + row.total;
	}
	return out;
}

const pagePaths = (page, which) => page.evaluate(which => {
	const { profile } = assay, tree = which === "inverted" ? assay.invertedNow() : assay.tree, paths = [""], out = {};
	for (let i = 1; i < tree.n; i++) {
		paths[i] = `${paths[tree.parent[i]]}/${profile.names[tree.frame[i]]}`;
		if (tree.total[i] > 0)
			out[paths[i]] = (out[paths[i]] || 0) + tree.total[i];
	}
	return out;
}, which);

const settle = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));

// Waits until the address has the text, or has it no more.
const address = (page, text, has = true) => page.waitForFunction(
	([text, has]) => location.hash.includes(text) === has, [text, has]);

// Where a node of the upper graph is on the screen.
const placeOf = (page, node) => page.evaluate(node => {
	const box = assay.upper.boxOf(node), at = document.getElementById("upper").getBoundingClientRect();
	return { x: at.x + box.x + box.width / 2, y: at.y + box.y + box.height / 2 };
}, node);

const choose = async (page, id, value) => {
	await page.selectOption(`#${id}`, value);
	await settle(page);
};

// A box of some depth that can be hit by a mouse.
const wideNode = (page, depth) => page.evaluate(depth => {
	const { tree } = assay.upper;
	let best = 0;
	for (let i = 1; i < tree.n; i++)
		if (tree.depth[i] === depth && tree.total[i] > tree.total[best] * (best ? 1 : 0))
			best = i;
	return best;
}, depth);

await run({
	async totals() {
		const wanted = report("symbols");
		for (const [i, total] of wanted.total.entries())
			for (const weight of ["samples", "events"]) {
				await choose(plain, "event", String(i));
				await choose(plain, "weight", weight);
				equal(await plain.evaluate(() => assay.tree.total[0]), total[weight], `${total.event}, ${weight}`);
				const keys = weight === "samples" ? ["samples", "total"] : ["events", "total_events"];
				sameEntries(await pageFunctions(plain), byFunction(wanted.rows, total.event, keys), `${total.event}, ${weight}`);
			}
		await choose(plain, "event", "0");
		await choose(plain, "weight", "samples");
		const said = await plain.textContent("#facts");
		holds(said.includes("3,000 samples") && said.includes("0 lost"), `the head says ${said}`);
	},

	async trees() {
		const event = report("tree").total[0].event;
		sameEntries(await pagePaths(plain, "tree"), pathsOf(report("tree").rows, event), "call tree");
		const one = await open("worker.html");
		sameEntries(await pagePaths(one, "inverted"), pathsOf(report("inverted").rows, event), "inverted");
	},

	async table() {
		await plain.click("[data-view=table]");
		const rows = byFunction(report("symbols").rows, report("symbols").total[0].event, ["samples", "total"]);
		const heaviest = key => Object.entries(rows).reduce((a, b) => b[1][key] > a[1][key] ? b : a);
		const top = () => plain.textContent("#list tbody tr[data-frame]");
		for (const [column, key] of [["self", 0], ["total", 1]]) {
			if (column !== "self")
				await plain.click(`[data-sort=${column}]`);
			holds((await top()).includes(heaviest(key)[1][key].toLocaleString("en-US")), `sorted by ${column}: ${await top()}`);
			equal(await plain.getAttribute(`th:has([data-sort=${column}])`, "aria-sort"), "descending", "aria-sort");
		}
		await plain.click("[data-sort=total]");
		equal(await plain.getAttribute("th:has([data-sort=total])", "aria-sort"), "ascending", "the other way round");
		await plain.click("[data-sort=name]");
		const names = await plain.$$eval("#list td.name", cells => cells.map(c => c.textContent));
		equal(names, [...names].sort((a, b) => a.toLowerCase() < b.toLowerCase() ? -1 : 1), "by name");
		await plain.click("[data-sort=self]");
		await plain.dblclick("#list tbody tr[data-frame] td.name");
		equal(await plain.getAttribute("[role=tab][aria-selected=true]", "data-view"), "sandwich", "a double click");
	},

	async sandwich() {
		const rows = report("callgraph").rows, event = rows[0].event;
		const self = rows.find(r => r.role === "self" && r.event === event && r.symbol.startsWith("render"));
		await plain.click("[data-view=sandwich]");
		const got = await plain.evaluate(([image, symbol]) => {
			const { profile } = assay;
			assay.chooseFrame(profile.names.findIndex((n, f) => n === symbol && profile.image[f] >= 0 &&
				profile.images[profile.image[f]].path === image));
			const sides = {}, put = (role, tree) => {
				for (let c = 1; c < tree.n; c = tree.end[c]) {
					const key = `${role} ${profile.names[tree.frame[c]]}`;
					if (tree.total[c] > 0 && profile.image[tree.frame[c]] >= 0)
						sides[key] = (sides[key] || 0) + tree.total[c];
				}
			};
			put("caller", assay.upper.tree);
			put("callee", assay.lower.tree);
			return { sides, middle: document.getElementById("middle").textContent,
				 total: assay.upper.tree.total[0], below: assay.lower.tree.total[0] };
		}, [self.image, self.symbol]);
		const wanted = {};
		for (const row of rows.filter(r => r.block === self.block && r.event === event && r.role !== "self" && r.symbol && r.total)) {
			const key = `${row.role} ${row.symbol}`;
			wanted[key] = (wanted[key] || 0) + row.total;
		}
		sameEntries(got.sides, wanted, "callers and callees");
		equal([got.total, got.below], [self.total, self.total], "both sides");
		holds(got.middle.includes(self.symbol), got.middle);
		await plain.click("[data-view=graph]");
	},

	async time() {
		const box = await (await plain.$("#timeline")).boundingBox(), second = n => box.x + box.width * (n + 0.5) / 10;
		await plain.mouse.move(second(2), box.y + 30);
		await plain.mouse.down();
		await plain.mouse.move(second(3), box.y + 30);
		await plain.mouse.move(second(4), box.y + 30);
		await plain.mouse.up();
		await settle(plain);
		const wanted = report("seconds"), event = wanted.total[0].event;
		equal(await plain.evaluate(() => assay.tree.total[0]), wanted.total[0].samples, "samples of the range");
		sameEntries(await pageFunctions(plain), byFunction(wanted.rows, event, ["samples", "total"]), "the range");
		await address(plain, "time=2-5");
		equal(await plain.getAttribute("#timeline", "aria-valuetext"), "2\u202fs – 5\u202fs", "said");
		await plain.click("#all-time");
		await settle(plain);
		equal(await plain.evaluate(() => assay.tree.total[0]), report("symbols").total[0].samples, "all of it again");
		await plain.focus("#timeline");
		await plain.keyboard.press("ArrowRight");
		await plain.keyboard.press("ArrowRight");
		await plain.keyboard.press("Shift+ArrowRight");
		await address(plain, "time=1-3");
		await plain.keyboard.press("Escape");
		await address(plain, "time=", false);
	},

	async zoom() {
		const node = await wideNode(plain, 3), place = await placeOf(plain, node);
		await plain.mouse.move(place.x, place.y);
		holds((await plain.textContent("#tip")).includes("% of all"), "a tooltip with the share");
		await plain.mouse.click(place.x, place.y);
		await settle(plain);
		const window = () => plain.evaluate(() => [assay.upper.view.from, assay.upper.view.to]);
		const wanted = await plain.evaluate(n => [assay.tree.x[n], assay.tree.x[n] + assay.tree.total[n]], node);
		equal(await window(), wanted, "the window is the box");
		await address(plain, "zoom=");
		const again = await open("plain.html", { hash: new URL(plain.url()).hash });
		equal(await again.evaluate(() => [assay.upper.zoomNode, assay.upper.view.from]), [node, wanted[0]], "the address keeps it");
		await plain.click("#reset");
		await settle(plain);
		equal(await window(), [0, report("symbols").total[0].samples], "zoomed out");
	},

	async search() {
		await plain.keyboard.press("/");
		await plain.keyboard.type("render");
		await settle(plain);
		const wanted = report("via").total[0].samples;
		equal(await plain.evaluate(() => Number(document.getElementById("found").dataset.weight)), wanted, "found");
		holds((await plain.textContent("#found")).includes(`${wanted.toLocaleString("en-US")} samples`), "said");
		equal(await plain.evaluate(() => assay.timeline.matched.reduce((a, b) => a + b)), wanted, "over time");
		for (const key of ["Enter", "Enter", "Shift+Enter"]) {
			await plain.press("#search", key);
			const name = await plain.evaluate(() => assay.upper.nameOf(assay.upper.tree.frame[assay.upper.selected]));
			holds(name.includes("render"), `${key} selects ${name}`);
		}
		await plain.fill("#search", "([");
		holds((await plain.textContent("#found")).includes("nothing found"), "a bad pattern is a text");
		await plain.focus("#search");
		await plain.keyboard.press("Escape");
		equal(await plain.textContent("#found"), "", "cleared");
	},

	async keyboard() {
		await plain.keyboard.press("g");
		await plain.keyboard.press("Home");
		await plain.evaluate(() => assay.upper.select(-1));
		equal(await plain.evaluate(() => document.activeElement.id), "upper", "the graph has the focus");
		for (const key of ["ArrowUp", "ArrowUp", "ArrowUp"])
			await plain.keyboard.press(key);
		const { depth, name } = await plain.evaluate(() => ({ depth: assay.tree.depth[assay.upper.selected],
								      name: assay.upper.nameOf(assay.tree.frame[assay.upper.selected]) }));
		equal(depth, 3, "three levels up");
		holds((await plain.textContent("#status")).includes(name), "the status says what is selected");
		await plain.keyboard.press("Enter");
		await settle(plain);
		holds(await plain.evaluate(() => assay.upper.zoomNode === assay.upper.selected), "Enter zooms");
		await plain.keyboard.press("c");
		const lines = (await plain.evaluate(() => assay.copied)).trim().split("\n");
		equal(lines.length, 3, "the copied stack");
		holds(lines[0].startsWith(name), "innermost first");
		await plain.keyboard.press("Escape");
		equal(await plain.evaluate(() => assay.upper.zoomNode), 0, "Escape zooms out");
		for (const [key, view] of [["2", "inverted"], ["3", "sandwich"], ["4", "table"], ["1", "graph"]]) {
			await plain.keyboard.press(key);
			equal(await plain.getAttribute("[role=tab][aria-selected=true]", "data-view"), view, `key ${key}`);
		}
		await plain.keyboard.press("i");
		holds((await plain.textContent("#direction")).startsWith("Icicle"), "i turns it");
		await plain.keyboard.press("i");
		await plain.keyboard.press("?");
		holds(await plain.evaluate(() => document.getElementById("keys").open), "? says the keys");
		await plain.keyboard.press("Escape");
	},

	async theme() {
		const paper = page => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		const box = page => page.evaluate(() => assay.colours.byFrame.find(c => c));
		const light = [await paper(plain), await box(plain)];
		await plain.emulateMedia({ colorScheme: "dark" });
		await plain.waitForSelector("html[data-theme=dark]");
		const dark = [await paper(plain), await box(plain)];
		holds(light[0] !== dark[0] && light[1] !== dark[1], `${light} and ${dark}`);
		await plain.click("#theme");
		equal(await plain.getAttribute("html", "data-theme"), "light", "chosen against the system's");
		await plain.click("#theme");
		equal(await plain.getAttribute("html", "data-theme"), "dark", "dark");
		await plain.click("#theme");
		await plain.emulateMedia({ colorScheme: "light" });
		await plain.waitForSelector("html[data-theme=light]");
		await choose(plain, "colour", "mode");
		holds((await plain.textContent("#legend")).includes("kernel"), "user and kernel are told");
		const hasLanguages = await plain.evaluate(() => assay.profile.hasLanguages);
		equal(await plain.evaluate(() => document.querySelector("#colour [value=language]").hidden), !hasLanguages, "languages to colour");
		await choose(plain, "colour", "language");
		holds((await plain.textContent("#legend")).includes("native"), "languages are told");
		await choose(plain, "colour", "image");
	},

	async narrow() {
		await plain.setViewportSize({ width: 380, height: 700 });
		for (const view of ["graph", "sandwich", "table"]) {
			await plain.click(`[data-view=${view}]`);
			await settle(plain);
			holds(await plain.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view} fits`);
		}
		await plain.setViewportSize({ width: 1200, height: 800 });
		await plain.click("[data-view=graph]");
	},

	async hostile() {
		const page = await open("hostile.html"), wanted = report("hostile");
		sameEntries(await pageFunctions(page), byFunction(wanted.rows, wanted.total[0].event, ["samples", "total"]), "names");
		for (const view of ["inverted", "sandwich", "table", "graph"]) {
			await page.click(`[data-view=${view}]`);
			await settle(page);
		}
		await page.click("#about");
		const place = await placeOf(page, await wideNode(page, 2));
		await page.mouse.move(place.x, place.y);
		equal(await page.evaluate(() => document.querySelectorAll("script").length), 1, "no script but the page's own");
		equal(await page.textContent("#title"), wanted.header.command, "the command, as it is");
	},

	// Periods that are too many are told in steps (html.c): exact over all, near in a range.
	async steps() {
		const page = await open("long.html", { hash: "#weight=events" }), all = report("long"), part = report("part");
		const { step, nodes } = await page.evaluate(() => ({ step: assay.lane.own.step, nodes: assay.tree.n }));
		holds(step > 1, "periods have steps");
		sameEntries(await pageFunctions(page), byFunction(all.rows, all.total[0].event, ["events", "total_events"]), "all");
		await page.evaluate(() => assay.timeline.setRange({ from: 20, to: 100 }));
		await settle(page);
		const off = Math.abs(await page.evaluate(() => assay.tree.total[0]) - part.total[0].events);
		holds(off <= step * nodes && off < part.total[0].events / 1000, `a range is off by ${off}`);
		await choose(page, "weight", "samples");
		sameEntries(await pageFunctions(page), byFunction(part.rows, part.total[0].event, ["samples", "total"]), "samples of a range");
	},

	async losses() {
		const page = await open("lossy.html"), { losses } = report("lossy").header;
		const n = losses.filter(l => l.kind === "lost").reduce((sum, l) => sum + l.n, 0);
		holds(n > 0, "the session has losses");
		equal(await page.evaluate(() => assay.timeline.lost.reduce((a, b) => a + b)), n, "over time");
		holds((await page.textContent("#facts .lost")).startsWith(`${n} lost (`), await page.textContent("#facts"));
		await page.keyboard.press("d");
		const details = await page.textContent("#details");
		for (const loss of losses)
			holds(details.includes(`${loss.n.toLocaleString("en-US")}: ${loss.text}`), `${loss.reason} in the details`);
	},

	async difference() {
		const page = await open("difference.html"), own = report("symbols"), base = report("base");
		const event = own.total[0].event;
		const got = await page.evaluate(() => {
			const { profile, tree } = assay, sums = assay.sumsNow(), out = {};
			profile.names.forEach((name, f) => {
				if (profile.image[f] >= 0 && (sums.total[f] || sums.totalBase[f])) {
					const key = `${profile.images[profile.image[f]].path} | ${name}`;
					out[key] = [sums.total[f], sums.totalBase[f]];
				}
			});
			return { out, whole: [tree.total[0], tree.totalBase[0]], colour: assay.choice.colour };
		});
		const now = byFunction(own.rows, event, ["total"]), then = byFunction(base.rows, event, ["total"]), wanted = {};
		for (const key of new Set([...Object.keys(now), ...Object.keys(then)]))
			wanted[key] = [now[key]?.[0] ?? 0, then[key]?.[0] ?? 0];
		sameEntries(got.out, wanted, "both sessions");
		equal(got.whole, [own.total[0].samples, base.total[0].samples], "totals");
		equal(got.colour, "difference", "colours");
		holds((await page.textContent("#legend")).includes("shrank"), "a legend");
		const red = await page.evaluate(() => [assay.colours.ofChange(1, 1), assay.colours.ofChange(-1, 1)]
			.map(c => [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16))));
		holds(red[0][0] > red[0][2] && red[1][2] > red[1][0], `red grew, blue shrank: ${red}`);
		await page.click("[data-view=table]");
		await page.click("[data-sort=change]");
		holds(await page.$("#list td.grew, #list td.shrank"), "changes in the table");
	},

	async moments() {
		const exact = await open("exact.html"), wanted = report("exact"), event = wanted.total[0].event;
		await exact.evaluate(() => assay.timeline.setRange({ from: 0.006, to: 0.009 }));
		await settle(exact);
		equal(await exact.evaluate(() => assay.tree.total[0]), wanted.total[0].samples, "samples of three milliseconds");
		const selves = Object.entries(await pageFunctions(exact)).map(([key, [self]]) => [key, [self]]);
		sameEntries(Object.fromEntries(selves), byFunction(wanted.rows, event, ["samples"]), "the range");
		await address(exact, "time=0.006-0.009");
		equal(await exact.textContent("#range"), "0.00600\u202fs – 0.00900\u202fs", "said");
		// Zoomed in, the bars have what is in view, down to microseconds.
		await exact.evaluate(() => { assay.timeline.setRange(null); assay.timeline.setView(0.006, 0.003); });
		equal(await exact.evaluate(() => assay.timeline.weights.flatMap(w => [...w]).reduce((a, b) => a + b)),
		      wanted.total[0].samples, "bars in view");
		holds(await exact.evaluate(() => { assay.timeline.setView(0.007, 0); return assay.timeline.view.to - assay.timeline.view.from < 21e-6; }), "microseconds");
		await exact.click("#whole-view");
		equal(await exact.evaluate(() => assay.timeline.isZoomed), false, "all of it");
	},

	async threads() {
		const page = await open("exact.html");
		await page.click("#show-tracks");
		equal(await page.evaluate(() => assay.tracks.rows.map(r => assay.tracks.nameOf(r.thread))), ["cc1 7", "cc1 8", "cc1 9"], "tracks");
		// The first thread runs all of the time; what it does then is that moment's function.
		const states = await page.evaluate(() => [0.0075, 0.0125].map(second => {
			const { tracks, timeline, profile } = assay, state = tracks.stateAt(tracks.rows[0], timeline.xOf(second));
			return [state.text, profile.names[profile.nodes.frame[state.node]]];
		}));
		equal(states, [["runs", "parallel"], ["runs", "serial"]], "states");
		const colours = await page.evaluate(() => {
			assay.tracks.paint();
			const column = assay.tracks.context.getImageData(Math.round(assay.timeline.xOf(0.02)), 0, 1, 66).data;
			return [0, 2].map(row => [...column.slice(4 * (row * 22 + 18), 4 * (row * 22 + 18) + 3)].join());
		});
		holds(colours[0] !== colours[1], `a thread that runs has another colour than one that does not: ${colours}`);
		await page.click("#tracks", { position: { x: 300, y: 33 } });
		await settle(page);
		equal(await page.evaluate(() => [assay.tree.total[0], document.getElementById("one-thread").textContent]), [20, "cc1 8 ✕"], "one thread");
		await page.click("#one-thread");
		equal(await page.evaluate(() => assay.tree.total[0]), 120, "all threads again");
	},

	async reasons() {
		const page = await open("waits.html");
		await page.click("#show-tracks");
		const got = await page.evaluate(() => {
			const { tracks, profile } = assay, out = {};
			assay.timeline.setView(2, 4);
			tracks.paint();
			for (const { moments } of profile.lanes)
				if (moments.reason)
					moments.reason.forEach((r, i) => out[profile.reasons[r]] = (out[profile.reasons[r]] || 0) + (moments.samples ? moments.samples[i] : 1));
			return [out, [...new Set(tracks.names.map(n => n.text))].sort()];
		});
		const wanted = {};
		for (const row of report("reasons").rows.filter(r => r.samples > 0 && r.reason !== "[none]"))
			wanted[row.reason] = (wanted[row.reason] || 0) + row.samples;
		sameEntries(got[0], wanted, "reasons of waits");
		equal(got[1], Object.keys(wanted).sort(), "words in the tracks");
		// The legend has each reason, with the time of all threads and the colour of the tracks.
		const legend = await page.locator("#track-legend span").evaluateAll(items => items.map(item => [item.textContent, item.firstChild.style.background]));
		const ns = report("reasons").rows.filter(r => r.events > 0 && r.reason !== "[none]");
		equal(legend.slice(2).map(([text]) => text).sort(), ns.map(row => `waits: ${row.reason} ${(row.events / 1e9).toPrecision(3)}\u202fs`).sort(), "the legend");
		equal(new Set(legend.map(([, colour]) => colour)).size, legend.length, "each has a colour of its own");
		await page.click("#show-tracks");
		equal(await page.isHidden("#track-legend"), true, "no tracks, no legend");
	},

	async early() {
		const page = await open("exact.html", { hash: "#thread=1" });
		equal(await page.evaluate(() => assay.tree.total[0]), 20, "an address with a thread waits for the times");
		// The sums that come first are those of all times.
		for (const name of ["exact.html", "long.html"]) {
			const other = await open(name), [first, later] = await other.evaluate(() => {
				const { profile } = assay, sum = sums => [...sums].reduce((a, b) => a + b);
				return [profile.lanes.map(l => sum(l.sums.samples)),
					profile.lanes.map(l => (l.own.samples.length ? sum(l.own.samples) : 0) + (l.moments.samples ? sum(l.moments.samples) : l.moments.n))];
			});
			equal(first, later, `sums of ${name}`);
			holds(await other.evaluate(() => assay.readyMs < assay.timesMs), "the tree comes first");
		}
	},

	async heat() {
		const page = await open("exact.html");
		await page.click("#show-heat");
		const cells = await page.evaluate(() => { assay.heat.paint(); return [...assay.heat.cells]; });
		equal(cells.reduce((a, b) => a + b), 120, "all samples are in cells");
		equal(cells.slice(0, 5).every(n => n > 0) && cells.slice(6, 50).every(n => n === 0), true, "a tenth of a second, from the bottom up");
		const box = await (await page.$("#heat")).boundingBox(), rowAt = n => box.y + box.height * (1 - (n + 0.5) / 50);
		await page.mouse.move(box.x + box.width / 2, rowAt(1));
		await page.mouse.down();
		await page.mouse.move(box.x + box.width / 2, rowAt(2));
		await page.mouse.up();
		await address(page, "time=0.02-0.06");
	},

	async chart() {
		const page = await open("exact.html");
		await page.click("[data-view=chart]");
		const boxes = await page.evaluate(() => {
			const { tree } = assay.upper, out = [];
			for (let i = 1; i < tree.n; i++)
				if (tree.end[i] === i + 1)
					out.push([assay.profile.names[tree.frame[i]], Math.round(tree.total[i] / 1000)]);
			return out;
		});
		equal(boxes.length, 20, "20 turns of 5 ms");
		holds(boxes.every(([name], i) => name === (i % 2 ? "parallel" : "serial")), "in the order of time");
		holds(boxes.every(([, ms], i) => ms === 5 || i === 19), `of 5 ms each: ${boxes}`);
	},

	async transforms() {
		const page = await open("plain.html"), all = report("symbols").total[0].samples;
		const before = await pageFunctions(page), names = Object.keys(before);
		const frame = await page.evaluate(() => assay.heaviestFrame());
		const key = await page.evaluate(f => `${assay.profile.images[assay.profile.image[f]].path} | ${assay.profile.names[f]}`, frame);
		await page.evaluate(f => assay.setTransforms([{ kind: "focus", frame: f }]), frame);
		equal(await page.evaluate(() => [assay.tree.total[0], assay.tree.n > 1 && assay.tree.frame[1]]), [before[key][1], frame], "focus");
		await page.evaluate(f => assay.setTransforms([{ kind: "hide", frame: f }]), frame);
		equal(await page.evaluate(() => assay.tree.total[0]), all, "hidden functions keep the total");
		const hidden = await pageFunctions(page);
		equal(hidden[key], undefined, "the hidden function");
		equal(names.filter(n => n !== key).every(n => hidden[n] && hidden[n][1] === before[n][1]), true, "the others keep their totals");
		await address(page, "transforms=hide");
		await page.evaluate(() => assay.setTransforms([{ kind: "recursion" }]));
		equal(await page.evaluate(() => {
			const { tree } = assay;
			return Array.from({ length: tree.n }, (_, i) => i).some(i => i > 0 && tree.parent[i] > 0 && tree.frame[i] === tree.frame[tree.parent[i]]);
		}), false, "no function calls itself");
		sameEntries(await pageFunctions(page), before, "recursion changes no function");
		await page.click("#transforms button");
		equal(await page.evaluate(() => assay.tree.n), await plain.evaluate(() => assay.tree.n), "undone");
	},

	async other() {
		const page = await open("light.html"), event = report("tree").total[0].event;
		const others = () => page.evaluate(() => {
			const { tree, profile } = assay;
			return [...tree.frame.keys()].filter(i => i > 0 && profile.image[tree.frame[i]] === -1);
		});
		const all = report("symbols").total[0].samples, boxes = await page.evaluate(() => assay.tree.n);
		holds((await others()).length > 0, "there are boxes other");
		// What has no box counts all the same: in the table, and in search.
		sameEntries(await pageFunctions(page), byFunction(report("symbols").rows, event, ["samples", "total"]), "functions");
		await page.fill("#search", "render");
		equal(await page.evaluate(() => Number(document.getElementById("found").dataset.weight)), report("via").total[0].samples, "found");
		await page.fill("#search", "");
		const place = await placeOf(page, await page.evaluate(() => {
			const { tree, profile } = assay, is = i => i > 0 && profile.image[tree.frame[i]] === -1;
			return [...tree.frame.keys()].filter(is).reduce((a, b) => tree.total[b] > tree.total[a] ? b : a);
		}));
		await page.mouse.click(place.x, place.y);
		await settle(page);
		holds(await page.evaluate(() => assay.tree.n) > boxes, "a click opens it");
		equal(await page.evaluate(() => assay.tree.total[0]), all, "the total holds");
		holds(await page.evaluate(() => assay.upper.isZoomed), "its boxes fill the graph");
		for (let [first] = await others(); first; [first] = await others())
			equal(await page.evaluate(node => assay.openOther(assay.upper, node), first), true, "it opens");
		sameEntries(await pagePaths(page, "tree"), pathsOf(report("tree").rows, event), "all boxes are there");
		// The address keeps them open.
		await address(page, "open=");
		const again = await open("light.html", { hash: new URL(page.url()).hash });
		sameEntries(await pagePaths(again, "tree"), pathsOf(report("tree").rows, event), "in another window");
		equal(await again.evaluate(() => [...assay.opened].length), await page.evaluate(() => [...assay.opened].length), "open boxes");
		// They close again, by the button and by Escape.
		await page.click("#transforms button");
		equal(await page.evaluate(() => assay.tree.n), boxes, "boxes as at first");
		equal(await page.isHidden("#transforms"), true, "nothing to close");
		await address(page, "open=", false);
		await again.focus("#upper");
		for (let i = 0; i < 3 && await again.evaluate(() => assay.opened.size); i++)
			await again.keyboard.press("Escape");
		equal(await again.evaluate(() => [assay.opened.size, assay.tree.n]), [0, boxes], "closed by Escape");
		const odd = await open("light.html", { hash: "#open=1e9.-1.x.0" });
		holds(await odd.evaluate(() => assay.tree.total[0] > 0), "an address of another page does no harm");
	},

	async code() {
		const page = await open("code.html"), [wanted] = report("code").functions;
		equal(wanted.symbol, "tick", "the heaviest function");
		await page.click("[data-view=code]");
		await page.waitForSelector("#code .row");
		const rows = await page.evaluate(() => [...document.querySelectorAll("#code .row")].map(row => row.lastChild.textContent));
		const lines = wanted.lines.filter(l => l.line).map(l => l.text || l.file);
		holds(wanted.instructions.length > 0, "there are instructions");
		equal(rows, [...lines, ...wanted.instructions.map(i => i.text)], "lines and instructions");
		equal(await page.evaluate(() => document.querySelectorAll("#code .hot").length),
		      [...wanted.lines.filter(l => l.line), ...wanted.instructions].filter(row => row.samples[0] > 0).length, "rows with samples");
		equal(await plain.evaluate(() => document.querySelector("[data-view=code]").hidden), true, "no code, no view");
	},

	async paint() {
		const page = await open("plain.html", { colorScheme: "light" });
		// A canvas without an alpha channel is black until something is drawn.
		holds(await page.evaluate(() => ["upper", "lower", "timeline", "tracks", "heat"].every(id =>
			document.getElementById(id).getContext("2d").getContextAttributes().alpha)), "transparent at first");
		equal(await page.evaluate(() => {
			const { canvas, context } = assay.upper;
			canvas.style.height = "333px";
			assay.upper.resize();
			return [...context.getImageData(1, 1, 1, 1).data];
		}), [255, 255, 255, 255], "painted at once after a change of size");
	},

	async accessible() {
		for (const [file, keys] of [["waits.html", "12345"], ["code.html", "6"], ["difference.html", "4"]]) {
			const page = await open(file);
			for (const key of keys) {
				await page.keyboard.press(key);
				await settle(page);
				equal(await violationsOf(page, { exclude: [["tbody tr:nth-child(n+4)"], ["#code .row:nth-child(n+6)"]] }), [], `${file}, view ${key}`);
			}
			for (const id of file === "waits.html" ? ["show-tracks", "show-heat", "about", "theme", "help"] : []) {
				await page.click(`#${id}`);
				await settle(page);
				equal(await violationsOf(page, { exclude: [["tbody tr:nth-child(n+4)"]] }), [], `${file}, ${id}`);
			}
			await page.emulateMedia({ colorScheme: "dark" });
			equal(await violationsOf(page, { exclude: [["tbody tr:nth-child(n+4)"], ["#code .row:nth-child(n+6)"]] }), [], `${file}, dark`);
		}
	},

	async svg() {
		for (const name of ["plain", "hostile", "difference"]) {
			const page = await open(`${name}.svg`);
			equal(await page.evaluate(() => [document.documentElement.tagName, document.querySelectorAll("parsererror, script").length]),
			      ["svg", 0], name);
			holds(await page.evaluate(() => document.querySelectorAll("g > title").length > 50), `${name} has boxes`);
		}
	},

	async alone() {
		equal(seen.requests.filter(url => !url.startsWith(home) && !url.startsWith("data:")), [], "network");
		equal(seen.complaints, [], "complaints");
	},
});
