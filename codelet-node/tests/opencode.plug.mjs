/** The plug for opencode, in the real one. */

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { handleIn, judge, STEPS } from "./judge.mjs";
import { MODULES, place, run } from "./program.mjs";
import { serve } from "./server.mjs";
import { PROMPT, WINDOW } from "./session.mjs";

const PROGRAM = path.join(MODULES, `opencode-${process.platform}-${process.arch}/bin/opencode`);

async function session(plugin, model, script, check) {
  const there = place({ ".opencode/plugin/codelet.js": plugin });
  const provider = await serve("read", (step, messages) => script(step, messages, there), copied);
  const anthropic = { options: { baseURL: `${provider.address}/v1` }, models: { "claude-sonnet-4-5": model } };
  const variables = {
    ANTHROPIC_API_KEY: "sk-ant-scripted",
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider: { anthropic } }),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
  };
  try {
    assert.match(await run(there, PROGRAM, ["run", "--auto", "-m", "anthropic/claude-sonnet-4-5", PROMPT], variables), /done/);
    await check(provider);
  } finally {
    provider.close();
    there.remove();
  }
}

/** What a model that does as it is told answers where it is handed a record. */
function copied({ messages }) {
  return /word for word.*?\[User\]: (.*)$/s.exec(messages[0].content[0].text)?.[1] ?? "A title.";
}

const read = (step, _, there) => (step < STEPS ? { name: "read", input: { filePath: there.file(step) } } : undefined);

test("a session keeps within its window and reads back what left it", async () => {
  const plugin = `
    import { fitSessions } from "codelet/opencode";
    import { tool } from "@opencode-ai/plugin";
    export const Codelet = fitSessions({ window: ${WINDOW} }, { tool });`;
  const script = (step, messages, there) =>
    step === STEPS ? { name: "recall", input: { handle: handleIn(messages) } } : read(step, messages, there);
  await session(plugin, {}, script, async ({ requests }) => {
    await judge(
      requests.slice(0, -1).map(({ messages }) => messages),
      undefined,
      "anthropic",
    );
    const last = requests
      .at(-1)
      .messages.at(-1)
      .content.find(({ type }) => type === "tool_result");
    assert.match(JSON.stringify(last.content), /most time is spent in skip_blank/);
  });
});

const short = (step, messages, there) => (step < 20 ? read(step, messages, there) : undefined);

test("where opencode compacts, the model is handed a record", async () => {
  const plugin = `
    import { fitSessions } from "codelet/opencode";
    export const Codelet = fitSessions({ window: 1_000_000 }, { budget: 2_000 });`;
  await session(plugin, { limit: { context: 14_000, output: 1_000 } }, short, async ({ requests, others }) => {
    const records = others.map(({ messages }) => messages[0].content[0].text).filter((text) => text.includes("word for word"));
    assert.ok(records.length >= 2);
    for (const record of records) assert.ok(record.includes(PROMPT) && record.length < 10_000 && record.includes("run 0:"), record);
    assert.ok(requests.some(({ messages }) => JSON.stringify(messages).includes("Summary of the earlier part of this session.")));
  });
});
