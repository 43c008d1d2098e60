"""One conversation of about 100,000 tokens, by the program and by the package, in turns: medians in milliseconds.

    python one.py codelet [--rounds 40]

`codelet` is the program of the same build as the installed package.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import codelet
import pyarrow as pa
from codelet.arrow import compact_batch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from conftest import session

BUDGET = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    messages = session(220)
    for at, message in enumerate(messages):
        # Outputs that differ, as those of an agent do.
        if message["role"] == "tool":
            lines = (f"{at * line % 9973}: fn part_{at * 31 + line}_of() -> u{line % 64} {{ {at * line} }}" for line in range(45))
            message["content"] = "\n".join(lines)
    text = json.dumps(messages).encode()
    table = pa.table({"messages": [text]})
    with tempfile.TemporaryDirectory() as folder:
        file, out, report = (Path(folder, name) for name in ("in.json", "out.json", "report.json"))
        file.write_bytes(text)
        whole = [args.program, "compact", str(file), "--budget", str(BUDGET), "-o", str(out)]
        run = lambda command: subprocess.run(command, check=True, capture_output=True)
        ways: dict[str, Callable[[], object]] = {
            "the program, whole": lambda: run(whole),
            "… its start and end alone": lambda: run([args.program, "--version"]),
            "codelet.compact, bytes to text": lambda: codelet.compact(text, budget=BUDGET).text,
            "codelet.compact, dicts to dicts": lambda: codelet.compact(messages, budget=BUDGET).messages,
            "compact_batch, one row": lambda: compact_batch(table, budget=BUDGET, threads=1),
        }
        took: dict[str, list[float]] = {name: [] for name in (*ways, "… the compaction in it, as --report says")}
        for _ in range(args.rounds):
            for name, way in ways.items():
                began = time.perf_counter()
                way()
                took[name].append((time.perf_counter() - began) * 1e3)
            run([*whole, "--report", str(report)])
            took["… the compaction in it, as --report says"].append(json.loads(report.read_text())["elapsed_ms"])
        assert out.read_text().strip() == codelet.compact(text, budget=BUDGET).text
    print(f"{codelet.inspect(text)['tokens']:,} tokens to {BUDGET:,}")
    for name, all_ in took.items():
        print(f"{statistics.median(all_):7.1f} {min(all_):7.1f}  {name}")


if __name__ == "__main__":
    main()
