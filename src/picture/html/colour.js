// SPDX-License-Identifier: GPL-2.0-or-later
// What colours mean: the image, user or kernel, the language, or what a difference says.
"use strict";

// Hues far from each other in the order they are given out, without those of the kernel (orange)
// and of search (magenta).
const HUES = [250, 150, 295, 200, 120, 225, 175, 275, 100, 320, 135, 262];
const KERNEL_HUES = [62, 45, 80, 30];
const MODE_HUES = { user: 245, kernel: 58 };
const LANGUAGE_HUES = { native: 250, kernel: 58, python: 150, php: 290, ruby: 15, perl: 200, java: 105, javascript: 175, go: 225 };
const WAIT_STEP = 47; // degrees from the hue of one reason to the next
const N_NAMED = 12, N_SHADES = 16, CHANGE_STEPS = 64;

// Lightness, chroma and hue to a colour that a canvas takes without parsing much (Ottosson's
// OKLab, as in CSS Color 4; out of the gamut it is clipped).
function oklch(l, c, hue) {
	const angle = hue * Math.PI / 180, a = c * Math.cos(angle), b = c * Math.sin(angle);
	const x = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const y = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const z = (l - 0.0894841775 * a - 1.2914855480 * b) ** 3;
	return "#" + [
		4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z,
		-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z,
		-0.0041960863 * x - 0.7034186147 * y + 1.7076147010 * z,
	].map(v => {
		const s = v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
		return Math.round(255 * Math.min(1, Math.max(0, s || 0))).toString(16).padStart(2, "0");
	}).join("");
}

function hashOf(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return hash >>> 0;
}

class Colours {
	constructor(profile) {
		this.profile = profile;
		this.how = "image";
		this.isDark = false;
		this.paints = new Map();
		this.pixels = new Map();
		this.rankImages();
		this.shades = Float32Array.from(profile.names, name => (hashOf(name) % N_SHADES) / N_SHADES - 0.5);
	}

	// The heaviest images have a hue each; the others share what is left, in paler colours.
	rankImages() {
		const { images, nodes, image } = this.profile, weight = new Float64Array(images.length);
		const self = wholeSelf(this.profile, 0, false);
		for (let i = 1; i < nodes.n; i++)
			if (image[nodes.frame[i]] >= 0)
				weight[image[nodes.frame[i]]] += self[i];
		const order = [...images.keys()].sort((a, b) => weight[b] - weight[a]);
		let nUser = 0, nKernel = 0;
		this.hues = new Array(images.length).fill(null);
		for (const i of order) {
			const { mode, name } = images[i];
			if (mode === "kernel")
				this.hues[i] = { hue: KERNEL_HUES[nKernel++ % KERNEL_HUES.length], chroma: 1 };
			else if (mode === "user" && nUser < N_NAMED)
				this.hues[i] = { hue: HUES[nUser++ % HUES.length], chroma: 1 };
			else if (mode === "user")
				this.hues[i] = { hue: 100 + hashOf(name) % 220, chroma: 0.45 };
		}
		this.imageOrder = order;
	}

	set(how, isDark) {
		if (this.byFrame && this.how === how && this.isDark === isDark)
			return;
		this.how = how;
		this.isDark = isDark;
		this.changes = [];
		this.byFrame = this.profile.names.map((_, f) => this.ofFrame(f));
		this.ofAll = this.neutral(0);
		this.pixelByFrame = Uint32Array.from(this.byFrame, colour => this.pixel(colour));
	}

	// A colour of ours, or of the style sheet, as raster.js draws it.
	pixel(colour) {
		let pixel = this.pixels.get(colour);
		if (pixel === undefined)
			this.pixels.set(colour, pixel = pixelOf(colour));
		return pixel;
	}

	// Lightness and chroma are the theme's, so that text is legible on each.
	paint(hue, chroma, shade) {
		const key = `${hue} ${chroma} ${shade} ${this.isDark}`;
		let paint = this.paints.get(key);
		if (!paint) {
			const l = this.isDark ? 0.44 + shade * 0.07 : 0.835 + shade * 0.06;
			this.paints.set(key, paint = oklch(l, chroma * (this.isDark ? 0.085 : 0.09), hue));
		}
		return paint;
	}

	neutral(shade) {
		return this.paint(260, 0.1, shade);
	}

	ofImage(image) {
		const hue = this.hues[image];
		return hue ? this.paint(hue.hue, hue.chroma, 0) : this.neutral(0);
	}

	ofMode(mode) {
		return MODE_HUES[mode] === undefined ? this.neutral(0) : this.paint(MODE_HUES[mode], 1, 0);
	}

	ofLanguage(language, shade = 0) {
		const hue = LANGUAGE_HUES[language];
		return hue === undefined ? this.neutral(shade) : this.paint(hue, language === "native" ? 0.35 : 1, shade);
	}

	// Of a track: the reason why a thread waits, by number (profile/wait_reasons.h).
	ofWait(reason) {
		return this.paint(20 + reason * WAIT_STEP % 360, 0.7, -0.2);
	}

	ofFrame(f) {
		const image = this.profile.image[f], shade = this.shades[f];
		if (image < 0)
			return this.neutral(image === IMAGE_GROUP ? 0.5 : -0.3);
		if (this.how === "mode") {
			const hue = MODE_HUES[this.profile.images[image].mode];
			return hue === undefined ? this.neutral(shade) : this.paint(hue, 1, shade);
		}
		if (this.how === "language")
			return this.ofLanguage(this.profile.languageOf(f), shade);
		const hue = this.hues[image];
		return hue ? this.paint(hue.hue, hue.chroma, shade) : this.neutral(shade);
	}

	// Red grew, blue shrank; pale where chance alone may have made it (below three standard
	// deviations of the number of samples).
	ofChange(change, certainty) {
		const strength = Math.round(Math.min(1, Math.abs(change) * 1.15) * certainty * CHANGE_STEPS) / CHANGE_STEPS;
		const hue = change > 0 ? 25 : 255, key = strength * CHANGE_STEPS + (change > 0 ? 0 : CHANGE_STEPS + 1);
		const l = this.isDark ? 0.36 + 0.16 * strength : 0.93 - 0.2 * strength;
		return this.changes[key] = this.changes[key] || oklch(l, 0.005 + 0.125 * strength, hue);
	}

	pixelOfNode(tree, node, differ) {
		const frame = tree.frame[node];
		if (this.how === "difference" && differ)
			return this.pixel(this.ofDifference(tree, node, differ));
		return frame >= 0 ? this.pixelByFrame[frame] : this.pixel(this.ofAll);
	}

	ofDifference(tree, node, differ) {
		const now = tree.total[node] / differ.whole, then = tree.totalBase[node] / differ.base;
		const larger = Math.max(now, then);
		if (!(larger > 0))
			return this.ofChange(0, 0);
		const deviation = Math.sqrt(now / differ.samples + then / differ.baseSamples) || 1;
		return this.ofChange((now - then) / larger, Math.min(1, Math.abs(now - then) / deviation / 3));
	}
}
