# A loop with one tool on either interface, by the vendor's library as its documents show it.
import json
import sys

import openai

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {"name": "read_file", "description": "Reads a file.", "parameters": SCHEMA}
client = openai.OpenAI()


def read(arguments):
    return open(json.loads(arguments)["path"]).read()


def chat(messages):
    tools = [{"type": "function", "function": TOOL}]
    while True:
        reply = client.chat.completions.create(model="gpt-5.4", tools=tools, messages=messages).choices[0].message
        messages.append(reply)
        if not reply.tool_calls:
            return reply.content
        for call in reply.tool_calls:
            output = read(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output})


def responses(items):
    tools = [{"type": "function", **TOOL}]
    while True:
        with client.responses.stream(
            model="gpt-5.4", tools=tools, input=items, store=False, include=["reasoning.encrypted_content"]
        ) as stream:
            reply = stream.get_final_response()
        items += reply.output
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        for call in calls:
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": read(call.arguments)})


print({"chat": chat, "responses": responses}[sys.argv[1]]([{"role": "user", "content": sys.argv[2]}]))
