# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions of libassay.so.0 with their types. Texts are UTF-8; bytes that are not become '\\udcXX'."""

from __future__ import annotations

import contextlib
import ctypes
import os
import typing
from ctypes import c_char_p, c_double, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

NONE = c_size_t(-1).value  # SIZE_MAX


class CError(ctypes.Structure):
    _fields_ = [("code", c_int), ("text", ctypes.c_char * 764)]


class CFrame(ctypes.Structure):
    _fields_ = [("symbol", c_char_p), ("image", c_char_p), ("symbol_offset", c_uint64), ("image_offset", c_uint64),
                ("address", c_uint64)]


class CSample(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("time_ns", c_uint64), ("event", c_char_p), ("comm", c_char_p), ("cgroup", c_char_p),
                ("pid", c_int32), ("tid", c_int32), ("cpu", c_uint32), ("samples", c_uint64), ("events", c_uint64),
                ("frames", ctypes.POINTER(CFrame)), ("n_frames", c_size_t)]


SAMPLE_FUNCTION = ctypes.CFUNCTYPE(c_int, c_void_p, ctypes.POINTER(CSample))


class Error(OSError):
    """A failure of libassay: `errno`, and a sentence."""


# Result and arguments; a last argument "error" is added by call().
FUNCTIONS: typing.Dict[str, typing.Tuple[typing.Any, ...]] = {
    "assay_version": (c_char_p,),
    "assay_config_new": (c_void_p,),
    "assay_config_free": (None, c_void_p),
    "assay_config_set": (c_int, c_void_p, c_char_p, c_char_p, "error"),
    "assay_open": (c_int, c_char_p, c_void_p, c_void_p, "error"),
    "assay_close": (None, c_void_p),
    "assay_session_is_damaged": (c_int, c_void_p),
    "assay_session_warnings": (c_size_t, c_void_p),
    "assay_session_warning": (c_char_p, c_void_p, c_size_t),
    "assay_session_text": (c_char_p, c_void_p, c_char_p),
    "assay_session_start_ns": (c_uint64, c_void_p),
    "assay_session_duration_ns": (c_uint64, c_void_p),
    "assay_session_samples": (c_uint64, c_void_p),
    "assay_events": (c_size_t, c_void_p),
    "assay_event_name": (c_char_p, c_void_p, c_size_t),
    "assay_query_new": (c_void_p,),
    "assay_query_free": (None, c_void_p),
    "assay_query_filter": (c_int, c_void_p, c_char_p, "error"),
    "assay_query_by": (c_int, c_void_p, c_char_p, "error"),
    "assay_query_frames": (c_int, c_void_p, c_char_p, "error"),
    "assay_query_idle": (None, c_void_p, c_int),
    "assay_query_min_percent": (None, c_void_p, c_double),
    "assay_key_name": (c_char_p, c_size_t),
    "assay_key_help": (c_char_p, c_size_t),
    "assay_rows": (c_int, c_void_p, c_void_p, c_void_p, "error"),
    "assay_tree": (c_int, c_void_p, c_void_p, c_void_p, "error"),
    "assay_inverted_tree": (c_int, c_void_p, c_void_p, c_void_p, "error"),
    "assay_rows_free": (None, c_void_p),
    "assay_rows_count": (c_size_t, c_void_p),
    "assay_rows_columns": (c_size_t, c_void_p),
    "assay_rows_column": (c_char_p, c_void_p, c_size_t),
    "assay_row_text": (c_char_p, c_void_p, c_size_t, c_char_p),
    "assay_row_samples": (c_uint64, c_void_p, c_size_t, c_size_t),
    "assay_row_total_samples": (c_uint64, c_void_p, c_size_t, c_size_t),
    "assay_row_events": (c_uint64, c_void_p, c_size_t, c_size_t),
    "assay_row_total_events": (c_uint64, c_void_p, c_size_t, c_size_t),
    "assay_row_depth": (c_size_t, c_void_p, c_size_t),
    "assay_row_parent": (c_size_t, c_void_p, c_size_t),
    "assay_loss_name": (c_char_p, c_size_t),
    "assay_loss_text": (c_char_p, c_size_t),
    "assay_rows_loss": (c_uint64, c_void_p, c_size_t),
    "assay_samples": (c_int, c_void_p, SAMPLE_FUNCTION, c_void_p, "error"),
    "assay_symbolise": (c_char_p, c_void_p, c_char_p, c_char_p, c_uint64, c_void_p),
    "assay_export_format": (c_char_p, c_size_t),
    "assay_export_help": (c_char_p, c_size_t),
    "assay_export": (c_int, c_void_p, c_void_p, c_char_p, c_char_p, "error"),
}


def load() -> ctypes.CDLL:
    found = ctypes.CDLL("libassay.so.0")
    for name, (result, *arguments) in FUNCTIONS.items():
        function = getattr(found, name)
        function.restype = result
        function.argtypes = [ctypes.POINTER(CError) if a == "error" else a for a in arguments]
    return found


lib = load()


def call(name: str, *arguments: typing.Any) -> None:
    """Calls a function that can fail."""
    error = CError()
    status = getattr(lib, name)(*arguments, ctypes.byref(error))
    if status < 0:
        raise Error(-status, text(error.text))


def text(found: typing.Optional[bytes]) -> str:
    return (found or b"").decode("utf-8", "surrogateescape")


def path(name: str) -> bytes:
    return os.fsencode(name)


def table(name: typing.Any, sentence: typing.Any) -> typing.Dict[str, str]:
    """The rows of two functions that take an index, up to NULL."""
    out: typing.Dict[str, str] = {}
    while name(len(out)) is not None:
        out[text(name(len(out)))] = text(sentence(len(out)))
    return out


@contextlib.contextmanager
def query(by: str, filters: typing.Sequence[str], idle: bool, min_percent: float, frames: str) -> typing.Iterator[c_void_p]:
    made = c_void_p(lib.assay_query_new())
    try:
        if by:
            call("assay_query_by", made, by.encode())
        for one in filters:
            call("assay_query_filter", made, one.encode())
        call("assay_query_frames", made, frames.encode())
        lib.assay_query_idle(made, idle)
        lib.assay_query_min_percent(made, min_percent)
        yield made
    finally:
        lib.assay_query_free(made)
