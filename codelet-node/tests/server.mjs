/** A provider on loopback that speaks Anthropic's interface and follows a script: it calls a tool until it has seen enough. */

import { createServer } from "node:http";
import { once } from "node:events";

/**
 * Serves until it is closed. `script` says what is called at a step, in an answer to these messages: a tool and its input, or nothing at
 * the end. Its `requests` are the bodies that offer the tool `offered`; any other, such as one for a title or a summary, is among
 * `others` and is answered in the words that `say` has for it.
 */
export async function serve(offered, script, say = () => "A summary.") {
  const [requests, others] = [[], []];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (request.method !== "POST" || !request.url.includes("/messages") || request.url.includes("count_tokens")) {
      response.writeHead(404).end("{}");
      return;
    }
    const body = JSON.parse(text);
    const isStep = body.tools?.some(({ name }) => name === offered) ?? false;
    (isStep ? requests : others).push(body);
    const call = isStep ? script(requests.length - 1, body.messages) : undefined;
    const words = isStep ? "done" : say(body);
    answer(response, body, call ? { type: "tool_use", id: `toolu_${requests.length}`, ...call } : { type: "text", text: words });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { requests, others, address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

let answers = 0;

function answer(response, { model, stream, ...body }, content) {
  const input_tokens = Math.round(JSON.stringify(body).length / 4);
  const usage = { input_tokens, output_tokens: 10, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  answers += 1;
  const message = { id: `msg_${answers}`, type: "message", role: "assistant", model, stop_sequence: null, usage };
  const stop_reason = content.type === "tool_use" ? "tool_use" : "end_turn";
  if (!stream) {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ...message, content: [content], stop_reason }));
    return;
  }
  const isCall = content.type === "tool_use";
  const delta = isCall
    ? { type: "input_json_delta", partial_json: JSON.stringify(content.input) }
    : { type: "text_delta", text: content.text };
  const events = [
    { type: "message_start", message: { ...message, content: [], stop_reason: null } },
    { type: "content_block_start", index: 0, content_block: isCall ? { ...content, input: {} } : { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 10 } },
    { type: "message_stop" },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}
