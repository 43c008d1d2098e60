"""Every function, as it is installed."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import codelet
import pytest
from conftest import WINDOW, session

FIXTURES = Path(__file__).parents[2] / "fixtures"
PROGRAM = Path(sys.executable).parent / "codelet"


def program(*args: str, given: bytes = b"") -> bytes:
    return subprocess.run([PROGRAM, *args], input=given, capture_output=True, check=True).stdout


def test_the_program_is_installed_beside_under_both_names() -> None:
    version = f"codelet {codelet.__version__}\n".encode()
    assert program("--version") == version
    # The name of the distribution, as `uvx` runs it.
    other = PROGRAM.with_name("codelet-context")
    assert subprocess.run([other, "--version"], capture_output=True, check=True).stdout == version
    assert subprocess.run([other, "--no-such-option"], capture_output=True).returncode == 2


def test_a_link_to_the_program_runs_it(tmp_path: Path) -> None:
    """As `uv tool install` and pipx put it into ~/.local/bin."""
    link = tmp_path / "codelet-context"
    link.symlink_to(PROGRAM.with_name("codelet-context"))
    assert subprocess.run([link, "--version"], capture_output=True, check=True).stdout == program("--version")


def test_another_module_of_this_name_is_told(tmp_path: Path) -> None:
    """Both are in one folder, which only the one that was installed last survives."""
    (tmp_path / "codelet").symlink_to(Path(codelet.__file__).parent)

    def warned() -> str:
        return subprocess.run([sys.executable, "-c", "import codelet"], capture_output=True, text=True, cwd=tmp_path, check=True).stderr

    (tmp_path / "codelet_context-9.dist-info").mkdir()
    assert warned() == ""
    (tmp_path / "codelet-0.2.0.dist-info").mkdir()
    assert "RuntimeWarning: the distribution 'codelet' of another project is also installed" in warned()


@pytest.mark.parametrize(
    ("module", "library", "advice"),
    [
        ("arrow", "pyarrow", "[arrow]'"),
        ("ray", "ray", "[ray]'"),
        ("langchain", "langchain", "[langchain]'"),
        ("pydantic_ai", "pydantic_ai", "[pydantic-ai]'"),
        ("openai_agents", "agents", "[openai-agents]'"),
        ("litellm", "litellm", "[litellm]'"),
        ("inspect_ai", "inspect_ai", "[inspect-ai]'"),
        ("openhands", "openhands", "[openhands]', with Python 3.12 or later"),
    ],
)
def test_a_plug_without_its_library_says_what_to_install(module: str, library: str, advice: str) -> None:
    without = f"import sys; sys.modules[{library!r}] = None; import codelet.{module}"
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: module ") and last.endswith(f" is missing: run pip install 'codelet-context{advice}"), last


@pytest.mark.parametrize("missing", ["pyarrow", "ray"])
def test_the_job_without_its_libraries_says_what_to_install(missing: str) -> None:
    without = f"import sys, runpy; sys.modules[{missing!r}] = None; runpy.run_module('codelet.ray', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", without, "--help"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"python -m codelet.ray: module {missing!r} is missing: run pip install 'codelet-context[ray]'\n"


def test_a_conversation_becomes_smaller_and_nothing_is_lost(long: list[dict[str, Any]]) -> None:
    result = codelet.compact(long, budget=4_000)
    assert result.report["tokens"]["after"] <= 4_000 < result.report["tokens"]["before"]
    assert result.messages[0] == long[0]
    assert codelet.check({"messages": result.messages, "model": "m"}, vendor="openai") == []
    handle, text = next(iter(result.removed.items()))
    assert codelet.restore(result.removed, handle) == text
    assert codelet.restore(result.removed, f"[recall {handle}]") == codelet.restore(result, handle) == text
    with pytest.raises(KeyError):
        codelet.restore(result.removed, "nothing")


def test_what_is_empty_or_small_comes_back_as_it_is() -> None:
    assert codelet.compact([], budget=10).messages == []
    assert codelet.compact({}, budget=10).messages == []
    small = session(1)
    assert codelet.compact(small, budget=100_000).messages == small


@pytest.mark.parametrize("to", [form.name for form in codelet.formats() if form.is_written])
@pytest.mark.parametrize("name", ["long-session.json", "session.jsonl", "parallel-results.json", "reused-ids.json"])
def test_the_bytes_are_those_of_the_program(name: str, to: str) -> None:
    path = FIXTURES / name
    expected = program("compact", str(path), "--budget", "2000", "--to", to)
    found = codelet.compact(path, budget=2000, to=to)
    assert found.text.rstrip("\n") == expected.decode().rstrip("\n")


def test_what_cannot_be_done_is_told(long: list[dict[str, Any]]) -> None:
    for wrong, words in [
        (lambda: codelet.compact("no conversation"), "."),
        (lambda: codelet.compact(long, budget=1, window=1), "cannot be used together"),
        (lambda: codelet.compact(long, budget=-1), "budget must be a whole number of at least 0, not -1"),
        (lambda: codelet.inspect(long, largest=1 << 63), "largest must be a whole number"),
        (lambda: codelet.replay(long, window=-1), "window must be"),
        (lambda: codelet.Fitter(-1, dump=lambda message: [message], load=lambda item: item), "window must be"),
        (lambda: codelet.compact(long, form="klingon"), "formats()"),
        (lambda: codelet.compact(long, to="codex"), "codex"),
        (lambda: codelet.replay(long, prices="no-such-model"), "unknown prices"),
        (lambda: codelet.replay(long, policies=["sometimes"]), "unknown policy"),
        (lambda: codelet.replay(long, policies="sometimes"), 'unknown policy "sometimes"'),
        (lambda: codelet.check(long, vendor="klingon"), "expected auto, anthropic"),
        (lambda: codelet.check([]), "name its vendor: anthropic"),
        (lambda: codelet.inspect(str(FIXTURES / "session.jsonl")), "is a file name"),
    ]:
        with pytest.raises(codelet.CodeletError, match=words):
            wrong()
    for number in ("40k", 4e3):
        with pytest.raises(TypeError, match=f"budget must be a whole number, not {number!r}"):
            codelet.compact(long, budget=number)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="object"):
        codelet.compact([{"role": "user", "content": object()}])
    with pytest.raises(ValueError):
        codelet.compact([{"role": "user", "content": float("nan")}])
    for odd in (None, 5, (message for message in long)):
        with pytest.raises(TypeError, match="expected a list of messages"):
            codelet.compact(odd)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        codelet.compact(Path("/no/such/file"))
    assert codelet.check({"messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]}, vendor="openai")


def test_a_session_is_looked_into_and_replayed(long: list[dict[str, Any]]) -> None:
    found = codelet.inspect(long, largest=3)
    assert len(found["largest"]) == 3 and found["messages"] == len(long)
    assert codelet.replay(long, window=WINDOW)


def test_a_data_set_is_split(long: list[dict[str, Any]]) -> None:
    lines = b"".join(json.dumps({"messages": session(steps)}).encode() + b"\n" for steps in (1, 2, 3))
    assert [len(json.loads(one)["messages"]) for one in codelet.conversations(lines)] == [4, 6, 8]
    with pytest.raises(codelet.CodeletError, match="conversations"):
        codelet.compact(lines)


@pytest.mark.parametrize("text", ["Grüße 🙂 日本語", "a\u0000b", "\u202eabc", '"\\ "'])
def test_texts_in_any_script_come_back(text: str) -> None:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
    assert codelet.compact(messages, budget=1000).messages == messages


def test_half_a_character_harms_nothing(long: list[dict[str, Any]]) -> None:
    long[1]["content"] += "\ud83d"
    codelet.compact(long, budget=4_000).text.encode()
    codelet.compact(json.dumps(long, ensure_ascii=False), budget=4_000).text.encode()


def test_threads_work_while_a_large_conversation_is_compacted() -> None:
    """The counter only gets on while the other thread does not hold the interpreter's lock."""
    text = json.dumps(session(4_000)).encode()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        codelet.compact(text, budget=20_000)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    count = 0
    while not ended.is_set():
        count += 1
    thread.join()
    sys.setswitchinterval(interval)
    assert count > 10_000


@pytest.mark.large
def test_a_hundred_megabytes() -> None:
    messages = [{"role": "user", "content": "look"}, {"role": "assistant", "content": "x" * 100_000_000}, {"role": "user", "content": "and?"}]
    result = codelet.compact(messages, budget=2_000)
    assert len(result.text) < 20_000
    assert max(map(len, result.removed.values())) >= 100_000_000


def test_what_is_sent_extends_what_was_sent_but_at_edits() -> None:
    def fitter() -> "codelet.Fitter[dict[str, Any]]":
        return codelet.Fitter(WINDOW, dump=lambda message: [message], load=lambda item: item)

    one, before, changes = fitter(), [], 0
    for steps in range(60):
        whole = session(steps)
        sent = one.fit(whole)
        assert json.dumps(sent) == json.dumps(fitter().fit(whole))
        assert codelet.check({"messages": sent}, vendor="openai") == []
        changes += sent[: len(before)] != before
        before = sent
    assert 1 <= changes <= 12
    kept = [message for message in sent if any(message is said for said in whole)]
    assert len(kept) > len(sent) / 2
    assert "run 0" in " ".join(one.removed.values())
    assert one.recall(next(iter(one.removed))) in one.removed.values()
