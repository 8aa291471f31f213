"""The JSON Schema of a model or a record, as who writes such a file by hand needs it."""

from fractions import Fraction
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

Schema = dict[str, Any]

_FRACTION = r"^\s*[-+]?(\d+/\d+|(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?)\s*$"
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


class _Untitled(GenerateJsonSchema):
    """Fields without titles, which would only repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  # of whatever field
        """False."""
        return False


def schema_of(kind: Any) -> Schema:
    """The JSON Schema of what a type takes; an exact number is a number, or a text such as "1/5"."""
    found: Schema = TypeAdapter(kind).json_schema(schema_generator=_Untitled, mode="validation")
    _write_out_exact_numbers(found)
    return found


def closed(schema: Schema) -> Schema:
    """The schema of an object that holds all its fields and no others."""
    return schema | {"additionalProperties": False, "required": list(schema["properties"])}


def _write_out_exact_numbers(node: Any) -> None:
    """Puts the pattern of a fraction, and the bounds of an exact number, where a validator looks for them."""
    if isinstance(node, list):
        for item in node:
            _write_out_exact_numbers(item)
    elif isinstance(node, dict):
        named = [name for name in _BOUNDS if not isinstance(node.get(name, {}), dict)]  # a field may be called so too
        bounds = {_BOUNDS[name]: _plain(Fraction(node.pop(name))) for name in named}
        for branch in node.get("anyOf", ()):
            if branch.get("type") == "number":
                branch.update(bounds)
        if node.get("format") == "fraction":
            node["pattern"] = _FRACTION
            del node["format"]
        for item in node.values():
            _write_out_exact_numbers(item)


def _plain(bound: Fraction) -> float:
    return int(bound) if bound.denominator == 1 else float(bound)
