"""The form of the human check in a browser: what a person says of each claim is what the filled sheet holds."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Download, Page, expect

from eval_pipeline.errors import MalformedCheck
from eval_pipeline.human_check.filled import Filled, read_filled
from eval_pipeline.human_check.join import joined
from eval_pipeline.human_check.sheet import Item, Rule, Said, Sheet, Task
from eval_pipeline.report.human_check import sheet_html
from tests.ui.conftest import chromium

PHONE = {"width": 390, "height": 844}
ATTACK = "</script><script>window.ran = 1; alert(1)</script><img src=x onerror='window.ran = 2'>"
FIRST = tuple(f"Crew 1 replaced valve {valve}, and wrote down the pressure before and after it." for valve in range(12))
SECOND = (ATTACK, "w" * 300, '=cmd()\nsecond line, "quoted"')
ITEMS = (
    Item(Task.PROPOSITION, FIRST, "Valve 3 was replaced."),
    Item(Task.PROPOSITION, FIRST, "Valve 30 was replaced."),
    Item(Task.PROPOSITION, FIRST, "Somebody replaced a valve."),
    Item(Task.PROPOSITION, SECOND, ATTACK),
    Item(Task.PROPOSITION, SECOND, "x" * 300),
    Item(Task.SPAN, ("Crew 2 left at noon.",), "Crew 2 left."),
    Item(Task.SPAN, ("العربية: تم استبدال الصمام 12",), "מבחן 12.5 \u202ereversed"),
    Item(Task.SPAN, ("A long passage. " * 300,), "A claim of many words. " * 60),
)
SHEET = Sheet("entries", "a-plan", None, Rule(1, "0.6", "0.1", "0.95", 100, 7), ITEMS, ("unit-1",))
KEYS = {"1": Said.SUPPORTED, "2": Said.NOT_SUPPORTED, "3": Said.UNSURE}
PRESSED = "12311232"
GIVEN = {item.id: KEYS[key] for item, key in zip(ITEMS, PRESSED, strict=True)}
ON_TOP = "it => { const { x, y } = it.getBoundingClientRect(); return document.elementFromPoint(x + 5, y + 5) === it; }"
UNFINISHED = "Not saved: no label yet on 8 of 8 claims."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for the module, which need not wait for the runs that other modules look at."""
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the form as a file."""
    path = tmp_path_factory.mktemp("form") / "sheet.html"
    path.write_text(sheet_html(SHEET.id, SHEET.items), "utf-8")
    return path.as_uri()


def label_of(page: Page, place: int) -> str | None:
    checked = page.locator("fieldset").nth(place).locator(":checked")
    return checked.get_attribute("value") if checked.count() else None


def is_current(page: Page, place: int) -> bool:
    return page.locator("fieldset").nth(place).get_attribute("aria-current") == "true"


def press(page: Page, keys: str) -> None:
    """Each key, and once more where it only brought the current claim into view."""
    for key in keys:
        page.keyboard.press(key)
        if "Press the key again" in page.inner_text("#message"):
            page.keyboard.press(key)


def tab_to(page: Page, element: str) -> None:
    """The keyboard's way to an element, from wherever the focus is."""
    for _ in range(60):
        if page.evaluate("document.activeElement.id") == element:
            return
        page.keyboard.press("Tab")
    pytest.fail(f"no way to {element} by the Tab key")


def downloads_of(page: Page) -> list[str]:
    """The names of the files that the page saves from now on."""
    names: list[str] = []

    def note(download: Download) -> None:
        names.append(download.suggested_filename)

    page.on("download", note)
    return names


def write_name(page: Page) -> None:
    """The name, and Enter, which goes on to the first claim without a label."""
    page.fill("#person", "Ada")
    page.keyboard.press("Enter")


def saved(page: Page, folder: Path, act: Callable[[], Any]) -> Path:
    with page.expect_download() as download:
        act()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def read(path: Path) -> Filled:
    return read_filled(path, sheet_id=SHEET.id, items=frozenset(item.id for item in ITEMS))


def test_a_sheet_filled_by_the_keyboard_alone_is_read_as_what_was_said(
    visit: Callable[..., Any], form: str, tmp_path: Path
) -> None:
    seen = visit(form)
    page = seen.page
    tab_to(page, "person")
    page.keyboard.type("Ada 1 jk, Lovelace")
    expect(page.locator("#count")).to_have_text("0 of 8 labelled")  # what is typed into the name labels nothing
    tab_to(page, "keys")
    page.keyboard.press("Tab")
    press(page, PRESSED)
    expect(page.locator("#count")).to_have_text("8 of 8 labelled")
    expect(page.locator("#save")).to_be_focused()
    path = saved(page, tmp_path, lambda: page.keyboard.press("Enter"))
    assert path.name == "Ada-1-jk-Lovelace.csv"
    assert path.read_bytes().startswith(b"sheet,item,label\r\n")
    assert joined(SHEET, [read(path)], None).labels == GIVEN
    assert [request for request in seen.requests if not request.startswith("blob:")] == [form]


