"""`codelet compact` as a compactor of the conformance kit: adapter.py:Codelet."""

import json
import os
import subprocess

from compaction_kit.compacted import CompactedContext

# A token is estimated as so many bytes.
BYTES_PER_TOKEN = 4
# The kit counts characters, and less of them around each message than an estimate in tokens does: so often is the rest given too.
TRIES = 3


class Codelet:
    name = "codelet"

    def __init__(self):
        self.text = None
        self.messages = None

    def compact(self, turns, round_num=1, budget_chars=None):
        # From the second round on, the messages that the round before has written and shown as one text.
        if not (len(turns) == 1 and turns[0].text == self.text):
            self.messages = [{"role": turn.role, "content": turn.text} for turn in turns]
        if budget_chars is None:
            messages = compacted(self.messages, [])
        else:
            budget, messages = budget_chars // BYTES_PER_TOKEN, None
            for _ in range(TRIES):
                tried = compacted(self.messages, ["--budget", str(budget)])
                spare = budget_chars - len(shown(tried))
                if messages is not None and spare < 0:
                    break
                messages = tried
                if spare < BYTES_PER_TOKEN:
                    break
                budget += spare // BYTES_PER_TOKEN
        self.messages, self.text = messages, shown(messages)
        return CompactedContext(text=self.text, compactor_name=self.name, round_num=round_num)


def compacted(messages, options):
    command = [os.environ["CODELET"], "compact", "-", "--from", "openai", "--to", "openai", *options]
    request = json.dumps({"model": "any", "messages": messages})
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["messages"]


def shown(messages):
    """The text that the kit looks at, in the form in which it writes a conversation."""
    return "\n".join(f"[{message['role']}] {words(message['content'])}" for message in messages)


def words(content):
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)
