"""Between the library's values and Dagster's metadata: what it accepts, and what a value is versioned by."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

import dagster as dg

from assets.io_managers import encoded


def to_meta(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as metadata: fractions as numbers, enums as their text, lists of records as tables; None is left out."""
    return {name: shown for name, value in values.items() if (shown := _shown(value)) is not None}


def _shown(value: Any) -> Any:
    if isinstance(value, dg.MetadataValue):
        return value
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Fraction) or hasattr(value, "item"):
        return _shown(float(value) if isinstance(value, Fraction) else value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        return dg.MetadataValue.table([dg.TableRecord({k: _cell(v) for k, v in row.items()}) for row in value])
    return list(value) if isinstance(value, tuple) else value


def _cell(value: Any) -> Any:
    shown = _shown(value)
    return shown if isinstance(shown, (str, int, float, bool)) else "" if shown is None else str(shown)


def materialized(
    value: Any,
    metadata: Mapping[str, Any],
    *,
    version: str | None = None,
    checks: Sequence[dg.AssetCheckResult] = (),
) -> dg.MaterializeResult[Any]:
    """A value with its metadata, and with its hash as the data version, unless it carries a hash of its own.

    `checks` are the results of those that the asset itself makes.
    """
    data_version = version or hashlib.sha256(encoded(value)[0]).hexdigest()
    return dg.MaterializeResult(
        value=value, metadata=to_meta(metadata), data_version=dg.DataVersion(data_version), check_results=list(checks)
    )
