"""The job on a real Ray with two workers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import session

ray = pytest.importorskip("ray")
pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq
from codelet.arrow import compact_batch

BUDGET = 4_000


def write(file: Path, ids: range, bad: tuple[int, ...] = ()) -> pa.Table:
    file.parent.mkdir(parents=True, exist_ok=True)
    texts = ["no conversation" if at in bad else json.dumps(session(20 + at % 7)) for at in ids]
    table = pa.table({"id": list(ids), "messages": texts})
    pq.write_table(table, file, row_group_size=4)
    return table


def rows(out: Path, kind: str = "rows") -> list[dict[str, Any]]:
    files = sorted(out.glob(f"{kind}/*/*.parquet"))
    return [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]


def parts(out: Path) -> dict[str, bytes]:
    return {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def job() -> Iterator[Any]:
    from codelet.ray import main

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield lambda *args: main(["compact", *map(str, args), "--budget", str(BUDGET), "--part-files", "2"])
    ray.shutdown()


def test_each_row_comes_out_as_it_does_alone_and_bad_ones_apart(job: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    names = ["a.parquet", "deep/b.parquet", "deep/c.parquet"]
    tables = [write(source / name, range(start, start + 12), (15, 30)) for name, start in zip(names, (0, 12, 24))]
    (source / "broken.parquet").write_bytes(b"PAR1 and no more")
    pq.write_table(pa.table({"other": [1]}), source / "other.parquet")
    (source / "link.parquet").symlink_to(source / "a.parquet")
    assert job(source, out) == 1
    told = capfd.readouterr().err
    assert "34 rows; 2 rows failed" in told and "broken.parquet: " in told and "other.parquet: there is no column 'messages'" in told
    whole = compact_batch(pa.concat_tables(tables), budget=BUDGET).to_pylist()
    expected = [{name: row[name] for name in ("id", "compacted", "tokens_before", "tokens_after")} for row in whole if row["error"] is None]
    assert sorted(rows(out), key=lambda row: row["id"]) == expected
    failed = [{name: row[name] for name in ("id", "messages", "error")} for row in whole if row["error"] is not None]
    assert sorted(rows(out, "failed"), key=lambda row: row["id"]) == failed
    # As whoever goes on with it reads it.
    assert ray.data.read_parquet(str(out / "rows")).count() == pq.read_table(out / "rows").num_rows == len(expected)
    assert pq.read_table(out / "failed").num_rows == len(failed)

    # Again, with one file more: what is there stays.
    before = parts(out)
    write(source / "d.parquet", range(36, 40))
    assert job(source, out) == 1
    after = parts(out)
    assert {name: after[name] for name in before} == before
    assert sorted(row["id"] for row in rows(out)) == [at for at in range(40) if at not in (15, 30)]
    with pytest.raises(SystemExit):
        job(source, out, "--keep")
    assert "other options" in capfd.readouterr().err
    for wrong in ((source, source), (source, source / "out"), (source, tmp_path), (tmp_path / "none", out), (source, out, "--from", "klingon")):
        with pytest.raises(SystemExit):
            job(*wrong)
    assert parts(out) == after


def test_a_file_that_breaks_off_within_its_rows_is_told_and_the_others_are_done(job: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    for name, start in (("a", 0), ("b", 10), ("c", 20)):
        write(source / f"{name}.parquet", range(start, start + 10))
    file = bytearray((source / "b.parquet").read_bytes())
    file[4:200] = bytes(196)
    (source / "b.parquet").write_bytes(file)
    assert job(source, out) == 1
    assert "\nb.parquet: " in capfd.readouterr().err
    assert sorted(row["id"] for row in rows(out)) == [*range(10), *range(20, 30)]
    assert not list(out.glob("_unfinished-*"))


def test_a_task_that_is_repeated_makes_the_same_once_more(tmp_path: Path) -> None:
    from codelet._parquet import compact_piece, pieces

    write(tmp_path / "in.parquet", range(4), (2,))
    (piece,) = pieces(pq.read_metadata(tmp_path / "in.parquet"), 1 << 20, 2)
    out = tmp_path / "out"
    for kind in ("rows", "failed"):
        (out / kind).mkdir(parents=True)
    once = []
    for _ in range(2):
        told = compact_piece(tmp_path, "in.parquet", piece, out, "a.parquet", "messages", False, {"budget": BUDGET})
        assert (told["rows"], told["failed"]) == (3, 1)
        once.append(parts(out))
    assert once[0] == once[1] and sorted(once[0]) == ["failed/a.parquet", "rows/a.parquet"]


@pytest.mark.parametrize("group", [1, 3, 30])
@pytest.mark.parametrize("size", [1, 1_000, 1 << 30])
def test_the_pieces_of_a_file_are_all_of_its_rows_once(tmp_path: Path, group: int, size: int) -> None:
    from codelet._parquet import _batches, pieces

    file = tmp_path / "in.parquet"
    pq.write_table(pa.table({"id": range(30), "messages": [str(at) * 500 for at in range(30)]}), file, row_group_size=group)
    with pq.ParquetFile(file) as reader:
        found = pieces(reader.metadata, size, 4)
        rows = [row for piece in found for batch in _batches(reader, piece) for row in batch["id"].to_pylist()]
        assert rows == list(range(30))
        assert len(found) == 1 if size == 1 << 30 else len(found) >= 4


def test_folders_that_are_columns_are_columns_of_the_result(job: Any, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    for day in ("2026-11-28", "a b"):
        write(source / f"day={day.replace(' ', '%20')}" / "rows.parquet", range(3), (1,))
    assert job(source, out) == 1
    assert sorted((row["day"], row["id"]) for row in rows(out)) == [("2026-11-28", 0), ("2026-11-28", 2), ("a b", 0), ("a b", 2)]
    assert {row["day"] for row in rows(out, "failed")} == {"2026-11-28", "a b"}


def test_a_pipeline_of_ray_data_makes_the_same(job: Any, tmp_path: Path) -> None:
    """As the documentation shows it."""
    import ray.data

    table = write(tmp_path / "in" / "a.parquet", range(8), (5,))
    made = ray.data.read_parquet(str(tmp_path / "in")).map_batches(
        compact_batch, batch_format="pyarrow", batch_size=None, fn_kwargs={"budget": BUDGET, "threads": 1}
    )
    assert sorted(made.take_all(), key=lambda row: row["id"]) == compact_batch(table, budget=BUDGET).to_pylist()


@pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc")
def test_what_a_worker_did_that_was_killed_is_done_by_another(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    for file in range(4):
        write(source / f"{file}.parquet", range(file * 100, file * 100 + 100))
    command = [sys.executable, "-m", "codelet.ray", "compact", str(source), str(out), "--budget", str(BUDGET), "--workers", "2"]
    # What is started by this run alone bears its name.
    child = subprocess.Popen(command, env={**os.environ, "CODELET_TEST": str(tmp_path)}, stderr=subprocess.PIPE, text=True)
    deadline, killed = time.monotonic() + 120, 0
    while not killed:
        assert child.poll() is None and time.monotonic() < deadline
        for process in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = str(tmp_path).encode() in (process / "environ").read_bytes()
                if is_ours and not killed and (process / "cmdline").read_bytes().startswith(b"ray::compact_piece"):
                    os.kill(int(process.name), signal.SIGKILL)
                    killed = int(process.name)
            except OSError:
                pass
    _, told = child.communicate(timeout=300)
    assert child.returncode == 0, told
    assert sorted(row["id"] for row in rows(out)) == list(range(400))


def test_a_job_that_was_killed_goes_on_without_doubles_and_without_losses(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    for file in range(6):
        write(source / f"{file}.parquet", range(file * 10, file * 10 + 10), (35,))
    command = [sys.executable, "-m", "codelet.ray", "compact", str(source), str(out), "--budget", str(BUDGET), "--part-files", "1", "--workers", "2"]
    child = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(list(out.glob("rows/*"))) < 2:
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    half = {name: bytes_ for name, bytes_ in parts(out).items() if name.startswith("rows/")}
    assert len(list(out.glob("rows/*"))) < 6
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    assert sorted(row["id"] for row in rows(out)) == [at for at in range(60) if at != 35]
    assert [row["id"] for row in rows(out, "failed")] == [35]
    assert {name: parts(out)[name] for name in half} == half
    assert not list(out.glob("_unfinished-*"))
