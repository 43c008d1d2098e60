/** opencode: a plugin is `export const Codelet = fitSessions({ window: 180_000 })`, in `.opencode/plugin/codelet.js`. */

import { Fitter, RECALL, type Room } from "./index.js";
import { conversion, isSaid, joined, type Message } from "./opencode-messages.js";
import { summarize } from "./summary.js";

/** The function `tool` of `@opencode-ai/plugin`. */
type Tool = { (definition: any): any; schema: { string(): any } };

/** What opencode hands a plugin. */
interface Input {
  client: { session: { messages(of: { path: { id: string } }): Promise<{ data?: unknown }> } };
}

const COPY = "Answer with the conversation history below, word for word, and with nothing else: it is a record of the session already.";

/**
 * Keeps the requests of each session within the model's context window; opencode's database keeps everything. With `tool`, the model can read
 * removed texts. When opencode compacts, the model gets a record of `budget` tokens instead of the conversation, and is told to copy it.
 */
export function fitSessions(room: Room, { tool, budget = 4_000 }: { tool?: Tool; budget?: number } = {}) {
  const fitters = new Map<string, Fitter<Message>>();
  const compacting = new Set<string>();
  const fitterOf = (id: string) => {
    const made = () => new Fitter({ offersRecall: tool !== undefined, ...room }, conversion());
    return fitters.get(id) ?? fitters.set(id, made()).get(id)!;
  };
  const execute = ({ handle }: { handle: string }, { sessionID }: { sessionID: string }) => fitterOf(sessionID).recall(handle);
  return async ({ client }: Input) => ({
    "experimental.chat.messages.transform": async (_: object, { messages }: { messages: Message[] }) => {
      const [first, last] = [messages[0]?.info, messages.at(-1)?.info];
      if (!first || !last) return;
      const { sessionID } = first;
      if (!compacting.delete(sessionID)) {
        messages.splice(0, messages.length, ...joined(await fitterOf(sessionID).fit(messages)));
        return;
      }
      // All that was ever said, so that a second record tells as much as the first one.
      const all = (await client.session.messages({ path: { id: sessionID } })).data as Message[];
      const end = all.findIndex(({ info }) => info.id === last.id);
      const items = all
        .slice(0, end + 1)
        .filter(isSaid)
        .flatMap(conversion().dump);
      const { text, removed } = await summarize(items, budget, tool !== undefined);
      Object.assign(fitterOf(sessionID).removed, removed);
      messages.splice(0, messages.length, { info: { ...first, role: "user" }, parts: [{ type: "text", text }] });
    },
    "experimental.session.compacting": async ({ sessionID }: { sessionID: string }, output: { prompt?: string }) => {
      compacting.add(sessionID);
      output.prompt = COPY;
    },
    ...(tool && { tool: { recall: tool({ description: RECALL, args: { handle: tool.schema.string() }, execute }) } }),
  });
}
