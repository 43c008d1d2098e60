/** What `tsc --strict` sees of it. */

import {
  asTheyAre,
  check,
  CodeletError,
  compact,
  fit,
  Fitter,
  formats,
  inspect,
  restore,
  type Code,
  type Fault,
  type Result,
} from "codelet";

interface Message {
  role: "user" | "assistant";
  content: string;
}

const said: readonly Message[] = [{ role: "user", content: "hello" }];
const result: Result<Message> = await compact(said, { budget: 1000 });
const messages: Message[] = result.messages;
const before: number = result.report.tokens.before;
const converted: Result = await compact(said, { to: "anthropic" });
const text: string | undefined = await restore(result.removed, "k3f9a2");
const whole: string | undefined = await restore(result, "k3f9a2");
const faults: Fault[] = await check({ messages });
const names: string[] = formats().map((form) => form.name);
const fitted: Message[] = (await fit(messages, { window: 1000, isDue: true })).messages;
const strings = new Fitter<string>(
  { window: 1000 },
  { form: "openai", dump: (content) => [{ role: "user", content }], load: (item) => String(item.content) },
);
const sent: string[] = await strings.fit(["hello"]);
const same = new Fitter<Message>({ window: 1000, offersRecall: true }, asTheyAre("openai"));
const answer: string = await same.recall("k3f9a2");

// @ts-expect-error: a budget is a number
await compact(said, { budget: "40k" });
// @ts-expect-error: there is no such option
await inspect(said, { budgets: 1 });
// @ts-expect-error: what is converted is no list of the messages that were given
const wrong: Result<Message> = await compact(said, { to: "anthropic" });

try {
  await compact("nothing");
} catch (error) {
  if (error instanceof CodeletError) {
    const code: Code = error.code;
    // @ts-expect-error: there is no such code
    const known: boolean = error.code === "ERR_TYPO";
    console.error(code, known);
  }
}
export { before, converted, text, whole, faults, names, fitted, sent, answer, wrong };
