/**
 * Compacts the conversations of coding agents without a model call.
 *
 * Functions that return a promise work on a thread of libuv, so the event loop is not blocked. They reject with a `CodeletError`.
 */

import { asTheyAre, Conversion, Fitter, Item, RECALL, ROOM, Room } from "./fitter.js";
import { bytes, count, removedLines } from "./json.js";
import { native, outcome } from "./native.js";
import { options as known } from "./options.js";
import { Code, CodeletError } from "./wrong.js";

export { asTheyAre, CodeletError, Fitter, RECALL };
export type { Code, Conversion, Item, Room };

/** A list of messages, a whole request, or the text of a recorded session. */
export type Conversation = readonly object[] | object | string | Uint8Array;

/** Statistics of a compaction. */
export interface Report {
  /** The input format. */
  format: string;
  tokens: { before: number; after: number };
  messages: { before: number; after: number };
  bytes: { before: number; after: number };
  turns: { total: number; kept: number; summarised: number };
  removed: { handle: string; tool: string | null; bytes: number }[];
  warnings: string[];
  [more: string]: unknown;
}

/** A compacted conversation. */
export interface Result<M = Item> {
  /** The result as JSON, in the requested format. */
  readonly text: string;
  /** The parsed result: a request, or a list of messages if a list was given. */
  readonly request: unknown;
  /** The messages of the result; empty if its format has no list of messages. */
  readonly messages: M[];
  readonly report: Report;
  /** The removed texts by handle. */
  readonly removed: Record<string, string>;
}

/** Options for reading a conversation. */
export interface ReadOptions {
  /** The input format, one of `formats()`. Default: detected. */
  form?: string;
  /** Continue even if less than 90 % of the file's content could be read. */
  force?: boolean;
}

/**
 * Options of `compact`. Without `budget` or `window`, everything since the last completed piece of work is kept, and the rest becomes a
 * short record.
 */
export interface CompactOptions extends ReadOptions {
  /** Target size in tokens. */
  budget?: number;
  /** Compact only if a session with a context window of this many tokens would. */
  window?: number;
  /** The output format. Default: the input format, or `anthropic` if that cannot be written. */
  to?: string;
  /** A sentence for the summary that tells the model how to read a removed text by its handle. */
  readingBack?: string;
}

const READ = ["form", "force"] as const;
const COMPACT = ["budget", "window", "to", "readingBack", ...READ] as const;

/** Compacts a conversation. */
export async function compact<M extends object>(messages: readonly M[], options?: CompactOptions & { to?: undefined }): Promise<Result<M>>;
export async function compact(conversation: Conversation, options?: CompactOptions): Promise<Result>;
export async function compact(conversation: Conversation, options: CompactOptions = {}): Promise<Result> {
  const { budget, window, form = "auto", to, force = false, readingBack = "" } = known(options, COMPACT);
  if (Array.isArray(conversation) && conversation.length === 0) return new Compacted("[]", nothing(form), {});
  const asked = {
    ...(budget !== undefined && { budget: count("budget", budget) }),
    ...(window !== undefined && { window: count("window", window) }),
    ...(to !== undefined && { to }),
  };
  const done = await outcome((engine) => engine.compact(bytes(conversation), { ...asked, form, force, readingBack }));
  const removed = Object.fromEntries(done.removed.map(({ handle, content }) => [handle, content]));
  return new Compacted(done.text, JSON.parse(done.report), removed);
}

/** Returns what fills a conversation: tokens by kind and by tool, largest items, repeated texts, outdated reads, turns, completed work. */
export async function inspect(conversation: Conversation, options: ReadOptions & { largest?: number } = {}): Promise<Item> {
  const { form = "auto", force = false, largest = 100 } = known(options, ["largest", ...READ]);
  return JSON.parse(await outcome((engine) => engine.inspect(bytes(conversation), form, force, count("largest", largest))));
}

/** A place in a request and the rule that it breaks. */
export interface Fault {
  place: string;
  sentence: string;
}

/** Returns the places where a request breaks its provider's rules. `vendor`: `anthropic`, `openai`, `responses` or `gemini`; default: by its format. */
export async function check(request: Conversation, options: { vendor?: string } = {}): Promise<Fault[]> {
  const { vendor = "auto" } = known(options, ["vendor"]);
  return outcome((engine) => engine.check(bytes(request), vendor));
}

