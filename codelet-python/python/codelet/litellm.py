"""LiteLLM: `litellm.callbacks = [CodeletGuardrail(window=200_000)]`, or a guardrail of its proxy. Needs the extra `litellm`."""

from __future__ import annotations

from typing import Any

from ._extra import needs
from ._fit import Fitter

with needs("litellm"):
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.types.guardrails import GuardrailEventHooks


class CodeletGuardrail(CustomGuardrail):
    """Keeps the messages of each request within the context window. Requests must contain the whole conversation."""

    def __init__(self, window: int = 200_000, *, overhead: int = 0, **kwargs: Any) -> None:
        kwargs.setdefault("guardrail_name", "codelet")
        kwargs.setdefault("event_hook", GuardrailEventHooks.pre_call)
        kwargs.setdefault("default_on", True)
        super().__init__(**kwargs)
        self.fitter: Fitter[Any] = Fitter(window, overhead=overhead, dump=lambda message: [message], load=lambda item: item)

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any) -> dict[str, Any]:
        """Returns the request with the messages to send."""
        messages = data.get("messages")
        if isinstance(messages, list) and messages:
            data["messages"] = self.fitter.fit(messages)
        return data