def test_the_keys_move_label_and_skip_what_is_labelled(visit: Callable[..., Any], form: str) -> None:
    page = visit(form).page
    assert is_current(page, 0)
    page.keyboard.press("k")
    assert is_current(page, 0)
    page.keyboard.press("j")
    assert is_current(page, 1)
    page.keyboard.press("2")
    assert is_current(page, 2)
    page.keyboard.press("k")
    page.keyboard.press("k")
    assert is_current(page, 0)
    page.keyboard.press("1")
    assert is_current(page, 2)  # claim 1 has its label already
    assert [label_of(page, place) for place in range(3)] == ["SUPPORTED", "NOT_SUPPORTED", None]
    page.keyboard.press("ArrowDown")  # a radio is focused, and arrows choose in it as in any other
    assert label_of(page, 2) == "NOT_SUPPORTED"
    assert is_current(page, 2)
    for _ in range(9):
        page.keyboard.press("j")
    assert is_current(page, 7)
    page.keyboard.press("Control+1")
    assert label_of(page, 7) is None


def test_from_the_last_claim_the_keys_go_on_to_the_first_that_was_left_open(
    visit: Callable[..., Any], form: str
) -> None:
    page = visit(form).page
    page.keyboard.press("1")
    for _ in range(6):
        page.keyboard.press("j")
    press(page, "2")
    assert label_of(page, 7) == "NOT_SUPPORTED"
    assert is_current(page, 1)


def test_a_key_never_labels_a_claim_that_is_out_of_view(visit: Callable[..., Any], form: str) -> None:
    page = visit(form).page
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.keyboard.press("1")
    assert label_of(page, 0) is None
    expect(page.locator("#message")).to_have_text("This is the current claim. Press the key again to label it.")
    expect(page.locator("fieldset").first.locator("input").first).to_be_in_viewport()
    page.keyboard.press("1")
    assert label_of(page, 0) == "SUPPORTED"
    expect(page.locator("#message")).to_be_empty()


def test_a_key_that_is_held_down_labels_one_claim(visit: Callable[..., Any], form: str) -> None:
    page = visit(form).page
    for _ in range(4):
        page.keyboard.down("2")
    expect(page.locator("#count")).to_have_text("1 of 8 labelled")


def test_single_keys_can_be_switched_off(visit: Callable[..., Any], form: str) -> None:
    page = visit(form).page
    page.uncheck("#keys")
    page.keyboard.press("1")
    page.keyboard.press("j")
    expect(page.locator("#count")).to_have_text("0 of 8 labelled")
    assert is_current(page, 0)


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, PHONE, {"width": 844, "height": 390}], ids=str)
def test_the_current_claim_is_in_view_below_its_text_and_above_the_bar(
    visit: Callable[..., Any], form: str, viewport: dict[str, int]
) -> None:
    page = visit(form, viewport=viewport).page
    for place in range(7):
        page.evaluate(f"go(items[{place}])")
        shown = page.locator("fieldset").nth(place).locator("legend small")
        expect(shown).to_be_in_viewport(ratio=1)
        assert shown.evaluate(ON_TOP)


def test_an_unfinished_sheet_is_not_saved_and_the_first_open_claim_is_focused(
    visit: Callable[..., Any], form: str
) -> None:
    page = visit(form).page
    downloads = downloads_of(page)
    page.fill("#person", "Ada")
    page.click("#save")
    expect(page.get_by_role("status")).to_have_text(UNFINISHED)
    expect(page.locator("fieldset").first.locator("input").first).to_be_focused()
    page.locator("fieldset").first.get_by_label("No", exact=True).check()
    expect(page.get_by_role("status")).to_be_empty()
    page.click("#save")
    expect(page.get_by_role("status")).to_have_text("Not saved: no label yet on 7 of 8 claims.")
    expect(page.locator("fieldset").nth(1).locator("input").first).to_be_focused()
    assert downloads == []


