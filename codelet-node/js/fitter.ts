/** Fits the conversation of an agent into its model's context window. */

import { bytes, count, json, removedLines } from "./json.js";
import { outcome } from "./native.js";
import { options } from "./options.js";
import { CodeletError } from "./wrong.js";

/** A description for a tool that calls `Fitter.recall`. */
export const RECALL = "Returns the whole text that a marker in the conversation stands for. handle: the six characters in the marker.";

/** The sizes that decide when a conversation is edited. */
export interface Room {
  /** The model's context window minus the maximum reply, in tokens. */
  window: number;
  /** Estimated tokens of everything else in a request, such as tool definitions. */
  overhead?: number;
  /** The model has a tool `recall` that calls `Fitter.recall`. */
  offersRecall?: boolean;
}

/** The names of these sizes. */
export const ROOM = ["window", "overhead", "offersRecall"] as const;

/** Converts an agent's messages to the format of a provider, and back. */
export interface Conversion<M> {
  /** The format of the items: `openai`, `responses`, `anthropic` or `gemini`. */
  form: string;
  /** Converts a message to items. */
  dump(message: M): readonly object[];
  /** Converts an item to a message. */
  load(item: Item): M;
}

/** An item of a provider's list of messages. */
export type Item = { [field: string]: any };

/**
 * Keeps what an agent sends within a context window.
 *
 * The result depends only on the conversation, so another process gets the same. It is edited only when the window is full; between edits,
 * each result extends the previous one. Pass the whole conversation each time, or continue with the result.
 */
export class Fitter<M> {
  /** The removed texts by handle. */
  readonly removed: Record<string, string> = {};
  readonly #room: Required<Room>;
  readonly #conversion: Conversion<M>;

  constructor(room: Room, conversion: Conversion<M>) {
    const { window, overhead = 0, offersRecall = false } = options(room, ROOM);
    this.#room = { window: count("window", window), overhead: count("overhead", overhead), offersRecall };
    if (typeof conversion?.dump !== "function" || typeof conversion.load !== "function") {
      throw new CodeletError("ERR_ARGUMENT", "a Fitter needs a conversion: { form, dump, load }, or asTheyAre(form)");
    }
    this.#conversion = conversion;
  }

  /** Returns the messages to send: unchanged ones, and new ones that replace others. `isDue`: edit now, even if the window is not full. */
  async fit(messages: readonly M[], how: { isDue?: boolean } = {}): Promise<M[]> {
    const { isDue = false } = options(how, ["isDue"]);
    if (!Array.isArray(messages)) throw new CodeletError("ERR_ARGUMENT", `expected a list of messages, not ${String(messages)}`);
    const { form, dump, load } = this.#conversion;
    const items: string[] = [];
    const owners: number[] = [];
    messages.forEach((message: M, at) => {
      for (const item of dump(message)) {
        items.push(json(item));
        owners.push(at);
      }
    });
    const asked = { form, isDue, ...this.#room };
    const { shown, removed, edits } = await outcome((engine) => engine.fit(bytes(items.join("\n")), asked));
    if (edits === 0) return [...messages];
    for (const { handle, content } of removed) this.removed[handle] = content;
    const counts = new Map<number, number>();
    for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    const sent: M[] = [];
    for (const { start, end, made } of shown) {
      if (made != null) {
        sent.push(load(JSON.parse(made)));
        continue;
      }
      // A message of several items is one again where all of them are there.
      for (let at = start; at < end;) {
        const owner = owners[at]!;
        let last = at;
        while (last < end && owners[last] === owner) last += 1;
        if (counts.get(owner) === last - at) sent.push(messages[owner]!);
        else sent.push(...items.slice(at, last).map((item) => load(JSON.parse(item))));
        at = last;
      }
    }
    return sent;
  }

  /** Returns the removed text of a handle, or a sentence that there is none; meant as the answer of a tool. */
  async recall(handle: string): Promise<string> {
    const text = await outcome((engine) => engine.restore(removedLines(this.removed), handle));
    return text ?? `Nothing is kept under ${JSON.stringify(handle)}.`;
  }
}

/** A conversion for messages that are already in a provider's format. */
export function asTheyAre<M extends object>(form: string): Conversion<M> {
  return { form, dump: (message) => [message], load: (item) => item as M };
}
