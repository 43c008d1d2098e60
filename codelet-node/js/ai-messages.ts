/** The messages of the Vercel AI SDK. */

import { Conversion, Item } from "./fitter.js";
import { assistant, Call, callsOf, dataUrl, partsOf, result, Said, textOf, user } from "./items.js";

/** A message of the SDK's, as far as it is looked at. */
export interface Message {
  role: string;
  content: unknown;
}

/** What an item cannot hold: the tool of a call, and the part that a file is, by its address. */
interface Seen {
  names: Map<string, string>;
  files: Map<string, Item>;
}

/** How such messages are written for the engine, and what it makes for the SDK. */
export function conversion(): Conversion<Message> {
  const seen: Seen = { names: new Map(), files: new Map() };
  return { form: "openai", dump: (message) => dump(message, seen), load: (item) => load(item, seen) };
}

function dump({ role, content }: Message, { names, files }: Seen): Item[] {
  if (typeof content === "string") return [{ role, content }];
  const parts = content as Item[];
  if (role === "tool")
    return parts.filter((part) => part.type === "tool-result").map((part) => result(part.toolCallId, output(part.output)));
  if (role === "user") return [user(parts.map((part) => said(part, files)))];
  const calls = parts.filter((part) => part.type === "tool-call" && !part.providerExecuted);
  for (const call of calls) names.set(call.toolCallId, call.toolName);
  // What a provider has done itself is told in its own words.
  const others = parts.filter((part) => !calls.includes(part) && !part.type.startsWith("reasoning"));
  const texts = others.map((part) => (part.type === "text" ? part.text : JSON.stringify(part)));
  return [
    assistant(
      texts.join("\n"),
      calls.map((call): Call => ({ id: call.toolCallId, name: call.toolName, input: call.input })),
    ),
  ];
}

function said(part: Item, files: Map<string, Item>): Said {
  if (part.type === "text" || part.data?.text !== undefined) return { text: part.text ?? part.data.text };
  const data: unknown = part.image ?? part.data?.data ?? part.data?.url ?? part.data;
  const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
  const isReference = typeof bytes === "object" && !(bytes instanceof URL);
  const text = bytes instanceof Uint8Array ? Buffer.from(bytes).toString("base64") : isReference ? JSON.stringify(bytes) : String(bytes);
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
    return {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: item.tool_call_id, toolName, output: { type: "text", value: textOf(item) } }],
    };
  }
  const parts = partsOf(item).map((part) => ("text" in part ? { type: "text", text: part.text } : files.get(part.url)));
  if (item.role === "user") return { role: "user", content: parts };
  if (item.role === "system") return { role: "system", content: textOf(item) };
  const calls = callsOf(item).map(({ id, name, input }) => ({ type: "tool-call", toolCallId: id, toolName: name, input }));
  return { role: "assistant", content: [...parts, ...calls] };
}
