"""Files that are there only when they are whole."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def written_aside(path: str) -> Iterator[str]:
    """The name of a file to write, which becomes ``path`` only when all went well."""
    temporary = f"{path}.tmp.{os.getpid()}"
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
