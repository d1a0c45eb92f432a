"""The whole error tree.

GpuvetError
├── UsageError            the caller asked for something impossible; the text says what would work
│   ├── BadWindow         a time or a window that cannot be read
│   ├── UnknownNode       a node the case does not have
│   ├── UnknownCode       an Xid or SXid that is not a number
│   ├── UnreadableCase    a case that is missing, hostile or not a case at all
│   └── SpecSyntaxError   a manifest that is not YAML; carries line and column
├── NotReadOnly           an operation outside the list of reads
└── CatalogError          one of our own tables is wrong: a bug

A message has three parts: what was wanted, what is there, what to do.
"""

__all__ = [
    "BadWindow",
    "CatalogError",
    "GpuvetError",
    "NotReadOnly",
    "SpecSyntaxError",
    "UnknownCode",
    "UnknownNode",
    "UnreadableCase",
    "UsageError",
]


class GpuvetError(Exception):
    """Everything this package raises on purpose."""


class UsageError(GpuvetError):
    """The caller asked for something impossible; the text says what would work."""


class BadWindow(UsageError):
    """A time or a window that cannot be read, or that ends before it starts."""


class UnknownNode(UsageError):
    """A node that the evidence does not have."""


class UnknownCode(UsageError):
    """Text that is neither an Xid number nor a driver line."""


class UnreadableCase(UsageError):
    """A case that is missing, hostile, or not a case."""


class SpecSyntaxError(UsageError):
    """A manifest that cannot be read as YAML.

    Attributes:
        line: 1-based line of the fault, or 0 where unknown.
        column: 1-based column of the fault, or 0 where unknown.
    """

    def __init__(self, message: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class NotReadOnly(GpuvetError):
    """An operation that is not on the written list of reads."""


class CatalogError(GpuvetError):
    """A shipped table breaks its own rules: a bug of ours, never of the input."""
