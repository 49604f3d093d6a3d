// SPDX-License-Identifier: GPL-2.0-or-later
// The pixels of a canvas. Thousands of boxes of one colour each cost as much as the pixels that they
// fill: a row of boxes is drawn as one line of pixels, which is then copied down.
"use strict";

// "#rrggbb" as a pixel.
function pixelOf(colour) {
	const n = parseInt(colour.slice(1), 16);
	return (0xff000000 | (n & 255) << 16 | (n & 0xff00) | n >> 16) >>> 0;
}

// A colour that lets a part of another one through.
function mixedPixel(over, under, share) {
	const mix = shift => Math.round((over >>> shift & 255) * share + (under >>> shift & 255) * (1 - share)) << shift;
	return (0xff000000 | mix(16) | mix(8) | mix(0)) >>> 0;
}

class Raster {
	constructor(context) {
		this.context = context;
		this.width = this.height = 0;
	}

	// All of it in one colour. False: the canvas has no pixels.
	begin(pixel) {
		const { width, height } = this.context.canvas;
		if (!width || !height)
			return false;
		if (width !== this.width || height !== this.height) {
			this.image = this.context.createImageData(width, height);
			this.pixels = new Uint32Array(this.image.data.buffer);
			this.width = width;
			this.height = height;
		}
		this.pixels.fill(pixel);
		return true;
	}

	// A box, of which what is on the canvas is drawn.
	fillBox(left, top, right, bottom, pixel) {
		const { width, pixels } = this, a = Math.max(0, left), b = Math.min(width, right);
		for (let y = Math.max(0, top); y < Math.min(bottom, this.height); y++)
			for (let at = y * width + a; at < y * width + b; at++)
				pixels[at] = pixel;
	}

	// The first line of [top, bottom) on the canvas, as an index of its first pixel; -1: none is.
	lineOf(top, bottom) {
		return bottom > 0 && top < this.height && bottom > top ? Math.max(0, top) * this.width : -1;
	}

	// Makes the other lines of [top, bottom) as the first one.
	copyDown(top, bottom) {
		const { width, pixels } = this, from = Math.max(0, top) * width, end = Math.min(bottom, this.height) * width;
		for (let at = from + width; at < end; at += width)
			pixels.copyWithin(at, from, from + width);
	}

	finish() {
		this.context.putImageData(this.image, 0, 0);
	}
}
