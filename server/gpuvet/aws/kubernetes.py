"""A cluster's Kubernetes API through the door: whole lists, cut down to what is read of them."""

from collections.abc import Mapping
from typing import Any

from gpuvet.aws.answers import with_value
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.kubernetes_answers import page_of_list
from gpuvet.aws.kubernetes_reads import KUBERNETES_READS
from gpuvet.aws.reads import KUBERNETES
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.untyped import object_at, text_at

# Ours: a cluster of thousands of nodes has as many pods again of every DaemonSet.
MOST_OBJECTS = 50_000


def read_objects(door: AwsDoor, cluster: str, name: str) -> Envelope[tuple[Mapping[str, Any], ...]]:
    """Return every object of one list.

    A recorded list may be the API's own, uncut: it is cut down here as the live door does it.

    Args:
        door: The AWS door.
        cluster: The EKS cluster.
        name: ListNodes, ListPods, ListEvents or ListHyperPodPyTorchJobs.
    """
    kind = KUBERNETES_READS[name].kind
    answer = door.read(f"{KUBERNETES}:{name}", {"cluster": cluster})
    if answer.value is None:
        return with_value(answer, () if answer.status.is_complete else None)
    items = tuple(one for page in answer.value for one in page_of_list(page, kind)["items"])
    last = answer.value[-1]
    goes_on = text_at(object_at(last, "metadata"), "continue") is not None
    if (goes_on or len(items) > MOST_OBJECTS) and answer.status is Status.OK:
        update = {"status": Status.PARTIAL, "reason": Reason.PAGE_CAP}
        return with_value(answer, items[:MOST_OBJECTS]).model_copy(update=update)
    return with_value(answer, items)
