"""JSON Schemas of the files of our own case format, generated from the values that read them."""

import json

from gpuvet.model.base import Value
from gpuvet.model.case import CaseHeader, OperatorFacts
from gpuvet.record.heading import Heading

# File names under references/schemas/.
SCHEMAS: dict[str, type[Value]] = {
    "case.schema.json": CaseHeader,
    "operator_facts.schema.json": OperatorFacts,
    "recording.schema.json": Heading,
}


def schema_text(name: str) -> str:
    """Return one schema as it lies in references/schemas/."""
    schema = SCHEMAS[name].model_json_schema()
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(whole, indent=2, sort_keys=True) + "\n"
