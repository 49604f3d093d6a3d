// SPDX-License-Identifier: GPL-2.0-or-later
// Trees to draw: the call tree of a range of time, upside down, and both sides of a function.
//
// A tree is arrays in preorder: frame, depth, parent, end (of the subtree), self, total, x (where
// its box begins, in weight), and for a baseline selfBase, totalBase.
"use strict";

// What each node got itself in the buckets that begin from `from` up to, not including, `to`; in
// seconds.
function sumCells(cells, n, byEvents, from, to, width) {
	const out = new Float64Array(n), { of, factor } = cellWeights(cells, byEvents);
	for (let i = 0; i < cells.bucket.length; i++) {
		if (cells.bucket[i] * width < from || cells.bucket[i] * width >= to)
			continue;
		for (let k = cells.start[i]; k < cells.start[i + 1]; k++)
			out[cells.node[k]] += of[k];
	}
	if (factor !== 1)
		for (let i = 0; i < n; i++)
			out[i] *= factor;
	return out;
}

// Adds what the moments of the range have, of one thread or (-1) of all.
function addMoments(out, moments, byEvents, from, to, thread) {
	const { of, factor } = momentWeights(moments, byEvents), { node } = moments;
	eachRun(moments, from * 1e6, to * 1e6, (first, end, own) => {
		if (thread >= 0 && own !== thread)
			return;
		for (let i = first; i < end; i++)
			out[node[i]] += of ? of[i] * factor : factor;
	});
	return out;
}

// Of one thread, only moments count: which thread the others are of is not known.
function sumSelf(profile, lane, byEvents, from, to, thread) {
	const { own, moments } = profile.lanes[lane], { n } = profile.nodes;
	const out = thread < 0 ? sumCells(own, n, byEvents, from, to, profile.width) : new Float64Array(n);
	return addMoments(out, moments, byEvents, from, to, thread);
}

// Of all the time: the page has these sums without the times.
function wholeSelf(profile, lane, byEvents) {
	return profile.lanes[lane].sums[byEvents ? "events" : "samples"];
}

function totalsOf(tree, self) {
	const total = Float64Array.from(self);
	for (let i = tree.n - 1; i > 0; i--)
		total[tree.parent[i]] += total[i];
	return total;
}

// Children stand side by side from where their parent begins.
function layOut(tree) {
	const { n, depth, total } = tree, x = new Float64Array(n), next = new Float64Array(2048);
	let deepest = 0;
	for (let i = 0; i < n; i++) {
		const d = depth[i];
		x[i] = next[d];
		next[d] += total[i];
		next[d + 1] = x[i];
		if (d > deepest && total[i] > 0)
			deepest = d;
	}
	tree.x = x;
	tree.deepest = deepest;
	return tree;
}

// Of the seconds [from, to). `shape` is the profile's nodes, or what transforms made of them.
function callTree(profile, shape, lane, byEvents, from, to, thread) {
	const { base } = profile.lanes[lane], isWhole = from === 0 && to === Infinity && thread < 0;
	const own = isWhole ? wholeSelf(profile, lane, byEvents) : sumSelf(profile, lane, byEvents, from, to, thread);
	const ownBase = sumCells(base, profile.nodes.n, byEvents, 0, Infinity, profile.width);
	const tree = { ...shape, self: moveWeights(shape, own), selfBase: moveWeights(shape, ownBase) };
	const { self, selfBase } = tree;
	tree.total = totalsOf(tree, self);
	tree.totalBase = totalsOf(tree, selfBase);
	return layOut(tree);
}

// By frame: weights of its own, and of all chains it is in, each sample once.
function sumFrames(tree, nFrames) {
	const sums = {
		self: new Float64Array(nFrames), total: new Float64Array(nFrames),
		selfBase: new Float64Array(nFrames), totalBase: new Float64Array(nFrames),
	};
	const onPath = new Int32Array(nFrames), path = [];
	for (let i = 1; i < tree.n; i++) {
		while (path.length && tree.end[path[path.length - 1]] <= i)
			onPath[tree.frame[path.pop()]]--;
		const f = tree.frame[i];
		sums.self[f] += tree.self[i];
		sums.selfBase[f] += tree.selfBase[i];
		if (onPath[f]++ === 0) {
			sums.total[f] += tree.total[i];
			sums.totalBase[f] += tree.totalBase[i];
		}
		path.push(i);
	}
	return sums;
}