@pytest.mark.parametrize("name", ["  ", "/../"])
def test_nothing_is_saved_without_a_name(visit: Callable[..., Any], form: str, name: str) -> None:
    page = visit(form).page
    downloads = downloads_of(page)
    press(page, PRESSED)
    page.fill("#person", name)
    page.click("#save")
    expect(page.get_by_role("status")).to_have_text("Not saved: write your name first, the file is called by it.")
    expect(page.locator("#person")).to_be_focused()
    assert downloads == []


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Žofie Černá", "Žofie-Černá"),
        ("../../etc/passwd", "etc-passwd"),
        ("a.b:c*d<e>", "a-b-c-d-e"),
        ("李_小-龙", "李_小-龙"),
        ("=cmd()", "cmd"),
    ],
    ids=["letters with marks", "path", "punctuation", "other letters", "formula"],
)
def test_the_file_is_called_by_the_name_with_nothing_in_it_that_a_disk_would_mind(
    visit: Callable[..., Any], form: str, tmp_path: Path, name: str, file: str
) -> None:
    page = visit(form).page
    press(page, PRESSED)
    page.fill("#person", name)
    assert read(saved(page, tmp_path, lambda: page.click("#save"))) == Filled(file, GIVEN)


def test_clicks_label_and_may_be_changed(visit: Callable[..., Any], form: str, tmp_path: Path) -> None:
    page = visit(form, viewport=PHONE, has_touch=True).page
    page.fill("#person", "Ada")
    words = {
        Said.SUPPORTED: re.compile("Yes, "),
        Said.NOT_SUPPORTED: re.compile(r"No\s*$"),
        Said.UNSURE: re.compile("Cannot"),
    }
    for place, item in enumerate(ITEMS):
        choices = page.locator("fieldset").nth(place)
        choices.locator("label").filter(has_text=words[Said.UNSURE]).tap()
        choices.locator("label").filter(has_text=words[GIVEN[item.id]]).tap()
        assert is_current(page, place)
    expect(page.locator("#count")).to_have_text("8 of 8 labelled")
    assert read(saved(page, tmp_path, lambda: page.tap("#save"))) == Filled("Ada", GIVEN)


def test_what_was_labelled_is_there_again_when_the_page_is(visit: Callable[..., Any], form: str) -> None:
    page = visit(form).page
    write_name(page)
    press(page, "123")
    page.reload()
    expect(page.locator("#count")).to_have_text("3 of 8 labelled")
    assert [label_of(page, place) for place in range(4)] == ["SUPPORTED", "NOT_SUPPORTED", "UNSURE", None]
    assert page.input_value("#person") == "Ada"
    assert is_current(page, 3)
    expect(page.get_by_role("status")).to_contain_text("The labels of Ada are back.")


def test_another_person_starts_over_with_nothing_of_the_first(visit: Callable[..., Any], form: str) -> None:
    page = visit(form).page
    write_name(page)
    press(page, "123")
    page.click("summary")
    page.click("#over")  # the question whether to do so is dismissed
    expect(page.locator("#count")).to_have_text("3 of 8 labelled")
    page.evaluate("window.confirm = () => true")
    page.click("#over")
    page.reload()
    expect(page.locator("#count")).to_have_text("0 of 8 labelled")
    assert page.input_value("#person") == ""


def test_a_sheet_saved_unfinished_is_gone_on_with_in_another_browser(
    visit: Callable[..., Any], form: str, tmp_path: Path
) -> None:
    first, second = visit(form).page, visit(form).page
    write_name(first)
    press(first, PRESSED[:5])
    first.click("summary")
    path = saved(first, tmp_path, lambda: first.click("#unfinished"))
    assert path.name == "Ada-unfinished.csv"
    with pytest.raises(MalformedCheck, match="3 items"):
        read(path)
    assert label_of(second, 0) is None
    second.click("summary")
    second.set_input_files("#file", path)
    expect(second.get_by_role("status")).to_have_text("Labels loaded: 5.")
    second.fill("#person", "Ada")
    second.click("#save")
    press(second, PRESSED[5:])
    assert read(saved(second, tmp_path, lambda: second.click("#save"))) == Filled("Ada", GIVEN)


def line(sheet: str = SHEET.id, item: str = ITEMS[0].id, label: str = "UNSURE") -> str:
    return f"{sheet},{item},{label}\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        line(),
        f"sheet,item,label\n{line()}{line(sheet='0' * 16)}",
        f"sheet,item,label\n{line()}{line(item='0' * 16)}",
        f"sheet,item,label\n{line()}{line(item=ITEMS[1].id, label='MAYBE')}",
        "<script>window.ran = 3</script>",
    ],
    ids=["empty", "no header", "another sheet", "another item", "another label", "no table"],
)
def test_a_file_that_the_page_did_not_save_changes_nothing(
    visit: Callable[..., Any], form: str, tmp_path: Path, text: str
) -> None:
    page = visit(form).page
    press(page, "1")
    (tmp_path / "other.csv").write_text(text)
    page.set_input_files("#file", tmp_path / "other.csv")
    expect(page.get_by_role("status")).to_have_text("Nothing is loaded: that file was not saved by this page.")
    expect(page.locator("#count")).to_have_text("1 of 8 labelled")
    assert label_of(page, 0) == "SUPPORTED"


