/** What a host sends of a conversation that it holds whole. */

import { bytes, count, json, removedLines } from "./json.js";
import { outcome } from "./native.js";
import { options } from "./options.js";
import { CodeletError } from "./wrong.js";

/** What a host may tell its model of the tool that `Fitter.recall` is. */
export const RECALL = "Returns the whole text that a marker in the conversation stands for. handle: the six characters in the marker.";

/** The sizes that decide when a conversation is edited. */
export interface Room {
  /** The model's context window in tokens, less what its reply may take. */
  window: number;
  /** An estimate in tokens of what each request holds beside its messages, such as definitions of tools. */
  overhead?: number;
  /** The model has a tool `recall`, which calls `Fitter.recall`. */
  offersRecall?: boolean;
}

/** The names of these sizes. */
export const ROOM = ["window", "overhead", "offersRecall"] as const;

/** How a host's messages are written in the form of a vendor, and back. */
export interface Conversion<M> {
  /** That of the items: `openai`, `responses`, `anthropic` or `gemini`. */
  form: string;
  /** The items that a message is. */
  dump(message: M): readonly object[];
  /** The message that an item is. */
  load(item: Item): M;
}

/** An item of a vendor's list of messages. */
export type Item = { [field: string]: any };

/**
 * Keeps the conversations of a host within a context window.
 *
 * What is sent is a function of the conversation alone: it changes only where the window is full, extends what was sent before elsewhere,
 * and is the same in another process. A host may keep the result in place of the conversation, or bring all of it again.
 */
export class Fitter<M> {
  /** What is not sent any more: the whole text behind each handle. */
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

  /** What is to be sent: messages as they are, and new ones in place of others. `isDue`: edit now, however full the window is. */
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

  /** The text behind a handle, or a sentence that says that there is none: what a tool answers. */
  async recall(handle: string): Promise<string> {
    const text = await outcome((engine) => engine.restore(removedLines(this.removed), handle));
    return text ?? `Nothing is kept under ${JSON.stringify(handle)}.`;
  }
}

/** A conversion of messages that are the items of a vendor's list. */
export function asTheyAre<M extends object>(form: string): Conversion<M> {
  return { form, dump: (message) => [message], load: (item) => item as M };
}
