"""Many conversations, by `codelet compact DIR --out DIR` and by `python -m codelet.ray`, in turns on the same cores.

    python million.py codelet FOLDER [--conversations 20000] [--workers 2] [--rounds 2]

`codelet` is the program of the same build as the installed package. FOLDER is made, and taken away at the end; 20,000 conversations need 6 GB.
The job is killed in the middle and gone on with; each row must come out once, and as the program makes it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# On a machine with other work, Ray's workers would otherwise wait for all of it: they are given the lowest priority but four, the program is not.
os.environ.setdefault("RAY_worker_niceness", "0")

BUDGET = 8_000
#: Rows of a file of Parquet.
ROWS = 500
SYLLABLES = "ba co di fu ge ha je ki lo mu na po qui re sa te vu wi xa yo za".split()


def conversation(at: int, lines: list[str]) -> list[dict[str, Any]]:
    """A session of about a hundred kilobytes in which files are read and changed and tests run."""
    chance = random.Random(at)
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Task {at}: mend {chance.choice(lines)}, and never touch vendor/."}]
    size = 0
    while size < 92_000:
        step = len(messages)
        path = f"src/part_{chance.randrange(12)}.rs"
        name, arguments = chance.choice([("Read", {"file_path": path}), ("Bash", {"command": f"cargo test part_{step % 9}"})])
        call = {"id": f"call_{step}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        output = "\n".join(f"{number}\t{line}" for number, line in enumerate(chance.choices(lines, k=chance.randrange(20, 120))))
        messages.append({"role": "assistant", "content": f"I look at {path} because {chance.choice(lines)}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
        size += len(output)
    messages.append({"role": "assistant", "content": "It is mended, and the tests pass."})
    return messages


def generate(folder: Path, count: int) -> tuple[int, int]:
    """Each conversation as a file of its own, and all of them as Parquet; the one in the middle is broken. Says how many bytes, and which."""
    chance = random.Random(1)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randrange(1, 4))) for _ in range(3_000)]
    code = ["    let {} = {}({}, {});".format(*chance.choices(words, k=4)) for _ in range(30_000)]
    lines = code + [" ".join(chance.choices(words, k=9)) for _ in range(20_000)]
    bad, size = count // 2, 0
    (folder / "parquet").mkdir(parents=True)
    for start in range(0, count, ROWS):
        texts = []
        for at in range(start, min(start + ROWS, count)):
            text = '{"messages": [' if at == bad else json.dumps(conversation(at, lines), separators=(",", ":"))
            file = folder / f"json/{at // 1000:03}/{at:06}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            size += len(text)
            texts.append(text)
        table = pa.table({"id": range(start, start + len(texts)), "messages": texts})
        pq.write_table(table, folder / f"parquet/{start // ROWS:05}.parquet", row_group_size=100)
    return size, bad


class Watch(threading.Thread):
    """The most memory that any worker of Ray had for itself, and with what it shares, in megabytes; the processor time of all that a process has started."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root, self.own, self.shared, self.ticks, self.ended = str(root), 0.0, 0.0, dict[str, int](), threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.2):
            seen = {}
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    fields = (process / "stat").read_text().rpartition(")")[2].split()
                    seen[process.name] = fields[1], sum(map(int, fields[11:13]))
                except OSError:
                    pass
            for name, (parent, ticks) in seen.items():
                while parent != self.root and parent in seen:
                    parent = seen[parent][0]
                if self.root in (name, parent):
                    self.ticks[name] = ticks
                    self.look(Path("/proc", name))

    def look(self, process: Path) -> None:
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::"):
                rows = dict(line.split(":", 1) for line in (process / "smaps_rollup").read_text().splitlines()[1:])
                kilobytes = {name: int(value.split()[0]) for name, value in rows.items()}
                self.own = max(self.own, (kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]) / 1000)
                self.shared = max(self.shared, kilobytes["Rss"] / 1000)
        except (OSError, ValueError, KeyError):
            pass

    @property
    def processor(self) -> float:
        return sum(self.ticks.values()) / os.sysconf("SC_CLK_TCK")


def timed(command: list[str], status: int) -> tuple[float, str, Watch]:
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watch = Watch(child.pid)
    watch.start()
    _, told = child.communicate()
    watch.ended.set()
    watch.join()
    assert child.returncode == status, told[-3000:]
    return time.monotonic() - began, told, watch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--conversations", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    folder: Path = args.folder
    size, bad = generate(folder, args.conversations)
    print(f"{args.conversations:,} conversations, {size / 1e9:.2f} GB, budget {BUDGET:,}, {args.workers} workers", flush=True)
    plain, rows = folder / "plain", folder / "rows"
    budget = ["--budget", str(BUDGET)]
    by_program = [str(args.program), "compact", str(folder / "json"), "--out", str(plain), *budget, "--jobs", str(args.workers)]
    by_ray = [sys.executable, "-m", "codelet.ray", "compact", str(folder / "parquet"), str(rows), *budget, "--workers", str(args.workers)]
    for _ in range(args.rounds):
        for out in (plain, rows):
            shutil.rmtree(out, ignore_errors=True)
        alone, _, program = timed(by_program, 1)
        with_ray, told, job = timed(by_ray, 1)
        work = float(next(line for line in told.splitlines() if line.endswith("without starting Ray")).split(" ")[0])
        speeds = f"speed {alone / with_ray:.2f}, without its start {alone / work:.2f}, by processor time {program.processor / job.processor:.2f}"
        used = f"a worker {job.own:.0f} MB of its own, {job.shared:.0f} MB with what it shares"
        used += f" · processor time {program.processor:.1f} s, of Ray and all that it starts {job.processor:.1f} s"
        print(f"program {alone:.1f} s · Ray {with_ray:.1f} s, without its start {work:.1f} s · {speeds} · {used}", flush=True)
    check(plain, rows, args.conversations, bad)
    shutil.rmtree(rows)
    by_ray += ["--part-files", str(max(1, args.conversations // ROWS // 8))]
    child = subprocess.Popen(by_ray, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while len(list(rows.glob("rows/*"))) < 2:
        assert child.poll() is None
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    half = sum(pq.read_metadata(file).num_rows for file in rows.glob("rows/*/*.parquet"))
    timed(by_ray, 1)
    check(plain, rows, args.conversations, bad)
    print(f"killed when {half:,} rows were finished, and gone on with: every row once, the broken one told", flush=True)
    shutil.rmtree(folder)


def check(plain: Path, rows: Path, count: int, bad: int) -> None:
    """That each row came out once, with the bytes that the program makes of it."""
    seen = set()
    for file in rows.glob("rows/*/*.parquet"):
        table = pq.read_table(file, columns=["id", "compacted"], partitioning=None)
        for at, text in zip(table["id"].to_pylist(), table["compacted"].to_pylist()):
            assert at not in seen, at
            seen.add(at)
            if at % 97 == 0:
                assert (plain / f"{at // 1000:03}/{at:06}.json").read_text().strip() == text, at
    assert len(seen) == count - 1 and bad not in seen
    failed = pa.concat_tables(pq.read_table(file, partitioning=None) for file in rows.glob("failed/*/*.parquet"))
    assert failed["id"].to_pylist() == [bad] and failed["error"][0].as_py()
    listed = [json.loads(line) for line in (plain / "codelet-failed.jsonl").read_text().splitlines()]
    assert [entry["file"] for entry in listed] == [f"{bad // 1000:03}/{bad:06}.json"]


if __name__ == "__main__":
    main()
