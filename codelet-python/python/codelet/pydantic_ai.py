"""Pydantic AI: `Agent(…, capabilities=[ProcessHistory(History(window=200_000))])`; before version 2 `history_processors=[History(…)]`.

Needs the extra `pydantic-ai`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ._extra import needs
from ._fit import Fitter

with needs("pydantic-ai"):
    from pydantic_ai import messages as m


class History:
    """Keeps the history within the context window; the agent continues with the result. Register `History.recall` as a tool to read removed texts."""

    def __init__(self, window: int, *, overhead: int = 0, offers_recall: bool = False) -> None:
        self.fitter: Fitter[m.ModelMessage] = Fitter(
            window, overhead=overhead, offers_recall=offers_recall, dump=_dump, load=_load
        )

    def __call__(self, messages: list[m.ModelMessage]) -> list[m.ModelMessage]:
        left = self.fitter.fit(messages)
        # The instructions stand in the last request.
        said, last = messages[-1], left[-1]
        if isinstance(said, m.ModelRequest) and isinstance(last, m.ModelRequest) and last.instructions is None:
            left[-1] = replace(last, instructions=said.instructions)
        return left

    def recall(self, handle: str) -> str:
        """Returns the whole text that a marker in the conversation stands for. handle: the letters and digits after `recall` in the marker."""
        return self.fitter.recall(handle)


def _dump(message: m.ModelMessage) -> list[dict[str, Any]]:
    if isinstance(message, m.ModelResponse):
        calls = [
            {"id": part.tool_call_id, "type": "function", "function": {"name": part.tool_name, "arguments": part.args_as_json_str()}}
            for part in message.parts if isinstance(part, m.ToolCallPart)
        ]
        text = "\n".join(part.content for part in message.parts if isinstance(part, m.TextPart))
        return [{"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}]
    return [_item(part) for part in message.parts]


def _item(part: Any) -> dict[str, Any]:
    if isinstance(part, m.SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, m.ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "name": part.tool_name, "content": part.model_response_str()}
    if isinstance(part, m.UserPromptPart):
        return {"role": "user", "content": part.content if isinstance(part.content, str) else [_content(one) for one in part.content]}
    if getattr(part, "tool_name", None):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "name": part.tool_name, "content": part.model_response()}
    return {"role": "user", "content": part.model_response()}


def _content(one: Any) -> dict[str, Any]:
    if isinstance(one, str) or hasattr(one, "content"):
        return {"type": "text", "text": one if isinstance(one, str) else one.content}
    return {"type": "image_url", "image_url": {"url": one.data_uri if isinstance(one, m.BinaryContent) else one.url}}


def _load(item: dict[str, Any]) -> m.ModelMessage:
    text = item.get("content") or ""
    if item["role"] == "assistant":
        calls = [m.ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"]) for call in item.get("tool_calls", [])]
        return m.ModelResponse([*([m.TextPart(_text(text))] if text else []), *calls])
    if item["role"] == "tool":
        return m.ModelRequest([m.ToolReturnPart(item.get("name") or "tool", _text(text), item["tool_call_id"])])
    if item["role"] == "user":
        return m.ModelRequest([m.UserPromptPart(text if isinstance(text, str) else [_part(one) for one in text])])
    return m.ModelRequest([m.SystemPromptPart(_text(text))])


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(one.get("text", "") for one in content)


def _part(one: dict[str, Any]) -> Any:
    url = one.get("image_url", {}).get("url")
    if url is None:
        return one.get("text", json.dumps(one))
    return m.BinaryContent.from_data_uri(url) if url.startswith("data:") else m.ImageUrl(url)
