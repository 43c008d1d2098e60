"""Tables of conversations."""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import codelet
import pyarrow as pa
import pytest
from codelet.arrow import check_batch, compact_batch, inspect_batch, replay_batch
from conftest import WINDOW, session

BUDGET = 4_000


def texts(*steps: int) -> list[str]:
    return [json.dumps(session(count)) for count in steps]


def expected(text: str | bytes) -> str:
    return codelet.compact(text, budget=BUDGET).text


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()], ids=str
)
def test_each_kind_of_text_comes_out_as_it_does_alone(kind: pa.DataType) -> None:
    given = texts(40, 1, 50)
    array = pa.array(given).cast(kind)
    table = pa.table({"id": [7, 8, 9], "messages": array})
    made = compact_batch(table, budget=BUDGET)
    assert made.schema.names == ["id", "messages", "compacted", "tokens_before", "tokens_after", "error"]
    assert made.select(["id", "messages"]).equals(table)
    assert made["compacted"].to_pylist() == [expected(text) for text in given]
    reports = [codelet.compact(text, budget=BUDGET).report["tokens"] for text in given]
    assert made["tokens_before"].to_pylist() == [report["before"] for report in reports]
    assert made["tokens_after"].to_pylist() == [report["after"] for report in reports]
    assert made["error"].null_count == 3
    made.validate(full=True)


def test_chunks_slices_dictionaries_and_nulls_are_read_at_their_places() -> None:
    given = [None, *texts(40, 1), None, *texts(50, 40)]
    arrays = [
        pa.array(given),
        pa.array(["x", *given, "y"]).slice(1, len(given)),
        pa.array(given).dictionary_encode(),
        pa.array(["x", *given]).dictionary_encode().slice(1),
        pa.chunked_array([pa.array(given[:2]), pa.array([], pa.string()), pa.array(["x", *given[2:]]).slice(1)]),
        pa.chunked_array([pa.array(given[:2]).dictionary_encode(), pa.array(given[2:]).dictionary_encode()]),
    ]
    for array in arrays:
        made = compact_batch(pa.table({"messages": array}), budget=BUDGET)
        assert made["compacted"].to_pylist() == [text and expected(text) for text in given]
        assert made["error"].to_pylist() == [None if text else "the row is null" for text in given]
        made.validate(full=True)


def test_a_batch_gives_a_batch_and_nothing_gives_nothing() -> None:
    batch = pa.RecordBatch.from_pydict({"text": texts(40, 50)})
    made = compact_batch(batch, column="text", budget=BUDGET)
    assert isinstance(made, pa.RecordBatch) and made.num_rows == 2
    for empty in (pa.table({"messages": pa.array([], pa.string())}), pa.table({"messages": pa.chunked_array([], pa.string_view())})):
        assert compact_batch(empty, budget=BUDGET).schema == compact_batch(batch, column="text", budget=BUDGET).schema.set(
            0, empty.schema.field(0)
        )
    metadata = pa.table({"messages": texts(1)}).replace_schema_metadata({"k": "v"})
    assert compact_batch(metadata).schema.metadata == {b"k": b"v"}


def test_lists_of_structs_are_read_as_their_json() -> None:
    conversations = [session(40), None, session(1), [], session(50)]
    odd = [{"role": "user", "content": 'a "quoted" \\ line\nand \u0000 Grüße 🙂'}, {"role": "assistant", "content": None}]
    conversations.append(odd + session(3)[1:])
    array = pa.array(conversations)
    for array in (array, pa.array([odd, *conversations]).slice(1), array.cast(pa.large_list(array.type.value_type))):
        made = compact_batch(pa.table({"messages": array}), budget=BUDGET)
        for row, given in zip(made.to_pylist(), conversations):
            if not given:
                assert row["compacted"] is None and row["error"]
                continue
            plain = [{name: value for name, value in message.items() if value is not None} for message in given]
            assert json.loads(row["compacted"]) == codelet.compact(plain, budget=BUDGET).request
    whole = [{"model": "m", "messages": session(40), "temperature": 0.5, "stream": True, "n": 1, "top_p": float("nan")}]
    made = compact_batch(pa.table({"request": whole}), column="request", budget=BUDGET)
    result = json.loads(made["compacted"][0].as_py())
    assert (result["model"], result["temperature"], result["stream"], result["n"]) == ("m", 0.5, True, 1)
    assert "top_p" not in result
    with pytest.raises(TypeError, match="not list"):
        compact_batch([])  # type: ignore[type-var]
    with pytest.raises(TypeError, match="int64"):
        compact_batch(pa.table({"messages": [1, 2]}))


def test_a_bad_row_fails_nothing_else() -> None:
    good = texts(40)[0]
    bad = ["", "{", "no conversation", "[" * 100_000, "\x00" * 100, "[]", b"\xff\xfe".decode("latin-1")]
    rows = [good, *bad, good]
    made = compact_batch(pa.table({"messages": rows}), budget=BUDGET)
    assert [row is None for row in made["error"].to_pylist()] == [True, *[False] * len(bad), True]
    assert made["compacted"].null_count == made["tokens_after"].null_count == len(bad)
    assert made["compacted"][0].as_py() == made["compacted"][-1].as_py() == expected(good)
    # Bytes that are no text; and the words are those that one alone is told with.
    array = pa.array([b"\xff\xff\x00", good.encode()])
    made = compact_batch(pa.table({"messages": array}), budget=BUDGET)
    with pytest.raises(codelet.CodeletError) as alone:
        codelet.compact(b"\xff\xff\x00", budget=BUDGET)
    assert made["error"].to_pylist() == [str(alone.value), None]


