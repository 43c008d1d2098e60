"""Numbers of tokens, items and threads that somebody asks for."""

from __future__ import annotations

import operator
from typing import overload

from ._codelet import CodeletError


@overload
def count(name: str, value: int) -> int: ...
@overload
def count(name: str, value: int | None) -> int | None: ...
def count(name: str, value: int | None) -> int | None:
    """The number, if there can be so many; the message names the argument."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if not 0 <= number < 1 << 63:
        raise CodeletError(f"{name} must be a whole number of at least 0, not {value!r}")
    return number
