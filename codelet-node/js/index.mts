/** The same for `import`: one copy of everything, whichever way it is loaded. */

export {
  asTheyAre,
  check,
  CodeletError,
  compact,
  conversations,
  fit,
  Fitter,
  formats,
  inspect,
  RECALL,
  replay,
  restore,
  version,
} from "./index.js";
export type {
  Code,
  CompactOptions,
  Conversation,
  Conversion,
  Fault,
  Fitted,
  Form,
  Item,
  ReadOptions,
  ReplayOptions,
  Report,
  Result,
  Room,
} from "./index.js";
