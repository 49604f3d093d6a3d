// SPDX-License-Identifier: GPL-2.0-or-later
// The legend: what the colours of the boxes mean.
"use strict";

function fillLegend(app) {
	const legend = $("legend"), { colour } = app.choice;
	if (colour === "difference") {
		const stops = [-1, -0.5, 0, 0.5, 1].map(c => app.colours.ofChange(c, 1)).join(", ");
		legend.replaceChildren("share of the total: shrank", element("span", { className: "scale", style: `background: linear-gradient(to right, ${stops})` }),
				       "grew · pale where chance alone may have done it");
		return;
	}
	const { frame, self, n } = app.wholeNow(), weights = new Map(), { image, images } = app.profile;
	const own = new Float64Array(images.length);
	for (let i = 1; i < n; i++)
		if (image[frame[i]] >= 0)
			own[image[frame[i]]] += self[i];
	own.forEach((weight, i) => {
		const key = colour === "mode" ? images[i].mode : i;
		if (weight)
			weights.set(key, (weights.get(key) || 0) + weight);
	});
	const heaviest = [...weights].sort((a, b) => b[1] - a[1]).slice(0, 14);
	legend.replaceChildren(...heaviest.map(([key, weight]) => {
		const isMode = colour === "mode", name = isMode ? key : images[key].name;
		const swatch = element("i", {}), item = element(isMode ? "span" : "button", {}, swatch,
			`${name} ${formatPercent(weight, app.tree.total[0])}`);
		swatch.style.background = isMode ? app.colours.ofMode(key) : app.colours.ofImage(key);
		if (!isMode) {
			item.title = `${images[key].path}\n${formatWeight(weight, app.unit)} in its own code; click to search for it`;
			item.addEventListener("click", () => app.search(name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
		}
		return item;
	}));
}
