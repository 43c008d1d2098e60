"""Compacts tables of conversations: Arrow in, Arrow out, one row at a time on all cores, without Python code per row.

>>> import pyarrow as pa
>>> from codelet.arrow import compact_batch
>>> table = pa.table({"id": [1, 2], "messages": ['[{"role": "user", "content": "hello"}]', "no conversation"]})
>>> compact_batch(table, budget=1000).column("tokens_after").to_pylist()
[7, None]

A column holds JSON text (string, binary, also large, as views or as a dictionary), or messages as lists and structs. The result has the input's
columns, followed by the new ones. If a row fails, its new columns are null and `error` has the reason; other rows are not affected.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from . import _codelet
from ._count import count
from ._extra import needs

with needs("arrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

__all__ = ["check_batch", "compact_batch", "inspect_batch", "replay_batch"]

#: A table, or a batch of one: the result is of the same type.
B = TypeVar("B", pa.Table, pa.RecordBatch)
_Rows = dict[str, tuple[bytes, "bytes | None", bytes]]

#: So many bytes of a column are worked on at a time: what is copied of it stays small.
_PIECE = 32 << 20
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_list_view, pa.types.is_large_list_view)


def compact_batch(
    batch: B,
    *,
    column: str = "messages",
    budget: int | None = None,
    window: int | None = None,
    form: str = "auto",
    to: str | None = None,
    force: bool = False,
    removed: bool = False,
    report: bool = False,
    threads: int | None = None,
    prefix: str = "",
) -> B:
    """Compacts the conversation of each row: `compacted` (JSON text), `tokens_before`, `tokens_after`, `error`.

    budget, window, form, to, force: as for `codelet.compact`. removed: adds `removed`, the removed texts as `codelet restore` reads them.
    report: adds `report`, statistics as JSON. threads: default: number of cores. prefix: a prefix for the new columns.
    """
    size = count("threads", threads), count("budget", budget), count("window", window)

    def work(rows: _codelet.Column) -> _Rows:
        return _codelet.compact_rows(rows, *size, form, to, force, removed, report)

    return _with(batch, column, prefix, work)


def inspect_batch(
    batch: B,
    *,
    column: str = "messages",
    form: str = "auto",
    force: bool = False,
    largest: int = 10,
    threads: int | None = None,
    prefix: str = "",
) -> B:
    """Adds what fills the conversation of each row: `tokens`, `message_count`, `inspection` (JSON of `codelet.inspect`), `error`."""
    most, items = count("threads", threads), count("largest", largest)
    return _with(batch, column, prefix, lambda rows: _codelet.inspect_rows(rows, most, form, force, items))


def check_batch(batch: B, *, column: str = "messages", vendor: str = "auto", threads: int | None = None, prefix: str = "") -> B:
    """Adds where the request of each row breaks its provider's rules: `fault_count`, `faults` (JSON of `codelet.check`), `error`."""
    most = count("threads", threads)
    return _with(batch, column, prefix, lambda rows: _codelet.check_rows(rows, most, vendor))


def replay_batch(
    batch: B,
    *,
    column: str = "messages",
    window: int = 200_000,
    prices: str | None = None,
    policies: Sequence[str] = (),
    form: str = "auto",
    force: bool = False,
    threads: int | None = None,
    prefix: str = "",
) -> B:
    """Adds what the session of each row would have cost under other policies: `replay` (JSON of `codelet.replay`), `error`."""
    most, size = count("threads", threads), count("window", window)

    def work(rows: _codelet.Column) -> _Rows:
        names = [policies] if isinstance(policies, str) else list(policies)
        return _codelet.replay_rows(rows, most, size, prices, names, form, force)

    return _with(batch, column, prefix, work)


