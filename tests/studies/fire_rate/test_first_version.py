"""The first version's table on its own edges, its contradictions included."""

import pytest
from scipy.stats import beta

from eval_pipeline.studies.fire_rate.first_version import first_decision


@pytest.mark.parametrize(
    ("runs", "fires", "word"),
    [
        (0, 0, "underpowered"),
        (459, 5, "underpowered"),
        (460, 2, "underpowered_run_fallback_K3000"),
        (461, 0, "fallback_unreached_delete_candidate"),
        (461, 1, "investigate_root_cause"),
        (600, 1, "fallback_unreached_delete_candidate"),
        (3000, 19, "fallback_unreached_delete_candidate"),
        (3000, 20, "investigate_root_cause"),
    ],
)
def test_the_table(shipped, runs, fires, word):
    found = first_decision(runs, fires, shipped.first_version)
    assert (found.word, found.runs, found.fires) == (word, runs, fires)
    assert found.upper == pytest.approx(beta.ppf(0.975, fires + 1, runs - fires) if runs else 1.0)


def test_without_a_fire_a_bound_that_is_not_below_the_margin_decides_nothing(shipped):
    strict = shipped.first_version.model_copy(update={"margin": shipped.first_version.margin / 2})
    assert first_decision(460, 0, strict).word == "underpowered"
