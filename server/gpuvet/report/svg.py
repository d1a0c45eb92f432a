"""A simulation as an SVG picture: one bar a rule, its states over time."""

from html import escape

from gpuvet.model.log_monitor import RuleOutcome, RuleState, Simulation

_LEFT, _WIDTH, _ROW, _TOP = 220, 760, 28, 56
_COLOURS = {
    RuleState.WAITING: "#c9ced6",
    RuleState.HEALTHY: "#3f9c5a",
    RuleState.SLOW: "#d98a00",
    RuleState.HANGING: "#c0392b",
    RuleState.FAULTED: "#7d1fa3",
    RuleState.STOPPED: "#8fa3b8",
}
_MAX_BARS = 300  # a picture of one rule holds no more changes than can be told apart


def simulation_svg(result: Simulation) -> str:
    """Return the picture; every text in it is escaped, and it loads nothing."""
    height = _TOP + _ROW * len(result.rules) + 60
    end = max(result.end_seconds, 1e-9)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 20}"',
        f'height="{height}" font-family="sans-serif" font-size="13" role="img">',
        f"<title>{_text(f'Log monitors over {result.log}')}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="10" y="24" font-size="15">{_text(_headline(result))}</text>',
    ]
    for row, outcome in enumerate(result.rules):
        parts += _row(outcome, _TOP + row * _ROW, end)
    parts += _axis(result, _TOP + _ROW * len(result.rules), end)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _headline(result: Simulation) -> str:
    trip = result.first_trip
    if trip is None:
        return f"{result.log}: no rule trips in {result.end_seconds:g} s"
    return f"{result.log}: {trip.rule} {trip.state} at {trip.at_seconds:g} s"


def _row(outcome: RuleOutcome, top: int, end: float) -> list[str]:
    parts = [f'<text x="10" y="{top + 17}">{_text(outcome.rule[:30])}</text>']
    steps = [(each.at_seconds, each.state) for each in outcome.timeline[:_MAX_BARS]]
    if outcome.stopped_at_seconds is not None:
        steps.append((outcome.stopped_at_seconds, RuleState.STOPPED))
    bounds = [at for at, _ in steps[1:]] + [end]
    for (start, state), stop in zip(steps, bounds, strict=False):
        x = _LEFT + _WIDTH * min(start / end, 1.0)
        width = max(_WIDTH * min(stop / end, 1.0) - _WIDTH * min(start / end, 1.0), 1.5)
        colour = _COLOURS.get(state, "#000000")
        label = _text(f"{state} from {start:g} s")
        parts.append(
            f'<rect x="{x:.1f}" y="{top + 4}" width="{width:.1f}" height="{_ROW - 10}" '
            f'fill="{colour}"><title>{label}</title></rect>'
        )
    return parts


def _axis(result: Simulation, top: int, end: float) -> list[str]:
    parts = [
        f'<line x1="{_LEFT}" y1="{top + 6}" x2="{_LEFT + _WIDTH}" y2="{top + 6}" stroke="#555"/>'
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LEFT + _WIDTH * share
        parts.append(
            f'<text x="{x:.0f}" y="{top + 24}" text-anchor="middle">{end * share:g} s</text>'
        )
    if result.first_trip is not None:
        x = _LEFT + _WIDTH * min(result.first_trip.at_seconds / end, 1.0)
        parts.append(
            f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{top + 6}" stroke="#c0392b" '
            'stroke-dasharray="4 3"/>'
        )
    return [*parts, *_legend(top + 48)]


def _legend(top: int) -> list[str]:
    parts: list[str] = []
    for column, (state, colour) in enumerate(_COLOURS.items()):
        x = _LEFT + column * 120
        parts.append(f'<rect x="{x}" y="{top - 10}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="{top}">{_text(state.lower())}</text>')
    return parts


def _text(text: str) -> str:
    return escape(text, quote=True)
