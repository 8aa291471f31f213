"""Ratings that people gave, beside what other programs make of them: recipes, and the summaries of REALSumm.

Recipes: 88 people saw 12 of 52 recipes each, in a random order, and rated six dimensions from 1 to 6. Source of the
data: interactive-cookbook/recipe-generation, CC BY 4.0 and Apache-2.0. REALSumm: neulab/REALSumm, CC BY 4.0.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.studies.label_signal.agreement import alphas
from eval_pipeline.studies.label_signal.claims import Claim
from eval_pipeline.studies.label_signal.comparisons import Comparison, comparisons
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.ratings_file import read_ratings
from eval_pipeline.studies.label_signal.rubric import composites
from eval_pipeline.studies.label_signal.study import Studied, study
from eval_pipeline.studies.label_signal.track import RUBRIC, TRACK, Track, read_track

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
CONDITIONS = ["original", "no_context", "context", "dependency", "coref", "coherence", "grammaticality"]
DIMENSIONS = ["grammar", "fluency", "verbosity", "structure", "success", "overall"]
LEVELS = 5  # from 1 to 6


def needs(name: str) -> pytest.MarkDecorator:
    """Skips where the data of that name are not beside the project."""
    needed = [DATA / path for path in (name, f"convert/{name}.py", "expected.json")]
    return pytest.mark.skipif(
        not all(path.exists() for path in needed), reason=f"the third-party data are not beside the project, at {DATA}"
    )


def expected(*path: str) -> Any:
    """What another program found."""
    found = json.loads((DATA / "expected.json").read_text())
    for name in path:
        found = found[name]
    return found


def converted(name: str, out: Path) -> Path:
    """The data in the shapes of the studies."""
    subprocess.run([sys.executable, DATA / "convert" / f"{name}.py", DATA / name, out], check=True)
    return out


def track_of(
    folder: Path, key: str, systems: list[str], dimensions: str, *, replication: int, design: str = ""
) -> Track:
    """A track without items, whose ratings say what was rated."""
    about = f"""\
        key = "{key}"
        title = "{key}"
        depth = "production"
        question = "Which are better?"
        systems = {json.dumps(systems)}
        reference = "{systems[0]}"
        target_items = 52
        replication = {replication}
        gold_rate = 0
        known_limitations = []
        {design}"""
    (folder / TRACK).write_text(about)
    (folder / RUBRIC).write_text(f'key = "{key}"\nname = "{key}"\nrevision = 1\n{dimensions}')
    return read_track(folder)


# Recipes


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory, shipped: LabelSignalPlan) -> Studied:
    """The study of the recipes: systems are compared by the same people, whose ratings could have had any order."""
    folder = tmp_path_factory.mktemp("recipes")
    dimensions = "".join(
        f'[[dimensions]]\nkey = "{key}"\nname = "{key}"\nquestion = "?"\nscale = "ordinal"\n'
        f"levels = [1, 2, 3, 4, 5, 6]\nweight = {int(key == 'overall')}\n"
        for key in DIMENSIONS
    )
    design = '[design]\npair_by = "rater"\ndrift_within = "rater"'
    track = track_of(folder, "recipes", CONDITIONS, dimensions, replication=20, design=design)
    ratings = read_ratings(converted("recipes", folder / "out") / "ratings.jsonl", track)
    return study(track, ratings, (), shipped, assumed_contested=None)


def ranked(studied: Studied, system: str, other: str) -> tuple[Comparison, Claim]:
    """The comparison of two systems, and what is claimed of it."""
    (found,) = [one for one in studied.grounds.comparisons if (one.system, one.other) == (system, other)]
    (claim,) = [one for one in studied.conclusion.claims if one.subject == f"{system} - {other}"]
    return found, claim


def levels(comparison: Comparison) -> list[float]:
    """The effect and the ends of its interval in levels, of the second system less the first."""
    assert comparison.effect is not None
    assert comparison.interval is not None
    assert comparison.interval.low is not None
    assert comparison.interval.high is not None
    ends = (comparison.effect, comparison.interval.high, comparison.interval.low)
    return [-LEVELS * float(end) for end in ends]


@needs("recipes")
def test_every_rating_of_the_recipes_was_read(recipes: Studied) -> None:
    ratings = recipes.ratings
    assert (len(ratings), len(ratings.units), len(ratings.raters)) == (1056, 52, 88)
    assert ratings.batches == tuple(str(place) for place in range(1, 13))
    assert (ratings.source, ratings.unread) == ("people", ())
    assert not recipes.grounds.simulated


@needs("recipes")
@pytest.mark.parametrize("key", DIMENSIONS)
def test_ordinal_agreement_on_the_recipes_is_that_of_another_program_and_as_published(
    recipes: Studied, key: str
) -> None:
    found = recipes.grounds.alphas[key]
    assert found.estimate is not None
    assert round(found.estimate, 6) == expected("agreement", "recipes", key, "alpha_ordinal")
    published = json.loads((DATA / "published.json").read_text())["recipes"]["alpha"][key]
    assert found.estimate == pytest.approx(published, abs=5e-7)
    assert found.interval is not None


@needs("recipes")
def test_the_other_coefficients_of_the_recipes_are_those_of_another_program(recipes: Studied) -> None:
    for one in recipes.details.coefficients:
        number = expected("agreement", "recipes", one.key)
        assert (one.units, one.ratings) == (number["units"], number["ratings"])
        assert one.ac1.estimate == pytest.approx(number["ac1"], abs=5e-7)


@needs("recipes")
@pytest.mark.parametrize(
    ("better", "worse"), [("original", "no_context"), ("no_context", "context"), ("context", "dependency")]
)
def test_differences_of_recipes_within_people_are_those_of_another_program(
    recipes: Studied, shipped: LabelSignalPlan, better: str, worse: str
) -> None:
    """Effect, standard deviation and Student's interval, there with a quantile of 1.987; its MDE is a normal one."""
    number = expected("recipes_gaps_and_drift", "overall", "gaps", f"{better}-{worse}")
    found, _ = ranked(recipes, worse, better)
    assert found.pairs == number["raters"] == 88
    assert levels(found) == pytest.approx([number["mean"], *number["ci95"]], abs=1e-4)
    assert found.sd is not None
    assert found.sd * LEVELS == pytest.approx(number["sd"], abs=5e-5)
    normal = shipped.scores.model_copy(update={"distribution": "normal", "permutations": 1, "resamples": 20})
    scores = composites(recipes.track.rubric, recipes.ratings.scores, unscored="undefined")
    all_found = comparisons(recipes.ratings, scores, recipes.track.about, normal, seed=1)
    (again,) = [one for one in all_found if (one.system, one.other) == (worse, better)]
    assert again.mde is not None
    assert found.mde is not None
    assert again.mde * LEVELS == pytest.approx(number["mde80_two_sided"], abs=5e-5)
    assert again.mde < found.mde < 1.02 * again.mde


