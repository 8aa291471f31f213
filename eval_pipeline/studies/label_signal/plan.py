"""The plan of a label signal: what is computed, which checks a claim must pass, and when a track goes on or stops."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eval_pipeline.plan import Count, CountFromZero, Exact, Level, Plan, Section, Share
from eval_pipeline.stats.bootstrap import Ranks
from eval_pipeline.stats.power import Distribution
from eval_pipeline.studies.label_signal.words import CheckName, ClaimKind, DepthName

NotNegative = Annotated[Exact, Field(ge=0)]


class Agreement(Section):
    """Intervals of agreement: items are drawn with all their ratings."""

    level: Level
    resamples: Count
    valid_at_least: Count
    ranks: Ranks


class Scores(Section):
    """Systems' mean scores and their differences.

    `interval` of a difference: Student's over the paired differences, or the percentiles of their bootstrap.
    `unscored` says what the composite of an answer is on which no weighted dimension was scored.
    """

    level: Level
    resamples: Count
    alpha: Level
    power: Level
    distribution: Distribution
    interval: Literal["t", "bootstrap"]
    permutations: Count
    unscored: Literal["undefined", "zero"]


class Drift(Section):
    """Drift is found if the range of the batches' means is significant and reaches a share of the scale."""

    permutations: Count
    alpha: Level
    range_at_least: Share


class Raters(Section):
    """When a rater is flagged; offsets are in levels of a scale that spans three, as 0 to 3 does.

    `evidence`: a rater is flagged where the offset's interval lies beyond the bar, or where the offset itself does.
    A dimension is found to be contested where raters' lasting differences are significant over all dimensions and
    explain a share of the disagreement that is larger by `contested_share` than where they explain least.
    """

    leniency_at_most: NotNegative
    position_at_most: NotNegative
    gold_exact_at_least: Share
    duration_s_at_least: NotNegative
    spread_at_least: NotNegative
    spread_from: Count
    evidence: Literal["shown", "observed"]
    level: Level
    contested_alpha: Level
    contested_share: Share
    permutations: Count


class Triage(Section):
    """Which answers go to the adjudicator: those on which raters lie so far apart, and most urgent first.

    `capacity` is the share of the queue that is resolved. `ties` says what a median between two levels becomes on a
    dimension that is not critical; on a critical one it is the lower level.
    """

    spread_at_least: Count
    critical_spread_at_least: Count
    per_critical: NotNegative
    capacity: Share
    ties: Literal["kept", "half_even"]


class Coverage(Section):
    """Levels of the declared design: adequate with so many items; the list of investments asks for `enough`."""

    adequate: Count
    enough: Count
    failure_rate: Share
    failure_below: Share


class Detection(Section):
    """A planted failure is detected where Cliff's delta of clean against planted answers reaches the bar."""

    planted_at_least: Count
    delta_at_least: Share
    level: Level


class Policy(Section):
    """The thresholds of the checks, for the depths that name this policy."""

    reliability_floor: Share
    reliability_pass: Share
    reliability_firm: Share
    half_width_at_most: Share
    effect_vs_mde: Literal["block", "waived"]
    mde_margin: NotNegative
    marginal_gap_at_most: Share
    balance_at_least: Share
    replication_at_least: NotNegative
    flagged_at_most: Share
    flagged_block_above: Share
    drift: Literal["block", "warn"]
    gap_rate_at_most: Share
    gold_at_least: Share
    gold_block_below: Share

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.reliability_floor <= self.reliability_pass <= self.reliability_firm:
            raise ValueError("reliability_floor <= reliability_pass <= reliability_firm")
        if self.flagged_block_above < self.flagged_at_most:
            raise ValueError("flagged_block_above of flagged_at_most or more")
        return self


class Depth(Section):
    """What a track of a depth may claim, and by which policy."""

    policy: str
    kinds: tuple[ClaimKind, ...]


class Claims(Section):
    """The checks that each kind of claim must pass, and which reliability stands for a composite score.

    `multiplicity` adjusts the p-values of a track's comparisons. `unchecked` is the standing of a claim without checks.
    """

    reliability: Literal["composite", "mean_alpha"]
    multiplicity: Literal["holm", "none"]
    unchecked: Literal["block", "pass"]
    checks: dict[ClaimKind, tuple[CheckName, ...]]


