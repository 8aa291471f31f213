"""The schema oracle: is an instance valid under a JSON Schema, or invalid, as the claim has it?"""

import re
from typing import Any, cast

from jsonschema import Draft7Validator, SchemaError, validators
from pydantic import Field
from referencing import Registry
from referencing.exceptions import Unresolvable

from eval_pipeline.studies.judge_reliability.oracles.answer import (
    Answer,
    Content,
    Unavailable,
    content_of,
    told,
    untold,
)

_NOTHING_FETCHED: Registry[Any] = Registry()


class SchemaContent(Content):
    """A schema of draft 7, or of the draft that it names; an instance; and whether it is said to be valid."""

    of: Any = Field(alias="schema")
    instance: Any
    expected_valid: bool


def schema_answer(content: Any) -> Answer:
    """Whether the instance is valid or not, as the claim has it; formats are not asserted, and nothing is fetched.

    A schema that cannot be compiled says nothing of any instance: the oracle cannot tell.
    """
    claim = content_of(content, SchemaContent)
    if isinstance(claim, Answer):
        return claim
    if not isinstance(claim.of, (dict, bool)):
        return untold(Unavailable.UNREADABLE, "the schema is neither an object nor a truth value")
    try:
        of_draft = validators.validator_for(claim.of, default=Draft7Validator)
        of_draft.check_schema(cast("dict[str, Any]", claim.of))
        faults = sorted(of_draft(claim.of, registry=_NOTHING_FETCHED).iter_errors(claim.instance), key=str)
    except SchemaError as error:
        return untold(Unavailable.UNREADABLE, f"the schema cannot be compiled: {error.message}")
    except re.error as error:
        return untold(Unavailable.UNREADABLE, f"the schema holds a pattern that cannot be compiled: {error}")
    except Unresolvable as error:
        return untold(Unavailable.UNREADABLE, f"the schema refers to what is not in it: {error}")
    except RecursionError:
        return untold(Unavailable.UNREADABLE, "the schema refers to itself without end")
    said = f"invalid: {faults[0].message}" if faults else "valid"
    return told((not faults) is claim.expected_valid, f"the instance is {said}")
