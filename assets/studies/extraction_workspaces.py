"""The extraction study once more, of each workspace by itself: the same assets and checks under a key of their own.

The chain of the whole corpus has no partitions, since Dagster shows nothing as stale that has some.
"""

from collections.abc import Iterable

import dagster as dg

from assets.partitions import WORKSPACES, WORKSPACES_PREFIX
from assets.resources import StudyInputs
from assets.studies import (
    extraction,
    extraction_annotators,
    extraction_correction,
    extraction_history,
    extraction_verdict,
)
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.corpus.source import pinned
from eval_pipeline.studies.extraction.fixture import Fixture, pinned_fixture

GROUP = "extraction_workspaces"

_SAME = [
    extraction.sealed_plan,
    extraction.judge_prompt,
    extraction.persist_code,
    extraction.frame,
    extraction.nli_judgments,
    extraction.proposition_fates,
    extraction.entry_quartiles,
    extraction.recall_estimate,
    extraction.uniformity_bound,
    extraction.precision_guard,
    extraction.judge_findings,
    extraction.band_ledger,
    extraction_verdict.extraction_verdict,
    extraction_verdict.extraction_report,
    extraction_verdict.extraction_provenance,
    extraction_correction.human_check,
    extraction_correction.human_check_sample,
    extraction_correction.corrected_recall,
    extraction_annotators.annotator_agreement,
    extraction_history.extraction_history,
]
_CHECKS = [
    extraction.seal_holds,
    extraction.corpus_is_readable,
    extraction.fixture_is_valid,
    extraction_verdict.claims,
    extraction_correction.human_check_can_be_rested_on,
]


@dg.asset(
    key_prefix=WORKSPACES_PREFIX,
    group_name=GROUP,
    kinds={"postgres", "parquet"},
    code_version=extraction.CODE,
    partitions_def=WORKSPACES,
)
def corpus(context: dg.AssetExecutionContext, inputs: StudyInputs) -> dg.MaterializeResult[Snapshot]:
    """The entries of the workspace and their signals; nothing downstream touches the source again."""
    return extraction.materialized_corpus(pinned(inputs.corpus).of_workspace(context.partition_key))


@dg.asset(
    key_prefix=WORKSPACES_PREFIX,
    group_name=GROUP,
    kinds={"json", "parquet"},
    code_version=extraction.CODE,
    partitions_def=WORKSPACES,
    ins={"corpus": dg.AssetIn(key_prefix=WORKSPACES_PREFIX)},
)
def proposition_fixture(corpus: Snapshot, inputs: StudyInputs) -> dg.MaterializeResult[Fixture]:
    """The annotators' propositions of the workspace's entries; those of an entry that is nowhere belong to none."""
    return extraction.materialized_fixture(pinned_fixture(inputs.propositions_path).of_entries(corpus.entries_by_id))


def _keys() -> dict[dg.AssetKey, dg.AssetKey]:
    """The keys of this chain by those of the whole corpus."""
    names = {key for asset in [*_SAME, extraction.corpus, extraction.proposition_fixture] for key in asset.keys}
    return {key: dg.AssetKey([WORKSPACES_PREFIX, *key.path]) for key in names}


def _partitioned(assets: Iterable[dg.AssetsDefinition]) -> list[dg.AssetsDefinition]:
    """The same assets by workspace."""
    keys = _keys()
    return [
        asset.with_attributes(asset_key_replacements=keys).map_asset_specs(
            lambda spec: spec.replace_attributes(partitions_def=WORKSPACES, group_name=GROUP)
        )
        for asset in assets
    ]


def _of_this_chain(checks: Iterable[dg.AssetChecksDefinition]) -> list[dg.AssetsDefinition]:
    """The same checks of these assets; Dagster keeps of a check what the last run of any workspace said."""
    keys = _keys()
    return [check.with_attributes(asset_key_replacements=keys) for check in checks]


ASSETS = _partitioned(_SAME)
CHECKS = _of_this_chain(_CHECKS)

CHAIN = extraction_verdict.CHAIN.by(WORKSPACES_PREFIX, study=GROUP, but=frozenset({"gold_set"}))
