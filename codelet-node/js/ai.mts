/** Vercel AI SDK: `generateText({ …, prepareStep: fitSteps({ window: 200_000 }).prepareStep })`, and the same in `streamText` and agents. */

import { conversion, type Message } from "./ai-messages.js";
import { Fitter, RECALL, type Room } from "./index.js";

/** What goes into a run, and the tool `recall`, whose `inputSchema` is for the SDK's `jsonSchema`. */
export interface Steps {
  fitter: Fitter<Message>;
  prepareStep: <M extends Message>(step: { messages: M[] }) => Promise<{ messages: M[] }>;
  recall: { description: string; inputSchema: typeof RECALL_INPUT; execute: (input: { handle: string }) => Promise<string> };
}

const RECALL_INPUT = { type: "object", properties: { handle: { type: "string" } }, required: ["handle"] } as const;

/** Fits what the model gets at each step of a run into its context window. Give each conversation one of its own. */
export function fitSteps(room: Room): Steps {
  const fitter = new Fitter<Message>(room, conversion());
  return {
    fitter,
    prepareStep: async ({ messages }) => ({ messages: (await fitter.fit(messages)) as typeof messages }),
    recall: { description: RECALL, inputSchema: RECALL_INPUT, execute: ({ handle }) => fitter.recall(handle) },
  };
}
