"""The study as the loop runs it."""

from eval_pipeline.studies.kpi_gates.study import STUDY
from eval_pipeline.studies.kpi_gates.verdict import CLAIMS
from tests.studies.kpi_gates.made_up import SHIPPED, default_parts, row


def test_the_study_names_what_the_loop_needs():
    assert STUDY.name == SHIPPED.study == SHIPPED.name == SHIPPED.arms.salt
    assert (STUDY.unit(row("a")), STUDY.stratum(row("a"))) == ("a", "m_series_high")
    assert STUDY.claims == CLAIMS


def test_every_class_of_machines_is_in_both_parts():
    for part in default_parts():
        assert {STUDY.stratum(one) for one in part.rows} == {STUDY.stratum(one) for one in default_parts()[0].rows}
