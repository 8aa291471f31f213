"""Every refusal: one small class each, whose message says what was found, what was expected, and what to do."""

from collections.abc import Sequence

FAULTS_SHOWN = 20


class Refused(Exception):
    """What the house will not go on with; the message is one sentence for the person who can mend it."""


class Malformed(Refused):
    """A file that does not hold what its format promises; carries every fault that was found.

    Args:
        what: the file, and what it should be ("propositions file 'p.jsonl'").
        faults: one clause for each fault, in the order of the file: line, field, found, expected.

    """

    def __init__(self, what: str, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        shown = "; ".join(self.faults[:FAULTS_SHOWN])
        rest = f"; and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(f"{what} has {count}: {shown}{rest}")


class AlertNotDelivered(Refused):
    """A receiver of alerts did not take one."""


class BundleRefused(Refused):
    """A file that was named as a bundle is none, or is damaged."""


class NotVerified(Refused):
    """A run cannot be shown to have come about as it says; the message names the first thing that differs."""


class MalformedFixture(Malformed):
    """The annotators' file breaks its format."""


class MalformedCorpus(Malformed):
    """An exported corpus breaks its format."""


class MalformedLabels(Malformed):
    """A file of human labels breaks its format, or contradicts itself."""


class MalformedJournal(Malformed):
    """A journal that was given to be replayed is not one."""


class MalformedGold(Malformed):
    """A file of a gold set cannot be read, or is not JSON Lines."""


class GoldRefused(Refused, ValueError):
    """A gold tuple breaks a rule of the gold set, so that nothing may be measured against it.

    Args:
        rule: the letter of the rule.
        index: of the tuple, from 0 on; None for a rule of the whole set.
        place: the file and line that it stands on, if it was read.
        what: what was found, and what was expected.

    """

    def __init__(self, rule: str, index: int | None, place: str, what: str) -> None:
        self.rule, self.index = rule, index
        where = "the gold set" if index is None else f"gold tuple {index}{f' ({place})' if place else ''}"
        super().__init__(f"{where} breaks rule ({rule}): {what}")


class MalformedTrack(Malformed):
    """A folder of a track lacks a file, or a file of it breaks its format."""


class MalformedRatings(Malformed):
    """A file of people's ratings breaks its format, or contradicts itself or its track."""


class MalformedAdjudication(Malformed):
    """A worksheet that an adjudicator filled breaks its format."""


class MalformedObservations(Malformed):
    """A log of runs breaks its format."""


class MalformedLog(Malformed):
    """A log of another tool breaks its format, or holds a number that is no score."""


class MalformedCheck(Malformed):
    """A sheet of the human check, filled or not, breaks its format."""


class AuditRefused(Refused):
    """A document whose exemptions cannot be read, so that its numbers cannot be audited."""


class CheckUnsettled(Refused):
    """Two people labelled items of the human check differently, and nobody settled them."""


class CheckRefused(Refused):
    """There is nothing to draw a human check from, or less was asked for than the plan allows."""


class ManifestRefused(Refused):
    """A manifest of rules that cannot be used, or does not hold the rule."""


class FixtureMissing(Refused):
    """There is no annotators' file, or nothing stands in it."""


class CorpusUnreachable(Refused):
    """The database does not answer, or the folder is not there."""


class CorpusIncomplete(Refused):
    """One half of the corpus is there, and the other is not."""


class PlanRefused(Refused):
    """A plan that says too little, too much, or what cannot be."""


class SealBroken(Refused):
    """What was sealed is not what is here now."""


class PlanChanged(SealBroken):
    """A plan was sealed under this name and version before, and it was another plan."""


class LockMissing(SealBroken):
    """There is no lock, so that nobody can say what was held out."""


class LockUnreadable(SealBroken):
    """A lock is not the JSON object that a lock is."""


class LockOpen(SealBroken):
    """A lock whose fields are still empty: nothing was sealed yet."""


class LockMalformed(SealBroken):
    """A lock of another version, or with a field that cannot be."""


class LockFromTheFuture(SealBroken):
    """A lock that says it was sealed later than now."""


class PartitionDiffers(SealBroken):
    """What is to be held out is not what was sealed."""


class PartitionUsed(SealBroken):
    """Held-out data that were used already in this generation."""


class LedgerBroken(SealBroken):
    """A line of the ledger is gone, or is not what was written."""


class ClockSetBack(SealBroken):
    """A line of the ledger is dated later than now, so that what comes after it would seem to have come before."""


class JudgeUnknown(Refused):
    """The judge that was asked for does not exist, or lacks what it needs to start."""


class JudgeDown(Refused):
    """The judge cannot be asked, now or with these credentials; asking again would not help."""


class PilotRefused(Refused):
    """There is nothing to try the strategies on."""


class RunDiffers(Refused):
    """A run that was to go on with an earlier one is not that run."""


class DatabaseNotEmpty(Refused):
    """A dump would be restored over tables that are there already."""


class RestoreFailed(Refused):
    """A dump could not be restored; the database is as it was before."""


class EvidenceRefused(Refused):
    """Evidence that is not there, or is not what was written."""


class EvidenceAbsent(EvidenceRefused):
    """Evidence that is not there."""


class StoreRefused(Refused):
    """The place of the evidence does not answer, is not there, or refuses the credentials."""


class Interrupted(Refused):
    """The person at the terminal, or the machine, ended the run."""


class OutputRefused(Refused):
    """The findings cannot be written where they were asked for."""


class InputRefused(Refused, ValueError):
    """Numbers that an estimator cannot take: missing, out of range, of unequal lengths, or not numbers."""


class Undefined(Refused):
    """A number that the data leave undefined; any value in its place would be wrong."""


class TooFewObservations(Undefined):
    """Nothing was observed, or less than the estimator needs."""


class TooFewClusters(TooFewObservations):
    """Fewer than two clusters say nothing of the spread between clusters."""


class RatioUndefined(TooFewObservations):
    """A ratio was asked for over an empty denominator."""


class NoVariation(Undefined):
    """All values are the same where the estimate is relative to how much they vary."""


class NoEffect(Undefined):
    """The effect to be found is nil, and no sample is large enough to find it."""


class NotIdentifiable(Undefined):
    """Errors so frequent that what was observed says nothing of the truth."""


class JudgeTooPoor(NotIdentifiable):
    """A judge that errs so often that its labels say nothing of the truth."""


class ThinResamples(Undefined):
    """Too many resamples leave the estimate undefined for an interval to stand on the rest."""

    def __init__(
        self,
        *,
        valid: int,
        resamples: int,
        valid_at_least: int,
        what: str,
        remedy: str,
    ) -> None:
        self.valid = valid
        super().__init__(
            f"only {valid} of {resamples} resamples {what} and at least {valid_at_least} are needed; {remedy}"
        )
