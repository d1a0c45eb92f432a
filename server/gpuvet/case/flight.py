"""Flight recorder dumps of a case: JSON as it is, pickles by their plain values only."""

from gpuvet.case.documents import Head
from gpuvet.model.network import FlightDump
from gpuvet.parse.flight_recorder import MAX_BYTES, NotPlain, read_flight_dump, read_plain_pickle

_PROTOCOLS = tuple(bytes([0x80, version]) for version in range(2, 6))


def looks_like_pickle(head: Head) -> bool:
    """Say whether a file begins as a pickle of protocol 2 or later does."""
    return head.data.startswith(_PROTOCOLS)


def take_pickle(head: Head, path: str) -> tuple[FlightDump | None, str | None]:
    """Return the dump in a pickle, or why there is none; nothing is ever unpickled."""
    data = head.data + head.rest.read(MAX_BYTES + 1 - len(head.data))
    try:
        found = read_flight_dump(read_plain_pickle(data), path)
    except NotPlain as error:
        return None, str(error)
    return found, None if found else "a pickle of plain values that is no flight recorder's dump"
