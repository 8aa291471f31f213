"""The entry-quartile table: for each entry and quarter of its text, what was recovered, judged and left undecided."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eval_pipeline.studies.extraction.plan import ExtractionPlan

# A proposition is recovered if one signal alone supports it. It is undecided if a signal that was tried has no label,
# and missed if its entry has no signals, if the screen says no, or if each signal does. Probe, audit, canaries and
# repeats decide nothing.
_PROPOSITIONS = """
    WITH fates AS (
        SELECT unit,
               CASE WHEN bool_or(kind = 'recall_signal' AND label = 'SUPPORTED') THEN 'recovered'
                    WHEN bool_or(kind = 'recall_no_signals') THEN 'missed'
                    WHEN bool_or(kind = 'recall_screen' AND no_label IS NOT NULL) AND $unreadable_screen = 'undecided'
                        THEN 'undecided'
                    WHEN bool_or(kind = 'recall_signal' AND no_label IS NOT NULL) AND $unreadable_signal = 'undecided'
                        THEN 'undecided'
                    WHEN bool_or(kind = 'recall_screen' AND label = 'NOT_SUPPORTED') THEN 'missed'
                    WHEN bool_or(kind = 'recall_signal') THEN 'missed'
                    ELSE 'undecided' END AS fate,
               bool_or(kind = 'recall_screen' AND label = 'SUPPORTED') AS screened_in
        FROM judgments WHERE unit IS NOT NULL GROUP BY unit
    )
    SELECT frame.id::BIGINT AS unit, entry_id, workspace, band, words, quartile, text AS proposition,
           coalesce(fate, 'undecided') AS fate,
           coalesce(fate = 'missed' AND screened_in, false) AS composition_only
    FROM frame LEFT JOIN fates ON fates.unit = frame.id
    WHERE frame.kind = 'proposition' AND frame.state = 'in'
    ORDER BY frame.id
"""

_QUARTILES = """
    SELECT entry_id, any_value(workspace) AS workspace, any_value(band) AS band, any_value(words) AS words,
           q.quartile::BIGINT AS quartile,
           count(*) FILTER (p.quartile = q.quartile AND fate = 'recovered') AS hits,
           count(*) FILTER (p.quartile = q.quartile AND fate <> 'undecided') AS judged,
           count(*) FILTER (p.quartile = q.quartile AND fate = 'undecided') AS undecided,
           count(*) FILTER (p.quartile = q.quartile AND composition_only) AS composition_only
    FROM propositions AS p CROSS JOIN (SELECT unnest([1, 2, 3, 4]) AS quartile) AS q
    GROUP BY entry_id, q.quartile
    ORDER BY entry_id, q.quartile
"""

_TOTALS = """
    SELECT quartile, sum(hits)::BIGINT AS hits, sum(judged)::BIGINT AS judged, sum(undecided)::BIGINT AS undecided
    FROM quartiles GROUP BY quartile ORDER BY quartile
"""


def proposition_fates(frame: pa.Table, judgments: pa.Table, plan: ExtractionPlan) -> pa.Table:
    """One row a proposition of the frame that was to be judged, with its fate.

    `composition_only`: the signals support it together, and none of them alone; it counts as missed.
    """
    rules = {
        "unreadable_screen": plan.judging.unreadable_screen,
        "unreadable_signal": plan.judging.unreadable_signal,
    }
    return _query(_PROPOSITIONS, rules, frame=frame, judgments=judgments)


def entry_quartiles(fates: pa.Table) -> pa.Table:
    """Four rows an entry, one a quartile: hits, judged (recovered or missed), undecided, composition_only."""
    return _query(_QUARTILES, {}, propositions=fates)


def totals(quartiles: pa.Table) -> list[dict[str, Any]]:
    """The table summed over entries: one row a quartile."""
    return _query(_TOTALS, {}, quartiles=quartiles).to_pylist()


def _query(query: str, rules: Mapping[str, str], **tables: pa.Table) -> pa.Table:
    with duckdb.connect() as database:
        for name, table in tables.items():
            database.register(name, table)
        answer: pa.Table = database.sql(query, params=rules).to_arrow_table()
        return answer


@dataclass(frozen=True, slots=True)
class Counts:
    """The table as arrays: one row an entry, in the order of the ids, and one column a quartile.

    `drawn` marks the rows that count as judged and are drawn again by a bootstrap; an entry of which nothing could be
    judged is not among them, unless the plan says so.
    """

    entries: tuple[dict[str, Any], ...]
    hits: npt.NDArray[np.int64]
    judged: npt.NDArray[np.int64]
    undecided: npt.NDArray[np.int64]
    drawn: npt.NDArray[np.bool_]


def counts_of(quartiles: pa.Table, plan: ExtractionPlan) -> Counts:
    """The arrays that the estimators take, with entry_id, workspace, band and words of each row."""
    hits, judged, undecided = (
        quartiles[name].to_numpy().astype(np.int64).reshape(-1, 4) for name in ("hits", "judged", "undecided")
    )
    entries = tuple(quartiles.select(["entry_id", "workspace", "band", "words"]).to_pylist()[::4])
    all_drawn = plan.scoring.undecided_entries == "drawn"
    return Counts(entries, hits, judged, undecided, drawn=(judged.sum(axis=1) > 0) | all_drawn)
