"""The icon, drawn by rule: a heatmap of nodes by hours with one fault and one hole."""

import struct
import zlib

_SIZE = 512  # pixels a side: what Claude Desktop and the plugin directory ask for
_CELLS = 4
_GAP = 24
_GROUND, _SEEN = (24, 28, 36), (64, 150, 108)
_FAULT, _HOLE = (214, 72, 60), (24, 28, 36)
_COLOURS = {(2, 1): _FAULT, (1, 2): _HOLE, (1, 3): _HOLE}
_EDGE = (96, 104, 118)


def icon_png() -> bytes:
    """Return the icon as PNG; the same bytes every time."""
    rows = b"".join(b"\0" + bytes(_row(y)) for y in range(_SIZE))
    head = struct.pack(">IIBBBBB", _SIZE, _SIZE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    )


def _row(y: int) -> list[int]:
    return [channel for x in range(_SIZE) for channel in _pixel(x, y)]


def _pixel(x: int, y: int) -> tuple[int, int, int]:
    step = (_SIZE - _GAP) // _CELLS
    column, row = (x - _GAP) // step, (y - _GAP) // step
    across, down = (x - _GAP) % step, (y - _GAP) % step
    inside = x >= _GAP and y >= _GAP and column < _CELLS and row < _CELLS
    if not inside or across >= step - _GAP or down >= step - _GAP:
        return _GROUND
    colour = _COLOURS.get((row, column), _SEEN)
    at_edge = min(across, down) < 6 or max(across, down) >= step - _GAP - 6
    return _EDGE if colour is _HOLE and at_edge else colour


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)
