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

// The nodes after the transforms: as the profile's, or those of joinLight(), and `map`, by node of
// the profile: its place here, or -1.
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
	const shape = numberNodes(kept[0], at);
	return nodes.map ? { ...shape, map: nodes.map.map(i => shape.map[i]) } : shape;
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

// The nodes with one box, of the frame `other`, for the light children of a node, unless the node is
// in `opened`. Then all that is below them has boxes.
function joinLight(nodes, other, opened) {
	const { n, parent, end, light } = nodes;
	const frame = new Int32Array(n), depth = new Int32Array(n), map = new Int32Array(n), otherOf = new Int32Array(n);
	let count = 0;
	if (!nodes.hasLight)
		return nodes;
	for (let i = 0, next; i < n; i = next) {
		const above = parent[i], isJoined = light[i] === 1 && !opened.has(above);
		next = light[i] ? end[i] : i + 1;
		if (isJoined && otherOf[above]) {
			map.fill(otherOf[above], i, next);
			continue;
		}
		for (let k = i; k < (isJoined ? i + 1 : next); k++, count++) {
			map[k] = count;
			frame[count] = isJoined ? other : nodes.frame[k];
			depth[count] = nodes.depth[k];
		}
		if (isJoined) {
			otherOf[above] = count - 1;
			map.fill(count - 1, i, next);
		}
	}
	const deep = depth.slice(0, count);
	return { n: count, frame: frame.slice(0, count), depth: deep, ...linksOf(deep), map };
}

// The nodes whose light children are in this box of the shape.
function parentsOfLight(nodes, shape, box) {
	const { light, parent } = nodes, out = [];
	for (let i = 1; i < nodes.n; i++)
		if (light[i] && !light[parent[i]] && shape.map[i] === box)
			out.push(parent[i]);
	return out;
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
