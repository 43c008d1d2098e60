/** Items of OpenAI's list of messages, in which the plugs hand over what their hosts say. */

import type { Item } from "./fitter.js";

/** A call of a tool. */
export interface Call {
  id: string;
  name: string;
  input: unknown;
}

/** A part of what a user says. */
export type Said = { text: string } | { url: string };

/** What a user says: words, and pictures by their address. */
export function user(parts: readonly Said[]): Item {
  const isText = parts.every((part) => "text" in part);
  if (isText) return { role: "user", content: parts.map((part) => ("text" in part ? part.text : "")).join("\n") };
  const content = parts.map((part) =>
    "text" in part ? { type: "text", text: part.text } : { type: "image_url", image_url: { url: part.url } },
  );
  return { role: "user", content };
}

/** What a model says and calls. */
export function assistant(text: string, calls: readonly Call[]): Item {
  const made = calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } }));
  return { role: "assistant", content: text || null, ...(made.length > 0 && { tool_calls: made }) };
}

/** What a tool answers. */
export function result(id: string, text: string): Item {
  return { role: "tool", tool_call_id: id, content: text };
}

/** The calls of a model's item. */
export function callsOf(item: Item): Call[] {
  const calls: Item[] = item.tool_calls ?? [];
  return calls.map((call) => ({ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) }));
}

/** The parts of an item's content. */
export function partsOf(item: Item): Said[] {
  const content: string | Item[] = item.content ?? "";
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  return content.map((part) => (part.image_url ? { url: part.image_url.url } : { text: part.text ?? JSON.stringify(part) }));
}

/** The words of an item. */
export function textOf(item: Item): string {
  return partsOf(item)
    .map((part) => ("text" in part ? part.text : "[picture]"))
    .join("\n");
}

/** The address that holds a file's bytes. */
export function dataUrl(mediaType: string, base64: string): string {
  return `data:${mediaType};base64,${base64}`;
}
