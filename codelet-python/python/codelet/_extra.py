"""The libraries of other projects that a plug needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str, *, python: str = "") -> Iterator[None]:
    """Names the extra that installs a library, where one is missing. python: the version from which on there is such a library."""
    try:
        yield
    except ModuleNotFoundError as error:
        version = f", with Python {python} or later" if python else ""
        missing = f"module {error.name!r} is missing: run pip install 'codelet-context[{extra}]'{version}"
        raise ModuleNotFoundError(missing, name=error.name, path=error.path) from error
