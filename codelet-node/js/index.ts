/**
 * Keeps the conversations of coding agents small, valid and faithful, without a model call.
 *
 * Every function works on one of libuv's threads, so the event loop goes on, and rejects with a `CodeletError`.
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

/** What was found and done. */
export interface Report {
  /** The form of the input. */
  format: string;
  tokens: { before: number; after: number };
  messages: { before: number; after: number };
  bytes: { before: number; after: number };
  turns: { total: number; kept: number; summarised: number };
  removed: { handle: string; tool: string | null; bytes: number }[];
  warnings: string[];
  [more: string]: unknown;
}

/** What is left of a conversation. */
export interface Result<M = Item> {
  /** The result as JSON, in the form that was asked for. */
  readonly text: string;
  /** The result, parsed: a request, or a list of messages where a list was given. */
  readonly request: unknown;
  /** The messages of the result; none where its form has no such list. */
  readonly messages: M[];
  readonly report: Report;
  /** What left the conversation: the whole text behind each handle. */
  readonly removed: Record<string, string>;
}

/** How a conversation is read. */
export interface ReadOptions {
  /** The form of the input, one of `formats()`. By default it is found out. */
  form?: string;
  /** Go on although less than nine tenths of the messages could be read. */
  force?: boolean;
}

/** How small a conversation is to be. With neither budget nor window its older part becomes a record, as short as it can be told. */
export interface CompactOptions extends ReadOptions {
  /** How large it may be, in tokens. */
  budget?: number;
  /** Make it as small as a session with a context window of so many tokens would, and only if that is due. */
  window?: number;
  /** The form of the result. By default that of the input, or `anthropic` where that is only read. */
  to?: string;
  /** A sentence for the summary that tells the model how to read back what a handle stands for. */
  readingBack?: string;
}

const READ = ["form", "force"] as const;
const COMPACT = ["budget", "window", "to", "readingBack", ...READ] as const;

/** Makes a conversation smaller. */
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

/** What fills a conversation: tokens by kind and by tool, its largest items, repeats, what is out of date, turns and anchors. */
export async function inspect(conversation: Conversation, options: ReadOptions & { largest?: number } = {}): Promise<Item> {
  const { form = "auto", force = false, largest = 100 } = known(options, ["largest", ...READ]);
  return JSON.parse(await outcome((engine) => engine.inspect(bytes(conversation), form, force, count("largest", largest))));
}

/** A place of a request, and the rule that it breaks. */
export interface Fault {
  place: string;
  sentence: string;
}

/** Where a request breaks its vendor's rules; empty where it would be taken. `vendor`: `anthropic`, `openai`, `responses` or `gemini`. */
export async function check(request: Conversation, options: { vendor?: string } = {}): Promise<Fault[]> {
  const { vendor = "auto" } = known(options, ["vendor"]);
  return outcome((engine) => engine.check(bytes(request), vendor));
}

/**
 * The text that a handle stands for, or `undefined` where there is no such handle. A whole marker may be given in its place.
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
    throw new CodeletError("ERR_ARGUMENT", `expected a result or what it has removed, not ${String(removed)}`);
  }
  if (Object.hasOwn(removed, handle)) return removed[handle];
  return (await outcome((engine) => engine.restore(removedLines(removed), handle))) ?? undefined;
}

/** How a session is played again. */
export interface ReplayOptions extends ReadOptions {
  /** The model's context window in tokens; 200,000 by default. */
  window?: number;
  /** A model whose prices count. */
  prices?: string;
  /** The ways of editing; by default the usual ones. */
  policies?: string | readonly string[];
}

/** What a session would have cost under other ways of editing its history, for each policy in dollars, tokens and cache breaks. */
export async function replay(conversation: Conversation, options: ReplayOptions = {}): Promise<Item> {
  const { window = 200_000, prices, policies = [], form = "auto", force = false } = known(options, ["window", "prices", "policies", ...READ]);
  const asked = { window: count("window", window), ...(prices !== undefined && { prices }), policies: [policies].flat(), form, force };
  return JSON.parse(await outcome((engine) => engine.replay(bytes(conversation), asked)));
}

/** What `fit` returns: what is to be sent, and what is not. */
export interface Fitted<M> {
  messages: M[];
  removed: Record<string, string>;
}

/** What is sent of a vendor's messages, so that they keep within a window: see `Fitter`. `isDue`: edit now, however full it is. */
export async function fit<M extends object>(
  messages: readonly M[],
  options: Room & { form?: string; isDue?: boolean },
): Promise<Fitted<M>> {
  const { form = "openai", isDue = false, ...room } = known(options, [...ROOM, "form", "isDue"]);
  const fitter = new Fitter(room, asTheyAre<M>(form));
  return { messages: await fitter.fit(messages, { isDue }), removed: fitter.removed };
}

/** The conversations of a data set (one a line, or the items of a list); the text itself where it holds one. */
export async function conversations(text: string | Uint8Array): Promise<Uint8Array[]> {
  return outcome((engine) => engine.conversations(bytes(text)));
}

/** A form of conversations: whether it is written, and what it is. */
export interface Form {
  name: string;
  isWritten: boolean;
  description: string;
}

/** The forms of conversations that are read. */
export function formats(): Form[] {
  return native().formats();
}

/** The version of the engine. */
export function version(): string {
  return native().version();
}

/** Where the messages stand in a request. */
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

/** The report of a conversation without a message. */
function nothing(format: string): Report {
  const none = { before: 0, after: 0 };
  const turns = { total: 0, kept: 0, summarised: 0 };
  return { format, tokens: none, messages: none, bytes: none, turns, removed: [], warnings: [] };
}
