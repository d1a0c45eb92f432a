"""Keeps the collector of garbage from stopping every answer to look at what never is garbage.

Modules, schemas and tables are some hundred thousand objects; a full collection over them takes
tens of milliseconds and finds nothing. Once they are loaded they are put aside.
"""

import gc
import sys


class Heap:
    """What was put aside, and when to do it again."""

    def __init__(self) -> None:
        self._modules = 0

    def settle(self) -> bool:
        """Put aside what is loaded, if something was loaded since the last time."""
        loaded = len(sys.modules)
        if loaded == self._modules:
            return False
        self._modules = loaded
        gc.collect()
        gc.freeze()
        return True