def test_a_row_that_breaks_off_is_read_as_far_as_it_goes_and_the_report_says_so() -> None:
    whole = texts(40)[0]
    made = compact_batch(pa.table({"messages": [whole, whole[:-10]]}), budget=BUDGET, report=True)
    assert made["error"].null_count == 2
    assert made["compacted"][1].as_py() == expected(whole[:-10])
    warned = [any("breaks off" in warning for warning in json.loads(report)["warnings"]) for report in made["report"].to_pylist()]
    assert warned == [False, True]


def test_buffers_that_lie_are_told_and_harm_nothing() -> None:
    column = codelet._codelet.Column
    for numbers in ((0, 5, 1 << 60), (5, 0, -1), (0, 1, 6), (-1, 0, 1), (1 << 62, 5, 1 << 63)):
        offsets = b"".join(number.to_bytes(8, sys.byteorder, signed=number < 0) for number in numbers)
        text = column.text(offsets, b"hello", None, True)
        for rows in (text, column.list(offsets, None, text), column.struct(9, b"\1", ["a"], [text]), column.text(offsets[:3], b"", b"\1\1", False)):
            codelet._codelet.inspect_rows(rows, 1, "auto", False, 1)


def test_the_others_say_what_they_say_of_one() -> None:
    given = [*texts(40), "no conversation"]
    table = pa.table({"messages": given})
    found = inspect_batch(table, largest=2).to_pylist()
    alone: dict[str, Any] = codelet.inspect(given[0], largest=2)
    assert json.loads(found[0]["inspection"]) == alone
    assert (found[0]["tokens"], found[0]["message_count"]) == (alone["tokens"], len(session(40)))
    requests = pa.table({"r": [json.dumps({"messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]}), given[0]]})
    checked = check_batch(requests, column="r", vendor="openai").to_pylist()
    faults = codelet.check(json.loads(requests["r"][0].as_py()), vendor="openai")
    assert [tuple(fault.values()) for fault in json.loads(checked[0]["faults"])] == faults and checked[0]["fault_count"] == len(faults)
    assert checked[1]["fault_count"] == 0 and checked[1]["faults"] == "[]"
    played = replay_batch(table, window=WINDOW, policies=["balanced"]).to_pylist()
    assert json.loads(played[0]["replay"]) == codelet.replay(given[0], window=WINDOW, policies=["balanced"])
    assert [row["error"] is None for row in found] == [row["error"] is None for row in played] == [True, False]


def test_what_left_and_what_was_done_come_when_they_are_asked_for() -> None:
    text = texts(40)[0]
    made = compact_batch(pa.table({"messages": [text]}), budget=BUDGET, removed=True, report=True, prefix="codelet_").to_pylist()[0]
    alone = codelet.compact(text, budget=BUDGET)
    assert json.loads(made["codelet_report"]) == alone.report
    for handle, whole in alone.removed.items():
        assert codelet.restore(made["codelet_removed"], handle) == whole
    assert alone.removed


def test_what_cannot_be_asked_is_told_at_once() -> None:
    table = pa.table({"messages": texts(1), "error": ["mine"]})
    with pytest.raises(ValueError, match="prefix="):
        compact_batch(table)
    with pytest.raises(ValueError, match="'text'"):
        compact_batch(table, column="text")
    with pytest.raises(codelet.CodeletError, match="cannot be used together"):
        compact_batch(table, budget=1, window=1, prefix="x")
    with pytest.raises(codelet.CodeletError, match="klingon"):
        compact_batch(table, form="klingon", prefix="x")


def test_any_number_of_threads_gives_the_same() -> None:
    table = pa.table({"messages": texts(*range(20, 26))})
    one = compact_batch(table, budget=BUDGET, threads=1)
    for threads in (None, 0, 2, 200):
        assert compact_batch(table, budget=BUDGET, threads=threads).equals(one)


def test_a_column_of_several_pieces_is_one_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"messages": texts(*range(1, 16))})
    one = compact_batch(table, budget=BUDGET)
    monkeypatch.setattr("codelet.arrow._PIECE", 10_000)
    several = compact_batch(table, budget=BUDGET)
    assert several["compacted"].num_chunks > 3 and several.equals(one)
    batch = compact_batch(table.combine_chunks().to_batches()[0], budget=BUDGET)
    assert pa.Table.from_batches([batch]).equals(one)


def test_threads_work_while_a_batch_is_compacted() -> None:
    table = pa.table({"messages": texts(600)})
    ended, count = threading.Event(), 0

    def work() -> None:
        compact_batch(table, budget=BUDGET, threads=1)
        ended.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=work)
    thread.start()
    while not ended.is_set():
        count += 1
    thread.join()
    sys.setswitchinterval(interval)
    assert count > 10_000
