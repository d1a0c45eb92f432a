"""The job's fields as a JSON Schema, so that editors complete and check while one types."""

from typing import Any

from gpuvet.catalog.job_fields import OBJECTS, OPERATORS, FieldRow

_DRAFT = "http://json-schema.org/draft-07/schema#"  # what YAML language servers read
_OWN_RULES: dict[str, dict[str, Any]] = {
    "apiVersion": {"const": "sagemaker.amazonaws.com/v1"},
    "kind": {"const": "HyperPodPyTorchJob"},
    "nprocPerNode": {"type": "string", "pattern": "^(auto|cpu|gpu|[1-9][0-9]*)$"},
    "metricThreshold": {"type": "integer"},
    "operator": {"enum": list(OPERATORS)},
    "metricEvaluationDataPoints": {"type": "integer", "minimum": 1},
    "replicaIncrementStep": {"type": "integer", "minimum": 1},
}


def job_schema() -> dict[str, Any]:
    """Return the schema of a HyperPodPyTorchJob (draft 7)."""
    return {
        "$schema": _DRAFT,
        "title": "HyperPodPyTorchJob",
        "$ref": "#/definitions/Job",
        "definitions": {name: _object(name) for name in OBJECTS},
    }


def _object(name: str) -> dict[str, Any]:
    rows = OBJECTS[name].values()
    required = [row.name for row in rows if row.required]
    if name == "Job":
        required = ["apiVersion", "kind", "metadata", "spec"]
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {row.name: _property(row) for row in rows},
    }
    return schema | ({"required": required} if required else {})


def _property(row: FieldRow) -> dict[str, Any]:
    schema = dict(_OWN_RULES.get(row.name) or _typed(row.type))
    if row.minimum is not None:
        schema["minimum"] = row.minimum
    if row.choices:
        schema = {"enum": list(row.choices)}
    described = f"{row.about}. " if row.about else ""
    if "$ref" in schema:
        return schema  # draft 7 ignores what stands beside a reference
    return schema | {"description": f"{described}Source: {row.source}"}


def _typed(kind: str) -> dict[str, Any]:
    if kind in OBJECTS:
        return {"$ref": f"#/definitions/{kind}"}
    if kind.startswith("["):
        return {"type": "array", "items": _typed(kind[1:-1])}
    if kind == "text_map":
        return {"type": "object", "additionalProperties": {"type": "string"}}
    if kind == "quantity_map":
        return {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
    named = {"string": "string", "int": "integer", "bool": "boolean"}
    return {"type": named[kind]} if kind in named else {}
