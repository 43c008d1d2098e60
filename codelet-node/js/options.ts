/** Checks of options, for callers without types. */

import { CodeletError } from "./wrong.js";

/** Returns the options, or throws if they are not an object or have an unknown name: a misspelled option would do nothing. */
export function options<T extends object>(given: T, known: readonly (keyof T & string)[]): T {
  if (typeof given !== "object" || given === null) {
    throw new CodeletError("ERR_ARGUMENT", `options must be an object, such as { ${known[0]}: … }, not ${String(given)}`);
  }
  const odd = Object.keys(given).find((name) => !known.some((one) => one === name));
  if (odd === undefined) return given;
  throw new CodeletError("ERR_ARGUMENT", `unknown option ${JSON.stringify(odd)}; options: ${known.join(", ")}`);
}