@needs("recipes")
def test_that_people_write_better_recipes_by_two_levels_may_be_published(recipes: Studied) -> None:
    found, claim = ranked(recipes, "no_context", "original")
    assert levels(found)[0] == pytest.approx(2.057, abs=5e-4)
    assert claim.publishable
    assert claim.reasons == ()
    assert claim.sentence == "no_context is worse than original by 0.4114 of the scale (2.057 levels), over 88 raters."


@needs("recipes")
def test_that_context_makes_recipes_worse_by_a_third_of_a_level_is_withheld(recipes: Studied) -> None:
    """.290 of .420 levels that could be detected, with an interval from -.005 to .585."""
    found, claim = ranked(recipes, "context", "no_context")
    assert levels(found) == pytest.approx([0.290, -0.005, 0.585], abs=5e-4)
    assert not claim.publishable
    details = {check.name: check.detail for check in claim.reasons}
    assert set(details) == {"effect_vs_mde", "interval_excludes_zero", "multiplicity"}
    assert details["effect_vs_mde"] == "the difference lies below the smallest that could be detected, 0.0840"
    assert details["interval_excludes_zero"] == "the interval of the difference holds or touches zero"


@needs("recipes")
def test_what_nobody_knows_of_the_recipes_is_no_pass_and_blocks_nothing(recipes: Studied) -> None:
    """No design was declared, nothing was adjudicated, and no right scores are known."""
    _, claim = ranked(recipes, "no_context", "original")
    open_checks = {check.name for check in claim.checks if check.standing == "not_applicable"}
    assert open_checks == {"coverage", "rubric_specification", "gold_calibration"}


