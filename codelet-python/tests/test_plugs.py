"""Each plug in the real library of its host, with a scripted model: it calls a tool with a large output until it has seen enough."""

import asyncio
import json
import os
from typing import Any

import codelet
import pytest
from conftest import OUTPUT, WINDOW

STEPS = 40
PROMPT = "Find out why the parser is slow. Never touch vendor/."
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def judge(sent: list[list[Any]], removed: dict[str, str]) -> None:
    """What has to hold of the requests of a run, each as OpenAI's messages or items."""
    assert len(sent) >= STEPS
    sizes = [len(json.dumps(request)) for request in sent]
    assert max(sizes) < WINDOW * 4, max(sizes)
    form = "responses" if any(item.get("type") == "function_call" for item in sent[-1]) else "openai"
    for request in sent:
        assert PROMPT in json.dumps(request)
        whole = {"input": request} if form == "responses" else {"messages": request}
        assert codelet.check(whole, vendor=form) == []
    changes = sum(after[: len(before)] != before for before, after in zip(sent, sent[1:]))
    assert 2 <= changes <= STEPS / 4, changes
    whole = "".join(removed.values()) + json.dumps(sent[-1])
    assert all(f"run {step}:" in whole for step in range(STEPS))


def step_of(messages: list[Any]) -> int:
    return max((int(word.split(":")[0]) for word in json.dumps(messages).split("run ")[1:] if word.split(":")[0].isdigit()), default=-1) + 1


def test_langchain() -> None:
    pytest.importorskip("langchain")
    from langchain.agents import create_agent
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, convert_to_openai_messages

    from codelet.langchain import CodeletMiddleware

    sent: list[list[Any]] = []
    recalled: list[str] = []

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            assert {tool.name for tool in tools} >= {"look", "recall"}
            return self

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            sent.append(convert_to_openai_messages(messages))
            return super()._generate(messages, *args, **kwargs)

    def look(step: int) -> str:
        """Looks."""
        return f"run {step}: {OUTPUT}"

    middleware = CodeletMiddleware(window=WINDOW)

    def script() -> Any:
        for step in range(STEPS):
            yield AIMessage("", tool_calls=[{"name": "look", "args": {"step": step}, "id": f"c{step}"}])
        handle = next(name for name, text in middleware.fitter.removed.items() if "run 1:" in text)
        recalled.append(handle)
        yield AIMessage("", tool_calls=[{"name": "recall", "args": {"handle": handle}, "id": "last"}])
        yield AIMessage("done")

    agent = create_agent(Scripted(messages=script()), tools=[look], system_prompt="Be brief.", middleware=[middleware])
    done = agent.invoke({"messages": [{"role": "user", "content": PROMPT}]}, {"recursion_limit": 500})["messages"]
    assert len(done) == 2 * STEPS + 4 and done[-1].content == "done"
    assert done[-2].content == middleware.fitter.removed[recalled[0]]
    judge(sent[:-1], middleware.fitter.removed)


def test_deepagents() -> None:
    pytest.importorskip("deepagents")
    from deepagents import create_deep_agent
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, convert_to_openai_messages

    from codelet.langchain import CodeletMiddleware

    sent: list[list[Any]] = []

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            sent.append(convert_to_openai_messages(messages))
            return super()._generate(messages, *args, **kwargs)

    def look(step: int) -> str:
        """Looks."""
        return f"run {step}: {OUTPUT}"

    calls = (AIMessage("", tool_calls=[{"name": "look", "args": {"step": step}, "id": f"c{step}"}]) for step in range(STEPS))
    script = iter([*calls, AIMessage("done")])
    middleware = CodeletMiddleware(window=WINDOW)
    agent = create_deep_agent(model=Scripted(messages=script), tools=[look], middleware=[middleware])
    agent.invoke({"messages": [{"role": "user", "content": PROMPT}]}, {"recursion_limit": 500})
    judge([[message for message in request if message["role"] != "system"] for request in sent], middleware.fitter.removed)


def test_pydantic_ai() -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai import messages as m
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.models.function import FunctionModel

    from codelet.pydantic_ai import History, _dump

    sent: list[list[Any]] = []

    def model(messages: list[m.ModelMessage], info: Any) -> m.ModelResponse:
        assert info.instructions == "Be brief."
        sent.append([item for message in messages for item in _dump(message)])
        step = len(sent) - 1
        return m.ModelResponse([m.ToolCallPart("look", {"step": step}, f"c{step}") if step < STEPS else m.TextPart("done")])

    history = History(window=WINDOW, offers_recall=True)
    agent = Agent(FunctionModel(model), instructions="Be brief.", capabilities=[ProcessHistory(history)])
    agent.tool_plain(history.recall)

    @agent.tool_plain
    def look(step: int) -> str:
        return f"run {step}: {OUTPUT}"

    from pydantic_ai.usage import UsageLimits

    done = agent.run_sync(PROMPT, usage_limits=UsageLimits(request_limit=None))
    assert done.output == "done"
    judge(sent, history.fitter.removed)


def test_pydantic_ai_keeps_pictures() -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import messages as m

    from codelet.pydantic_ai import _dump, _load

    part = m.UserPromptPart(["look", m.BinaryContent(b"png", media_type="image/png"), m.ImageUrl("https://example.com/a.png")])
    (item,) = _dump(m.ModelRequest([part]))
    loaded = _load(item).parts[0]
    assert isinstance(loaded, m.UserPromptPart) and loaded.content[0] == "look"
    assert loaded.content[1].data == b"png" and loaded.content[2].url == "https://example.com/a.png"


