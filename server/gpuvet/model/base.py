"""The one base class of every value."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A value: compared by content, never changed after it is made.

    Frozen is shallow, so fields hold tuples, frozensets or other values, never lists or dicts.
    Strict, so that "79" does not quietly become 79; read JSON text with `model_validate_json`,
    which makes tuples of arrays and times of strings all the same.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_by_name=True, validate_by_alias=True
    )
