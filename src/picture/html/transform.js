// SPDX-License-Identifier: GPL-2.0-or-later
// Transforms of the call tree: other nodes for the same samples. Each keeps the total, but for
// focus, which leaves out the samples that its function is not in.
//
//     hide N      the function's own weight goes to its callers, and its callees are theirs
//     focus N     chains begin at the outermost frame of the function
//     recursion   a function that calls itself at once is one frame
"use strict";

function transformsOf(text) {
	return text.split(",").filter(Boolean).map(word => {
		const [kind, frame = -1] = word.split(".");
		return { kind, frame: Number(frame) };
	}).filter(t => t.kind === "recursion" || ((t.kind === "hide" || t.kind === "focus") && t.frame >= 0));
}

function textOfTransforms(list) {
	return list.map(t => t.kind === "recursion" ? t.kind : `${t.kind}.${t.frame}`).join(",");
}

// The nodes after the transforms: as the profile's, and `map`, by node of the profile: its place
// here, or -1.
function transformNodes(nodes, list) {
	if (!list.length)
		return nodes;
	const hidden = new Set(list.filter(t => t.kind === "hide").map(t => t.frame));
	const focused = list.filter(t => t.kind === "focus").map(t => t.frame);
	const joins = list.some(t => t.kind === "recursion");
	const kept = [{ frame: -1, children: new Map() }], at = new Array(nodes.n).fill(null);
	const met = new Uint8Array(nodes.n); // how many of the focused functions are above
	at[0] = kept[0];
	for (let i = 1; i < nodes.n; i++) {
		const f = nodes.frame[i], parent = nodes.parent[i];
		met[i] = met[parent] + (met[parent] < focused.length && focused[met[parent]] === f ? 1 : 0);
		if (met[i] < focused.length)
			continue;
		const above = at[parent] || kept[0];
		if (hidden.has(f) || (joins && above.frame === f)) {
			at[i] = above;
			continue;
		}
		at[i] = above.children.get(f);
		if (!at[i])
			above.children.set(f, at[i] = { frame: f, children: new Map() });
	}
	return numberNodes(kept[0], at);
}

// Preorder: children in the order in which they were met, which is by weight.
function numberNodes(root, at) {
	const frame = [], depth = [], pending = [[root, 0]];
	while (pending.length) {
		const [node, level] = pending.pop();
		node.number = frame.length;
		frame.push(node.frame);
		depth.push(level);
		for (const child of [...node.children.values()].reverse())
			pending.push([child, level + 1]);
	}
	const deep = Int32Array.from(depth);
	return { n: frame.length, frame: Int32Array.from(frame), depth: deep, ...linksOf(deep),
		 map: Int32Array.from(at, node => node ? node.number : -1) };
}

// Weights by node of the profile to weights by node of the shape.
function moveWeights(shape, weights) {
	if (!shape.map)
		return weights;
	const out = new Float64Array(shape.n);
	for (let i = 0; i < weights.length; i++)
		if (weights[i] && shape.map[i] >= 0)
			out[shape.map[i]] += weights[i];
	return out;
}
