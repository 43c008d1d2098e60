/**
 * One conversation of about 100,000 tokens, by the program and by the package, in turns: medians and fastest in milliseconds.
 *
 *     cd PROJECT && node …/one.mjs [ROUNDS]
 *
 * PROJECT has the packages installed; the program is the one in them, so that both are of one build.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

const BUDGET = 20_000;
const require = createRequire(path.join(process.cwd(), "project.js"));
const { compact, inspect } = require("codelet");
const platform = path.dirname(require.resolve(`codelet-${process.platform}-${process.arch}`));
const program = path.join(platform, "bin/codelet");
const rounds = Number(process.argv[2] ?? 40);

/** A session in which files are read; outputs differ, as those of an agent do. */
function session(steps) {
  const messages = [{ role: "user", content: "Find out why the parser is slow. Never touch vendor/." }];
  for (let step = 0; step < steps; step++) {
    const call = { id: `call_${step}`, type: "function", function: { name: "look", arguments: JSON.stringify({ step }) } };
    const lines = Array.from({ length: 45 }, (_, line) => `${(step * line) % 9973}: fn part_${step * 31 + line}_of() -> u${line % 64} { ${step * line} }`);
    messages.push({ role: "assistant", content: null, tool_calls: [call] });
    messages.push({ role: "tool", tool_call_id: call.id, content: lines.join("\n") });
  }
  return messages;
}

const folder = mkdtempSync(path.join(tmpdir(), "codelet-one-"));
try {
  const messages = session(220);
  const [file, out] = ["in.json", "out.json"].map((name) => path.join(folder, name));
  writeFileSync(file, JSON.stringify(messages));
  const ways = {
    "the program, whole": () => execFileSync(program, ["compact", file, "--budget", String(BUDGET), "-o", out], { stdio: "ignore" }),
    "… its start and end alone": () => execFileSync(program, ["--version"], { stdio: "ignore" }),
    "compact, objects to objects": async () => (await compact(messages, { budget: BUDGET })).messages,
  };
  const took = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const began = performance.now();
      await way();
      took[name].push(performance.now() - began);
    }
  }
  const same = JSON.stringify((await compact(messages, { budget: BUDGET })).messages);
  if (same !== JSON.stringify(JSON.parse(readFileSync(out, "utf8")))) throw new Error("program and package make different results");
  console.log(`${(await inspect(messages)).tokens} tokens in ${messages.length} messages to ${BUDGET}`);
  for (const [name, all] of Object.entries(took)) {
    const sorted = all.toSorted((one, other) => one - other);
    console.log(`${sorted[rounds >> 1].toFixed(1).padStart(7)} ${sorted[0].toFixed(1).padStart(7)}  ${name}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
