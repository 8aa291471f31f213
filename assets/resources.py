"""What a run is given: where state lives, what is measured, and who judges."""

import math
import os
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field, TypeAdapter, ValidationError

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.source import SAMPLE, folder_of
from eval_pipeline.errors import CheckRefused, InputRefused, JudgeUnknown
from eval_pipeline.jsonl import parse_lines
from eval_pipeline.judge.endpoint import Endpoint
from eval_pipeline.judge.prompt import Prompt
from eval_pipeline.judge.spending import Caps, Prices
from eval_pipeline.plan import Share
from eval_pipeline.store import Store, store_at

_SHOWN = 60  # letters of what was found
_DIGITS = 9  # of a count; more is a slip
PROJECT = Path(__file__).resolve().parents[1]


def home_folder() -> Path:
    """The folder of all state: EVAL_PIPELINE_HOME, or .eval_pipeline in the clone, or without a clone right here."""
    beside = PROJECT if (PROJECT / "pyproject.toml").exists() else Path.cwd()
    return Path(os.environ.get("EVAL_PIPELINE_HOME") or beside / ".eval_pipeline").resolve()


def evidence_location() -> str:
    """The place of the evidence: EVAL_PIPELINE_EVIDENCE, a folder or s3://bucket/prefix, or a folder of the home."""
    return os.environ.get("EVAL_PIPELINE_EVIDENCE") or str(home_folder() / "evidence")


