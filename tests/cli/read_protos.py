#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads OTLP profiles and Perfetto traces with the code that protoc makes of their own .proto files.

read_protos.py otlp|perfetto FOLDER FILE

FOLDER has the .proto files, below their package's path. Prints what protobuf.py prints. It fails if the file
has a field that the .proto files have not, or an index that leads out of its table.
"""

import importlib
import json
import pathlib
import subprocess
import sys
import tempfile


def compile_protos(folder, out, names):
    """Each file, and those that it imports."""
    todo, done = list(names), set()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        for line in (folder / name).read_text().splitlines():
            words = line.replace('"', " ").replace(";", " ").split()
            if words[:1] == ["import"] and not words[-1].startswith("google/"):
                todo.append(words[-1])
    subprocess.run(["protoc", f"-I{folder}", f"--python_out={out}", *sorted(done)], check=True)


def parse(kind, data):
    message = kind.FromString(data)
    size = message.ByteSize()
    message.DiscardUnknownFields()
    # Some versions remember the size (ByteSize()) of the message with the fields.
    assert len(message.SerializeToString()) == size == len(data), "fields that the .proto files do not have"
    return message


def value_of(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def otlp(top):
    table = top.dictionary
    text = table.string_table
    for rows in (table.mapping_table, table.location_table, table.function_table, table.stack_table, table.attribute_table):
        assert rows[0].ByteSize() == 0, "every table begins with an empty row"
    assert len(table.link_table) == 1 and text[0] == ""
    for m in table.mapping_table:
        assert m.filename_strindex < len(text) and m.memory_start <= m.memory_limit
    for f in table.function_table:
        assert max(f.name_strindex, f.system_name_strindex, f.filename_strindex) < len(text)

    def attribute(i):
        row = table.attribute_table[i]
        return text[row.key_strindex], value_of(row.value)

    def frames(stack):
        out = []
        for i in table.stack_table[stack].location_indices:
            place = table.location_table[i]
            mapping = table.mapping_table[place.mapping_index]
            assert not place.mapping_index or mapping.memory_start <= place.address < mapping.memory_limit
            out += [text[table.function_table[line.function_index].name_strindex] for line in place.lines]
        return out

    profiles = []
    for resource in top.resource_profiles:
        assert resource.resource.attributes
        for scope in resource.scope_profiles:
            assert scope.scope.name == "assay"
            for p in scope.profiles:
                profiles.append({
                    "type": text[p.sample_type.type_strindex], "unit": text[p.sample_type.unit_strindex], "time": p.time_unix_nano,
                    "samples": [{"value": sum(s.values), "chain": frames(s.stack_index),
                                 **dict(attribute(i) for i in s.attribute_indices)} for s in p.samples]})
    return {"profiles": profiles, "functions": [text[f.name_strindex] for f in table.function_table],
            "build_ids": [attribute(i)[1] for m in table.mapping_table for i in m.attribute_indices],
            "frame_types": sorted({attribute(i)[1] for row in table.location_table for i in row.attribute_indices})}


class Interned:
    """The tables of one packet sequence."""

    def __init__(self):
        self.event = None
        self.rows = {}

    def add(self, data):
        for field, rows in data.ListFields():
            table = self.rows.setdefault(field.name, {})
            for row in rows:
                assert row.iid and row.iid not in table
                table[row.iid] = row

    def chain(self, iid):
        out = []
        for i in self.rows["callstacks"][iid].frame_ids:
            frame = self.rows["frames"][i]
            if frame.HasField("mapping_id"):
                mapping = self.rows["mappings"][frame.mapping_id]
                assert mapping.build_id in self.rows["build_ids"] and mapping.path_string_ids[0] in self.rows["mapping_paths"]
            assert not frame.HasField("source_path_iid") or frame.source_path_iid in self.rows["source_paths"]
            out.append(self.rows["function_names"][frame.function_name_id].str.decode())
        return out[::-1]


def perfetto(trace):
    out = {"samples": [], "threads": [], "processes": [], "clocks": []}
    sequences = {}
    for packet in trace.packet:
        seq = packet.trusted_packet_sequence_id
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            sequences[seq] = Interned()
        if packet.HasField("interned_data"):
            sequences[seq].add(packet.interned_data)
        if packet.HasField("trace_packet_defaults"):
            sequences[seq].event = packet.trace_packet_defaults.perf_sample_defaults.timebase.name
        out["processes"] += [[p.pid, p.cmdline[0]] for p in packet.process_tree.processes]
        out["threads"] += [[t.tid, t.tgid, t.name] for t in packet.process_tree.threads]
        out["clocks"] += [[c.clock_id, c.timestamp] for c in packet.clock_snapshot.clocks]
        if packet.HasField("perf_sample"):
            sample = packet.perf_sample
            assert packet.sequence_flags & packet.SEQ_NEEDS_INCREMENTAL_STATE
            out["samples"].append({"event": sequences[seq].event, "ts": packet.timestamp, "cpu": sample.cpu, "pid": sample.pid,
                                   "tid": sample.tid, "chain": sequences[seq].chain(sample.callstack_iid)})
    return out


def main():
    what, folder, path = sys.argv[1:]
    file, module, kind, read = {
        "otlp": ("opentelemetry/proto/profiles/v1development/profiles.proto", "opentelemetry.proto.profiles.v1development.profiles_pb2",
                 "ProfilesData", otlp),
        "perfetto": ("protos/perfetto/trace/trace.proto", "protos.perfetto.trace.trace_pb2", "Trace", perfetto),
    }[what]
    with tempfile.TemporaryDirectory() as out:
        compile_protos(pathlib.Path(folder), out, [file])
        sys.path.insert(0, out)
        message = getattr(importlib.import_module(module), kind)
        json.dump(read(parse(message, pathlib.Path(path).read_bytes())), sys.stdout)


main()
