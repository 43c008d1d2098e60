"""Compacts the conversations of coding agents without a model call.

>>> import codelet
>>> result = codelet.compact([{"role": "user", "content": "hello"}], budget=1000)
>>> result.messages
[{'role': 'user', 'content': 'hello'}]
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Union

from . import _codelet
from ._codelet import CodeletError, __version__
from ._count import count
from ._fit import Fitter, removed_lines, to_json

__all__ = [
    "CodeletError", "Conversation", "Fault", "Fitter", "Form", "Result", "__version__",
    "check", "compact", "conversations", "formats", "inspect", "replay", "restore",
]

# The distribution `codelet` on PyPI is another project's, with a module of this name.
if any(Path(__file__).parent.parent.glob("codelet-*.dist-info")):
    warnings.warn(
        "the distribution 'codelet' of another project is also installed. Both have a module named codelet, so one of them is broken."
        " Run pip uninstall codelet, then pip install --force-reinstall codelet-context",
        RuntimeWarning,
        stacklevel=2,
    )

#: A list of messages, a whole request, or the text or file of a recorded session.
Conversation = Union[Sequence[Mapping[str, Any]], Mapping[str, Any], str, bytes, bytearray, memoryview, "os.PathLike[str]"]

#: Where the messages stand in a request.
_LISTS = ("messages", "input", "contents", "steps")


class Fault(NamedTuple):
    """A place in a request and the rule that it breaks."""

    place: str
    sentence: str


class Form(NamedTuple):
    """A format of conversations: its name, whether it can be written, and a description."""

    name: str
    is_written: bool
    description: str


@dataclass(frozen=True)
class Result:
    """A compacted conversation."""

    #: The result as JSON, in the requested format.
    text: str = field(repr=False)
    #: Statistics: tokens before and after, turns, removed texts, warnings.
    report: dict[str, Any]
    #: The removed texts by handle.
    removed: dict[str, str] = field(repr=False)

    @cached_property
    def request(self) -> Any:
        """The parsed result: a dict for a request, or a list of messages if a list was given."""
        return json.loads(self.text)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the result."""
        request = self.request
        lists = [request] if isinstance(request, list) else [request.get(name) for name in _LISTS]
        return next((found for found in lists if isinstance(found, list)), [])


def compact(
    messages: Conversation,
    *,
    budget: int | None = None,
    window: int | None = None,
    form: str = "auto",
    to: str | None = None,
    force: bool = False,
    reading_back: str = "",
) -> Result:
    """Returns a conversation compacted.

    budget: target size in tokens. window: compact only if a session with a context window of this many tokens would. Without either, everything
    since the last completed piece of work is kept, and the rest becomes a short record.
    form: input format, one of `formats()`. to: output format; default: the input format, or `anthropic` if that cannot be written.
    force: continue even if less than 90 % of the content could be read. reading_back: a sentence for the summary that tells the model how to
    read a removed text by its handle.

    Raises CodeletError if the input is not a conversation, or cannot be written in that format.
    """
    if isinstance(messages, (Sequence, Mapping)) and not isinstance(messages, (str, bytes)) and not messages:
        return Result(json.dumps(messages), {"tokens": {"before": 0, "after": 0}, "removed": [], "warnings": []}, {})
    size = count("budget", budget), count("window", window)
    text, report, removed = _codelet.compact(_bytes(messages), *size, form, to, force, reading_back)
    return Result(text, _object(report), dict(removed))


def inspect(messages: Conversation, *, form: str = "auto", force: bool = False, largest: int = 100) -> dict[str, Any]:
    """Returns what fills a conversation: tokens by kind and by tool, largest items, repeated texts, outdated reads, turns, completed work."""
    return _object(_codelet.inspect(_bytes(messages), form, force, count("largest", largest)))


def check(request: Conversation, *, vendor: str = "auto") -> list[Fault]:
    """Returns the places where a request breaks its provider's rules. vendor: anthropic, openai, responses or gemini; default: by its format."""
    return [Fault(*fault) for fault in _codelet.check(_bytes(request), vendor)]


def restore(removed: Result | Mapping[str, str] | str | bytes | os.PathLike[str], handle: str) -> str:
    """Returns the removed text of a handle, or of a whole marker that contains one.

    removed: a result, its `removed`, or the text or file that `codelet compact --removed` wrote. Raises KeyError if there is no such handle.
    """
    if isinstance(removed, Result):
        removed = removed.removed
    if isinstance(removed, Mapping) and handle in removed:
        return removed[handle]
    lines = removed_lines(removed) if isinstance(removed, Mapping) else _bytes(removed)
    text = _codelet.restore(lines, handle)
    if text is None:
        raise KeyError(handle)
    return text


def replay(
    messages: Conversation,
    *,
    window: int = 200_000,
    prices: str | None = None,
    policies: Sequence[str] = (),
    form: str = "auto",
    force: bool = False,
) -> dict[str, Any]:
    """Returns what a session would have cost under other context-editing policies: dollars, tokens and cache misses of each.

    window: the model's context window in tokens. prices: the model whose prices to use. policies: default: all.
    """
    names = [policies] if isinstance(policies, str) else list(policies)
    return _object(_codelet.replay(_bytes(messages), count("window", window), prices, names, form, force))


def conversations(text: str | bytes | os.PathLike[str]) -> list[bytes]:
    """Splits a data set (one conversation per line, or a list) into its conversations; returns the text itself if it is one conversation."""
    return _codelet.conversations(_bytes(text))


def formats() -> list[Form]:
    """Returns the formats that can be read."""
    return [Form(*form) for form in _codelet.formats()]


def _object(text: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(text)
    return value


def _bytes(conversation: Conversation) -> bytes:
    if isinstance(conversation, (bytes, bytearray, memoryview)):
        return bytes(conversation)
    if isinstance(conversation, str):
        if not conversation.lstrip().startswith(("{", "[")) and os.path.isfile(conversation):
            raise CodeletError(f"{conversation!r} is a file name, and strings are read as text; pass pathlib.Path({conversation!r})")
        return conversation.encode("utf-8", "surrogatepass")
    if isinstance(conversation, os.PathLike):
        with open(conversation, "rb") as file:
            return file.read()
    if not isinstance(conversation, (Sequence, Mapping)) and not hasattr(conversation, "model_dump"):
        raise TypeError(f"expected a list of messages, a request, text or a path, not {type(conversation).__name__}")
    return to_json(conversation)
