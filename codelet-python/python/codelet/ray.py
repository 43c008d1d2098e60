"""Compacts Parquet files of conversations with Ray Data, on this machine or on a cluster.

    python -m codelet.ray compact IN OUT --budget 20000

OUT/rows is the result, in parts (`part-00000`, …). Each holds the rows of some files of IN and appears whole or not at all, so the same command
goes on where it was, without doubles and without losses. OUT/failed has the rows that could not be compacted, with their `error`. OUT is a
folder that all workers see.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import sys
import time
import uuid
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

# Nothing is told to anybody who was not asked.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    import ray
    import ray.data
    from ray.data.block import BlockAccessor
except ModuleNotFoundError as error:
    if __name__ != "__main__":
        raise
    sys.exit(f"python -m codelet.ray needs {error.name}: install codelet with its extra `ray`")

from . import CodeletError
from .arrow import compact_batch

_HOW, _FILES, _UNFINISHED = "_codelet.json", "_files.json", "_unfinished-"
_COUNTS = ("rows", "failed", "tokens_before", "tokens_after")
_BLOCK = 8 << 20  #: Bytes of a block of rows. Each worker holds some, since Ray reads eight ahead.
_WORKERS = {"MIMALLOC_PURGE_DELAY": "0"}  #: What Arrow gives back goes to the system at once: a third less memory.


class _Sink(ray.data.Datasink[dict[str, Any]]):
    """Writes the rows of a task to files of its own, good and bad ones apart. What a task left that was repeated is taken away."""

    def __init__(self, folder: Path, without: str | None) -> None:
        self.folder, self.without, self.told = folder, without, dict.fromkeys(_COUNTS, 0)
        for kind in ("rows", "failed"):
            (folder / kind).mkdir(parents=True)

    def write(self, blocks: Iterable[Any], ctx: Any) -> dict[str, Any]:
        name, told = f"{ctx.task_idx:06}-{uuid.uuid4().hex}.parquet", dict.fromkeys(_COUNTS, 0)
        writers: dict[Any, pq.ParquetWriter] = {}
        with ExitStack() as stack:
            for block in blocks:
                table = BlockAccessor.for_block(block).to_arrow()
                is_good = table["error"].is_null()
                good = table.filter(is_good).drop_columns([self.without, "error"] if self.without else ["error"])
                bad = table.filter(pc.invert(is_good)).drop_columns(["compacted", "tokens_before", "tokens_after"])
                found = (good.num_rows, bad.num_rows, *(pc.sum(good[name]).as_py() or 0 for name in _COUNTS[2:]))
                told = {key: told[key] + count for key, count in zip(_COUNTS, found)}
                for key, rows in ((("rows", good.schema), good), (("failed", bad.schema), bad)):
                    if rows.num_rows and key not in writers:
                        writer = pq.ParquetWriter(self.folder / key[0] / f"{len(writers)}-{name}", rows.schema)
                        writers[key] = stack.enter_context(writer)
                    if rows.num_rows:
                        writers[key].write_table(rows)
        return {**told, "name": name}

    def on_write_complete(self, write_result: Any) -> None:
        told = write_result.write_returns
        names = {one["name"] for one in told}
        for file in self.folder.glob("*/*"):
            if file.name.partition("-")[2] not in names:
                file.unlink()
        self.told = {key: sum(one[key] for one in told) for key in _COUNTS}


class Job:
    """The rows of all Parquet files below a folder, compacted to another one."""

    def __init__(self, source: Path, out: Path, *, column: str = "messages", keep: bool = False, part_files: int | None = None, **how: Any) -> None:
        """how: what `compact_batch` takes. keep: also the column of the conversations. part_files: how many files make a part."""
        self.source, self.out, self.column, self.keep, self.part_files, self.how = source.resolve(), out, column, keep, part_files, how
        self.bad: dict[str, str] = {}  #: Files that cannot be read, each with its reason.

    def run(self) -> dict[str, int]:
        """Does what there is to do; what is in all parts: rows, failed rows, tokens before and after."""
        # What cannot be asked for is told before anything is done.
        compact_batch(pa.table({self.column: pa.array([], pa.string())}), column=self.column, **self.how)
        self._lock = self._hold()
        done = {file for part in self._parts() for file in part["files"]}
        files = [file for file in self._files() if file not in done and self._is_readable(file)]
        ray.data.DataContext.get_current().target_max_block_size = _BLOCK
        size = self.part_files or 16 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        for start in range(0, len(files), size):
            self._do(files[start : start + size])
            print(f"{min(start + size, len(files))} of {len(files)} files", file=sys.stderr, flush=True)
        return {key: sum(part[key] for part in self._parts()) for key in _COUNTS}

    def _hold(self) -> Any:
        """Takes the lock of the output, says there how it is made, and takes away what was not finished."""
        out = self.out.resolve()
        if not self.source.is_dir():
            raise ValueError(f"{self.source} is no folder")
        if out.is_relative_to(self.source) or self.source.is_relative_to(out):
            raise ValueError(f"{self.out} must not lie in {self.source}, nor above it")
        out.mkdir(parents=True, exist_ok=True)
        is_new = not any(file.name != _HOW for file in out.iterdir())
        if not is_new and not (out / _HOW).exists():
            raise ValueError(f"{self.out} holds files that are not of an earlier run; name a new folder")
        lock = open(out / _HOW, "a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{self.out} is in use by another run") from None
        how, before = json.dumps({"column": self.column, "keep": self.keep, **self.how}, sort_keys=True), (out / _HOW).read_text()
        if before != how:
            if not is_new:
                raise ValueError(f"{self.out} holds results of other options ({before}); repeat those, or name a new folder")
            (out / _HOW).write_text(how)
        # A part is finished with its rows.
        failed = (part for part in out.glob("failed/*") if not (out / "rows" / part.name).exists())
        for left in (*out.glob(_UNFINISHED + "*"), *failed):
            shutil.rmtree(left)
        return lock

    def _parts(self) -> list[dict[str, Any]]:
        return [json.loads(told.read_text()) for told in self.out.glob(f"rows/*/{_FILES}")]

    def _files(self) -> list[str]:
        names = (Path(folder, name) for folder, _, names in os.walk(self.source) for name in names)
        return sorted(str(file.relative_to(self.source)) for file in names if file.suffix == ".parquet" and not file.is_symlink())

    def _is_readable(self, file: str) -> bool:
        try:
            names = pq.read_schema(self.source / file).names
            if self.column in names:
                return True
            self.bad[file] = f"there is no column {self.column!r}, only {', '.join(names)}"
        except (OSError, pa.ArrowException) as error:
            self.bad[file] = str(error)
        return False

    def _do(self, files: list[str]) -> None:
        """Makes a part of these files; where that fails, of as many of them as can be read."""
        folder = self.out / f"{_UNFINISHED}{uuid.uuid4().hex}"
        sink = _Sink(folder, None if self.keep else self.column)
        try:
            rows = ray.data.read_parquet([str(self.source / file) for file in files])
            how = {"column": self.column, "threads": 1, **self.how}
            rows.map_batches(compact_batch, batch_format="pyarrow", batch_size=None, fn_kwargs=how).write_datasink(sink)
        except (ray.exceptions.RayError, pa.ArrowException, OSError, ValueError) as error:
            shutil.rmtree(folder)
            if len(files) == 1:
                self.bad[files[0]] = str(error).strip().splitlines()[-1]
                return
            self._do(files[: len(files) // 2])
            return self._do(files[len(files) // 2 :])
        (folder / "rows" / _FILES).write_text(json.dumps({"files": files, **sink.told}))
        name = f"part-{max((int(part.name[5:]) for part in self.out.glob('rows/part-*')), default=-1) + 1:05}"
        for kind in ("failed", "rows"):
            (self.out / kind).mkdir(exist_ok=True)
            (folder / kind).rename(self.out / kind / name)
        folder.rmdir()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m codelet.ray", description="Compacts Parquet files of conversations with Ray Data.")
    command = parser.add_subparsers(required=True).add_parser("compact", help="compact the conversations of all rows")
    command.add_argument("source", metavar="IN", type=Path, help="a folder of Parquet files")
    command.add_argument("out", metavar="OUT", type=Path, help="a folder that all workers see; the same command goes on where it was")
    command.add_argument("--column", default="messages", help="the column with the conversations [default: messages]")
    command.add_argument("--keep", action="store_true", help="keep that column beside `compacted`")
    command.add_argument("--budget", type=int, metavar="TOKENS", help="target size")
    command.add_argument("--window", type=int, metavar="TOKENS", help="compact only if a session with this context window would")
    command.add_argument("--from", dest="form", default="auto", help="input format [default: auto]")
    command.add_argument("--to", help="output format [default: the input format if it can be written, else anthropic]")
    command.add_argument("--force", action="store_true", help="continue although less than 90 %% of the messages could be read")
    command.add_argument("--part-files", type=int, metavar="N", help="files that make a part [default: 16 for each core]")
    command.add_argument("--address", help="a cluster [default: this machine]")
    command.add_argument("--workers", type=int, metavar="N", help="cores to use on this machine [default: all]")
    args = vars(parser.parse_args(argv))
    address, workers = args.pop("address"), args.pop("workers")
    if not ray.is_initialized():
        ray.init(address or "local", runtime_env={"env_vars": _WORKERS}, **({} if address else {"num_cpus": workers, "include_dashboard": False}))
    job, began = Job(**args), time.monotonic()
    try:
        told = job.run()
    except (CodeletError, ValueError) as error:
        parser.error(str(error))
    lines = ["{tokens_before:,} → {tokens_after:,} tokens in {rows:,} rows; {failed:,} rows failed".format(**told)]
    lines += [f"{time.monotonic() - began:.1f} s without the start of Ray", *(f"{file}: {reason}" for file, reason in job.bad.items())]
    print(*lines, sep="\n", file=sys.stderr)
    return 1 if told["failed"] or job.bad else 0


if __name__ == "__main__":
    sys.exit(main())
