"""Fits the conversation of an agent into its model's context window."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from . import _codelet
from ._count import count

M = TypeVar("M")

#: A description for a tool that calls `Fitter.recall`.
RECALL = "Returns the whole text that a marker in the conversation stands for. handle: the letters and digits after `recall` in the marker."


class Fitter(Generic[M]):
    """Keeps what an agent sends within a context window.

    window: the model's context window minus the maximum reply, in tokens. overhead: estimated tokens of everything else in a request, such as tool
    definitions. offers_recall: the model has a tool `recall` that calls `Fitter.recall`.
    form: the provider format of the items. dump: converts a message to items. load: converts an item to a message.

    The result depends only on the conversation, so another process gets the same. It is edited only when the window is full; between edits, each
    result extends the previous one. Pass the whole conversation each time, or continue with the result.
    """

    def __init__(
        self,
        window: int,
        *,
        overhead: int = 0,
        offers_recall: bool = False,
        form: str = "openai",
        dump: Callable[[M], Sequence[Mapping[str, Any]]],
        load: Callable[[dict[str, Any]], M],
    ) -> None:
        self.window, self.overhead = count("window", window), count("overhead", overhead)
        self.offers_recall, self.form = offers_recall, form
        self._dump, self._load = dump, load
        #: The removed texts by handle.
        self.removed: dict[str, str] = {}

    def fit(self, messages: Sequence[M], *, is_due: bool = False) -> list[M]:
        """Returns the messages to send: unchanged ones, and new ones that replace others. is_due: edit now, even if the window is not full."""
        items: list[bytes] = []
        owners: list[int] = []
        for at, message in enumerate(messages):
            for item in self._dump(message):
                items.append(to_json(item))
                owners.append(at)
        shown, removed, edits = _codelet.fit(items, self.form, self.window, self.overhead, self.offers_recall, is_due)
        if not edits:
            return list(messages)
        self.removed.update(removed)
        sent: list[M] = []
        counts = Counter(owners)
        for start, end, made in shown:
            if made is not None:
                sent.append(self._load(json.loads(made)))
                continue
            # A message of several items is one again where all of them are there.
            at = start
            while at < end:
                owner = owners[at]
                last = at
                while last < end and owners[last] == owner:
                    last += 1
                whole = counts[owner] == last - at
                sent.extend([messages[owner]] if whole else [self._load(json.loads(item)) for item in items[at:last]])
                at = last
        return sent

    def recall(self, handle: str) -> str:
        """Returns the removed text of a handle, or a sentence that there is none; meant as the answer of a tool."""
        text = _codelet.restore(removed_lines(self.removed), handle)
        return f"Nothing is kept under {handle!r}." if text is None else text


def to_json(value: Any) -> bytes:
    """JSON of a value of a conversation; halves of characters stay escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=_plain, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    """A message as the client libraries of vendors return it."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} cannot be part of a conversation; expected dicts, lists, strings and numbers")
    return dump(mode="json", exclude_none=True)


def removed_lines(removed: Mapping[str, str]) -> bytes:
    """What was removed, as `codelet compact --removed` writes it."""
    return b"".join(to_json({"handle": name, "content": text}) + b"\n" for name, text in removed.items())