def test_a_saved_file_is_loaded_also_as_a_spreadsheet_saves_it_again(
    visit: Callable[..., Any], form: str, tmp_path: Path
) -> None:
    page = visit(form).page
    quoted = f'\ufeff"sheet";"item";"label"\r\n"{SHEET.id}";"{ITEMS[1].id}";"UNSURE"\r\n'
    (tmp_path / "again.csv").write_text(quoted, "utf-8")
    page.set_input_files("#file", tmp_path / "again.csv")
    expect(page.get_by_role("status")).to_have_text("Labels loaded: 1.")
    assert label_of(page, 1) == "UNSURE"


def test_where_the_browser_keeps_nothing_the_page_says_so_and_goes_on(
    visit: Callable[..., Any], form: str, tmp_path: Path
) -> None:
    page = visit("about:blank").page
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('none'); } })")
    page.goto(form)
    page.click("summary")
    expect(page.locator("#keeping")).to_contain_text("cannot keep your labels")
    press(page, PRESSED)
    page.fill("#person", "Ada")
    assert read(saved(page, tmp_path, lambda: page.click("#save"))) == Filled("Ada", GIVEN)


@pytest.mark.parametrize("kept", ["no JSON", "3", '{"name": "x", "rows": [["a", "b", "c"]]}'])
def test_what_another_page_left_where_the_labels_are_kept_is_passed_over(
    visit: Callable[..., Any], form: str, kept: str
) -> None:
    page = visit(form).page
    page.evaluate("kept => localStorage.setItem(document.body.dataset.storageKey, kept)", kept)
    page.reload()
    expect(page.locator("#count")).to_have_text("0 of 8 labelled")
    assert page.input_value("#person") == ""
    press(page, "1")
    assert label_of(page, 0) == "SUPPORTED"


def test_no_text_runs_and_every_text_is_shown(visit: Callable[..., Any], form: str) -> None:
    seen = visit(form)
    assert seen.page.evaluate("window.ran") is None
    assert seen.dialogs == []
    assert seen.page.locator("img, iframe, main script").count() == 0
    shown = seen.page.locator(".text").all_text_contents()
    assert sorted(shown) == sorted(
        [*FIRST, *SECOND, *(item.hypothesis for item in ITEMS), *(item.premise[0] for item in ITEMS[5:])]
    )


def test_a_script_that_is_put_into_the_form_is_refused_by_its_policy(visit: Callable[..., Any], tmp_path: Path) -> None:
    html = sheet_html(SHEET.id, SHEET.items)
    (tmp_path / "attacked.html").write_text(html.replace("<main>", "<main><script>window.ran = 1</script>", 1), "utf-8")
    assert visit((tmp_path / "attacked.html").as_uri()).page.evaluate("window.ran") is None


@pytest.mark.parametrize("width", [320, 390, 800, 1280])
def test_no_screen_scrolls_the_form_sideways(visit: Callable[..., Any], form: str, width: int) -> None:
    page = visit(form, viewport={"width": width, "height": 844}).page
    page.click("summary")
    page.click("#save")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for element in page.locator(".premise, fieldset, footer").all():
        assert element.evaluate("it => it.scrollWidth <= it.clientWidth")


def test_a_reader_that_does_not_see_hears_the_claim_and_the_choices(visit: Callable[..., Any], form: str) -> None:
    page = visit(form).page
    group = page.get_by_role("group", name="Claim 1 of 8 Valve 3 was replaced.")
    names = ("Yes, one statement says it", "No", "Cannot say")
    assert [group.get_by_role("radio", name=name, exact=True).count() for name in names] == [1, 1, 1]
    passage = page.get_by_role("group", name="Claim 6 of 8 Crew 2 left.")
    assert passage.get_by_role("radio", name="Yes, the passage says it", exact=True).count() == 1
    assert page.get_by_role("progressbar", name="0 of 8 labelled").count() == 1
    assert page.get_by_role("textbox", name="Your name; the saved file is called by it").count() == 1
    assert page.get_by_role("region", name="12 statements text 1 of 5").count() == 1
