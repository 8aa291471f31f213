"""What a check of 20 of 100 entries by people makes of a judge's recall, beside the truth: REALSumm's 17 systems.

The judge is the lexical one: a proposition is recovered if a single signal of its entry supports it. The truth is what
people said of all 100 entries. Each draw takes 20 of these at random as the check, and each estimator says recall, and
recall in quartile 1 less that in quartile 4. Run: python -m benchmarks.correction; a minute or two on two cores.

An interval is meant for the population that the 100 entries come from. The truth here is that of the 100 themselves, of
which a fifth is known and to which the estimates lie nearer: of it a valid interval at 95 % holds more, some 97 %. The
population's own coverage is measured as well, with 100 entries drawn again, with replacement, before each check.

Source of the data: neulab/REALSumm, CC BY 4.0, from ../shared/data.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import judgy
import numpy as np
import numpy.typing as npt

from eval_pipeline.corpus.folder import read_folder
from eval_pipeline.errors import Undefined
from eval_pipeline.judge import lexical
from eval_pipeline.judge.offline import read_labels
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.cluster_share import share_difference, share_interval
from eval_pipeline.stats.corrected_ratio import corrected_contrast
from eval_pipeline.stats.judged_clusters import JudgedClusters, tabulated
from eval_pipeline.stats.pooled_ratio import ratio_contrast
from eval_pipeline.stats.post_stratified import post_stratified_difference, post_stratified_share
from eval_pipeline.stats.prediction_powered import prediction_powered_contrast
from eval_pipeline.studies.extraction.fixture import read_fixture

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
DRAWS, CHECKED, RESAMPLES, SEED = 200, 20, 400, 2024
LEVEL = Fraction(95, 100)
ENDS = [0, 3]  # the first quartile and the last
RAW, PEOPLE, RATIO, JUDGY = "raw judge", "people's 20 alone", "ratio", "judgy"
DIFFERENCE, STRATA = "difference", "judge's verdicts as strata"


@dataclass(frozen=True, slots=True)
class System:
    """What the judge and people said of all entries of a system, by quartile."""

    name: str
    table: JudgedClusters


@dataclass(frozen=True, slots=True)
class Target:
    """What is estimated: the recalls, each times its weight; without quartiles there is one, of all propositions."""

    name: str
    weights: tuple[int, ...]

    def of(self, table: JudgedClusters) -> JudgedClusters:
        """The table with the columns of this target."""
        if len(self.weights) > 1:
            return table
        return JudgedClusters(*(column.sum(axis=1, keepdims=True) for column in table.columns))

    def truth(self, table: JudgedClusters) -> float:
        """What it is in a table of which everything is checked."""
        whole = self.of(table)
        recalls = whole.known_positives.sum(axis=0) / whole.checked.sum(axis=0)
        return float(recalls @ np.array(self.weights))


RECALL, LOSS = Target("recall", (1,)), Target("Q1 - Q4", (1, 0, 0, -1))


@dataclass(frozen=True, slots=True)
class Study:
    """A judged corpus of which some entries were checked, what is asked of it, and the seed of its resamples."""

    table: JudgedClusters
    weights: tuple[int, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Found:
    """An estimate; `interval` is None where the method has none."""

    estimate: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Tally:
    """Over the draws of a system that gave an estimate; shares and widths are None where there is no interval."""

    held: float | None
    error: float
    width: float | None
    undefined: int


Estimator = Callable[[Study], Found]
Tallies = dict[str, list[Tally]]  # of an estimator, by system


def raw(study: Study) -> Found:
    """The judge's verdicts as they are, with the bootstrap over entries."""
    found = ratio_contrast(
        study.table.supported,
        study.table.judged,
        study.weights,
        level=LEVEL,
        tails="two",
        method="percentile",
        resamples=RESAMPLES,
        valid_at_least=RESAMPLES // 2,
        ranks="symmetric",
        rng=np.random.default_rng(study.seed),
    )
    return Found(float(found.estimate), found.interval)


def ratio(study: Study) -> Found:
    """The ratio estimator, which takes the judge to err alike in all quartiles."""
    found = corrected_contrast(
        study.table,
        study.weights,
        errors="pooled",
        level=LEVEL,
        tails="two",
        resamples=RESAMPLES,
        valid_at_least=RESAMPLES // 2,
        ranks="symmetric",
        rng=np.random.default_rng(study.seed),
    )
    return Found(found.estimate, found.interval)


def difference(study: Study) -> Found:
    """The difference estimator, the judge's weight tuned."""
    found = prediction_powered_contrast(study.table, study.weights, trust="tuned", level=LEVEL, tails="two")
    return Found(found.estimate, found.interval)


def people_alone(study: Study) -> Found:
    """People's labels of the checked entries, as if there were no judge."""
    positives, checked = study.table.known_positives, study.table.checked
    if len(study.weights) == 1:
        found = share_interval(positives[:, 0], checked[:, 0], level=LEVEL, tails="two")
    else:
        found = share_difference(positives[:, ENDS], checked[:, ENDS], level=LEVEL, tails="two")
    return Found(found.estimate, found.interval)


