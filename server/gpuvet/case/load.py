"""Any path to a case: a folder, an archive, a recording, a verdict case, a scenario, a raw file."""

from datetime import datetime
from pathlib import Path

from gpuvet.case.case import Case
from gpuvet.case.cluster_objects import with_cluster_objects
from gpuvet.case.container import Container
from gpuvet.case.content import LIMITS, Limits
from gpuvet.case.documents import one_document
from gpuvet.case.folder import read_folder
from gpuvet.case.recording import read_recording, recorded_case
from gpuvet.case.scenario import is_scenario, read_scenario
from gpuvet.case.verdict_case import is_verdict_case, read_verdict_case
from gpuvet.model.case import CaseForm
from gpuvet.model.untyped import is_object


def load_case(
    path: Path,
    *,
    question: str | None = None,
    now: datetime | None = None,
    limits: Limits = LIMITS,
) -> Case:
    """Return the case at a path: a recording as the live case it was, files as what they hold.

    The answer a test case expects of itself is never read.

    Args:
        path: A folder, a .zip, a .tar (also packed), or one file; what it is shows in its
            content, not in its name.
        question: The user's words; they replace those of the case.
        now: The clock of a case that has none of its own; the edge passes the real one.
        limits: How much of it is read.

    Raises:
        UnreadableCase: Nothing is there, it is hostile, or no file of it could be read.
        UsageError: The account that was recorded had no such nodes.
    """
    container = Container(path, limits)
    if container.form is CaseForm.FILE:
        document, file, size = one_document(container)
        if is_object(document) and is_scenario(document):
            scenario = read_scenario(document, file=file, size=size, question=question)
            return with_cluster_objects(scenario)
        if is_object(document) and is_verdict_case(document):
            return read_verdict_case(document, file=file, size=size, question=question)
    recorded = read_recording(container)
    if recorded is not None:
        return recorded_case(recorded, question=question)
    return with_cluster_objects(read_folder(container, question=question, now=now))
