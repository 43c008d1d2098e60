"""OpenAI Agents SDK: `RunConfig(call_model_input_filter=InputFilter(window=200_000))`. Needs the extra `openai-agents`."""

from __future__ import annotations

from typing import Any

from ._extra import needs
from ._fit import RECALL, Fitter

with needs("openai-agents"):
    from agents import FunctionTool, TResponseInputItem, function_tool
    from agents.run import CallModelData, ModelInputData


class InputFilter:
    """Keeps the items of each model call within the context window. The run and its session keep all items.

    Also give the agent the tool `InputFilter.tool`, and set `offers_recall=True`.
    """

    def __init__(self, window: int, *, overhead: int = 0, offers_recall: bool = False) -> None:
        self.fitter: Fitter[Any] = Fitter(
            window,
            overhead=overhead,
            offers_recall=offers_recall,
            form="responses",
            dump=lambda item: [item],
            load=lambda item: item,
        )

    def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        items: list[TResponseInputItem] = self.fitter.fit(data.model_data.input)
        return ModelInputData(input=items, instructions=data.model_data.instructions)

    @property
    def tool(self) -> FunctionTool:
        """The tool `recall`."""

        def recall(handle: str) -> str:
            return self.fitter.recall(handle)

        return function_tool(recall, name_override="recall", description_override=RECALL)
