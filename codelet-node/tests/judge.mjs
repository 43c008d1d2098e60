/** What has to hold of a run in a host: it calls a tool with a large output until it has seen enough. */

import assert from "node:assert/strict";
import { check } from "codelet";
import { PROMPT, WINDOW } from "./session.mjs";

export const STEPS = 40;

/**
 * Judges the requests of a run, each a vendor's list of messages, by what left them where that can be had. `most` is how many bytes one
 * may have.
 */
export async function judge(sent, removed, vendor, most = WINDOW * 4) {
  sent = sent.map(plain);
  assert.ok(sent.length >= STEPS, `${sent.length} requests`);
  const longest = Math.max(...sent.map((request) => JSON.stringify(request).length));
  assert.ok(longest < most, `${longest} bytes`);
  for (const messages of sent) {
    assert.ok(JSON.stringify(messages).includes(PROMPT));
    assert.deepEqual(await check({ messages, model: "m", max_tokens: 1 }, { vendor }), []);
  }
  const changes = sent.slice(1).filter((after, at) => !begins(after, sent[at])).length;
  assert.ok(changes >= 2 && changes <= STEPS / 4, `${changes} edits`);
  if (removed === undefined) return;
  const whole = Object.values(removed).join("") + JSON.stringify(sent.at(-1));
  for (let step = 0; step < STEPS; step += 1) assert.ok(whole.includes(`run ${step}:`), `run ${step} is lost`);
}

function begins(after, before) {
  return JSON.stringify(after.slice(0, before.length)) === JSON.stringify(before);
}

/** The messages without marks for a cache, which go with the end of each request. */
function plain(messages) {
  return JSON.parse(JSON.stringify(messages, (name, value) => (name === "cache_control" ? undefined : value)));
}

/** A handle that stands in a request. */
export function handleIn(messages) {
  return /recall ([0-9a-z]{6})/.exec(JSON.stringify(messages))?.[1];
}
