/** The reason of an error. */
export type Code =
  /** An argument or option is invalid. */
  | "ERR_ARGUMENT"
  /** The input is not a conversation that can be read. */
  | "ERR_UNREADABLE"
  /** The input contains several conversations; `conversations` splits it. */
  | "ERR_SEVERAL"
  /** The conversation cannot be written in that format. */
  | "ERR_UNWRITABLE"
  /** There is no build for this platform, or it cannot be loaded. */
  | "ERR_PLATFORM"
  /** An internal error of the engine. */
  | "ERR_INTERNAL";

/** The error of every function: a code, and a message that names the place. */
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