def strata(study: Study) -> Found:
    """People's labels of the checked entries within the judge's yes and within its no: what the study decides by."""
    if len(study.weights) == 1:
        found = post_stratified_share(study.table, group=0, level=LEVEL, tails="two")
    else:
        ends = JudgedClusters(*(column[:, ENDS] for column in study.table.columns))
        found = post_stratified_difference(ends, level=LEVEL, tails="two")
    return Found(found.estimate, found.interval)


def by_judgy(study: Study) -> Found:
    """The estimate of judgy, whose test set is the check.

    Its unlabelled verdicts are those of all entries; those of the unchecked alone leave it further off. It has no
    interval for a difference, which here is that of two of its estimates.
    """
    tp, fn, tn, fp = (int(count.sum()) for count in study.table.columns[2:])
    labels, verdicts = np.repeat([1, 1, 0, 0], [tp, fn, tn, fp]), np.repeat([1, 0, 0, 1], [tp, fn, tn, fp])
    yes, asked = study.table.supported.sum(axis=0), study.table.judged.sum(axis=0)
    used = [group for group, weight in enumerate(study.weights) if weight]
    np.random.seed(study.seed)  # noqa: NPY002  # judgy draws from the generator of the process
    try:
        parts = [
            judgy.estimate_success_rate(
                labels,
                verdicts,
                np.repeat([1, 0], [yes[group], asked[group] - yes[group]]),
                bootstrap_iterations=RESAMPLES if len(used) == 1 else 20,  # of a difference nothing but the estimates
                confidence_level=float(LEVEL),
            )
            for group in used
        ]
    except (ValueError, RuntimeError) as refusal:
        raise Undefined(str(refusal)) from None
    estimate = sum(study.weights[group] * part[0] for group, part in zip(used, parts, strict=True))
    return Found(estimate, Interval(parts[0][1], parts[0][2], float(LEVEL)) if len(used) == 1 else None)


ESTIMATORS: dict[str, Estimator] = {
    RAW: raw,
    PEOPLE: people_alone,
    RATIO: ratio,
    JUDGY: by_judgy,
    DIFFERENCE: difference,
    STRATA: strata,
}


def read_systems(folder: Path) -> list[System]:
    """The systems, from the data as the study takes it."""
    convert = DATA / "convert" / "realsumm.py"
    subprocess.run([sys.executable, convert, DATA / "realsumm", folder, "--quartile", "aligned"], check=True)
    propositions = read_fixture(folder / "propositions.jsonl").propositions
    quartiles = [proposition.quartile - 1 for proposition in propositions]
    systems = []
    for own in sorted(path for path in folder.iterdir() if path.is_dir()):
        shutil.copy(folder / "entries.jsonl", own)
        signals, labels = read_folder(own).signals_by_entry, read_labels(own / "human_labels.jsonl").labels
        says = [
            any(lexical.entails([signal.content], proposition.text) for signal in signals.get(proposition.entry_id, ()))
            for proposition in propositions
        ]
        truth = [labels[proposition.entry_id, proposition.text] for proposition in propositions]
        entries = [proposition.entry_id for proposition in propositions]
        systems.append(System(own.name, tabulated(says, np.array(truth, dtype=np.int64), entries, quartiles)))
    return systems


def study_of(table: JudgedClusters, target: Target, rows: npt.NDArray[np.int64], seed: int) -> Study:
    """A study of these entries, of which the first 20 are checked, of a table of which everything is."""
    columns = [column[rows] for column in target.of(table).columns]
    is_checked = (np.arange(len(rows)) < CHECKED)[:, np.newaxis]
    checks = (np.where(is_checked, column, 0) for column in columns[2:])
    return Study(JudgedClusters(columns[0], columns[1], *checks), target.weights, seed)


def tally(estimator: Estimator, studies: Sequence[Study], truth: float) -> Tally:
    """What becomes of an estimator over the draws of a system."""
    found = []
    for study in studies:
        try:
            found.append(estimator(study))
        except Undefined:
            continue
    ends = [(bound(one.interval.low), bound(one.interval.high)) for one in found if one.interval]
    return Tally(
        held=float(np.mean([low <= truth <= high for low, high in ends])) if ends else None,
        error=float(np.mean([abs(one.estimate - truth) for one in found])),
        width=float(np.mean([high - low for low, high in ends])) if ends else None,
        undefined=len(studies) - len(found),
    )


def bound(end: Number | None) -> float:
    """An end of a two-sided interval."""
    assert end is not None
    return float(end)


def of_system(system: System, target: Target, place: int) -> dict[str, Tally]:
    """The tallies of all estimators, and of three of them those over entries that were drawn again."""
    rng = np.random.default_rng([SEED, place])
    entries = len(system.table.judged)
    truth = target.truth(system.table)
    orders = [rng.permutation(entries) for _ in range(DRAWS)]
    again = [rng.integers(0, entries, entries) for _ in range(DRAWS)]
    studies, redrawn = (
        [study_of(system.table, target, rows, seed) for seed, rows in enumerate(draws)] for draws in (orders, again)
    )
    return {name: tally(estimator, studies, truth) for name, estimator in ESTIMATORS.items()} | {
        of_population(name): tally(ESTIMATORS[name], redrawn, truth) for name in (PEOPLE, DIFFERENCE, STRATA)
    }


