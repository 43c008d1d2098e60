/** OpenClaw: a plugin whose `register` is `contextEngine()`, and which `plugins.slots.contextEngine` names. */

import { Fitter, type Room } from "./index.js";
import { piMessages, recallTool, type PiMessage } from "./pi-messages.js";

/** The parts of OpenClaw's plugin API that are used. */
interface Api {
  registerContextEngine(id: string, factory: () => any): void;
  registerTool(tool: any): void;
}

/** A session: the share of its budget that is used, and what left it. */
interface Session {
  share: number;
  removed: Record<string, string>;
}

/** Each compaction that is asked for leaves this share of the room that the one before left. */
const TIGHTER = 0.75;

/**
 * Keeps the history within the budget that OpenClaw gives it, or within `window`; the transcript keeps everything. The model gets a tool
 * `recall`. After a compaction, the session's budget stays smaller until the process ends.
 */
export function contextEngine(room: Partial<Room> = {}): (api: Api) => void {
  const sessions = new Map<string, Session>();
  const sessionOf = (id = "") => sessions.get(id) ?? sessions.set(id, { share: 1, removed: {} }).get(id)!;
  const fitterOf = ({ share }: Session, budget: number) =>
    new Fitter<PiMessage>({ offersRecall: true, ...room, window: Math.floor((room.window ?? budget) * share) }, piMessages());
  const engine = {
    info: {
      id: "codelet",
      name: "Codelet",
      ownsCompaction: true,
      acceptedHostParams: [],
      transcriptSemantics: { currentTurnFence: "before-current-turn-entry-v1", turnAdvancementIdempotency: "atomic-idempotent-v1" },
    },
    // What is sent is worked out from the transcript each time: nothing is stored.
    ingest: async () => ({ ingested: false }),
    commitTurn: async () => ({ status: "committed" }),
    assemble: async ({
      sessionId,
      messages,
      tokenBudget = 200_000,
    }: {
      sessionId: string;
      messages: PiMessage[];
      tokenBudget?: number;
    }) => {
      const session = sessionOf(sessionId);
      const fitter = fitterOf(session, tokenBudget);
      const left = await fitter.fit(messages);
      Object.assign(session.removed, fitter.removed);
      return { messages: left, estimatedTokens: Math.ceil(JSON.stringify(left).length / 4) };
    },
    compact: async ({ sessionId, currentTokenCount = 0 }: { sessionId: string; currentTokenCount?: number }) => {
      sessionOf(sessionId).share *= TIGHTER;
      return { ok: true, compacted: true, result: { tokensBefore: currentTokenCount } };
    },
  };
  const toolOf = ({ sessionId }: { sessionId?: string }) =>
    recallTool((handle) => {
      const session = sessionOf(sessionId);
      return Object.assign(fitterOf(session, 0), { removed: session.removed }).recall(handle);
    });
  return (api) => {
    api.registerContextEngine("codelet", () => engine);
    api.registerTool(toolOf);
  };
}
