"""Rows of a file of Parquet, compacted to files of their own: what a worker of a job does."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .arrow import compact_batch

#: What is counted of the rows.
COUNTS = ("rows", "failed", "tokens_before", "tokens_after")
#: Bytes of rows that are read, compacted and written at a time.
_BLOCK = 8 << 20
#: Bytes that are read at a time of a column whose rows are one large group.
_BUFFER = 1 << 20


class Piece(NamedTuple):
    """Rows of a file: of these row groups, those from one to another, and how many bytes they are."""

    groups: list[int]
    start: int
    stop: int
    size: int


def pieces(metadata: pq.FileMetaData, size: int, cores: int) -> list[Piece]:
    """A file in pieces of at most so many bytes. A row group that is larger becomes one for each core, since each has to read what is before it."""
    found: list[Piece] = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows, held = group.num_rows, group.total_byte_size
        if found and found[-1].size + held <= size:
            last = found[-1]
            found[-1] = Piece([*last.groups, number], 0, last.stop + rows, last.size + held)
            continue
        count = max(1, min(cores, rows, -(-held // size)))
        found += [Piece([number], rows * at // count, rows * (at + 1) // count, held // count) for at in range(count)]
    return found


def compact_piece(
    source: Path, file: str, piece: Piece, out: Path, name: str, column: str, keep: bool, how: dict[str, Any]
) -> dict[str, int]:
    """Compacts rows of a file below `source` to `out/rows/name` and, those that cannot be compacted, to `out/failed/name`.

    Either file appears whole or not at all; there is none without rows. Doing it once more makes the same files in their place.
    keep: also the column of the conversations. how: what `compact_batch` takes. Returns what was counted.

    Raises OSError or pyarrow.ArrowException when the file cannot be read or written.
    """
    told = dict.fromkeys(COUNTS, 0)
    drafts: dict[str, tuple[Path, pq.ParquetWriter]] = {}
    with ExitStack() as stack:
        reader = stack.enter_context(pq.ParquetFile(source / file, buffer_size=_BUFFER))
        folders = [(key, value) for key, value in _folders(file) if key not in reader.schema_arrow.names]
        for batch in _batches(reader, piece):
            table = pa.Table.from_batches([batch])
            for key, value in folders:
                table = table.append_column(key, pa.repeat(value, len(table)))
            table = compact_batch(table, column=column, threads=1, **how)
            is_good = table["error"].is_null()
            good = table.filter(is_good).drop_columns(["error"] if keep else [column, "error"])
            bad = table.filter(pc.invert(is_good)).drop_columns(["compacted", "tokens_before", "tokens_after"])
            told["rows"] += good.num_rows
            told["failed"] += bad.num_rows
            for count in COUNTS[2:]:
                told[count] += pc.sum(good[count]).as_py() or 0
            for kind, made in (("rows", good), ("failed", bad)):
                if not made.num_rows:
                    continue
                if kind not in drafts:
                    # A task that is believed dead may still write while it is done once more: never to the same file.
                    draft = out / f"{uuid.uuid4().hex}.parquet"
                    drafts[kind] = draft, stack.enter_context(pq.ParquetWriter(draft, made.schema))
                drafts[kind][1].write_table(made)
    for kind, (draft, _) in drafts.items():
        os.replace(draft, out / kind / name)
    return told


def _batches(reader: pq.ParquetFile, piece: Piece) -> Iterator[pa.RecordBatch]:
    """The rows of a piece, some megabytes at a time."""
    groups = [reader.metadata.row_group(group) for group in piece.groups]
    rows, size = sum(group.num_rows for group in groups), sum(group.total_byte_size for group in groups)
    at = 0
    for batch in reader.iter_batches(max(1, rows * _BLOCK // max(1, size)), row_groups=piece.groups, use_threads=False):
        first, last = max(piece.start, at), min(piece.stop, at + len(batch))
        if first < last:
            yield batch.slice(first - at, last - first)
        at += len(batch)
        if at >= piece.stop:
            return


def _folders(file: str) -> list[tuple[str, str]]:
    """The columns that the folders of a file are, as `day=2026-11-29`."""
    named = (part.partition("=") for part in Path(file).parent.parts)
    return [(key, unquote(value)) for key, sign, value in named if sign]
