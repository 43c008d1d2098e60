/** Every function, as it is installed. */

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { asTheyAre, check, CodeletError, compact, conversations, fit, Fitter, formats, inspect, replay, restore, version } from "codelet";
import { session, WINDOW } from "./session.mjs";

const FIXTURES = process.env.CODELET_FIXTURES;
/** What `npx codelet` runs. */
const PROGRAM = path.join(import.meta.dirname, "node_modules/.bin/codelet");
/** What that runs. */
const require = createRequire(import.meta.url);
const BINARY = require.resolve(`codelet-${process.platform}-${process.arch}/bin/codelet${process.platform === "win32" ? ".exe" : ""}`);

test("the program is installed beside", () => {
  assert.deepEqual(execFileSync(PROGRAM, ["--version"]).toString().trim().split(" "), ["codelet", version()]);
});

test("the program ends as it ends", async () => {
  assert.equal(spawnSync(PROGRAM, ["no-such-command", "--no-such-option"]).status, 2);
  assert.match(execFileSync(PROGRAM, ["inspect", "-"], { input: JSON.stringify(session(2)) }).toString(), /look/);
  const waiting = spawn(PROGRAM, ["inspect", "-"], { stdio: ["pipe", "ignore", "ignore"] });
  const ended = promisify((done) => waiting.on("exit", (code, signal) => done(null, signal)))();
  waiting.kill("SIGTERM");
  assert.equal(await ended, "SIGTERM");
});

test("import and require give the same", () => {
  const required = require("codelet");
  assert.equal(required.compact, compact);
  assert.equal(required.CodeletError, CodeletError);
});

test("a conversation becomes smaller and nothing is lost", async () => {
  const long = session(60);
  const result = await compact(long, { budget: 4_000 });
  const { messages, report, removed } = result;
  assert.ok(report.tokens.after <= 4_000 && report.tokens.before > 4_000, JSON.stringify(report.tokens));
  assert.deepEqual(messages[0], long[0]);
  assert.deepEqual(await check({ messages, model: "m" }, { vendor: "openai" }), []);
  const [handle, text] = Object.entries(removed)[0];
  assert.equal(await restore(removed, handle), text);
  assert.equal(await restore(removed, `[recall ${handle}]`), text);
  assert.equal(await restore(result, handle), text);
  assert.equal(await restore(removed, "nothing"), undefined);
  assert.equal(await restore(JSON.stringify({ handle, content: text }), handle), text);
});

test("what is empty or small comes back as it is", async () => {
  assert.deepEqual((await compact([], { budget: 10 })).messages, []);
  const small = session(1);
  assert.deepEqual((await compact(small, { budget: 100_000 })).messages, small);
  assert.deepEqual((await fit([], { window: WINDOW })).messages, []);
});

const written = formats().filter((form) => form.isWritten);
for (const { name: to } of written) {
  for (const name of ["long-session.json", "session.jsonl", "parallel-results.json", "reused-ids.json"]) {
    test(`the bytes of ${name} as ${to} are those of the program`, async () => {
      const file = path.join(FIXTURES, name);
      const expected = execFileSync(BINARY, ["compact", file, "--budget", "2000", "--to", to], { stdio: "pipe" }).toString();
      const found = await compact(readFileSync(file), { budget: 2000, to });
      assert.equal(found.text.trimEnd(), expected.trimEnd());
    });
  }
}

