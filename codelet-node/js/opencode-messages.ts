/** The messages of opencode. */

import { Conversion, Item } from "./fitter.js";
import { assistant, callsOf, partsOf, result, Said, textOf, user } from "./items.js";

/** A message of opencode's, as far as it is looked at. */
export interface Message {
  info: Item;
  parts: Item[];
}

/** Whether it is no part of a compaction: neither the order, nor the summary, nor the word to go on. */
export function isSaid({ info, parts }: Message): boolean {
  return !info.summary || info.role === "user" ? !parts.every((part) => part.synthetic || part.type === "compaction") : false;
}

/** An answer stands in the message of its call, so that each of these is an item, and a message for a while. */
export function conversion(): Conversion<Message> {
  // What an item cannot hold is taken from the message of the same call, or from the last one of the same role.
  const seen = new Map<string, Message>();
  const dump = (message: Message): Item[] => {
    const { info, parts } = message;
    const tools = parts.filter((part) => part.type === "tool");
    for (const key of [info.role, ...tools.map(({ callID }) => callID)]) seen.set(key, message);
    if (info.role === "user") return [user(parts.flatMap(said))];
    const text = parts
      .filter((part) => part.type === "text")
      .map((part) => part.text)
      .join("\n");
    const calls = tools.map(({ callID, tool, state }) => ({ id: callID, name: tool, input: state.input }));
    return [assistant(text, calls), ...tools.map(({ callID, state }) => result(callID, state.output ?? state.error ?? ""))];
  };
  const load = (item: Item): Message => {
    if (item.role === "tool") return { info: { role: "tool" }, parts: [{ callID: item.tool_call_id, output: textOf(item) }] };
    const calls = callsOf(item);
    const { info, parts } = structuredClone(seen.get(calls[0]?.id ?? item.role) ?? [...seen.values()][0]!);
    const words = partsOf(item).map((part) => ("text" in part ? { type: "text", ...part } : { type: "file", mime: "image/png", ...part }));
    const stateOf = (id: string) => parts.find(({ callID }) => callID === id)!;
    const tools = calls.map(({ id, input }) => ({ ...stateOf(id), state: { ...stateOf(id).state, input } }));
    return { info: { ...info, role: item.role }, parts: [...words, ...tools] };
  };
  return { form: "openai", dump, load };
}

function said(part: Item): Said[] {
  if (part.type === "text") return part.ignored ? [] : [{ text: part.text }];
  if (part.type === "file") return [part.mime.startsWith("image/") ? { url: part.url } : { text: `[${part.filename ?? part.url}]` }];
  return part.type === "compaction" ? [{ text: "What did we do so far?" }] : [];
}

/** The messages, with each answer in that of its call. */
export function joined(messages: Message[]): Message[] {
  return messages.filter(({ info, parts }, at) => {
    if (info.role !== "tool") return true;
    const { callID, output } = parts[0]!;
    const call = messages
      .slice(0, at)
      .findLast((one) => one.info.role !== "tool")
      ?.parts.find((part) => part.callID === callID);
    if (call) call.state = { ...call.state, status: "completed", output, attachments: [] };
    return false;
  });
}
