/** The plug for OpenClaw, in the real one. */

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { handleIn, judge } from "./judge.mjs";
import { MODULES, place, run } from "./program.mjs";
import { serve } from "./server.mjs";
import { OUTPUT, PROMPT, WINDOW } from "./session.mjs";

const PROGRAM = path.join(MODULES, "openclaw/openclaw.mjs");
const TURNS = 5;
/** An engine is handed what came before a turn: each one reads these many files. */
const READS = 8;

const PLUGIN = {
  "plugin/index.js": `
    import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
    import { contextEngine } from "codelet/openclaw";
    const register = contextEngine({ window: ${WINDOW} });
    export default definePluginEntry({ id: "codelet", name: "Codelet", description: "Keeps conversations small.", register });`,
  "plugin/package.json": JSON.stringify({
    name: "codelet-plugin",
    version: "1.0.0",
    type: "module",
    openclaw: { extensions: ["./index.js"] },
  }),
  "plugin/openclaw.plugin.json": JSON.stringify({
    id: "codelet",
    name: "Codelet",
    description: "Keeps conversations small.",
    categories: ["other"],
    kind: "context-engine",
    contracts: { tools: ["recall"] },
    activation: { onStartup: true },
    configSchema: { type: "object", additionalProperties: false },
  }),
};

function config(address, work) {
  const model = { id: "scripted", name: "Scripted", reasoning: false, input: ["text"], contextWindow: 200_000, maxTokens: 1_000 };
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const scripted = { baseUrl: address, apiKey: "sk-ant-scripted", api: "anthropic-messages", models: [{ ...model, cost }] };
  return JSON.stringify({
    agents: { defaults: { workspace: work, model: { primary: "scripted/scripted" } } },
    models: { mode: "merge", providers: { scripted } },
    plugins: { load: { paths: [path.join(work, "plugin")] }, slots: { contextEngine: "codelet" }, entries: { codelet: { enabled: true } } },
  });
}

test("a session of many turns keeps within its window", async () => {
  const script = (step, messages) => {
    if (step % (READS + 1) === READS) return undefined;
    const at = step - Math.floor(step / (READS + 1));
    return { name: "read", input: { path: there.file(at) } };
  };
  const provider = await serve("read", script);
  const there = place(PLUGIN);
  try {
    there.write("../.openclaw/openclaw.json", config(provider.address, there.work));
    for (let turn = 0; turn < TURNS; turn += 1) {
      const message = turn === 0 ? PROMPT : "Go on.";
      await run(there, process.execPath, [PROGRAM, "agent", "--local", "--session-id", "s1", "--message", message], {});
    }
    // The turn that is under way stands behind what the engine has made.
    const turn = READS * JSON.stringify(OUTPUT).length * 1.2;
    await judge(
      provider.requests.map(({ messages }) => withoutState(messages)),
      undefined,
      "anthropic",
      WINDOW * 4 + turn,
    );
    assert.ok(handleIn(provider.requests.at(-1).messages));
  } finally {
    provider.close();
    there.remove();
  }
});

/** The messages without what OpenClaw puts at the end of each request anew. */
function withoutState(messages) {
  const isState = ({ text }) => text?.includes("OPENCLAW_INTERNAL_CONTEXT") ?? false;
  const rest = messages.map((message) => ({ ...message, content: [message.content].flat().filter((part) => !isState(part)) }));
  return rest.filter(({ content }) => content.length > 0);
}
