"""What a run is given: where state lives, what is measured, and who judges."""

import os
from pathlib import Path

import dagster as dg
from pydantic import Field

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.source import SAMPLE, folder_of
from eval_pipeline.errors import JudgeUnknown
from eval_pipeline.judge.chat import Endpoint

PROJECT = Path(__file__).resolve().parents[1]


def home_folder() -> Path:
    """The folder of all state: EVAL_PIPELINE_HOME, or .eval_pipeline in the clone, or without a clone right here."""
    beside = PROJECT if (PROJECT / "pyproject.toml").exists() else Path.cwd()
    return Path(os.environ.get("EVAL_PIPELINE_HOME") or beside / ".eval_pipeline").resolve()


# Matplotlib looks here for its cache when it is first imported, and would write into the user's own folders otherwise.
os.environ.setdefault("MPLCONFIGDIR", str(home_folder() / "matplotlib"))


class Home(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The folder of all state."""

    path: str

    @property
    def journals(self) -> Path:
        """Where every judgment is kept."""
        return Path(self.path) / "journals"

    def out(self, study: str) -> Path:
        """Where the findings of a study go that was not told where."""
        return Path(self.path) / "out" / study


class StudyInputs(dg.ConfigurableResource):  # type: ignore[type-arg]
    """What a run measures, as the command line takes it; each run may be given others in the launchpad."""

    corpus: str = Field(default=SAMPLE, description="'sample', a folder, or a Postgres DSN (password in PGPASSWORD).")
    propositions: str = Field(
        default="", description="The annotators' file; '' takes propositions.jsonl of the folder."
    )
    judge: str = Field(default="lexical", description="lexical, labels:FILE, replay:JOURNAL or chat.")
    plan: str = Field(default="", description="The plan; '' takes the one that comes with the study.")
    out: str = Field(default="", description="Where the findings go; '' takes a folder under the home.")
    persist_code: str = Field(default="", description="The source file that stores signals, if it is at hand.")

    def plan_path(self, study: str) -> Path:
        """The file of the plan."""
        return Path(self.plan) if self.plan else bundled("plans") / f"{study}.toml"

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
    max_tokens: str = "8"
    in_flight: str = "16"

    def endpoint(self) -> Endpoint:
        """The endpoint as the library takes it.

        Raises: JudgeUnknown: a limit is no count.
        """
        limits = [self._count("max_tokens", self.max_tokens), self._count("in_flight", self.in_flight)]
        return Endpoint(self.base_url, self.model, self.api_key, self.revision, *limits)

    @staticmethod
    def _count(field: str, value: str) -> int:
        if not (value.isascii() and value.isdigit() and int(value)):
            raise JudgeUnknown(f"{_variable(field)} is {value!r}, expected a whole number of 1 or more; set it again")
        return int(value)


def _variable(field: str) -> str:
    return f"EVAL_PIPELINE_JUDGE_{field.upper()}"


def judge_endpoint() -> JudgeEndpoint:
    """The endpoint of the environment; a variable that is not set leaves its field as it is."""
    fields = ("base_url", "model", "api_key", "revision", "max_tokens", "in_flight")
    return JudgeEndpoint(**{field: dg.EnvVar(_variable(field)) for field in fields if os.environ.get(_variable(field))})
