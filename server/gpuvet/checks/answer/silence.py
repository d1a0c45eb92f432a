"""ANS4: no claim of absence without the hours that could be seen, and never over dark ones."""

from collections.abc import Iterator

from gpuvet.checks.answer.claims import Absence, absences, nodes_of, says_measured, states_hours
from gpuvet.checks.answer.rule import Hit, Reading
from gpuvet.checks.answer.words_of_absence import DARK, HOURS, INSTANCE, UNIVERSAL
from gpuvet.model.verdict import Verdict


def absence_without_hours(reading: Reading) -> Iterator[Hit]:
    """No errors, healthy or clean, without hours seen of hours asked."""
    for absence in absences(reading):
        if not says_measured(absence) and not states_hours(reading, absence):
            message = f"{absence.shown!r} does not say in how many hours it could have been seen"
            yield _hit(absence, message)


def absence_over_dark_hours(reading: Reading) -> Iterator[Hit]:
    """An absence claimed of nodes whose log the evidence could not see in every hour."""
    dark = dark_nodes(reading)
    if not dark:
        return
    for absence in absences(reading):
        nodes = nodes_of(reading, absence)
        over = sorted(nodes & dark.keys()) if nodes else sorted(dark)
        if (
            over
            and not says_measured(absence)
            and states_hours(reading, absence)
            and not _owns_up(reading, absence)
        ):
            shown = ", ".join(f"{node} {dark[node]}" for node in over[:3])
            yield _hit(absence, f"{absence.shown!r} covers hours nobody saw: {shown}")


def hours_not_as_measured(reading: Reading) -> Iterator[Hit]:
    """Hours of a node that are another node's, or turned round."""
    for unit in reading.draft.prose:
        nodes = [n for n in dict.fromkeys(INSTANCE.findall(unit.text)) if n in reading.told.hours]
        if len(nodes) != 1 or len(set(INSTANCE.findall(unit.text))) != 1:
            continue
        hours = reading.told.hours[nodes[0]]
        for match in HOURS.finditer(unit.text):
            if match["n"] is None or "node" in match[0]:
                continue
            pair = (int(match["n"]), int(match["m"]))
            if not _is_of(reading, nodes[0], pair) and reading.backing.has(str(pair[0])):
                message = (
                    f"{nodes[0]}: {hours.measured} of {hours.asked} h were seen, not {match[0]}"
                )
                yield Hit(unit.start + match.start(), match[0], message)


def dark_nodes(reading: Reading) -> dict[str, str]:
    """Return the nodes whose log could not have shown a fault, each with what was seen."""
    dark: dict[str, str] = {}
    for node, verdict in reading.told.verdicts.items():
        if verdict is Verdict.NOT_OBSERVABLE:
            hours = reading.told.hours.get(node)
            dark[node] = f"({hours.measured} of {hours.asked} h seen)" if hours else "(not seen)"
    return dark


def _owns_up(reading: Reading, absence: Absence) -> bool:
    """Say whether the draft says, where it makes the claim, that hours are dark."""
    first = reading.draft.headline[0].block
    is_flat = absence.unit.block == first or UNIVERSAL.search(absence.unit.text) is not None
    near = 0 if is_flat else 1
    return any(
        DARK.search(unit.text) or _states_less(unit.text)
        for unit in reading.draft.prose
        if abs(unit.block - absence.unit.block) <= near
        or (absence.nodes and absence.nodes & set(INSTANCE.findall(unit.text)))
    )


def _states_less(text: str) -> bool:
    return any(m["n"] is not None and m["n"] != m["m"] for m in HOURS.finditer(text))


def _is_of(reading: Reading, node: str, pair: tuple[int, int]) -> bool:
    """Say whether hours of hours are a node's: seen, not seen, or those of one of its streams."""
    hours = reading.told.hours[node]
    if pair in {(hours.measured, hours.asked), (hours.asked - hours.measured, hours.asked)}:
        return True
    return reading.backing.says_of(node, pair)


def _hit(absence: Absence, message: str) -> Hit:
    return Hit(absence.unit.start + absence.start, absence.shown, message)
