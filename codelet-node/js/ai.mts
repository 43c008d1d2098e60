/** Vercel AI SDK: `generateText({ …, prepareStep: fitSteps({ window: 200_000 }).prepareStep })`, and the same in `streamText` and agents. */

import { Fitter, RECALL, type Item, type Room } from "./index.js";
import { assistant, callsOf, dataUrl, partsOf, result, textOf, user, type Call, type Said } from "./items.js";

/** A message of the SDK's, as far as it is looked at. */
interface Message {
  role: string;
  content: unknown;
}

/** What goes into a run, and the tool `recall`, whose `inputSchema` is for the SDK's `jsonSchema`. */
export interface Steps {
  fitter: Fitter<Message>;
  prepareStep: <M extends Message>(step: { messages: M[] }) => Promise<{ messages: M[] }>;
  recall: { description: string; inputSchema: typeof RECALL_INPUT; execute: (input: { handle: string }) => Promise<string> };
}

/** What an item cannot hold: the tool of a call, and the part that a file is, by its address. */
interface Seen {
  names: Map<string, string>;
  files: Map<string, Item>;
}

const RECALL_INPUT = { type: "object", properties: { handle: { type: "string" } }, required: ["handle"] } as const;

/** Fits what the model gets at each step of a run into its context window. Give each conversation one of its own. */
export function fitSteps(room: Room): Steps {
  const seen: Seen = { names: new Map(), files: new Map() };
  const fitter = new Fitter<Message>(room, { form: "openai", dump: (message) => dump(message, seen), load: (item) => load(item, seen) });
  return {
    fitter,
    prepareStep: async ({ messages }) => ({ messages: (await fitter.fit(messages)) as typeof messages }),
    recall: { description: RECALL, inputSchema: RECALL_INPUT, execute: ({ handle }) => fitter.recall(handle) },
  };
}

function dump({ role, content }: Message, { names, files }: Seen): Item[] {
  if (typeof content === "string") return [{ role, content }];
  const parts = content as Item[];
  if (role === "tool") return parts.filter((part) => part.type === "tool-result").map((part) => result(part.toolCallId, output(part.output)));
  if (role === "user") return [user(parts.map((part) => said(part, files)))];
  const calls = parts.filter((part) => part.type === "tool-call" && !part.providerExecuted);
  for (const call of calls) names.set(call.toolCallId, call.toolName);
  // What a provider has done itself is told in its own words.
  const others = parts.filter((part) => !calls.includes(part) && !part.type.startsWith("reasoning"));
  const texts = others.map((part) => (part.type === "text" ? part.text : JSON.stringify(part)));
  return [assistant(texts.join("\n"), calls.map((call): Call => ({ id: call.toolCallId, name: call.toolName, input: call.input })))];
}

function said(part: Item, files: Map<string, Item>): Said {
  if (part.type === "text") return { text: part.text };
  const data: unknown = part.image ?? part.data?.data ?? part.data?.url ?? part.data;
  const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
  const text = bytes instanceof Uint8Array ? Buffer.from(bytes).toString("base64") : String(bytes);
  const url = /^(data|https?):/.test(text) ? text : dataUrl(part.mediaType ?? "image/png", text);
  files.set(url, part);
  return { url };
}

function output(output: Item): string {
  if (output.type === "content") return output.value.map((part: Item) => part.text ?? `[${part.mediaType ?? part.type}]`).join("\n");
  return typeof output.value === "string" ? output.value : JSON.stringify(output.value ?? output.reason ?? null);
}

function load(item: Item, { names, files }: Seen): Message {
  if (item.role === "tool") {
    const toolName = names.get(item.tool_call_id) ?? "tool";
    return { role: "tool", content: [{ type: "tool-result", toolCallId: item.tool_call_id, toolName, output: { type: "text", value: textOf(item) } }] };
  }
  const parts = partsOf(item).map((part) => ("text" in part ? { type: "text", text: part.text } : files.get(part.url)));
  if (item.role === "user") return { role: "user", content: parts };
  if (item.role === "system") return { role: "system", content: textOf(item) };
  const calls = callsOf(item).map(({ id, name, input }) => ({ type: "tool-call", toolCallId: id, toolName: name, input }));
  return { role: "assistant", content: [...parts, ...calls] };
}
