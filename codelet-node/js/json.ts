/** What crosses the border as bytes. */

import { CodeletError } from "./wrong.js";

const encoder = new TextEncoder();

/** The bytes of a text, or of the JSON of messages or a request. */
export function bytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string") return encoder.encode(value);
  // JSON makes `{}` of a promise that nobody has awaited, and of a map.
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (kind !== "Object" && kind !== "Array") throw unfit(kind.toLowerCase());
  return encoder.encode(json(value));
}

function unfit(kind: string): CodeletError {
  return new CodeletError("ERR_ARGUMENT", `expected messages, a request, or the text of a session, not ${kind}`);
}

/** The JSON of a value of a conversation. */
export function json(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new CodeletError("ERR_ARGUMENT", `a conversation must be JSON: ${(cause as Error).message}`, { cause });
  }
  if (text === undefined) throw unfit(typeof value);
  return text;
}

/** What was removed, as `codelet compact --removed` writes it. */
export function removedLines(removed: Readonly<Record<string, string>>): Uint8Array {
  return bytes(
    Object.entries(removed)
      .map(([handle, content]) => `${json({ handle, content })}\n`)
      .join(""),
  );
}

/** A number of tokens or items that somebody asks for. */
export function count(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new CodeletError("ERR_ARGUMENT", `${name} must be a whole number of at least 0, not ${String(value)}`);
}