// Gathers nodes in preorder, then makes a tree of them.
class TreeBuilder {
	constructor() {
		this.frame = [];
		this.depth = [];
		this.self = [];
		this.selfBase = [];
		this.total = [];
		this.totalBase = [];
	}

	add(frame, depth, total, totalBase) {
		this.frame.push(frame);
		this.depth.push(depth);
		this.total.push(total);
		this.totalBase.push(totalBase);
		this.self.push(0);
		this.selfBase.push(0);
		return this.frame.length - 1;
	}

	finish() {
		const depth = Int32Array.from(this.depth);
		return layOut({
			n: depth.length, frame: Int32Array.from(this.frame), depth, ...linksOf(depth),
			self: Float64Array.from(this.self), total: Float64Array.from(this.total),
			selfBase: Float64Array.from(this.selfBase),
			totalBase: Float64Array.from(this.totalBase),
		});
	}
}

// Callers of callers: what is lighter than this share of the whole is not followed further.
const LEAST_SHARE = 1 / 25000;

// Nodes of a tree, each with a weight that goes up from it to its callers.
class Items {
	constructor(most) {
		this.node = new Int32Array(most);
		this.weight = new Float64Array(most);
		this.base = new Float64Array(most);
		this.n = 0;
	}

	add(node, weight, base) {
		this.node[this.n] = node;
		this.weight[this.n] = weight;
		this.base[this.n++] = base;
	}
}

// A tree whose children are callers. Items are sorted by frame, in place, and those of a frame step
// up to their callers and are sorted again, in the stretch of the arrays that is theirs alone.
class Inverter {
	constructor(tree, items, nFrames) {
		this.tree = tree;
		this.items = items;
		this.spare = new Items(items.n);
		this.slot = new Int32Array(nFrames).fill(-1);
		this.builder = new TreeBuilder();
	}

	// The stretches of items at the same frame, heaviest first.
	partition(from, to) {
		const { node, weight, base } = this.items, { frame } = this.tree, { slot, spare } = this, groups = [];
		for (let i = from; i < to; i++) {
			const f = frame[node[i]];
			if (slot[f] < 0) {
				slot[f] = groups.length;
				groups.push({ frame: f, n: 0, total: 0, totalBase: 0, from: 0 });
			}
			const g = groups[slot[f]];
			g.n++;
			g.total += weight[i];
			g.totalBase += base[i];
		}
		if (groups.length > 1) {
			groups.sort((a, b) => b.total - a.total || b.totalBase - a.totalBase);
			for (let k = 0, at = 0; k < groups.length; at += groups[k++].n) {
				groups[k].from = at;
				slot[groups[k].frame] = at;
			}
			for (let i = from; i < to; i++) {
				const at = slot[frame[node[i]]]++;
				spare.node[at] = node[i];
				spare.weight[at] = weight[i];
				spare.base[at] = base[i];
			}
			for (let i = from; i < to; i++) {
				node[i] = spare.node[i - from];
				weight[i] = spare.weight[i - from];
				base[i] = spare.base[i - from];
			}
		}
		for (const g of groups) {
			slot[g.frame] = -1;
			g.from += from;
		}
		return groups;
	}

	// One step towards the root; what has arrived there is the own weight of the node `at`.
	stepUp(from, to, at) {
		const { node, weight, base } = this.items, { parent } = this.tree;
		let kept = from;
		for (let i = from; i < to; i++) {
			const above = parent[node[i]];
			if (above === 0) {
				this.builder.self[at] += weight[i];
				this.builder.selfBase[at] += base[i];
			} else {
				node[kept] = above;
				weight[kept] = weight[i];
				base[kept++] = base[i];
			}
		}
		return kept;
	}

	grow(from, to, depth) {
		for (const g of this.partition(from, to)) {
			const at = this.builder.add(g.frame, depth, g.total, g.totalBase);
			if (g.total >= this.least && g.total + g.totalBase > 0)
				this.grow(g.from, this.stepUp(g.from, g.from + g.n, at), depth + 1);
		}
	}

