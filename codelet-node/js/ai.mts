/** Vercel AI SDK: `generateText({ …, prepareStep: fitSteps({ window: 200_000 }).prepareStep })`, and the same in `streamText` and agents. */

import { conversion, type Message } from "./ai-messages.js";
import { Fitter, RECALL, type Room } from "./index.js";

/** A `prepareStep` function, and the tool `recall`; wrap its `inputSchema` in the SDK's `jsonSchema`. */
export interface Steps {
  fitter: Fitter<Message>;
  prepareStep: <M extends Message>(step: { messages: M[] }) => Promise<{ messages: M[] }>;
  recall: { description: string; inputSchema: typeof RECALL_INPUT; execute: (input: { handle: string }) => Promise<string> };
}

const RECALL_INPUT = { type: "object", properties: { handle: { type: "string" } }, required: ["handle"] } as const;

/** Keeps each step of a run within the model's context window. Use a separate one for each conversation. */
export function fitSteps(room: Room): Steps {
  const fitter = new Fitter<Message>(room, conversion());
  return {
    fitter,
    prepareStep: async ({ messages }) => ({ messages: (await fitter.fit(messages)) as typeof messages }),
    recall: { description: RECALL, inputSchema: RECALL_INPUT, execute: ({ handle }) => fitter.recall(handle) },
  };
}