@needs("recipes")
def test_people_rate_the_last_recipes_as_they_rate_the_first(recipes: Studied) -> None:
    """.003 levels a position on the overall score, and no more on all six together."""
    drift = recipes.grounds.drift
    assert not drift.detected
    assert (len(drift.batches), drift.why) == (12, None)
    assert drift.slope is not None
    assert abs(drift.slope) * LEVELS < 0.02


@needs("recipes")
def test_each_person_could_have_rated_the_recipes_in_any_order(recipes: Studied) -> None:
    """The p-value is that of a test by other means: the 12 ratings of each of 88 people change places at random."""
    ratings, drift = recipes.ratings, recipes.grounds.drift
    table = np.full((88, 12), np.nan)
    table[ratings.rater, ratings.batch] = ((ratings.scores - 1) / LEVELS).mean(axis=1)
    assert drift.range is not None
    assert drift.range == pytest.approx(np.ptp(table.mean(axis=0)))
    rng = np.random.default_rng(5)
    ranges = [np.ptp(rng.permuted(table, axis=1).mean(axis=0)) for _ in range(5000)]
    by_chance = float(np.mean(np.array(ranges) >= drift.range - 1e-12))
    assert drift.p_value is not None
    as_wide = round(drift.p_value * 2001) - 1
    assert binomtest(as_wide, 2000, by_chance).pvalue > 0.01


@needs("recipes")
def test_on_no_dimension_of_the_recipes_people_hold_positions_of_their_own(recipes: Studied) -> None:
    assert [one.key for one in recipes.details.positions] == DIMENSIONS
    assert [one.key for one in recipes.details.positions if one.found] == []
    assert recipes.grounds.contested == ()


# REALSumm


@needs("realsumm")
def test_votes_on_the_summaries_of_seventeen_systems_have_the_agreement_of_another_program(
    tmp_path: Path, shipped: LabelSignalPlan
) -> None:
    """Whether a summary states a content unit, by three or four raters; the converter writes a file for each system."""
    number = expected("realsumm_17_systems")
    out = converted("realsumm", tmp_path / "out")
    folders = sorted(path for path in out.iterdir() if path.is_dir())
    assert len(folders) == 17
    with (tmp_path / "ratings.csv").open("w", encoding="utf-8", newline="") as sink:
        table = csv.DictWriter(sink, ["item_id", "rater_id", "dimension", "value", "system_id"])
        table.writeheader()
        for folder in folders:
            rows = (json.loads(line) for line in (folder / "ratings.jsonl").read_text("utf-8").splitlines())
            table.writerows(row | {"system_id": folder.name} for row in rows)
    dimension = '[[dimensions]]\nkey = "present"\nname = "Present"\nquestion = "?"\nscale = "binary"\nlevels = [0, 1]\n'
    names = [folder.name for folder in folders]
    track = track_of(tmp_path, "realsumm", names, dimension, replication=4)
    ratings = read_ratings(tmp_path / "ratings.csv", track)
    assert (len(ratings.units), list(ratings.raters)) == (number["units"], number["raters"])
    found = alphas(ratings, track.rubric, shipped.agreement, seed=shipped.seed)["present"]
    assert found.estimate is not None
    assert round(found.estimate, 4) == number["krippendorff_alpha_nominal"] == 0.732
    assert found.interval is not None
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert found.interval.low < found.estimate < found.interval.high
    assert found.interval.high - found.interval.low < 0.04
