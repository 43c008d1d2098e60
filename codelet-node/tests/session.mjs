/** Each output is larger than a tenth of the window of these tests. */
export const OUTPUT = "most time is spent in skip_blank()\n".repeat(60);
export const WINDOW = 12_000;
export const PROMPT = "Find out why the parser is slow. Never touch vendor/.";

/** A conversation in OpenAI's form. */
export function session(steps) {
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: PROMPT },
  ];
  for (let step = 0; step < steps; step += 1) {
    const call = { id: `call_${step}`, type: "function", function: { name: "look", arguments: JSON.stringify({ step }) } };
    messages.push({ role: "assistant", content: null, tool_calls: [call] });
    messages.push({ role: "tool", tool_call_id: `call_${step}`, content: `run ${step}: ${OUTPUT}` });
  }
  return messages;
}