class Decision(Section):
    """When a track is invested in, iterated, held or stopped; the first rule that holds decides.

    `contrast`: the effect and the MDE of one contrast, or the largest of the one and the smallest of the other.
    `gold`: of the worst rater, or the raters' mean. `no_effect`: what an effect of exactly 0 leads to.
    """

    max_dimension_alpha_below: Share
    irreducible_at_least: Share
    gap_rate_high: Share
    structural_alpha_below: Share
    indicators_needed: Count
    pool_bad_above: Share
    gold_competent: Share
    gap_rate_revise: Share
    broken_alpha_below: Share
    sound_alpha_from: Share
    recalibrate_alpha_below: Share
    hold_factor: NotNegative
    contrast: Literal["same", "best_of_each"]
    gold: Literal["worst", "mean"]
    no_effect: Literal["hold", "invest"]
    bridge_items: Count
    recalibration_items: Count
    ratings_each: Count
    usd_per_rating: NotNegative


class Probes(Section):
    """The red team: how a rubric could be gamed, and from where on that is a failure."""

    length_at_most: Share
    length_from: Count
    clean_from: Count
    lazy_at_most: Share
    shortcut_below: Share
    order_flip_gain: Share
    leave_one_out_without_interval: NotNegative
    level: Level


class Attenuation(Section):
    """Two systems on a binary dimension: when a direction is shown, and when agreed and split items contradict."""

    z_direction: NotNegative
    z_warn: NotNegative
    z_power: NotNegative


class Simulated(Section):
    """A rater of the simulated pool; bias and position are in levels of a scale that spans three."""

    id: str
    competence: Share
    bias: Exact
    position: Exact
    speed: Annotated[Exact, Field(gt=0)]
    fatigue: NotNegative


class Simulation(Section):
    """The world in which simulated raters rate; what it comes to says nothing of people."""

    pool: Annotated[tuple[Simulated, ...], Field(min_length=2)]
    offsets: tuple[Exact, ...]
    noise_gain: NotNegative
    contested_gain: NotNegative
    batches: Count
    drift_per_batch: Exact
    gap_flag_contested_share: Share
    gap_flag_chance: Share


class ContestedWorld(Section):
    """Which dimensions count as contested: all, none, or each exchanged for one that is not; no `tracks` are all."""

    name: str
    tracks: tuple[str, ...]
    contested: Literal["all", "none", "exchanged"]


class Sensitivity(Section):
    """The plan's own assumptions, perturbed: worlds, thresholds one at a time, and thresholds together.

    `policy` and `decision` name the fields that are swept; a share of `relative` and the steps of `absolute` are taken
    to either side of each, `whole` for those that count.
    """

    contested: tuple[ContestedWorld, ...]
    random_worlds: CountFromZero
    noise_gains: tuple[NotNegative, ...]
    contested_gains: tuple[NotNegative, ...]
    leave_one_out_batches: Count
    policy: tuple[str, ...]
    decision: tuple[str, ...]
    relative: tuple[Share, ...]
    absolute: tuple[Share, ...]
    whole: tuple[Count, ...]
    bisected_to: Level
    fragile_within: Share
    trajectories: Count
    joint_within: Share
    level: Level


class LabelSignalPlan(Plan):
    """The whole plan."""

    study: Literal["label-signal"]
    agreement: Agreement
    scores: Scores
    drift: Drift
    raters: Raters
    triage: Triage
    coverage: Coverage
    detection: Detection
    policies: dict[str, Policy]
    depths: dict[DepthName, Depth]
    claims: Claims
    decision: Decision
    probes: Probes
    attenuation: Attenuation
    simulation: Simulation
    sensitivity: Sensitivity

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if set(self.depths) != {"exploratory", "pilot", "production"}:
            raise ValueError("depths exploratory, pilot and production")
        if unknown := sorted({depth.policy for depth in self.depths.values()} - set(self.policies)):
            raise ValueError(f"a policy named {unknown[0]!r} among policies")
        if set(self.claims.checks) != {"descriptive", "measurement", "ranking", "release_gate"}:
            raise ValueError("checks for descriptive, measurement, ranking and release_gate claims")
        for section, fields in ((Policy, self.sensitivity.policy), (Decision, self.sensitivity.decision)):
            if unknown := sorted(set(fields) - set(section.model_fields)):
                raise ValueError(f"names of thresholds to sweep, and {unknown[0]!r} is none")
        return self

    def policy_of(self, depth: str) -> Policy:
        """The thresholds for a depth; one that no rule knows counts as exploratory."""
        own = next((one for name, one in self.depths.items() if name == depth), self.depths["exploratory"])
        return self.policies[own.policy]
