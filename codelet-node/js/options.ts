/** The options of a call, as somebody gives them who has no types. */

import { CodeletError } from "./wrong.js";

/** The options, if they are an object with known names only: one that is misspelt would do nothing. */
export function options<T extends object>(given: T, known: readonly (keyof T & string)[]): T {
  if (typeof given !== "object" || given === null) {
    throw new CodeletError("ERR_ARGUMENT", `options are an object, such as { ${known[0]}: … }; not ${String(given)}`);
  }
  const odd = Object.keys(given).find((name) => !known.some((one) => one === name));
  if (odd === undefined) return given;
  throw new CodeletError("ERR_ARGUMENT", `there is no option ${JSON.stringify(odd)}; known: ${known.join(", ")}`);
}
