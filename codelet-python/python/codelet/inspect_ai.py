"""Inspect AI: `react(…, compaction=CompactionCodelet(window=200_000))`. Needs the extra `inspect-ai`."""

from __future__ import annotations

from typing import Any

from ._extra import needs
from ._fit import Fitter

with needs("inspect-ai"):
    from inspect_ai.model import ChatMessage, ChatMessageUser, CompactionStrategy, Model, messages_from_openai, messages_to_openai
    from inspect_ai.tool import Tool, ToolInfo, tool


class CompactionCodelet(CompactionStrategy):
    """Compacts when the conversation exceeds Inspect's threshold; messages that stay keep their IDs. window: the model's context window minus the maximum reply, in tokens.

    Also give the agent the tool `recall(compaction)`, and set `offers_recall=True`.
    """

    def __init__(self, window: int, *, threshold: int | float = 0.9, overhead: int = 0, offers_recall: bool = False) -> None:
        super().__init__(type="edit", threshold=threshold, memory=False)
        self._items: dict[int, list[Any]] = {}
        self.fitter: Fitter[Any] = Fitter(
            window,
            overhead=overhead,
            offers_recall=offers_recall,
            dump=lambda message: self._items[id(message)],
            load=lambda item: item,
        )

    async def compact(
        self, model: Model, messages: list[ChatMessage], tools: list[ToolInfo]
    ) -> tuple[list[ChatMessage], ChatMessageUser | None]:
        """Returns the compacted messages."""
        self._items = {id(message): list(await messages_to_openai([message])) for message in messages}
        left: list[ChatMessage] = []
        for message in self.fitter.fit(messages, is_due=True):
            made: Any = [message]
            left.extend(await messages_from_openai(made) if isinstance(message, dict) else made)
        return left, None


@tool
def recall(compaction: CompactionCodelet) -> Tool:
    """Returns a tool that reads removed texts."""

    async def execute(handle: str) -> str:
        """Returns the whole text that a marker in the conversation stands for.

        Args:
            handle: the letters and digits after `recall` in the marker.
        """
        return compaction.fitter.recall(handle)

    return execute
