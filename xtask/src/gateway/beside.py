"""Edits requests as another program's library does, in its usual settings: one JSON body a line; an empty line begins a session."""

import json
import logging
import sys

logging.disable(logging.CRITICAL)
name = sys.argv[1]


def cliff(threshold):
    from cliffcompaction.config import Config
    from cliffcompaction.dialects import detect
    from cliffcompaction.engine import Engine

    engine = Engine(Config(threshold_tokens=threshold))
    dialect = detect("/v1/messages")
    return lambda body: engine.prepare(body, dialect).outgoing_body()


def headroom_agent():
    from headroom import compress

    # The mode that it documents for agents, as one that keeps the prompt cache.
    def edit(body):
        result = compress(body["messages"], model="claude-sonnet-4-5-20250929", mode="agent")
        return {**body, "messages": result.messages}

    return edit


def headroom():
    from headroom import compress

    sent = []

    # As it asks of who calls it for a growing conversation: what was sent stays. Its model for texts is left out, which would be downloaded.
    def edit(body):
        nonlocal sent
        messages = body["messages"]
        if len(messages) < len(sent):
            sent = []
        for message in sent:
            for block in message["content"] if isinstance(message["content"], list) else []:
                block.pop("cache_control", None)
        result = compress(
            sent + messages[len(sent) :],
            model="claude-sonnet-4-5-20250929",
            frozen_message_count=len(sent),
            kompress_model="disabled",
        )
        sent = json.loads(json.dumps(result.messages))
        return {**body, "messages": result.messages}

    return edit


makers = {
    "cliffcompaction": lambda: cliff(200_000),
    "cliffcompaction-100k": lambda: cliff(100_000),
    "headroom": headroom,
    "headroom-agent": headroom_agent,
}
out, sys.stdout = sys.stdout, sys.stderr
edit = makers[name]()
out.write("\n")
out.flush()
for line in sys.stdin:
    if not line.strip():
        edit = makers[name]()
        continue
    body = edit(json.loads(line))
    out.write(json.dumps(body, ensure_ascii=False, separators=(",", ":")) + "\n")
    out.flush()
