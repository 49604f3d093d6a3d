// SPDX-License-Identifier: GPL-2.0-or-later
// Opens files in speedscope, as its command does, and saves each from there: speedscope.mjs FILE…
// Prints the sums of the weights that speedscope has, one line of JSON for each file.
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../npm/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const home = dirname(require.resolve("speedscope/package.json"));
const index = pathToFileURL(join(home, "dist/release/index.html"));
const deadline = (process.env.DEADLINE || 120) * 1000;
const folder = mkdtempSync(join(tmpdir(), "speedscope-"));
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM, timeout: deadline,
	args: ["--no-sandbox", "--disable-dev-shm-usage", "--use-gl=angle", "--use-angle=swiftshader",
	       "--enable-unsafe-swiftshader", "--allow-file-access-from-files"],
}).catch(error => {
	console.log(`skip Chromium does not start here: ${error.message.split("\n")[0]}`);
	process.exit(0);
});

// The weights of a profile in speedscope's own format.
function weightOf(profile) {
	if (profile.type === "sampled")
		return profile.weights.reduce((sum, w) => sum + w, 0);
	let sum = 0, depth = 0, since = 0;
	for (const event of profile.events) {
		if (depth > 0)
			sum += event.at - since;
		since = event.at;
		depth += event.type === "O" ? 1 : -1;
	}
	return sum;
}

async function reopened(file) {
	const page = await (await browser.newContext({ acceptDownloads: true })).newPage();
	const loader = join(folder, "load.js");
	const done = new Promise((resolve, reject) => {
		page.on("console", m => /^import: /.test(m.text()) ? resolve() :
			/Failed to load/.test(m.text()) && reject(new Error(`${file}: ${m.text()}`)));
		page.on("pageerror", e => reject(new Error(`${file}: ${e.message}`)));
		page.on("dialog", d => { d.dismiss(); reject(new Error(`${file}: ${d.message()}`)); });
	});
	done.catch(() => 0); // it may fail before it is waited for
	page.setDefaultTimeout(deadline);
	writeFileSync(loader, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, "${
		readFileSync(file).toString("base64")}")`);
	await page.goto(`${index}#localProfilePath=${encodeURIComponent(loader.slice(1))}`);
	await done;
	const saved = page.waitForEvent("download");
	await page.keyboard.press("Control+s");
	const group = JSON.parse(readFileSync(await (await saved).path(), "utf8"));
	await page.context().close();
	return { file: basename(file), frames: group.shared.frames.map(f => f.name),
		 profiles: group.profiles.map(p => ({ name: p.name, unit: p.unit, weight: weightOf(p) })) };
}

let status = 0;
for (const file of process.argv.slice(2))
	await reopened(file).then(found => console.log(JSON.stringify(found)),
				  error => { console.error(error.message); status = 1; });
await browser.close();
rmSync(folder, { recursive: true });
process.exit(status);
