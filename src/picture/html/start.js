// SPDX-License-Identifier: GPL-2.0-or-later
// What the page does first.
"use strict";

// The text of a payload, which is not needed twice.
function payload(id) {
	const data = $(id), text = data.textContent;
	data.remove();
	return text;
}

// The call tree of all the time comes first. An address that asks for times waits for them.
async function start() {
	try {
		const profile = await loadProfile(payload("data")), times = payload("times");
		if (needsTimes(choiceFromAddress()))
			await loadTimes(profile, times);
		window.assay = new App(profile);
		window.assay.applySearch();
		await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
		window.assay.readyMs = performance.now();
		if (!profile.hasTimes) {
			await loadTimes(profile, times);
			window.assay.takeTimes();
		}
		window.assay.timesMs = performance.now();
		document.documentElement.dataset.ready = "yes";
	} catch (error) {
		document.body.prepend(element("p", { className: "sorry", textContent:
			typeof DecompressionStream === "undefined"
				? "This browser is too old for this page: it needs one of 2023 or later."
				: `This page is damaged: ${error.message}` }));
		throw error;
	}
}

start();
