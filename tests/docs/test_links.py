"""Links lead somewhere: to a file that is there, and in a page to a heading that it has."""

import re
from pathlib import Path

import pytest

from eval_pipeline.schemas.catalogue import NAMES
from tests.docs.pages import PAGES, PROJECT, README

ALL = [README, PROJECT / "CONTRIBUTING.md", *PAGES]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def links_of(page: Path) -> list[str]:
    text = _CODE.sub("", page.read_text("utf-8"))
    return [link for link in _LINK.findall(text) if not link.startswith(("http://", "https://"))]


def anchors_of(page: Path) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    headings = _HEADING.findall(re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(PROJECT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in links_of(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors_of(target), link


def test_the_map_leads_to_every_page() -> None:
    index = PROJECT / "docs" / "index.md"
    led_to = {(index.parent / link.partition("#")[0]).resolve() for link in links_of(index)}
    assert set(PAGES) - led_to == {index}


def test_the_page_on_formats_names_every_schema() -> None:
    formats = PROJECT / "docs" / "reference" / "formats.md"
    assert {Path(link).stem for link in links_of(formats) if link.startswith("schemas/")} == set(NAMES)


def test_the_page_on_architecture_names_every_room() -> None:
    page = (PROJECT / "docs" / "architecture.md").read_text("utf-8")
    package = PROJECT / "eval_pipeline"
    rooms = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert not {room for room in rooms - {"__init__"} if f"`{room}`" not in page}
