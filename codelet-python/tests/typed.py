"""What type checkers see of it."""

import codelet

result = codelet.compact([{"role": "user", "content": "hello"}], budget=1000)
messages: list[dict[str, object]] = [dict(message) for message in result.messages]
places: list[str] = [fault.place for fault in codelet.check({"messages": messages})]
text: str = codelet.restore(result.removed, "k3f9a2")
whole: str = codelet.restore(result, "k3f9a2")
codelet.replay(bytearray(b"[]"), policies="never")
names: list[str] = [form.name for form in codelet.formats()]
fitter: codelet.Fitter[str] = codelet.Fitter(1000, dump=lambda text: [{"role": "user", "content": text}], load=lambda item: str(item))
sent: list[str] = fitter.fit(["hello"])