def s3_endpoint() -> str:
    """The URL of the S3 server, of the first variable that names one; '' is AWS."""
    names = ("EVAL_PIPELINE_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    return next((found for name in names if (found := os.environ.get(name))), "")


def evidence_store() -> Store:
    """The place of the evidence, as the environment names it.

    Raises: InputRefused: it names no folder and no bucket.
    """
    return store_at(evidence_location(), endpoint=s3_endpoint())


def tracks_folder() -> Path:
    """The folder of tracks that the user interface offers: EVAL_PIPELINE_TRACKS, or the bundled ones."""
    return Path(os.environ.get("EVAL_PIPELINE_TRACKS") or bundled("tracks")).resolve()


# Matplotlib looks here for its cache when it is first imported, and would write into the user's own folders otherwise.
os.environ.setdefault("MPLCONFIGDIR", str(home_folder() / "matplotlib"))


class Home(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The folder of all state."""

    path: str

    @property
    def grounds(self) -> Path:
        """Where what conclusions rest on in other worlds is kept."""
        return Path(self.path) / "grounds"

    @property
    def ledger(self) -> Path:
        """What was sealed, used and concluded."""
        return Path(self.path) / "ledger.jsonl"

    @property
    def locks(self) -> Path:
        """The locks of held-out partitions."""
        return Path(self.path) / "locks"

    @property
    def journals(self) -> Path:
        """Where every judgment is kept."""
        return Path(self.path) / "journals"

    def out(self, study: str) -> Path:
        """Where the findings of a study go that was not told where."""
        return Path(self.path) / "out" / study


class Clock(dg.ConfigurableResource):  # type: ignore[type-arg]
    """What time it is for a run: that of this machine, or for a run that is done once more the time of the first."""

    at: str = Field(default="", description="An ISO time with its zone; '' is now.")

    def now(self) -> datetime:
        """The time, with its zone.

        Raises: InputRefused: `at` is no time, or has no zone.
        """
        if not self.at:
            return datetime.now(UTC)
        try:
            at = datetime.fromisoformat(self.at)
        except ValueError:
            at = None
        if at is None or at.tzinfo is None:
            raise InputRefused(f"clock: found {self.at!r}, expected an ISO time with its zone; give one, or leave it")
        return at


class Software(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Which versions a verdict names: the installed ones, or for a run that is done once more those of the first."""

    recorded: dict[str, str] = Field(default={}, description="Versions by name; none takes the installed ones.")

    def versions(self, *names: str) -> dict[str, str]:
        """The version of each of these distributions."""
        return dict(self.recorded) or {name: _installed(name) for name in names}


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


class StudyInputs(dg.ConfigurableResource):  # type: ignore[type-arg]
    """What a run measures, as the command line takes it; each run may be given others in the launchpad."""

    corpus: str = Field(default=SAMPLE, description="'sample', a folder, or a Postgres DSN (password in PGPASSWORD).")
    propositions: str = Field(
        default="", description="The annotators' file; '' takes propositions.jsonl of the folder."
    )
    judge: str = Field(default="lexical", description="lexical, labels:FILE, replay:JOURNAL or chat.")
    gold: str = Field(default="", description="A file or folder of gold tuples; '' takes the bundled set.")
    plan: str = Field(default="", description="The plan; '' takes the one that comes with the study.")
    out: str = Field(default="", description="Where the findings go; '' takes a folder under the home.")
    human_check: str = Field(default="", description="A human check that was joined; '' for none.")
    annotators: list[str] = Field(default=[], description="Two annotators' files, to be held against each other.")
    check_share: str = Field(default="", description="The share that people are to check; '' takes the plan's.")
    tracks: str = Field(default="", description="A folder of tracks; '' takes the bundled ones.")
    ratings: str = Field(default="", description="People's ratings of a track; '' simulates raters.")
    adjudication: str = Field(default="", description="The worksheet that an adjudicator filled; '' for none.")
    only_tracks: list[str] = Field(default=[], description="The tracks of the report; none takes all there are.")
    observations: str = Field(default="", description="A log of runs; '' generates one, which says so.")
    generation: str = Field(default="", description="The generation of the calibration; '' takes the plan's.")
    imported: list[str] = Field(default=[], description="Logs of another tool, all of one kind.")
    imported_kind: str = Field(default="inspect", description="inspect, ragchecker, deepeval or promptfoo.")
    imported_metrics: list[str] = Field(default=[], description="The metrics to import; none takes all of them.")
    persist_code: str = Field(default="", description="The source file that stores signals, if it is at hand.")

    cap_requests: int | None = Field(default=None, description="The most requests that a run may send.")
    cap_tokens: int | None = Field(default=None, description="The most tokens that a run may spend.")
    cap_usd: float | None = Field(default=None, description="The most money that a run may spend, in USD.")
    resume: bool = Field(default=False, description="Go on with the last run, and refuse to if this one differs.")

    @property
    def caps(self) -> Caps:
        """The most that a run may spend."""
        return Caps(self.cap_requests, self.cap_tokens, self.cap_usd)

    def share_to_check(self, of_plan: Fraction) -> Fraction:
        """The share that people are to check.

        Raises: CheckRefused: it is no share.
        """
        if not self.check_share:
            return of_plan
        try:
            return TypeAdapter(Share).validate_python(self.check_share)
        except ValidationError:
            raise CheckRefused(
                f"a share of {self.check_share!r} was asked for; give a number up to 1, such as 0.2 or 1/5"
            ) from None

    def plan_path(self, study: str) -> Path:
        """The file of the plan: the run's own, or that which EVAL_PIPELINE_PLAN_ and the study name, or the bundled."""
        named = self.plan or os.environ.get(f"EVAL_PIPELINE_PLAN_{study.upper().replace('-', '_')}")
        return Path(named) if named else bundled("plans") / f"{study}.toml"

    @property
    def tracks_folder(self) -> Path:
        """The folder of the tracks."""
        return Path(self.tracks) if self.tracks else tracks_folder()

    @property
    def gold_path(self) -> Path:
        """The file or folder of the gold set."""
        return Path(self.gold) if self.gold else bundled("gold")

    @property
    def propositions_path(self) -> Path | None:
        """The annotators' file, or None where none was named and none stands beside the corpus."""
        folder = folder_of(self.corpus)
        if self.propositions:
            return Path(self.propositions)
        return folder / "propositions.jsonl" if folder else None


class JudgeEndpoint(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The OpenAI-compatible endpoint of the judge `chat`."""

    base_url: str = ""
    model: str = ""
    api_key: str = Field(default="", repr=False, json_schema_extra={"dagster__is_secret": True})
    revision: str = ""
    max_tokens: str = ""
    extra: str = "{}"
    in_flight: str = "16"
    timeout_s: str = "120"
    total_timeout_s: str = "600"
    prices: str = ""

    def endpoint(self, prompt: Prompt) -> Endpoint:
        """The endpoint as the library takes it; answers may be as long as the prompt needs, if nothing else was set.

        Raises: JudgeUnknown: a field holds what it cannot.
        """
        return Endpoint(
            base_url=self.base_url,
            model=self.model,
            revision=self.revision,
            max_tokens=self._count("max_tokens") if self.max_tokens else prompt.max_tokens,
            extra=self._object("extra"),
            api_key=self.api_key,
            in_flight=self._count("in_flight"),
            attempt_timeout_s=self._count("timeout_s"),
            total_timeout_s=self._count("total_timeout_s"),
            prices=self._prices(),
        )

    def _count(self, field: str) -> int:
        value = getattr(self, field)
        if not (value.isascii() and value.isdigit() and len(value) <= _DIGITS and int(value)):
            raise JudgeUnknown(f"{_variable(field)} is {value!r}, expected a whole number of 1 or more; set it again")
        return int(value)

    def _object(self, field: str) -> dict[str, Any]:
        value = getattr(self, field)
        parsed = parse_lines(value.replace("\n", " ").encode("utf-8", "replace"))
        if parsed.faults or len(parsed.lines) != 1:
            shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
            raise JudgeUnknown(f"{_variable(field)} is {shown!r}, expected a JSON object; set it again")
        return parsed.lines[0].fields

    def _prices(self) -> Prices | None:
        if not self.prices:
            return None
        try:
            prompt, completion = (float(price) for price in self.prices.split(","))
        except ValueError:
            prompt = completion = math.nan
        if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
            raise JudgeUnknown(
                f"{_variable('prices')} is {self.prices!r}, expected USD for a million tokens of the prompt and of the"
                " completion, such as 0.15,0.60; set it again"
            )
        return Prices(prompt, completion)


def _variable(field: str) -> str:
    return f"EVAL_PIPELINE_JUDGE_{field.upper()}"


def judge_endpoint() -> JudgeEndpoint:
    """The endpoint of the environment; a variable that is not set leaves its field as it is."""
    fields = [field for field in JudgeEndpoint.model_fields if os.environ.get(_variable(field))]
    return JudgeEndpoint(**{field: dg.EnvVar(_variable(field)) for field in fields})