/**
 * Returns the removed text of a handle, or of a whole marker that contains one; `undefined` if there is no such handle.
 * `removed`: a result, its `removed`, or what `codelet compact --removed` wrote.
 */
export async function restore(
  removed: Result | Readonly<Record<string, string>> | string | Uint8Array,
  handle: string,
): Promise<string | undefined> {
  if (isResult(removed)) return restore(removed.removed, handle);
  if (typeof removed === "string" || removed instanceof Uint8Array) {
    return (await outcome((engine) => engine.restore(bytes(removed), handle))) ?? undefined;
  }
  if (typeof removed !== "object" || removed === null) {
    throw new CodeletError("ERR_ARGUMENT", `expected a result or its removed texts, not ${String(removed)}`);
  }
  if (Object.hasOwn(removed, handle)) return removed[handle];
  return (await outcome((engine) => engine.restore(removedLines(removed), handle))) ?? undefined;
}

/** Options of `replay`. */
export interface ReplayOptions extends ReadOptions {
  /** The model's context window in tokens. Default: 200,000. */
  window?: number;
  /** The model whose prices to use. */
  prices?: string;
  /** The policies to compare. Default: all but `off` and `wishes`. */
  policies?: string | readonly string[];
}

/** Returns what a session would have cost under other context-editing policies: dollars, tokens and cache misses of each. */
export async function replay(conversation: Conversation, options: ReplayOptions = {}): Promise<Item> {
  const { window = 200_000, prices, policies = [], form = "auto", force = false } = known(options, ["window", "prices", "policies", ...READ]);
  const asked = { window: count("window", window), ...(prices !== undefined && { prices }), policies: [policies].flat(), form, force };
  return JSON.parse(await outcome((engine) => engine.replay(bytes(conversation), asked)));
}

/** The result of `fit`: the messages to send, and the removed texts. */
export interface Fitted<M> {
  messages: M[];
  removed: Record<string, string>;
}

/** Returns the messages to send, fitted into a context window; see `Fitter`. `isDue`: edit now, even if the window is not full. */
export async function fit<M extends object>(
  messages: readonly M[],
  options: Room & { form?: string; isDue?: boolean },
): Promise<Fitted<M>> {
  const { form = "openai", isDue = false, ...room } = known(options, [...ROOM, "form", "isDue"]);
  const fitter = new Fitter(room, asTheyAre<M>(form));
  return { messages: await fitter.fit(messages, { isDue }), removed: fitter.removed };
}

/** Splits a data set (one conversation per line, or a list) into its conversations; returns the text itself if it is one conversation. */
export async function conversations(text: string | Uint8Array): Promise<Uint8Array[]> {
  return outcome((engine) => engine.conversations(bytes(text)));
}

/** A format of conversations: its name, whether it can be written, and a description. */
export interface Form {
  name: string;
  isWritten: boolean;
  description: string;
}

/** Returns the formats that can be read. */
export function formats(): Form[] {
  return native().formats();
}

/** Returns the version of the engine. */
export function version(): string {
  return native().version();
}

/** The fields of a request that contain its messages. */
const LISTS = ["messages", "input", "contents", "steps"];

class Compacted implements Result {
  #request: unknown;

  constructor(
    readonly text: string,
    readonly report: Report,
    readonly removed: Record<string, string>,
  ) {}

  get request(): unknown {
    return (this.#request ??= JSON.parse(this.text));
  }

  get messages(): Item[] {
    const request = this.request as Item | Item[];
    const lists = Array.isArray(request) ? [request] : LISTS.map((name) => request[name]);
    return lists.find(Array.isArray) ?? [];
  }
}

function isResult(value: unknown): value is Result {
  return value instanceof Compacted;
}

/** Returns the report of an empty conversation. */
function nothing(format: string): Report {
  const none = { before: 0, after: 0 };
  const turns = { total: 0, kept: 0, summarised: 0 };
  return { format, tokens: none, messages: none, bytes: none, turns, removed: [], warnings: [] };
}
