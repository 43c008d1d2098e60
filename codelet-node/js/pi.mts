/** pi: an extension is `export default extension({ window: 180_000 })`, in `~/.pi/agent/extensions/codelet.js`. */

import { Fitter, type Item, type Room } from "./index.js";
import { piMessages, recallTool, type PiMessage } from "./pi-messages.js";
import { summarize } from "./summary.js";

/** What is asked of pi. */
interface Pi {
  on(event: any, handler: (event: any) => Promise<any>): unknown;
  registerTool(tool: any): void;
}

/**
 * Keeps requests within the model's context window; the session keeps everything. The model gets a tool `recall`. When pi compacts,
 * the summary is a record of `budget` tokens, written without a model.
 */
export function extension(room: Room, { budget = 8_000 }: { budget?: number } = {}): (pi: Pi) => void {
  return (pi) => {
    const fitter = new Fitter<PiMessage>({ offersRecall: true, ...room }, piMessages());
    pi.registerTool(recallTool((handle) => fitter.recall(handle)));
    pi.on("context", async ({ messages }: { messages: PiMessage[] }) => ({ messages: await fitter.fit(messages) }));
    pi.on("session_before_compact", async ({ preparation, branchEntries }: Item) => {
      const { firstKeptEntryId, tokensBefore } = preparation;
      const end = branchEntries.findIndex((entry: Item) => entry.id === firstKeptEntryId);
      // All that came before, so that a second summary tells as much as the first one.
      const items = branchEntries
        .slice(0, end < 0 ? undefined : end)
        .flatMap(messagesOf)
        .flatMap(piMessages().dump);
      if (items.length === 0) return undefined;
      const { text, removed } = await summarize(items, budget, true);
      Object.assign(fitter.removed, removed);
      return { compaction: { summary: text, firstKeptEntryId, tokensBefore, details: { by: "codelet" } } };
    });
  };
}

function messagesOf(entry: Item): PiMessage[] {
  if (entry.type === "message") return [entry.message];
  return entry.type === "custom_message" || entry.type === "branch_summary" ? [{ ...entry, role: "user" }] : [];
}
