// SPDX-License-Identifier: GPL-2.0-or-later
// The legend: what the colours of the boxes mean.
"use strict";

// Colours that mean a word: the word of a frame, and the colour of a word.
const WORD_COLOURS = {
	mode: { wordOf: (profile, frame) => profile.modeOf(frame), paint: (colours, word) => colours.ofMode(word) },
	language: { wordOf: (profile, frame) => profile.languageOf(frame), paint: (colours, word) => colours.ofLanguage(word) },
};

const swatchOf = (paint, text) => {
	const swatch = element("i", {});
	swatch.style.background = paint;
	return element("span", {}, swatch, text);
};

// The colours of the tracks: modes of running, and the reasons of waits, the longest first.
function fillTrackLegend({ tracks, colours, profile }) {
	const modes = ["user", "kernel"].map(mode => swatchOf(colours.ofMode(mode), `runs: ${mode}`));
	const waits = tracks.waitedByReason().map(({ reason, ns }) =>
		swatchOf(colours.ofWait(reason), `waits: ${profile.reasons[reason]} ${formatNanoseconds(ns)}`));
	$("track-legend").replaceChildren(...modes, ...waits);
}

function fillLegend(app) {
	const legend = $("legend"), { colour } = app.choice;
	if (colour === "difference") {
		const stops = [-1, -0.5, 0, 0.5, 1].map(c => app.colours.ofChange(c, 1)).join(", ");
		legend.replaceChildren("share of the total: shrank", element("span", { className: "scale", style: `background: linear-gradient(to right, ${stops})` }),
				       "grew · pale where chance alone may have done it");
		return;
	}
	const { frame, self, n } = app.wholeNow(), weights = new Map(), { image, images } = app.profile;
	const words = WORD_COLOURS[colour], own = new Float64Array(image.length);
	for (let i = 1; i < n; i++)
		own[frame[i]] += self[i];
	own.forEach((weight, f) => {
		const key = words && image[f] >= 0 ? words.wordOf(app.profile, f) : image[f];
		if (weight && image[f] >= 0)
			weights.set(key, (weights.get(key) || 0) + weight);
	});
	const heaviest = [...weights].sort((a, b) => b[1] - a[1]).slice(0, 14);
	legend.replaceChildren(...heaviest.map(([key, weight]) => {
		const name = words ? key : images[key].name;
		const swatch = element("i", {}), item = element(words ? "span" : "button", {}, swatch,
			`${name} ${formatPercent(weight, app.tree.total[0])}`);
		swatch.style.background = words ? words.paint(app.colours, key) : app.colours.ofImage(key);
		if (!words) {
			item.title = `${images[key].path}\n${formatWeight(weight, app.unit)} in its own code; click to search for it`;
			item.addEventListener("click", () => app.search(name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
		}
		return item;
	}));
}
