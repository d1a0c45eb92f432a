"""What is loaded is put aside once, and again only when more was loaded."""

import gc
import sys
from collections.abc import Generator
from types import ModuleType

import pytest

from gpuvet.web.heap import Heap


@pytest.fixture(autouse=True)
def as_before() -> Generator[None]:
    yield
    gc.unfreeze()


def test_what_is_loaded_is_put_aside_and_no_longer_looked_at() -> None:
    heap = Heap()
    assert heap.settle() is True
    assert gc.get_freeze_count() > 1_000
    kept = gc.get_freeze_count()
    assert heap.settle() is False
    assert gc.get_freeze_count() <= kept


def test_more_modules_are_put_aside_too(monkeypatch: pytest.MonkeyPatch) -> None:
    heap = Heap()
    heap.settle()
    monkeypatch.setitem(sys.modules, "loaded_by_the_first_call", ModuleType("loaded"))
    assert heap.settle() is True
