# A loop with one tool on the Messages interface, by the vendor's library as its documents show it.
import sys

import anthropic

TOOL = {
    "name": "read_file",
    "description": "Reads a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
client = anthropic.Anthropic()
messages = [{"role": "user", "content": sys.argv[2]}]
while True:
    with client.messages.stream(
        model="claude-sonnet-4-5", max_tokens=8000, tools=[TOOL], messages=messages, cache_control={"type": "ephemeral"}
    ) as stream:
        reply = stream.get_final_message()
    messages.append({"role": "assistant", "content": reply.content})
    calls = [block for block in reply.content if block.type == "tool_use"]
    if not calls:
        print("".join(block.text for block in reply.content if block.type == "text"))
        break
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": open(call.input["path"]).read()} for call in calls
    ]
    messages.append({"role": "user", "content": results})