test("what cannot be done is told", async () => {
  const long = session(5);
  const lines = [1, 2, 3].map((steps) => JSON.stringify({ messages: session(steps) })).join("\n");
  const circle = {};
  circle.circle = circle;
  for (const [call, code, words] of [
    [() => compact("no conversation"), "ERR_UNREADABLE", /./],
    [() => compact(lines), "ERR_SEVERAL", /contains 3 conversations/],
    [() => compact(long, { budget: 1, window: 1 }), "ERR_ARGUMENT", /cannot be used together/],
    [() => compact(long, { budget: -1 }), "ERR_ARGUMENT", /budget must be a whole number/],
    [() => compact(long, { budget: "1k" }), "ERR_ARGUMENT", /budget must be a whole number/],
    [() => compact(long, { form: "klingon" }), "ERR_ARGUMENT", /formats\(\)/],
    [() => compact(long, { to: "codex" }), "ERR_UNWRITABLE", /codex/],
    [() => compact(undefined), "ERR_ARGUMENT", /undefined/],
    [() => compact(null), "ERR_ARGUMENT", /not null/],
    [() => compact(Promise.resolve(long)), "ERR_ARGUMENT", /not promise/],
    [() => compact(circle), "ERR_ARGUMENT", /circular/],
    [() => compact([{ role: "user", content: 1n }]), "ERR_ARGUMENT", /BigInt/],
    [() => check("{}"), "ERR_UNREADABLE", /name its vendor: anthropic/],
    [() => check(long, { vendor: "klingon" }), "ERR_ARGUMENT", /expected auto, anthropic/],
    [() => replay(long, { policies: "sometimes" }), "ERR_ARGUMENT", /unknown policy "sometimes"/],
    [() => replay(long, { prices: "no-such-model" }), "ERR_ARGUMENT", /unknown prices/],
    [() => replay(long, { policies: ["sometimes"] }), "ERR_ARGUMENT", /unknown policy/],
    [() => replay(long.slice(0, 2)), "ERR_UNREADABLE", /no model reply/],
    [() => restore("{", "k3f9a2"), "ERR_UNREADABLE", /line 1/],
    [() => fit([{ role: "nobody" }], { window: NaN }), "ERR_ARGUMENT", /window/],
    [() => compact(long, { form: 7 }), "ERR_ARGUMENT", /wrong type/],
    [() => compact(long, { force: "yes" }), "ERR_ARGUMENT", /wrong type/],
    [() => replay(long, { policies: [7] }), "ERR_ARGUMENT", /wrong type/],
    [() => fit(["text"], { window: WINDOW }), "ERR_UNREADABLE", /./],
    [() => compact(long, 40_000), "ERR_ARGUMENT", /options must be an object, such as \{ budget: … \}, not 40000/],
    [() => compact(long, null), "ERR_ARGUMENT", /not null/],
    [() => compact(long, { budgt: 1 }), "ERR_ARGUMENT", /unknown option "budgt"; options: budget, window/],
    [() => inspect(long, { budget: 1 }), "ERR_ARGUMENT", /unknown option "budget"/],
    [() => check(long, "openai"), "ERR_ARGUMENT", /such as \{ vendor: … \}/],
    [() => replay(long, { price: "x" }), "ERR_ARGUMENT", /options: window, prices/],
    [() => fit(long), "ERR_ARGUMENT", /not undefined/],
    [() => fit(long, { window: WINDOW, isdue: true }), "ERR_ARGUMENT", /options: window, overhead, offersRecall, form, isDue/],
    [() => fit(null, { window: WINDOW }), "ERR_ARGUMENT", /expected a list of messages, not null/],
    [() => restore(null, "k3f9a2"), "ERR_ARGUMENT", /not null/],
    [async () => new Fitter(), "ERR_ARGUMENT", /not undefined/],
    [async () => new Fitter({ window: WINDOW }), "ERR_ARGUMENT", /needs a conversion/],
    [() => new Fitter({ window: WINDOW }, asTheyAre("openai")).fit(long, true), "ERR_ARGUMENT", /such as \{ isDue: … \}/],
  ]) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof CodeletError && error instanceof Error, String(error.stack));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, words);
      return true;
    });
  }
  const faults = await check({ messages: [{ role: "tool", tool_call_id: "a", content: "x" }] }, { vendor: "openai" });
  assert.ok(faults.length > 0 && faults[0].place && faults[0].sentence);
});

