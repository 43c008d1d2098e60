"""OpenHands SDK: `Agent(…, condenser=CodeletCondenser(window=200_000))`. Needs the extra `openhands`, and Python 3.12."""

from __future__ import annotations

from typing import Any

from ._extra import needs
from ._fit import Fitter

with needs("openhands", python="3.12"):
    from openhands.sdk.context.condenser.base import CondenserBase
    from openhands.sdk.context.view import View
    from openhands.sdk.event import ActionEvent, LLMConvertibleEvent
    from openhands.sdk.llm import LLM, Message
    from pydantic import Field, PrivateAttr

_AS_CHAT = {"cache_enabled": False, "vision_enabled": True, "function_calling_enabled": True}
_PLAIN = {"force_string_serializer": False, "send_reasoning_content": False}


class FittedEvent(LLMConvertibleEvent):
    """A message that replaces events in requests; it is never stored."""

    source: str = "environment"  # type: ignore[assignment]
    message: Message

    def to_llm_message(self) -> Message:
        """The message."""
        return self.message


class CodeletCondenser(CondenserBase):
    """Keeps the events in requests within the model's context window. The conversation keeps all events."""

    window: int = Field(default=200_000, gt=0)
    overhead: int = Field(default=0, ge=0)
    _fitter: Fitter[Any] | None = PrivateAttr(default=None)

    @property
    def fitter(self) -> Fitter[Any]:
        """The fitter, with the removed texts."""
        if self._fitter is None:
            self._fitter = Fitter(self.window, overhead=self.overhead, dump=_dump, load=lambda item: [_load(item)])
        return self._fitter

    def condense(self, view: View, agent_llm: LLM | None = None) -> View:
        """Returns the events to send."""
        steps: list[list[LLMConvertibleEvent]] = []
        for event in view.events:
            # The calls of one reply are one message.
            last = steps[-1][-1] if steps else None
            calls = isinstance(event, ActionEvent) and isinstance(last, ActionEvent)
            if calls and event.llm_response_id == last.llm_response_id:
                steps[-1].append(event)
            else:
                steps.append([event])
        return view.model_copy(update={"events": [event for step in self.fitter.fit(steps) for event in step]})


def _dump(events: list[LLMConvertibleEvent]) -> list[dict[str, Any]]:
    return [message.to_chat_dict(**_AS_CHAT, **_PLAIN) for message in LLMConvertibleEvent.events_to_messages(events)]


def _load(item: dict[str, Any]) -> FittedEvent:
    calls = [{"id": call["id"], "origin": "completion", **call["function"]} for call in item.pop("tool_calls", [])]
    content = item.get("content") or []
    item["content"] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return FittedEvent(message=Message.model_validate({**item, "tool_calls": calls or None}))
