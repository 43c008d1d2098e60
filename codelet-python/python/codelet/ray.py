"""Compacts Parquet files of conversations with Ray, on this machine or on a cluster.

    python -m codelet.ray compact IN OUT --budget 20000

OUT/rows has the result in parts (`part-00000`, …). A part has the rows of some files of IN and appears whole or not at all, so repeating the
command continues after an interruption, without duplicates or losses. OUT/failed has the rows that could not be compacted, with their `error`.
IN and OUT must be directories that all workers can access: each task reads, compacts and writes some row groups by itself, so no rows move
between workers.
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
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Nothing is told to anybody who was not asked.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

from . import CodeletError
from ._extra import needs

try:
    with needs("ray"):
        import pyarrow as pa
        import pyarrow.parquet as pq
        import ray
except ModuleNotFoundError as error:
    if __name__ != "__main__":
        raise
    sys.exit(f"python -m codelet.ray: {error}")

from ._parquet import COUNTS, Piece, compact_piece, pieces
from .arrow import compact_batch

_HOW, _FILES, _UNFINISHED = "_codelet.json", "_files.json", "_unfinished-"
_KINDS = ("failed", "rows")  #: A part is finished with its rows, so they appear last.
_PIECE, _PART = 32 << 20, 256 << 20  #: Bytes of rows, before Parquet makes them smaller, that a task compacts, and that make a part.
_MOST_FILES = 1_000  #: Of small ones that make a part.
_AHEAD = 4  #: Tasks that are handed out for each core.


@dataclass
class _Part:
    """Files whose results appear together."""

    #: Where the results are made.
    folder: Path
    files: list[str]
    #: The tasks that are not finished: of which file, and the name of what each makes.
    tasks: dict[Any, tuple[str, str]] = field(default_factory=dict)
    #: What those that are finished have made of each file: names, and what was counted.
    made: list[tuple[str, str, dict[str, int]]] = field(default_factory=list)

    def finish(self, out: Path, bad: Container[str]) -> None:
        """Lets the results appear, if there are any; nothing of a file that could not be read to its end."""
        for file, name, _ in self.made:
            if file in bad:
                for kind in _KINDS:
                    (self.folder / kind / name).unlink(missing_ok=True)
        if files := [file for file in self.files if file not in bad]:
            told = {key: sum(counts[key] for file, _, counts in self.made if file not in bad) for key in COUNTS}
            (self.folder / "rows" / _FILES).write_text(json.dumps({"files": files, **told}))
            name = f"part-{max((int(part.name[5:]) for part in out.glob('rows/part-*')), default=-1) + 1:05}"
            for kind in _KINDS:
                (out / kind).mkdir(exist_ok=True)
                (self.folder / kind).rename(out / kind / name)
        shutil.rmtree(self.folder)


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
        files = [file for file in self._files() if file not in done]
        self._finished, self._all = 0, len(files)
        self._cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        under_way: list[_Part] = []
        for part in self._begun(files):
            under_way.append(part)
            self._settle(under_way, _AHEAD * self._cores)
        self._settle(under_way, 0)
        return {key: sum(part[key] for part in self._parts()) for key in COUNTS}

    def _begun(self, files: list[str]) -> Iterator[_Part]:
        """The files in parts, each with tasks for what can be read of it."""
        # An error of the disk or the network may not come again; what breaks a worker is tried again without being asked for.
        task: Any = ray.remote(retry_exceptions=[OSError])(compact_piece)
        part, size = None, 0
        for number, file in enumerate(files):
            part = part or self._empty_part()
            part.files.append(file)
            for at, piece in enumerate(self._pieces(file)):
                name, size = f"{number:06}-{at:04}.parquet", size + piece.size
                made = task.remote(self.source, file, piece, part.folder, name, self.column, self.keep, self.how)
                part.tasks[made] = file, name
            if len(part.files) >= (self.part_files or _MOST_FILES) or (size >= _PART and not self.part_files):
                yield part
                part, size = None, 0
        if part:
            yield part

    def _empty_part(self) -> _Part:
        folder = self.out.resolve() / f"{_UNFINISHED}{uuid.uuid4().hex}"
        for kind in _KINDS:
            (folder / kind).mkdir(parents=True)
        return _Part(folder, [])

    def _settle(self, under_way: list[_Part], at_most: int) -> None:
        """Waits until at most so many tasks are under way, and finishes the parts that have none."""
        while True:
            for part in [part for part in under_way if not part.tasks]:
                part.finish(self.out, self.bad)
                under_way.remove(part)
                self._finished += len(part.files)
                print(f"{self._finished} of {self._all} files", file=sys.stderr, flush=True)
            tasks = {task: part for part in under_way for task in part.tasks}
            if len(tasks) <= at_most:
                return
            (ready, *_), _ = ray.wait(list(tasks))
            file, name = tasks[ready].tasks.pop(ready)
            try:
                tasks[ready].made.append((file, name, ray.get(ready)))
            except ray.exceptions.RayError as error:
                self.bad[file] = str(error).strip().splitlines()[-1]

    def _hold(self) -> Any:
        """Takes the lock of the output, says there how it is made, and takes away what was not finished."""
        out = self.out.resolve()
        if not self.source.is_dir():
            raise ValueError(f"{self.source} is not a directory")
        if out.is_relative_to(self.source) or self.source.is_relative_to(out):
            raise ValueError(f"{self.out} and {self.source} must not be inside each other")
        out.mkdir(parents=True, exist_ok=True)
        is_new = not any(file.name != _HOW for file in out.iterdir())
        if not is_new and not (out / _HOW).exists():
            raise ValueError(f"{self.out} contains files that are not from an earlier run; use a new directory")
        lock = open(out / _HOW, "a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{self.out} is in use by another run") from None
        how, before = json.dumps({"column": self.column, "keep": self.keep, **self.how}, sort_keys=True), (out / _HOW).read_text()
        if before != how:
            if not is_new:
                raise ValueError(f"{self.out} has results with other options ({before}); use these options, or a new directory")
            (out / _HOW).write_text(how)
        failed = (part for part in out.glob("failed/*") if not (out / "rows" / part.name).exists())
        for left in (*out.glob(_UNFINISHED + "*"), *failed):
            shutil.rmtree(left)
        return lock

    def _parts(self) -> list[dict[str, Any]]:
        return [json.loads(told.read_text()) for told in self.out.glob(f"rows/*/{_FILES}")]

    def _files(self) -> list[str]:
        names = (Path(folder, name) for folder, _, names in os.walk(self.source) for name in names)
        return sorted(str(file.relative_to(self.source)) for file in names if file.suffix == ".parquet" and not file.is_symlink())

    def _pieces(self, file: str) -> list[Piece]:
        """A file in pieces; none where it cannot be read."""
        try:
            metadata = pq.read_metadata(self.source / file)
            names = metadata.schema.to_arrow_schema().names
            if self.column in names:
                return pieces(metadata, _PIECE, self._cores)
            self.bad[file] = f"there is no column {self.column!r}, only {', '.join(names)}"
        except (OSError, pa.ArrowException) as error:
            self.bad[file] = str(error)
        return []


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m codelet.ray", description="Compacts Parquet files of conversations with Ray.")
    command = parser.add_subparsers(required=True).add_parser("compact", help="compact the conversations of all rows")
    command.add_argument("source", metavar="IN", type=Path, help="directory of Parquet files")
    command.add_argument("out", metavar="OUT", type=Path, help="output directory, accessible to all workers; repeat the command to continue")
    command.add_argument("--column", default="messages", help="the column with the conversations [default: messages]")
    command.add_argument("--keep", action="store_true", help="keep that column in the result")
    command.add_argument("--budget", type=int, metavar="TOKENS", help="target size in tokens")
    command.add_argument("--window", type=int, metavar="TOKENS", help="compact only if a session with this context window would")
    command.add_argument("--from", dest="form", default="auto", help="input format [default: auto]")
    command.add_argument("--to", help="output format [default: the input format if it can be written, else anthropic]")
    command.add_argument("--force", action="store_true", help="continue even if less than 90 %% of the content could be read")
    command.add_argument("--part-files", type=int, metavar="N", help="input files per part [default: as many as have 256 MB]")
    command.add_argument("--address", help="address of a running Ray cluster [default: start Ray on this machine]")
    command.add_argument("--workers", type=int, metavar="N", help="cores to use on this machine [default: all]")
    args = vars(parser.parse_args(argv))
    address, workers = args.pop("address"), args.pop("workers")
    if not ray.is_initialized():
        # A `runtime_env` would make Ray pass over the workers that it starts in advance.
        ray.init(address or "local", **({} if address else {"num_cpus": workers, "include_dashboard": False}))
    job, began = Job(**args), time.monotonic()
    try:
        told = job.run()
    except (CodeletError, ValueError) as error:
        parser.error(str(error))
    lines = ["{tokens_before:,} → {tokens_after:,} tokens in {rows:,} rows; {failed:,} rows failed".format(**told)]
    lines += [f"{time.monotonic() - began:.1f} s, without starting Ray", *(f"{file}: {reason}" for file, reason in job.bad.items())]
    print(*lines, sep="\n", file=sys.stderr)
    return 1 if told["failed"] or job.bad else 0


if __name__ == "__main__":
    sys.exit(main())
