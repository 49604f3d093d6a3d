# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads and analyses recordings of assay and perf, by libassay.so.0. See assay(3).

    import assay
    with assay.open("assay.data") as session:
        for row in session.rows(by="app,symbol")[:5]:
            print(row["samples"], row["app"], row["symbol"])

Rows are dicts; pandas.DataFrame(session.rows(by="symbol")) makes a table of them.
"""

from __future__ import annotations

import ctypes
import typing

from . import _library
from ._library import Error
from ._trace import trace

__all__ = ["Error", "Frame", "Sample", "Session", "export_formats", "keys", "open", "trace", "version"]

Row = typing.Dict[str, typing.Any]


class Frame(typing.NamedTuple):
    symbol: typing.Optional[str]
    image: str
    symbol_offset: int
    image_offset: int
    address: int  # as it ran; 0: not kept


class Sample(typing.NamedTuple):
    time_ns: int
    event: str
    comm: str
    cgroup: str
    pid: int
    tid: int
    cpu: typing.Optional[int]
    samples: int
    events: int
    frames: typing.List[Frame]  # innermost first


def version() -> str:
    return _library.text(_library.lib.assay_version())


def keys() -> typing.Dict[str, str]:
    """What rows can stand for, with a sentence on each."""
    return _library.table(_library.lib.assay_key_name, _library.lib.assay_key_help)


def export_formats() -> typing.Dict[str, str]:
    return _library.table(_library.lib.assay_export_format, _library.lib.assay_export_help)


def open(path: str, **options: typing.Union[str, bool]) -> "Session":  # noqa: A001
    """Opens a recording. Options are those of assay_config_set(), with '_' for '-': no_demangle=True, since="-2h"."""
    return Session(path, **options)


class Session:
    """A recording that is open, until close() or the end of a `with` block."""

    def __init__(self, path: str, **options: typing.Union[str, bool]) -> None:
        self._handle = ctypes.c_void_p()
        config = ctypes.c_void_p(_library.lib.assay_config_new())
        try:
            for name, value in options.items():
                value = str(int(value)) if isinstance(value, bool) else value
                _library.call("assay_config_set", config, name.replace("_", "-").encode(), value.encode())
            _library.call("assay_open", _library.path(path), config, ctypes.byref(self._handle))
        finally:
            _library.lib.assay_config_free(config)

    def close(self) -> None:
        handle, self._handle = self._handle, ctypes.c_void_p()
        _library.lib.assay_close(handle)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    @property
    def warnings(self) -> typing.List[str]:
        n = _library.lib.assay_session_warnings(self._handle)
        return [_library.text(_library.lib.assay_session_warning(self._handle, i)) for i in range(n)]

    @property
    def is_damaged(self) -> bool:
        return bool(_library.lib.assay_session_is_damaged(self._handle))

    @property
    def events(self) -> typing.List[str]:
        n = _library.lib.assay_events(self._handle)
        return [_library.text(_library.lib.assay_event_name(self._handle, i)) for i in range(n)]

    @property
    def n_samples(self) -> int:
        return _library.lib.assay_session_samples(self._handle)

    @property
    def start_ns(self) -> int:
        """Since 1970."""
        return _library.lib.assay_session_start_ns(self._handle)

    @property
    def duration_ns(self) -> int:
        return _library.lib.assay_session_duration_ns(self._handle)

    def text(self, name: str) -> typing.Optional[str]:
        """command, target, hostname, os_release, arch, cpu_model …"""
        found = _library.lib.assay_session_text(self._handle, name.encode())
        return None if found is None else _library.text(found)

    def rows(self, by: str = "image,symbol", filters: typing.Sequence[str] = (), idle: bool = False,
             frames: str = "both") -> typing.List[Row]:
        """A row for each tuple of keys and each event, heaviest first.

        Each row has its keys, event, samples, events, total_samples and total_events. frames: both, native or
        language, as of assay report --frames.
        """
        return self._rows("assay_rows", by, filters, idle, 0, frames)

    def tree(self, by: str = "", filters: typing.Sequence[str] = (), idle: bool = False, min_percent: float = 0,
             inverted: bool = False, frames: str = "both") -> typing.List[Row]:
        """The call tree: rows also have id, parent (None at the top) and depth."""
        function = "assay_inverted_tree" if inverted else "assay_tree"
        return self._rows(function, by, filters, idle, min_percent, frames)

    def _rows(self, function: str, by: str, filters: typing.Sequence[str], idle: bool, min_percent: float,
              frames: str) -> typing.List[Row]:
        lib, handle = _library.lib, ctypes.c_void_p()
        with _library.query(by, filters, idle, min_percent, frames) as query:
            _library.call(function, self._handle, query, ctypes.byref(handle))
        names = [name for name in by.split(",") if name]
        is_tree = function != "assay_rows"
        names += [name for name in ("symbol", "image") if is_tree and name not in names]
        try:
            columns = [_library.text(lib.assay_rows_column(handle, c)) for c in range(lib.assay_rows_columns(handle))]
            out = []
            for i in range(lib.assay_rows_count(handle)):
                row = {name: _library.text(lib.assay_row_text(handle, i, name.encode())) for name in names}
                if is_tree:
                    parent = lib.assay_row_parent(handle, i)
                    row.update(id=i, parent=None if parent == _library.NONE else parent, depth=lib.assay_row_depth(handle, i))
                for c, event in enumerate(columns):
                    out.append({**row, "event": event or row.get("event", ""), "samples": lib.assay_row_samples(handle, i, c),
                                "events": lib.assay_row_events(handle, i, c),
                                "total_samples": lib.assay_row_total_samples(handle, i, c),
                                "total_events": lib.assay_row_total_events(handle, i, c)})
            return out
        finally:
            lib.assay_rows_free(handle)

    def losses(self) -> typing.Dict[str, int]:
        """The numbers of missing samples by reason, for the reasons that occurred."""
        lib, handle = _library.lib, ctypes.c_void_p()
        _library.call("assay_rows", self._handle, None, ctypes.byref(handle))
        try:
            names = _library.table(lib.assay_loss_name, lib.assay_loss_text)
            counts = {name: lib.assay_rows_loss(handle, i) for i, name in enumerate(names)}
            return {name: n for name, n in counts.items() if n}
        finally:
            lib.assay_rows_free(handle)

    def samples(self) -> typing.List[Sample]:
        """Single samples in the order of time."""
        out: typing.List[Sample] = []
        failures: typing.List[BaseException] = []

        def take(_context: object, sample: typing.Any) -> int:
            try:
                out.append(_sample(sample.contents))
                return 0
            except BaseException as failure:  # must not pass through C
                failures.append(failure)
                return 1

        _library.call("assay_samples", self._handle, _library.SAMPLE_FUNCTION(take), None)
        if failures:
            raise failures[0]
        return out

    def symbolise(self, file: str, offset: int, build_id: typing.Optional[str] = None) -> typing.Optional[typing.Tuple[str, int]]:
        """The function at an offset of a file, and the offset in the function; None: not known."""
        rest = ctypes.c_uint64()
        name = _library.lib.assay_symbolise(self._handle, _library.path(file), build_id.encode() if build_id else None, offset,
                                            ctypes.byref(rest))
        return None if name is None else (_library.text(name), rest.value)

    def export(self, format: str, path: str, filters: typing.Sequence[str] = (), idle: bool = False,  # noqa: A002
               frames: str = "both") -> None:
        """Writes a file in a format of export_formats()."""
        with _library.query("", filters, idle, 0, frames) as query:
            _library.call("assay_export", self._handle, query, format.encode(), _library.path(path))


def _sample(sample: typing.Any) -> Sample:
    text = _library.text
    frames = [Frame(None if f.symbol is None else text(f.symbol), text(f.image), f.symbol_offset, f.image_offset, f.address)
              for f in sample.frames[:sample.n_frames]]
    cpu = None if sample.cpu == 0xFFFFFFFF else sample.cpu
    return Sample(sample.time_ns, text(sample.event), text(sample.comm), text(sample.cgroup), sample.pid, sample.tid, cpu,
                  sample.samples, sample.events, frames)
