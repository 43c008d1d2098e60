/** The messages of pi, which OpenClaw has, too. */

import { Conversion, Item, RECALL } from "./fitter.js";
import { assistant, Call, callsOf, dataUrl, partsOf, result, Said, textOf, user } from "./items.js";

/** A message, as far as it is looked at. */
export interface PiMessage {
  role: string;
}

/** How such messages are written for the engine. What an item cannot hold is taken from the message of the same call, or of the same role. */
export function piMessages(): Conversion<PiMessage> {
  const seen = new Map<string, Item>();
  const dump = (message: PiMessage): Item[] => {
    const { role, content, toolCallId }: Item = message;
    seen.set(role, message);
    if (role === "toolResult") {
      seen.set(toolCallId, message);
      return [result(toolCallId, textOf({ content }))];
    }
    if (role !== "assistant") return [user(said(message))];
    const calls: Call[] = content
      .filter((part: Item) => part.type === "toolCall")
      .map((part: Item) => ({ ...part, input: part.arguments }));
    for (const { id } of calls) seen.set(`call ${id}`, message);
    const texts: Item[] = content.filter((part: Item) => part.type === "text");
    return [assistant(textOf({ content: texts }), calls)];
  };
  const load = (item: Item): PiMessage => {
    const parts = partsOf(item).map((part) => ("text" in part ? { type: "text", text: part.text } : picture(part.url)));
    const calls = callsOf(item);
    const other = seen.get(item.tool_call_id ?? `call ${calls[0]?.id}`) ?? seen.get(item.role);
    if (item.role === "tool")
      return {
        toolName: "tool",
        isError: false,
        timestamp: 0,
        ...other,
        role: "toolResult",
        toolCallId: item.tool_call_id,
        content: parts,
      } as PiMessage;
    if (item.role === "user") return { role: "user", content: parts, timestamp: other?.timestamp ?? 0 } as PiMessage;
    const old = (id: string): Item => other?.content.find((part: Item) => part.id === id) ?? { type: "toolCall", id };
    return {
      ...other,
      role: "assistant",
      content: [...parts, ...calls.map(({ id, name, input }) => ({ ...old(id), name, arguments: input }))],
    } as PiMessage;
  };
  return { form: "openai", dump, load };
}

/** What stands in the place of a user's words: theirs, or those of the host. */
function said({ content, summary, command, output }: Item): Said[] {
  if (Array.isArray(content))
    return content.map((part) => (part.type === "image" ? { url: dataUrl(part.mimeType, part.data) } : { text: part.text ?? "" }));
  return [{ text: content ?? summary ?? `Ran \`${command}\`\n${output}` }];
}

function picture(url: string): Item {
  const [, mimeType, data] = /^data:([^;]*);base64,(.*)$/s.exec(url) ?? [];
  return { type: "image", mimeType, data };
}

/** The tool `recall`, which answers what `recall` does. */
export function recallTool(recall: (handle: string) => Promise<string>) {
  const execute = async (_: string, { handle }: { handle: string }) => ({
    content: [{ type: "text", text: await recall(handle) }],
    details: {},
  });
  const parameters = { type: "object", properties: { handle: { type: "string" } }, required: ["handle"] };
  return { name: "recall", label: "Recall", description: RECALL, parameters, execute };
}
