"""Results of promptfoo as JSON: what `eval --output` writes, or the summary alone, in the versions 2 and 3."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from eval_pipeline.canonical import canonical_bytes
from eval_pipeline.importers.place import Place, by_name, parse_log
from eval_pipeline.importers.results import Headline, Row, Scored, Undecided, item_named, row_of

PASS, SCORE = "pass", "score"
VERSIONS = (2, 3)
_ERROR = 2  # of the reasons for a failure: none, an assertion, an error
_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class _Cell:
    """A result: of which system, on which item, and the scores by their metrics."""

    system: str
    item: str
    scores: dict[str, Scored]


def read_promptfoo(data: bytes, file: str, only: frozenset[str]) -> tuple[tuple[Row, ...], tuple[Headline, ...]]:
    """The rows and the stated means of a file.

    A system is a provider, or a provider with one of several prompts. The metrics are `pass`, `score` and the named
    scores. Tests with the same variables are repeats of one item.

    Raises: MalformedLog: it breaks its format, or holds the result of a test and prompt twice.
    """
    summary = _summary(parse_log(data, file))
    heads = _heads(summary)
    systems = _systems(heads)
    results = summary.field("results").items()
    for _ in by_name([one for one in results if one.maybe("testIdx")], _key):
        pass
    cells = [_cell(one, systems, only) for one in results]
    metrics: dict[str, dict[str, None]] = {}
    for cell in cells:
        metrics.setdefault(cell.system, {}).update(dict.fromkeys(cell.scores))
    times: Counter[tuple[str, str]] = Counter()
    rows: list[Row] = []
    for cell in cells:
        times[cell.system, cell.item] += 1
        for metric in metrics[cell.system]:
            scored = cell.scores.get(metric, Undecided.MISSING)
            rows.append(row_of(cell.system, metric, cell.item, times[cell.system, cell.item], scored))
    return tuple(rows), tuple(one for one in _headlines(heads, systems) if not only or one.metric in only)


def _summary(log: Place) -> Place:
    inner = log.maybe("results")
    summary = inner if inner and isinstance(inner.value, dict) else log
    version = summary.maybe("version")
    if version is not None and version.value not in VERSIONS:
        raise version.refusal("version 2 or 3 of the format", "write the results with a release that has it")
    return summary


def _heads(summary: Place) -> list[Place]:
    """The columns of the table: a provider with a prompt each; none where the summary does not list them."""
    table = summary.maybe("table")
    prompts = summary.maybe("prompts") or (table.field("head").maybe("prompts") if table else None)
    return prompts.items() if prompts else []


def _systems(heads: list[Place]) -> list[str]:
    providers = [head.field("provider").text() for head in heads]
    several = Counter(providers)
    return [
        provider if several[provider] == 1 else f"{provider}, prompt {place}"
        for place, provider in enumerate(providers)
    ]


def _key(result: Place) -> str:
    return f"test {result.field('testIdx').whole(at_least=0)} with prompt {_column(result)}"


def _column(result: Place) -> int:
    return result.field("promptIdx").whole(at_least=0)


def _cell(result: Place, systems: list[str], only: frozenset[str]) -> _Cell:
    scores: dict[str, Scored] = {}
    errored = _errored(result)
    wanted = {PASS: result.field("success"), SCORE: result.field("score")}
    named = result.maybe("namedScores")
    wanted |= named.entries() if named else {}
    for metric, place in wanted.items():
        if not only or metric in only:
            scores[metric] = errored or _scored(metric, place)
    return _Cell(_system(result, systems), _item(result), scores)


def _scored(metric: str, place: Place) -> Scored:
    if place.value is None:
        return Undecided.UNSCORED
    return float(place.flag()) if metric == PASS else place.score()


def _system(result: Place, systems: list[str]) -> str:
    if result.maybe("promptIdx") and systems:
        column = _column(result)
        if column >= len(systems):
            raise result.field("promptIdx").refusal(f"the number of one of the {len(systems)} prompts")
        return systems[column]
    provider = result.field("provider")
    if isinstance(provider.value, str):
        return provider.text()
    label = provider.maybe("label")
    return label.text() if label and label.value else provider.field("id").text()


def _item(result: Place) -> str:
    """A test is known by its variables; without any, by its description, since its prompt is always the same."""
    test = result.maybe("testCase")
    variables = (test.maybe("vars") if test else None) or result.maybe("vars")
    if variables and variables.entries():
        return item_named(canonical_bytes(_plain(variables)).decode("utf-8"))
    description = test.maybe("description") if test else None
    return item_named(description.text()) if description else "the only test"


def _plain(variables: Place) -> dict[str, object]:
    """The variables without those that a run adds for itself."""
    try:
        canonical_bytes(variables.value)
    except (ValueError, UnicodeEncodeError):
        raise variables.refusal("variables of finite numbers and of text that UTF-8 can hold") from None
    return {name: one.value for name, one in variables.entries().items() if not name.startswith("_")}


def _errored(result: Place) -> Undecided | None:
    """Whether the provider or a grader failed, so that nothing was judged; a failed assertion is no error."""
    reason, grading = result.maybe("failureReason"), result.maybe("gradingResult")
    if reason is not None and reason.value not in (0, 1, _ERROR):
        raise reason.refusal("0, 1 or 2")
    response = result.maybe("response")
    failed = response.maybe("error") if response else None
    if reason is not None and reason.value == _ERROR:
        return Undecided.ERRORED
    if (reason is None and grading is None and result.maybe("error")) or (failed and grading is None):
        return Undecided.ERRORED
    components = grading.maybe("componentResults") if grading else None
    graders = [one.maybe("metadata") for one in components.items() if one.value is not None] if components else []
    return Undecided.ERRORED if any(one and one.maybe("graderError") for one in graders) else None


def _headlines(heads: list[Place], systems: list[str]) -> Iterator[Headline]:
    for head, system in zip(heads, systems, strict=True):
        metrics = head.maybe("metrics")
        if metrics is None:
            continue
        names = ("testPassCount", "testFailCount", "testErrorCount")
        counts = [one.whole(at_least=0) if (one := metrics.maybe(name)) else 0 for name in names]
        if total := sum(counts):
            yield Headline(system, PASS, "tests that passed", counts[0] / total, _EXACT)
            if score := metrics.maybe("score"):
                yield Headline(system, SCORE, "score a test", score.number() / total, _EXACT)
