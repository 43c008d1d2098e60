from typing import Any

import pytest

#: Each output is larger than a tenth of the window of these tests.
OUTPUT = "most time is spent in skip_blank()\n" * 60
WINDOW = 12_000


def session(steps: int) -> list[dict[str, Any]]:
    """A conversation in OpenAI's form."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Find out why the parser is slow. Never touch vendor/."},
    ]
    for step in range(steps):
        call = {"id": f"call_{step}", "type": "function", "function": {"name": "look", "arguments": '{"step": %d}' % step}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{step}", "content": f"run {step}: {OUTPUT}"})
    return messages


@pytest.fixture
def long() -> list[dict[str, Any]]:
    return session(60)
