"""What a closed loop leaves behind: constants that say where they come from, and charts that say whether they hold."""

from datetime import date

import pytest
from pydantic import ValidationError

from eval_pipeline.document import plain_value
from eval_pipeline.loop import Chart, Constant, Power, Signal, dated
from tests.toy_loop import PLAN

WHOLE = Constant("limit", 2.0, script="studies/x.py", computed_on=date(2026, 11, 30), n=100, data="ab")


@pytest.mark.parametrize("missing", ["script", "computed_on", "n", "data"])
def test_a_constant_that_lacks_any_of_its_origin_is_a_heuristic(missing: str) -> None:
    fields = {name: getattr(WHOLE, name) for name in ("name", "value", "script", "computed_on", "n", "data")}
    assert not WHOLE.heuristic
    assert Constant(**(fields | {missing: None})).heuristic


def test_a_day_completes_a_constant_of_which_all_else_is_known_and_no_other() -> None:
    known = Constant("known", 1.0, script="s", n=3, data="ab")
    guess = Constant("guess", 1.0, script="s", n=3)
    plain = [plain_value(one) | {"heuristic": one.heuristic} for one in (known, guess)]
    first, second = dated(plain, date(2026, 11, 30))
    assert (first["computed_on"], first["heuristic"]) == ("2026-11-30", False)
    assert second == plain[1]
    again = dated([first], date(2027, 1, 1))
    assert again == [first]


def test_a_chart_is_stable_if_nothing_calls_for_a_cause_and_unknown_without_limits() -> None:
    calm = Chart("c", "xmr", (1.0, 1.0), 1.0, (0.0, 0.0), (2.0, 2.0), (), 2)
    assert calm.stable is True
    assert Chart("c", "xmr", (1.0, 9.0), 1.0, (0.0, 0.0), (2.0, 2.0), (Signal(1, "beyond_limits"),), 2).stable is False
    assert Chart("c", "xmr", (1.0,), None, (), (), (), 0, "one point").stable is None


def test_power_exceeds_chance_or_the_plan_is_refused() -> None:
    fields = PLAN.power.model_dump()
    with pytest.raises(ValidationError, match="a power above alpha"):
        Power(**(fields | {"power": fields["alpha"]}))