	// Under a root of all, or of the one frame that all items are at.
	run(rootFrame) {
		const { n, weight, base } = this.items;
		const whole = weight.subarray(0, n).reduce((a, b) => a + b, 0);
		const root = this.builder.add(rootFrame, 0, whole, base.subarray(0, n).reduce((a, b) => a + b, 0));
		this.least = whole * LEAST_SHARE;
		this.grow(0, rootFrame >= 0 ? this.stepUp(0, n, root) : n, 1);
		return this.builder.finish();
	}
}

function invertedTree(tree, nFrames) {
	const items = new Items(tree.n);
	for (let i = 1; i < tree.n; i++)
		if (tree.self[i] > 0 || tree.selfBase[i] > 0)
			items.add(i, tree.self[i], tree.selfBase[i]);
	return new Inverter(tree, items, nFrames).run(-1);
}

// The callers of the outermost frame of a function in each chain.
function callersTree(tree, frame, nFrames) {
	const items = new Items(tree.n);
	for (let i = 1; i < tree.n;) {
		if (tree.frame[i] !== frame) {
			i++;
			continue;
		}
		items.add(i, tree.total[i], tree.totalBase[i]);
		i = tree.end[i];
	}
	return new Inverter(tree, items, nFrames).run(frame);
}

// What the innermost frame of a function in each chain called: its subtrees, joined.
function calleesTree(tree, frame) {
	const root = { frame, self: 0, selfBase: 0, children: new Map() };
	const place = new Array(tree.n).fill(null);
	for (let i = 1; i < tree.n; i++) {
		const f = tree.frame[i], above = place[tree.parent[i]];
		if (f === frame) {
			place[i] = root;
		} else if (above) {
			let child = above.children.get(f);
			if (!child)
				above.children.set(f, child = { frame: f, self: 0, selfBase: 0, children: new Map() });
			place[i] = child;
		} else {
			continue;
		}
		place[i].self += tree.self[i];
		place[i].selfBase += tree.selfBase[i];
	}
	return treeOfNested(root);
}

function weigh(nested) {
	nested.total = nested.self;
	nested.totalBase = nested.selfBase;
	for (const child of nested.children.values()) {
		weigh(child);
		nested.total += child.total;
		nested.totalBase += child.totalBase;
	}
}

function treeOfNested(root) {
	const builder = new TreeBuilder();
	function put(nested, depth) {
		const at = builder.add(nested.frame, depth, nested.total, nested.totalBase);
		builder.self[at] = nested.self;
		builder.selfBase[at] = nested.selfBase;
		const children = [...nested.children.values()];
		children.sort((a, b) => b.total - a.total || b.totalBase - a.totalBase);
		for (const child of children)
			put(child, depth + 1);
	}
	weigh(root);
	put(root, 0);
	return builder.finish();
}

// The weight of all samples whose chain has a frame that `matches` says yes to, and, by node,
// whether it is one of those.
function matchedWeight(tree, matches) {
	let sum = 0, base = 0;
	for (let i = 1; i < tree.n;) {
		if (matches[tree.frame[i]]) {
			sum += tree.total[i];
			base += tree.totalBase[i];
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return { sum, base };
}

// By node of the profile: 1 where its chain has a matching frame.
function matchedNodes(nodes, matches) {
	const out = new Uint8Array(nodes.n);
	for (let i = 1; i < nodes.n; i++)
		out[i] = matches[nodes.frame[i]] | out[nodes.parent[i]];
	return out;
}

// Likewise, of the nodes that the shape has at or below one of its nodes.
function nodesBelow(nodes, shape, below) {
	const out = new Uint8Array(nodes.n), { map } = shape, end = shape.end[below];
	for (let i = 1; i < nodes.n; i++) {
		const at = map ? map[i] : i;
		out[i] = at >= below && at < end ? 1 : 0;
	}
	return out;
}

// The frames from the outermost to a node, and back.
function pathOf(tree, node) {
	const path = [];
	for (; node > 0; node = tree.parent[node])
		path.push(tree.frame[node]);
	return path.reverse();
}

function nodeAtPath(tree, path) {
	let at = 0;
	for (const frame of path) {
		let child = at + 1;
		while (child < tree.end[at] && tree.frame[child] !== frame)
			child = tree.end[child];
		if (child >= tree.end[at])
			break;
		at = child;
	}
	return at;
}
