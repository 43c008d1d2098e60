"""`codelet compact` as a compactor of the conformance kit: adapter.py:Codelet."""

import json
import os
import subprocess

from compaction_kit.compacted import CompactedContext

# A token is estimated as so many bytes.
BYTES_PER_TOKEN = 4
# The kit counts characters, and fewer of them around each message than an estimate in tokens does: what is left over is given too.
TRIES = 6


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
            messages = self.within(budget_chars)
        self.messages, self.text = messages, shown(messages)
        return CompactedContext(text=self.text, compactor_name=self.name, round_num=round_num)

    def within(self, characters):
        """The largest result that has at most so many characters, or the smallest of all."""
        budget = characters // BYTES_PER_TOKEN
        best = compacted(self.messages, ["--budget", str(budget)])
        if best == self.messages:
            return best
        step = (characters - len(shown(best))) // BYTES_PER_TOKEN
        for _ in range(TRIES):
            if step < 1:
                break
            tried = compacted(self.messages, ["--budget", str(budget + step)])
            if len(shown(tried)) <= characters:
                best, budget = tried, budget + step
                step = min(step, (characters - len(shown(best))) // BYTES_PER_TOKEN)
            else:
                step //= 2
        return best


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