test("a session is looked into and replayed", async () => {
  const long = session(60);
  const found = await inspect(long, { largest: 3 });
  assert.equal(found.largest.length, 3);
  assert.equal(found.messages, long.length);
  assert.ok(await replay(long, { window: WINDOW }));
});

test("a data set is split", async () => {
  const lines = [1, 2, 3].map((steps) => JSON.stringify({ messages: session(steps) })).join("\n");
  const all = await conversations(lines);
  assert.deepEqual(
    all.map((one) => JSON.parse(new TextDecoder().decode(one)).messages.length),
    [4, 6, 8],
  );
});

for (const text of ["Grüße 🙂 日本語", "a\u0000b", "\u202eabc", '"\\ ']) {
  test(`${JSON.stringify(text)} comes back`, async () => {
    const messages = [
      { role: "user", content: text },
      { role: "assistant", content: text },
    ];
    assert.deepEqual((await compact(messages, { budget: 1000 })).messages, messages);
  });
}

test("half a character harms nothing", async () => {
  const long = session(60);
  long[1].content += "\ud83d";
  for (const given of [long, JSON.stringify(long).replace("\\ud83d", "\ud83d")]) {
    assert.ok((await compact(given, { budget: 4_000 })).text.isWellFormed());
  }
});

test("the event loop goes on while a large conversation is compacted", async () => {
  const text = JSON.stringify(session(4_000));
  let turns = 0;
  let isDone = false;
  const work = compact(text, { budget: 20_000 }).finally(() => (isDone = true));
  while (!isDone) {
    await new Promise(setImmediate);
    turns += 1;
  }
  await work;
  assert.ok(turns > 100, `${turns} turns`);
});

test("what is given may change while it is worked on", async () => {
  const bytes = new TextEncoder().encode(JSON.stringify(session(60)));
  const expected = await compact(bytes, { budget: 4_000 });
  const work = compact(bytes, { budget: 4_000 });
  bytes.fill(0);
  assert.equal((await work).text, expected.text);
});

test("workers load it, too, and may end in the middle", async () => {
  const code = `
    const { compact } = require("codelet");
    const { parentPort } = require("node:worker_threads");
    compact([{ role: "user", content: "hello" }], { budget: 100 }).then(({ messages }) => {
      parentPort.postMessage(messages.length);
      compact(JSON.stringify(Array(20000).fill({ role: "user", content: "hello there" })), { budget: 100 });
      process.exit(0);
    });`;
  const file = path.join(import.meta.dirname, "worker.cjs");
  const worker = new Worker(code, { eval: true, filename: file });
  const answers = [];
  worker.on("message", (count) => answers.push(count));
  const code0 = await new Promise((done, failed) => worker.on("exit", done).on("error", failed));
  assert.deepEqual([answers, code0], [[1], 0]);
});

test("what is sent extends what was sent but at edits", async () => {
  const fitter = () => new Fitter({ window: WINDOW }, asTheyAre("openai"));
  const one = fitter();
  let [before, changes, whole, sent] = [[], 0, [], []];
  for (let steps = 0; steps < 60; steps += 1) {
    whole = session(steps);
    sent = await one.fit(whole);
    assert.deepEqual(sent, await fitter().fit(whole));
    assert.deepEqual(sent, (await fit(whole, { window: WINDOW })).messages);
    assert.deepEqual(await check({ messages: sent }, { vendor: "openai" }), []);
    changes += JSON.stringify(sent.slice(0, before.length)) === JSON.stringify(before) ? 0 : 1;
    before = sent;
  }
  assert.ok(changes >= 1 && changes <= 12, `${changes} changes`);
  assert.ok(sent.filter((message) => whole.includes(message)).length > sent.length / 2);
  assert.match(Object.values(one.removed).join(" "), /run 0/);
  assert.ok(Object.values(one.removed).includes(await one.recall(Object.keys(one.removed)[0])));
  assert.match(await one.recall("nothing"), /Nothing is kept/);
});
