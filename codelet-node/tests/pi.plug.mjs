/** The plug for pi, in the real one. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { handleIn, judge, STEPS } from "./judge.mjs";
import { MODULES, place, run } from "./program.mjs";
import { serve } from "./server.mjs";
import { PROMPT, WINDOW } from "./session.mjs";

const PROGRAM = path.join(MODULES, "@earendil-works/pi-coding-agent/dist/cli.js");

async function session(extension, settings, script, check) {
  const provider = await serve("read", (step, messages) => script(step, messages, there));
  const base = `export default (pi) => pi.registerProvider("anthropic", { baseUrl: "${provider.address}" });`;
  const there = place({ "base.js": base, "codelet.js": extension, "../.pi/agent/settings.json": JSON.stringify(settings) });
  const sessions = path.join(there.home, "sessions");
  const args = [PROGRAM, "--provider", "anthropic", "--model", "claude-sonnet-4-5", "--session-dir", sessions];
  for (const file of ["base.js", "codelet.js"]) args.push("--extension", path.join(there.work, file));
  const variables = { ANTHROPIC_API_KEY: "sk-ant-scripted", PI_OFFLINE: "1", PI_TELEMETRY: "0" };
  try {
    assert.match(await run(there, process.execPath, [...args, "-p", PROMPT], variables), /done/);
    const [file] = readdirSync(sessions, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
    const entries = readFileSync(path.join(sessions, file), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    await check(provider, entries);
  } finally {
    provider.close();
    there.remove();
  }
}

const read = (step, _, there) => (step < STEPS ? { name: "read", input: { path: there.file(step) } } : undefined);

test("a session keeps within its window and reads back what left it", async () => {
  const extension = `
    import { extension } from "codelet/pi";
    export default extension({ window: ${WINDOW} });`;
  const script = (step, messages, there) =>
    step === STEPS ? { name: "recall", input: { handle: handleIn(messages) } } : read(step, messages, there);
  await session(extension, {}, script, async ({ requests }, entries) => {
    await judge(
      requests.slice(0, -1).map(({ messages }) => messages),
      undefined,
      "anthropic",
    );
    assert.match(JSON.stringify(requests.at(-1).messages.at(-1)), /most time is spent in skip_blank/);
    // The session itself keeps everything.
    assert.equal(entries.filter(({ message }) => message?.role === "toolResult").length, STEPS + 1);
  });
});

test("where pi compacts, the summary is a record and no model is asked", async () => {
  const extension = `
    import { extension } from "codelet/pi";
    export default (pi) => {
      extension({ window: 1_000_000 }, { budget: 2_000 })(pi);
    };`;
  const settings = { compaction: { enabled: true, reserveTokens: 188_000, keepRecentTokens: 3_000 } };
  await session(extension, settings, read, async ({ requests, others }, entries) => {
    assert.deepEqual(others, []);
    const compactions = entries.filter(({ type }) => type === "compaction");
    assert.ok(compactions.length >= 2, JSON.stringify(entries.map(({ type }) => type)));
    for (const { summary, details } of compactions) {
      assert.deepEqual(details, { by: "codelet" });
      assert.ok(summary.includes(PROMPT) && summary.length < 16_000, `${summary.length} bytes: ${summary.slice(0, 200)}`);
      assert.match(summary, /run 0:/);
    }
    assert.ok(JSON.stringify(requests.at(-1).messages).includes("Summary of the earlier part of this session."));
  });
});