def _with(batch: B, column: str, prefix: str, work: Callable[[_codelet.Column], _Rows]) -> B:
    """The batch with what came of one of its columns behind all others."""
    if not isinstance(batch, (pa.Table, pa.RecordBatch)):
        raise TypeError(f"expected a pyarrow Table or RecordBatch, not {type(batch).__name__}")
    if column not in batch.schema.names:
        raise ValueError(f"there is no column {column!r}, only {', '.join(map(repr, batch.schema.names))}; name one with column=")
    rows = batch.column(column)
    chunks = rows if isinstance(rows, pa.ChunkedArray) else pa.chunked_array([rows])
    made: dict[str, list[pa.Array]] = {}
    for piece in _pieces(chunks):
        for name, buffers in work(_rows(piece, is_whole=True)).items():
            if prefix + name in batch.schema.names:
                raise ValueError(f"the table already has a column {prefix + name!r}; choose a prefix with prefix=")
            made.setdefault(name, []).append(_array(len(piece), *buffers))
    arrays, fields = list(batch.columns), list(batch.schema)
    for name, parts in made.items():
        is_table = isinstance(batch, pa.Table)
        arrays.append(pa.chunked_array(parts) if is_table else pa.concat_arrays(parts))
        fields.append(pa.field(prefix + name, parts[0].type))
    return type(batch).from_arrays(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))


def _pieces(chunks: pa.ChunkedArray) -> Iterator[pa.Array]:
    """The column in pieces of some megabytes, at least one."""
    rows = max(1, len(chunks) * _PIECE // max(1, chunks.nbytes))
    for start in range(0, max(1, len(chunks)), rows):
        piece = chunks.slice(start, rows)
        yield piece.chunk(0) if piece.num_chunks == 1 else pa.concat_arrays(piece.chunks) if piece.chunks else pa.array([], chunks.type)


def _array(length: int, valid: bytes, offsets: bytes | None, values: bytes) -> pa.Array:
    kind = pa.int64() if offsets is None else pa.large_string()
    buffers = [valid, values] if offsets is None else [valid, offsets, values]
    return pa.Array.from_buffers(kind, length, [pa.py_buffer(buffer) for buffer in buffers])


def _rows(array: pa.Array, *, is_whole: bool = False) -> _codelet.Column:
    """The rows of an array, for the engine. is_whole: a text is the conversation; within one it is a string."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _rows(array.cast(kind.value_type), is_whole=is_whole)
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        return _codelet.Column.struct(len(array), _valid(array), names, [_rows(field) for field in array.flatten()])
    if any(is_list(kind) for is_list in _LISTS):
        lengths = pc.list_value_length(array).cast(pa.int64()).fill_null(0)
        return _codelet.Column.list(_bytes(lengths, 1, 8), _valid(array), _rows(array.flatten()))
    is_json = is_whole or pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if pa.types.is_floating(kind):
        # JSON has no other numbers.
        array = pc.if_else(pc.is_finite(array), array, None)
    try:
        # Whether bytes are a text is found out row by row.
        return _text(array.cast(pa.large_binary() if is_whole else pa.large_string()), is_json)
    except pa.ArrowNotImplementedError as error:
        raise TypeError(f"a column of {kind} cannot contain conversations; expected JSON text, or lists and structs") from error


def _text(array: pa.Array, is_json: bool) -> _codelet.Column:
    offsets = _bytes(array, 1, 8, 1)
    data = array.buffers()[2]
    (first,), (last,) = (struct.unpack_from("=q", offsets, at) for at in (0, len(offsets) - 8))
    texts = data.slice(first, last - first).to_pybytes() if data else b""
    return _codelet.Column.text(offsets, texts, _valid(array), is_json)


def _valid(array: pa.Array) -> bytes | None:
    """A byte for each row, 0 where it is null; None where none is."""
    return _bytes(array.is_valid().cast(pa.uint8()), 1, 1) if array.null_count else None


def _bytes(array: pa.Array, buffer: int, width: int, more: int = 0) -> bytes:
    """What the rows of an array have in one of its buffers, with so many more behind them."""
    found = array.buffers()[buffer]
    if not found:
        return bytes(width * more)
    return found.slice(array.offset * width, (len(array) + more) * width).to_pybytes()
