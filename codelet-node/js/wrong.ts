/** Why nothing came of a call. */
export type Code =
  /** What was asked for does not exist, or cannot be. */
  | "ERR_ARGUMENT"
  /** The input is no conversation that can be read. */
  | "ERR_UNREADABLE"
  /** The input holds several conversations; `conversations` splits it. */
  | "ERR_SEVERAL"
  /** The conversation cannot be written in that form. */
  | "ERR_UNWRITABLE"
  /** There is no build for this platform, or it cannot be loaded. */
  | "ERR_PLATFORM"
  /** A fault of the engine's own. */
  | "ERR_INTERNAL";

/** What every function fails with: a code to branch on, and a message that names the place. */
export class CodeletError extends Error {
  override readonly name = "CodeletError";

  constructor(
    readonly code: Code,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
