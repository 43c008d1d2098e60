/** The addon: what crosses the border between JavaScript and the engine, and which package it is in. */

import { Code, CodeletError } from "./wrong.js";

/** A text that left a conversation. */
export interface Removed {
  handle: string;
  content: string;
}

interface Wrong {
  code: Code;
  message: string;
}

type Promised<T> = Promise<T | Wrong>;

interface Native {
  version(): string;
  formats(): { name: string; isWritten: boolean; description: string }[];
  compact(
    input: Uint8Array,
    options: { budget?: number; window?: number; form: string; to?: string; force: boolean; readingBack: string },
  ): Promised<{ text: string; report: string; removed: Removed[] }>;
  fit(
    lines: Uint8Array,
    options: { form: string; window: number; overhead: number; offersRecall: boolean; isDue: boolean },
  ): Promised<{ shown: { start: number; end: number; made?: string }[]; removed: Removed[]; edits: number }>;
  inspect(input: Uint8Array, form: string, force: boolean, largest: number): Promised<string>;
  check(input: Uint8Array, vendor: string): Promised<{ place: string; sentence: string }[]>;
  replay(
    input: Uint8Array,
    options: { window: number; prices?: string; policies: string[]; form: string; force: boolean },
  ): Promised<string>;
  restore(lines: Uint8Array, asked: string): Promised<string | null>;
  conversations(input: Uint8Array): Promised<Uint8Array[]>;
}

/** The package that holds what was built for this platform. */
export const PACKAGE = `codelet-${process.platform}-${process.arch}`;

let loaded: Native | undefined;

/** The addon, loaded when it is first asked for, so that an import alone never fails. */
export function native(): Native {
  try {
    return (loaded ??= require(PACKAGE) as Native);
  } catch (cause) {
    const why = `codelet has no build for this platform, or it cannot be loaded (${(cause as Error).message})`;
    throw new CodeletError("ERR_PLATFORM", `${why}; install the optional dependency ${PACKAGE}`, { cause });
  }
}

/** What a call comes to, or the error that it is. */
export async function outcome<T>(call: (engine: Native) => Promised<T>): Promise<T> {
  const come = await begun(call);
  if (typeof come === "object" && come !== null && "code" in come) {
    throw new CodeletError(come.code, come.message);
  }
  return come as T;
}

/** Begins a call; what is given in a type that it does not have is the caller's fault. */
function begun<T>(call: (engine: Native) => Promised<T>): Promised<T> {
  const engine = native();
  try {
    return call(engine);
  } catch (cause) {
    if (cause instanceof CodeletError) throw cause;
    throw new CodeletError("ERR_ARGUMENT", `an option has a wrong type: ${(cause as Error).message}`, { cause });
  }
}