def test_openai_agents() -> None:
    pytest.importorskip("agents")
    from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
    from agents.models.interface import Model
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from codelet.openai_agents import InputFilter

    sent: list[list[Any]] = []

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
            sent.append(json.loads(json.dumps(input)) if isinstance(input, list) else [{"role": "user", "content": input}])
            step = len(sent) - 1
            call = ResponseFunctionToolCall(
                name="look", arguments=json.dumps({"step": step}), call_id=f"c{step}", type="function_call", id=f"fc_{step}"
            )
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            message = ResponseOutputMessage(id="msg_1", role="assistant", status="completed", type="message", content=[text])
            return ModelResponse(output=[call if step < STEPS else message], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    @function_tool
    def look(step: int) -> str:
        """Looks."""
        return f"run {step}: {OUTPUT}"

    fit = InputFilter(window=WINDOW, offers_recall=True)
    agent = Agent("agent", instructions="Be brief.", model=Scripted(), tools=[look, fit.tool])
    config = RunConfig(call_model_input_filter=fit, tracing_disabled=True)
    done = asyncio.run(Runner.run(agent, PROMPT, max_turns=STEPS + 5, run_config=config))
    assert done.final_output == "done"
    # The run itself keeps everything.
    assert len(done.to_input_list()) == 2 * STEPS + 2
    judge(sent, fit.fitter.removed)


def test_litellm() -> None:
    litellm = pytest.importorskip("litellm")
    from conftest import session

    from codelet.litellm import CodeletGuardrail

    sent: list[list[Any]] = []

    class Scripted(litellm.CustomLLM):  # type: ignore[misc, name-defined]
        async def acompletion(self, *_: Any, messages: Any, **__: Any) -> Any:
            sent.append(json.loads(json.dumps(messages)))
            return litellm.mock_completion("any", messages, mock_response="done")

    guardrail = CodeletGuardrail(window=WINDOW)
    litellm.callbacks = [guardrail]
    litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": Scripted()}]

    async def run() -> None:
        for steps in range(STEPS + 1):
            whole = session(steps)
            await litellm.acompletion("scripted/any", messages=whole, guardrails=["codelet"])
            assert len(whole) == 2 + 2 * steps

    try:
        asyncio.run(run())
    finally:
        litellm.callbacks = []
    judge(sent, guardrail.fitter.removed)


def test_inspect_ai(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai import Task, eval
    from inspect_ai.agent import react
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model, messages_to_openai
    from inspect_ai.tool import Tool, tool

    from codelet.inspect_ai import CompactionCodelet, recall

    async def count(self: Any, text: str) -> int:
        return len(text) // 4

    # Inspect fetches its own tokenizer.
    monkeypatch.setattr("inspect_ai.model._providers.mockllm.MockLLM.count_text_tokens", count)
    sent: list[list[Any]] = []

    async def reply(input: Any, tools: Any, *_: Any) -> Any:
        sent.append(list(await messages_to_openai(input)))
        step = len(sent) - 1
        name, arguments = ("look", {"step": step}) if step < STEPS else ("submit", {"answer": "done"})
        return ModelOutput.for_tool_call("mockllm/model", name, arguments, tool_call_id=f"c{step}")

    @tool
    def look() -> Tool:
        async def execute(step: int) -> str:
            """Looks.

            Args:
                step: which.
            """
            return f"run {step}: {OUTPUT}"

        return execute

    compaction = CompactionCodelet(window=WINDOW, threshold=WINDOW * 3 // 4, offers_recall=True)
    agent = react(prompt="Be brief.", tools=[look(), recall(compaction)], compaction=compaction)
    model = get_model("mockllm/model", custom_outputs=reply)
    monkeypatch.chdir(tmp_path)
    (log,) = eval(Task([Sample(PROMPT)], solver=agent), model=model, display="none", log_dir=str(tmp_path))
    assert log.status == "success", log.error
    judge(sent, compaction.fitter.removed)


def test_openhands(tmp_path: Any) -> None:
    pytest.importorskip("openhands.sdk")
    import openhands_tool as looking
    from openhands.sdk import Agent, Conversation, Tool
    from openhands.sdk.llm import Message, MessageToolCall, TextContent
    from openhands.sdk.testing import TestLLM

    from codelet.openhands import CodeletCondenser

    sent: list[list[Any]] = []

    class Scripted(TestLLM):
        def completion(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            flags = {"cache_enabled": False, "vision_enabled": False, "function_calling_enabled": True}
            flags |= {"force_string_serializer": True, "send_reasoning_content": False}
            sent.append([message.to_chat_dict(**flags) for message in messages])
            return super().completion(messages, *args, **kwargs)

    def call(step: int) -> Message:
        made = MessageToolCall(id=f"c{step}", name="look", arguments=json.dumps({"step": step}), origin="completion")
        return Message(role="assistant", content=[TextContent(text=f"Look {step}.")], tool_calls=[made])

    looking.register(OUTPUT)
    done = Message(role="assistant", content=[TextContent(text="done")])
    llm = Scripted(scripted_responses=[*map(call, range(STEPS)), done], model="test-model", usage_id="test")
    condenser = CodeletCondenser(window=WINDOW + 4_000)
    agent = Agent(llm=llm, tools=[Tool(name="look")], condenser=condenser, include_default_tools=[])
    conversation = Conversation(agent=agent, workspace=str(tmp_path), visualizer=None)
    conversation.send_message(PROMPT)
    conversation.run()
    # The system prompt and the tools of OpenHands are large, and stay.
    judge([request[1:] for request in sent], agent.condenser.fitter.removed)
