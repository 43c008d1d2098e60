/** The hook for Claude Code, in the real one. */

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { MODULES, place, run } from "./program.mjs";
import { serve } from "./server.mjs";
import { PROMPT } from "./session.mjs";

const PROGRAM = path.join(MODULES, `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`);
const HOOK = path.join(import.meta.dirname, "node_modules/.bin/codelet-pre-compact");
const STEPS = 12;

test("the model is told to take a record into its summary", async () => {
  const read = (step) => (step < STEPS ? { name: "Read", input: { file_path: there.file(step) } } : undefined);
  const provider = await serve("Read", read);
  const hooks = { PreCompact: [{ hooks: [{ type: "command", command: `"${process.execPath}" "${HOOK}" --budget 2000` }] }] };
  const there = place({ ".claude/settings.json": JSON.stringify({ hooks }) });
  const variables = {
    ANTHROPIC_API_KEY: "sk-ant-scripted",
    ANTHROPIC_BASE_URL: provider.address,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_TELEMETRY: "1",
  };
  try {
    const claude = (...args) => run(there, PROGRAM, ["--model", "claude-sonnet-4-5", "--allowedTools", "Read", ...args], variables);
    assert.match(await claude("-p", PROMPT), /done/);
    await claude("--continue", "-p", "/compact");
    const texts = provider.requests.slice(STEPS + 1).flatMap(({ messages }) => messages.at(-1).content.map(({ text }) => text ?? ""));
    const order = texts.find((text) => text.includes("word for word and whole"));
    assert.ok(order, "the record is not in the request for a summary");
    const record = order.slice(order.indexOf("word for word and whole"));
    assert.ok(record.includes(PROMPT) && record.includes("run 0:") && record.length < 12_000, record);
  } finally {
    provider.close();
    there.remove();
  }
});
