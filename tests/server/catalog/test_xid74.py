"""Xid 74: bits of the meaningful registers, each with its verdict."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.catalog.xid74 import (
    MEANINGFUL_REGISTERS,
    OnRepeat,
    RegisterBit,
    RegisterKind,
    decode_registers,
    register_bits,
)
from gpuvet.model.verdict import Verdict


def test_42_bits_are_listed_all_in_meaningful_registers() -> None:
    assert len(register_bits()) == 42
    assert {register for register, _ in register_bits()} == set(MEANINGFUL_REGISTERS)


def test_a_known_bit_reads_as_a_whole_value() -> None:
    assert decode_registers([0, 0, 0x10000, 0, 0, 0, 0]) == (
        RegisterBit(
            register_number=3,
            bit=16,
            kind=RegisterKind.DIAGNOSE_IF_REPEATED,
            meaning="run diagnostics when it repeats",
            first_verdict=Verdict.REBOOT,
            on_repeat=OnRepeat.RECURS,
            source="nvidia_catalog(2025-09-30)",
        ),
    )


@pytest.mark.parametrize(
    ("registers", "expected"),
    [
        pytest.param([0x10, 0, 0, 0, 0, 0, 0], [("ecc_parity", "REBOOT")], id="ECC or parity"),
        pytest.param(
            [0x10002, 0, 0, 0, 0, 0, 0],
            [("secondary", "UNVERIFIED"), ("connection", "REBOOT")],
            id="secondary beside a connection fault",
        ),
        pytest.param([0x800001, 0, 0, 0, 0, 0, 0], [("ignorable", "MONITOR")] * 2, id="ignorable"),
        pytest.param(
            [0, 0, 0, 0x40000, 0, 0, 0], [("secondary_reset", "REBOOT")], id="fabric reset"
        ),
        pytest.param(
            [0, 0, 0, 0, 0x100000, 0, 0], [("ecc_limit", "MONITOR")], id="corrected limit"
        ),
        pytest.param([0x4, 0, 0, 0, 0, 0, 0], [("unlisted", "UNVERIFIED")], id="unlisted bit"),
        pytest.param([0, 0xFFFFFFFF, 0, 0, 0, 0x1, 0x1], [], id="registers without meaning"),
        pytest.param([0] * 7, [], id="nothing set"),
        pytest.param([0x10], [("ecc_parity", "REBOOT")], id="cut after one register"),
    ],
)
def test_each_set_bit_has_a_verdict(registers: list[int], expected: list[tuple[str, str]]) -> None:
    found = [(bit.kind.value, bit.first_verdict.value) for bit in decode_registers(registers)]
    assert found == expected


@settings(max_examples=50)
@given(st.lists(st.integers(0, 0xFFFFFFFF), min_size=7, max_size=7))
def test_every_set_bit_of_a_meaningful_register_is_told_once(registers: list[int]) -> None:
    told = {(bit.register_number, bit.bit) for bit in decode_registers(registers)}
    assert len(told) == len(decode_registers(registers))
    for number in MEANINGFUL_REGISTERS:
        value = sum(1 << bit for register, bit in told if register == number)
        assert value == registers[number - 1]
