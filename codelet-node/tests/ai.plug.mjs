/** The plug for the Vercel AI SDK, in the real one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { compact } from "codelet";
import { fitSteps } from "codelet/ai";
import { judge, STEPS } from "./judge.mjs";
import { OUTPUT, PROMPT, WINDOW } from "./session.mjs";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const look = tool({
  description: "Looks.",
  inputSchema: jsonSchema({ type: "object", properties: { step: { type: "number" } } }),
  execute: ({ step }) => `run ${step}: ${OUTPUT}`,
});

/** What the SDK hands its model, as OpenAI's messages. */
function asSent(prompt) {
  return prompt.flatMap(({ role, content }) => {
    if (typeof content === "string") return [{ role, content }];
    if (role === "tool") return content.map((part) => ({ role, tool_call_id: part.toolCallId, content: part.output.value }));
    const text = content
      .filter((part) => part.type === "text")
      .map((part) => part.text)
      .join("\n");
    if (role === "user") return [{ role, content: text }];
    const calls = content.filter((part) => part.type === "tool-call");
    const made = calls.map((call) => ({
      id: call.toolCallId,
      type: "function",
      function: { name: call.toolName, arguments: JSON.stringify(call.input) },
    }));
    return [{ role, content: text || null, ...(made.length > 0 && { tool_calls: made }) }];
  });
}

test("a run keeps within its window and reads back what left it", async () => {
  const steps = fitSteps({ window: WINDOW, offersRecall: true });
  const sent = [];
  let asked;
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt, tools }) => {
      assert.deepEqual(
        tools.map(({ name }) => name),
        ["look", "recall"],
      );
      sent.push(asSent(prompt));
      const step = sent.length - 1;
      const call = (toolName, input) => ({ type: "tool-call", toolCallId: `c${step}`, toolName, input: JSON.stringify(input) });
      asked = Object.entries(steps.fitter.removed).find(([, text]) => text.includes("run 1:"))?.[0];
      const content =
        step < STEPS ? call("look", { step }) : step === STEPS ? call("recall", { handle: asked }) : { type: "text", text: "done" };
      const reason = step > STEPS ? "stop" : "tool-calls";
      return { content: [content], finishReason: { unified: reason, raw: reason }, usage, warnings: [] };
    },
  });
  const recall = tool({ ...steps.recall, inputSchema: jsonSchema(steps.recall.inputSchema) });
  const run = { model, prompt: PROMPT, tools: { look, recall }, stopWhen: stepCountIs(STEPS + 5), prepareStep: steps.prepareStep };
  const done = await generateText(run);
  assert.equal(done.text, "done");
  assert.equal(done.steps.at(-2).toolResults[0].output, steps.fitter.removed[asked]);
  await judge(sent.slice(0, -1), steps.fitter.removed, "openai");
});

test("a streamed run with pictures and failed calls keeps within its window", async () => {
  const window = 2 * WINDOW;
  const steps = fitSteps({ window });
  const sent = [];
  const model = new MockLanguageModelV3({
    doStream: async ({ prompt }) => {
      sent.push(prompt);
      const step = sent.length - 1;
      const call = { type: "tool-call", toolCallId: `c${step}`, toolName: "look", input: JSON.stringify({ step }) };
      const text = ["text-start", "text-delta", "text-end"].map((type) => ({ type, id: "t", delta: "done" }));
      const reason = step < STEPS ? "tool-calls" : "stop";
      const finish = { type: "finish", finishReason: { unified: reason, raw: reason }, usage };
      return {
        stream: simulateReadableStream({ chunks: [{ type: "stream-start", warnings: [] }, ...(step < STEPS ? [call] : text), finish] }),
      };
    },
  });
  const picture = Buffer.from("iVBORw0KGgo=", "base64");
  const content = [
    { type: "text", text: PROMPT },
    { type: "image", image: picture },
    { type: "file", data: Buffer.from("%PDF-1.4"), mediaType: "application/pdf" },
  ];
  const fails = tool({
    ...look,
    execute: ({ step }) => {
      if (step % 2) throw new Error(`run ${step}: ${OUTPUT}`);
      return { output: `run ${step}: ${OUTPUT}` };
    },
  });
  const run = streamText({
    model,
    messages: [{ role: "user", content }],
    tools: { look: fails },
    stopWhen: stepCountIs(STEPS + 5),
    prepareStep: steps.prepareStep,
  });
  assert.equal(await run.text, "done");
  const longest = Math.max(...sent.map((prompt) => JSON.stringify(prompt).length));
  assert.ok(longest < window * 4 && Object.keys(steps.fitter.removed).length > 0, `${longest} bytes`);
  // The files stand where they were as long as there is room, and then a handle does.
  const files = sent.map((prompt) => prompt.find(({ role }) => role === "user").content.slice(1));
  assert.deepEqual(
    files[0].map(({ type, mediaType }) => [type, mediaType]),
    [
      ["file", "image/png"],
      ["file", "application/pdf"],
    ],
  );
  const handles = files.at(-1).map((part) => /recall (\w{6})/.exec(part.text)?.[1]);
  assert.ok(
    files.at(-1).every((part, at) => part.type === "file" || handles[at] in steps.fitter.removed),
    JSON.stringify(files.at(-1)),
  );
  const whole = JSON.stringify(steps.fitter.removed) + JSON.stringify(sent.at(-1));
  for (let step = 0; step < STEPS; step += 1) assert.ok(whole.includes(`run ${step}:`), `run ${step} is lost`);
});

test("what the SDK returns is compacted as it is", async () => {
  const messages = [
    { role: "user", content: PROMPT },
    { role: "assistant", content: [{ type: "text", text: "Done. ".repeat(2_000) }] },
    { role: "user", content: "And?" },
  ];
  assert.ok((await compact(messages, { budget: 1_000 })).report.tokens.after <= 1_000);
});
