"""A tool for OpenHands. Types of its tools have to be importable."""

from collections.abc import Sequence
from typing import Any

from openhands.sdk.llm import TextContent
from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor, register_tool

_output = ""


class LookAction(Action):
    step: int


class LookObservation(Observation):
    pass


class LookExecutor(ToolExecutor[LookAction, LookObservation]):
    def __call__(self, action: LookAction, conversation: Any = None) -> LookObservation:
        return LookObservation(content=[TextContent(text=f"run {action.step}: {_output}")])


class LookTool(ToolDefinition[LookAction, LookObservation]):
    name = "look"

    @classmethod
    def create(cls, conv_state: Any = None, **_: Any) -> Sequence["LookTool"]:
        return [cls(description="Looks.", action_type=LookAction, observation_type=LookObservation, executor=LookExecutor())]


def register(output: str) -> None:
    global _output
    _output = output
    register_tool("look", LookTool)