def of_population(name: str) -> str:
    """The name under which an estimator stands where the entries were drawn again."""
    return f"{name}, of the population"


def measured(systems: Sequence[System], target: Target) -> Tallies:
    """The tallies of each estimator, system by system."""
    with ProcessPoolExecutor(max_workers=2) as pool:
        of_each = list(pool.map(of_system, systems, [target] * len(systems), range(len(systems))))
    return {name: [tallies[name] for tallies in of_each] for name in of_each[0]}


def coverages(tallies: Sequence[Tally]) -> list[float]:
    """How often the interval held the truth, system by system; none where there is no interval."""
    return [one.held for one in tallies if one.held is not None]


def mean_error(tallies: Sequence[Tally]) -> float:
    """The mean absolute error over all systems."""
    return float(np.mean([one.error for one in tallies]))


def mean_width(tallies: Sequence[Tally]) -> float:
    """The mean width over all systems."""
    return float(np.mean([one.width for one in tallies if one.width is not None]))


def shown(share: float) -> str:
    """With three decimals and without the zero before the point."""
    return f"{share:.3f}".removeprefix("0")


def cells(tallies: Sequence[Tally]) -> str:
    """Coverage, error and width of an estimator as cells of a table."""
    undefined = sum(one.undefined for one in tallies)
    error = f"{shown(mean_error(tallies))} ({shown(max(one.error for one in tallies))})"
    refused = f", undefined {undefined}" if undefined else ""
    if not (held := coverages(tallies)):
        return f"none | {error}{refused} | none"
    return f"{shown(float(np.mean(held)))} ({shown(min(held))}) | {error}{refused} | {shown(mean_width(tallies))}"


def table(recall: Tallies, loss: Tallies) -> list[str]:
    """The figures as Markdown."""
    return [
        "| estimator | recall: held (least) | errs by (most) | width"
        " | Q1 - Q4: held (least) | errs by (most) | width |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *(f"| {name} | {cells(recall[name])} | {cells(loss[name])} |" for name in recall),
    ]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, what was found, and whether that is what the sentence says."""

    sentence: str
    found: str
    holds: bool

    def __str__(self) -> str:
        return f"  {'holds' if self.holds else 'does not hold'}: {self.sentence} (found {self.found})"


def claims(target: Target, tallies: Tallies) -> list[Claim]:
    """What is to be true of the estimate that the study decides by."""
    ours, people = tallies[STRATA], tallies[PEOPLE]
    held, mean = coverages(ours), float(np.mean(coverages(ours)))
    widths = mean_width(ours), mean_width(people)
    return [
        Claim(f"the interval holds {target.name} in .93 to .99 of draws", shown(mean), 0.93 <= mean <= 0.99),
        Claim("and in .90 or more for each system", f"{shown(min(held))} at the least", min(held) >= 0.9),
        Claim(
            "its interval is narrower than that of people's 20 alone",
            f"{shown(widths[0])} and {shown(widths[1])}",
            widths[0] < widths[1],
        ),
    ]


def error_claims(recall: Tallies) -> list[Claim]:
    """That recall errs by .035 at most for each system, and by less than the judge does."""
    ours, judge = recall[STRATA], recall[RAW]
    most = max(one.error for one in ours)
    nearer = sum(own.error < other.error for own, other in zip(ours, judge, strict=True))
    return [
        Claim("recall errs by .035 or less for each system", f"{shown(most)} at the most", most <= 0.035),
        Claim("and by less than the raw judge for each", f"{nearer} of {len(ours)}", nearer == len(ours)),
    ]


def main() -> int:
    """Prints the table and what holds; 1 if something that is to hold does not."""
    if not (DATA / "realsumm").exists():
        print(f"the third-party data are not beside the project, at {DATA.resolve()}; nothing was measured")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        systems = read_systems(Path(folder))
    recall, loss = measured(systems, RECALL), measured(systems, LOSS)
    print(f"{len(systems)} systems, {DRAWS} checks of {CHECKED} of {len(systems[0].table.judged)} entries for each.")
    print(
        "How often the 95 % interval holds the truth of these 100 entries (the least of the systems), the mean absolute"
    )
    print(
        "error (the most), the mean width. An interval is meant for the population that the entries come from, so that"
    )
    print("it should hold the truth of these more often than 95 %; the last three rows draw the entries again.\n")
    print("\n".join(table(recall, loss)))
    to_hold = [*claims(RECALL, recall), *error_claims(recall), *claims(LOSS, loss)]
    print("\nThe judge's verdicts as strata, and what is to hold:")
    print("\n".join(map(str, to_hold)))
    return 0 if all(claim.holds for claim in to_hold) else 1


if __name__ == "__main__":
    sys.exit(main())
