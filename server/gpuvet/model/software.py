"""Versions of what runs on a node or in a job, as a line names them."""

from enum import StrEnum

from gpuvet.model.events import Record


class Component(StrEnum):
    """What a version is of; the words of the table of least versions, where it has them."""

    CUDA = "CUDA"  # that a job was built with
    CUDA_DRIVER = "CUDA by the driver"  # the newest CUDA that the driver runs
    EFA_INSTALLER = "EFA installer"
    KERNEL = "kernel"


class SoftwareVersion(Record):
    """One version in one line. `node` is empty where a job's output names no node."""

    component: Component
    version: str
    host: str | None = None
