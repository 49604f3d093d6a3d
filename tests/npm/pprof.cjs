// SPDX-License-Identifier: GPL-2.0-or-later
// Reads a pprof profile with pprof-format and prints what tests look at, as JSON.
const { Profile } = require('pprof-format');
const fs = require('fs');
const zlib = require('zlib');

const p = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2])));
const text = (i) => p.stringTable.strings[Number(i)];
const locations = new Map(p.location.map((l) => [Number(l.id), l]));
const functions = new Map(p.function.map((f) => [Number(f.id), f]));
const mappings = new Map(p.mapping.map((m) => [Number(m.id), m]));
const lineName = (line) => text(functions.get(Number(line.functionId)).name);

function label(sample, key) {
  const found = sample.label.find((l) => text(l.key) === key);
  return found && (Number(found.str) ? text(found.str) : Number(found.num));
}

// Every id must lead somewhere, and every address into its mapping.
for (const l of p.location) {
  const m = mappings.get(Number(l.mappingId));
  if (Number(l.mappingId) && !(BigInt(l.address) >= BigInt(m.memoryStart) && BigInt(l.address) < BigInt(m.memoryLimit)))
    throw new Error(`location ${l.id} is outside of its mapping`);
  l.line.forEach(lineName);
}
const types = p.sampleType.map((t) => ({ type: text(t.type), unit: text(t.unit) }));
const samples = p.sample.map((s) => ({
  values: s.value.map(Number),
  pid: label(s, 'pid'), tid: label(s, 'tid'), comm: label(s, 'comm'), cpu: label(s, 'cpu'),
  // innermost first; of a location the inlined functions come before the one they are in
  chain: s.locationId.flatMap((id) => locations.get(Number(id)).line.map(lineName)),
}));
console.log(JSON.stringify({
  types, samples,
  totals: Object.fromEntries(types.map((t, i) => [t.type, samples.reduce((n, s) => n + s.values[i], 0)])),
  mappings: p.mapping.map((m) => ({ file: text(m.filename), build_id: text(m.buildId) })),
  functions: p.function.map((f) => ({ name: text(f.name), system: text(f.systemName), file: text(f.filename) })),
  lines: p.location.flatMap((l) => l.line.map((n) => ({ name: lineName(n), line: Number(n.line) }))),
  comments: p.comment.map(text),
  defaultType: text(p.defaultSampleType),
}));
