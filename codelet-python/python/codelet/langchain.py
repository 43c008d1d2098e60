"""LangChain and deepagents: `create_agent(…, middleware=[CodeletMiddleware(window=200_000)])`. Needs the extra `langchain`."""

from __future__ import annotations

from typing import Any

from ._extra import needs
from ._fit import RECALL, Fitter

with needs("langchain"):
    from langchain.agents.middleware import ContextEditingMiddleware
    from langchain_core.messages import AnyMessage, convert_to_messages, convert_to_openai_messages
    from langchain_core.tools import tool


class CodeletEdit:
    """A `ContextEdit`: removed messages become a summary; the others stay the same objects."""

    def __init__(self, window: int, *, overhead: int = 0, offers_recall: bool = False) -> None:
        self.fitter: Fitter[Any] = Fitter(
            window,
            overhead=overhead,
            offers_recall=offers_recall,
            dump=lambda message: [convert_to_openai_messages(message)],
            load=lambda item: convert_to_messages([item])[0],
        )

    def apply(self, messages: list[AnyMessage], *, count_tokens: Any = None) -> None:
        """Edits the list in place if the context window is full."""
        messages[:] = self.fitter.fit(messages)


class CodeletMiddleware(ContextEditingMiddleware):
    """Keeps requests within the model's context window and adds a tool `recall`. The agent's state keeps all messages."""

    def __init__(self, window: int, *, overhead: int = 0) -> None:
        edit = CodeletEdit(window, overhead=overhead, offers_recall=True)
        super().__init__(edits=[edit])
        self.fitter = edit.fitter
        self.tools = [tool("recall", description=RECALL)(_recall(self.fitter))]


def _recall(fitter: Fitter[Any]) -> Any:
    def recall(handle: str) -> str:
        return fitter.recall(handle)

    return recall
