/** A conversation as one text: what a host keeps of it in place of a summary that a model writes. */

import { Item } from "./fitter.js";
import { compact } from "./index.js";
import { callsOf, textOf } from "./items.js";

/** A text, and what it leaves out. */
export interface Summary {
  text: string;
  removed: Record<string, string>;
}

/**
 * What was said and done, in about so many tokens: prompts, a record of the rest, the last steps. `items` are OpenAI's messages;
 * `offersRecall`: the model has a tool `recall`.
 */
export async function summarize(items: readonly Item[], budget: number, offersRecall = false): Promise<Summary> {
  const said = new Set(items.map((item) => JSON.stringify(item)));
  const readingBack = offersRecall ? "The tool `recall` returns what it leaves out, by its handle." : "";
  const { messages, removed } = await compact(items, { budget, form: "openai", readingBack });
  const kept = messages.filter((item) => item.role !== "system");
  return { text: kept.map((item) => (said.has(JSON.stringify(item)) ? quoted(item) : told(item))).join("\n\n"), removed };
}

/** What somebody said begins with who it was; its other lines stand apart, so that none of them can pose as one of these. */
function quoted(item: Item): string {
  return `${item.role}: ${told(item).replaceAll("\n", "\n  ")}`;
}

function told(item: Item): string {
  const calls = callsOf(item).map(({ name, input }) => `calls ${name} ${JSON.stringify(input)}`);
  return [textOf(item), ...calls].filter((text) => text !== "").join("\n");
}
