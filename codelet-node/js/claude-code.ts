#!/usr/bin/env node
/**
 * Claude Code: a `PreCompact` hook, `codelet-pre-compact [--budget TOKENS]`. Its output becomes
 * instructions for the model that writes the summary; a hook cannot provide the summary itself.
 */

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { compact } from "./index.js";
import { summarize } from "./summary.js";

const ORDER =
  "Take the following record of this session into the summary, word for word and whole, before anything else. " +
  "It was made from the transcript: its prompts, outputs and states are exact.";

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { budget: { type: "string", default: "4000" } } });
  const { transcript_path } = JSON.parse(readFileSync(0, "utf8")) as { transcript_path: string };
  const said = await compact(spoken(readFileSync(transcript_path, "utf8")), {
    form: "claude-code",
    to: "openai",
    budget: Number.MAX_SAFE_INTEGER,
  });
  const { text } = await summarize(said.messages, Number(values.budget));
  process.stdout.write(`${ORDER}\n\n${text}\n`);
}

/** A transcript without records of requests, and without what Claude Code puts into each of them anew, such as lists of skills. */
function spoken(transcript: string): string {
  const isSaid = (line: string) => ["user", "assistant", "system"].includes(JSON.parse(line).type);
  return transcript
    .split("\n")
    .filter((line) => line !== "" && isSaid(line))
    .join("\n");
}

main().catch((error: Error) => {
  // Any status but 2 lets the compaction go on without.
  console.error(`codelet: ${error.message}`);
  process.exitCode = 1;
});
