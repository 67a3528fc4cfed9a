"""The page to explore, used in a real browser: with the mouse, with the keyboard alone, in the dark and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, Page, expect

from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.reference.page import page as page_of
from batchpact.contracts.reference.project import Project
from tests.contracts.reference.browser import FAINT, TYPE, Opened
from tests.contracts.reference.browser import browser as browser  # a fixture
from tests.contracts.reference.explored import HOSTILE, together
from tests.contracts.reference.large import large

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PLAN = "#pipeline=plan"


def arrives(page: Page, name: str) -> None:
    """A page with this heading is shown."""
    expect(page.locator("main h1").first).to_have_text(name)


def is_off(page: Page, *names: str) -> None:
    """These stages, and no others, are grey in the list of stages."""
    expect(page.locator("#stages li.off .stage-name")).to_have_text(names)


def focused(page: Page) -> str:
    """What has the focus, by its text or its label."""
    found = page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText")
    return str(found).strip()


# --- finding ----------------------------------------------------------------------------------------------------------


def test_a_search_finds_stages_fields_conditions_and_codes(opened: Opened) -> None:
    page = opened.go()
    search = page.get_by_role("combobox", name="Search")

    for text, kind, name in [
        ("advan", "field", "advantages"),
        ("upda", "stage", "update"),
        ("reward.en", "key", "reward.enable"),
        ("scored", "condition", "scored (reward.enable)"),
        ("bp061", "code", "BP061 idle"),
        ("ask a model", "stage", "score"),
        ("lonel", "stage", "trainer.Lonely"),
    ]:
        search.fill(text)
        first = page.locator("#results [role=option]").first
        assert first.locator(".chip").inner_text() == kind, text
        assert first.locator(".hit").inner_text().startswith(name.partition(" ")[0]), text
    search.fill("there is no such thing")
    assert page.locator("#results [role=option]").count() == 0
    expect(page.locator("#results")).to_contain_text("Nothing has this in its name")


def test_a_name_comes_before_a_description(opened: Opened) -> None:
    page = opened.go(PLAN)
    page.get_by_role("combobox", name="Search").fill("scores")

    expect(page.locator("#results .hit")).to_have_text(["scores", "score"])


def test_the_keyboard_alone_finds_opens_and_goes_back(opened: Opened) -> None:
    page = opened.go()
    page.keyboard.press("/")
    page.keyboard.type("respon")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")

    arrives(page, "responses")
    assert focused(page) == "responses", "who reads with the keyboard goes on at the heading"
    for _ in range(30):
        page.keyboard.press("Tab")
        if focused(page) == "generate":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "where the focus is can be seen"
    page.keyboard.press("Enter")
    arrives(page, "generate")
    page.go_back()
    arrives(page, "responses")
    page.keyboard.press("/")
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    expect(page.locator("#results")).to_be_hidden()
    assert focused(page) != "Search stages, fields, conditions and error codes"


def test_the_first_tab_skips_to_the_content(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&stage=score")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")

    assert focused(page) == "score"
    arrives(page, "score")


# --- stages and fields ------------------------------------------------------------------------------------------------


def test_a_stage_says_what_show_says(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&stage=gae")

    arrives(page, "gae")
    expect(page.locator("main")).to_contain_text("where algorithm.estimator == 'gae'")
    reads = page.locator("main table").first
    expect(reads.locator("tbody th a")).to_have_text(["scores", "values"])
    expect(reads.locator("tbody td")).to_have_text(
        [
            *('f32 "batch"', "", "written by 'score'"),
            *('f32 "batch response"', "where critic.enable", "written by 'generate'"),
        ]
    )


def test_a_reader_clicks_from_stage_to_field_to_stage_and_back(opened: Opened) -> None:
    page = opened.go()
    page.get_by_role("link", name="plan", exact=True).click()
    page.locator("main").get_by_role("link", name="score", exact=True).click()
    page.locator("main").get_by_role("link", name="responses").first.click()
    arrives(page, "responses")
    expect(page.locator(".path .how")).to_have_text(["writes", "reads"])
    expect(page.locator(".path .who a")).to_have_text(["generate", "score"])
    page.locator(".path").get_by_role("link", name="generate", exact=True).first.click()
    arrives(page, "generate")
    page.go_back()
    page.go_back()
    arrives(page, "score")
    page.go_forward()
    arrives(page, "responses")


def test_the_path_of_a_field_stands_out_in_the_graph(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&field=scores")

    lit = page.locator(".graph .node.lit")
    expect(lit).to_have_count(3)
    assert [node.get_attribute("data-stage") for node in lit.all()] == ["score", "gae", "grpo"]
    page.locator(".graph .node.lit[data-stage=grpo]").click()
    arrives(page, "grpo")


def test_a_stage_at_two_places_is_told_twice(opened: Opened) -> None:
    page = opened.go("#pipeline=other&stage=generate")

    expect(page.locator("main .kind")).to_have_text(["Stage 1 of 2 in other", "Stage 2 of 2 in other"])


def test_what_is_in_no_pipeline_is_told_too(opened: Opened) -> None:
    page = opened.go()
    page.get_by_role("link", name="Lonely").click()

    arrives(page, "Lonely")
    expect(page.locator("main")).to_contain_text("Nobody has a place for it.")
    expect(page.locator("tbody th")).to_have_text(["prompts", "length"])


def test_each_code_has_a_link_and_says_where_it_is(opened: Opened) -> None:
    page = opened.go("#code=BP001")

    arrives(page, "BP001 missing")
    page.get_by_role("link", name="plan").click()
    page.get_by_role("link", name="BP001").first.click()
    arrives(page, "BP001 missing")
    page.get_by_role("link", name="All codes").click()
    assert page.locator(".codes article").count() > 40


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("&stage=nothing", "No such stage"),
        ("&field=nothing", "No such field"),
        ("&code=BP999", "No such code"),
        ("&condition=nothing", "No such condition"),
        ("&key=nothing", "No such key"),
        ("&owner=nothing", "No such contract"),
        ("-of-old&stage=score", "No such pipeline"),
    ],
)
def test_a_link_to_what_is_gone_says_so(opened: Opened, state: str, text: str) -> None:
    page = opened.go(f"{PLAN}{state}")

    assert page.locator("main .kind").inner_text() == text


# --- the configuration ------------------------------------------------------------------------------------------------


def test_a_choice_greys_out_what_is_off_and_shows_what_breaks(opened: Opened) -> None:
    page = opened.go(PLAN)
    panel = page.get_by_role("complementary", name="Configuration")
    reward = panel.get_by_role("group", name="reward.enable")
    is_off(page)
    expect(panel).to_contain_text("Nothing breaks for certain, 2 possible.")

    reward.get_by_role("radio", name="False").check()
    is_off(page, "score")
    page.locator(".tabs").get_by_role("link", name="Findings").click()
    expect(page.locator(".finding .level")).to_have_text(["possible error"] * 2)

    panel.get_by_role("group", name="algorithm.estimator").get_by_role("radio", name="'gae'").check()
    is_off(page, "score", "grpo")
    expect(page.locator(".finding .level")).to_have_text(["error"])
    expect(page.locator(".finding")).to_contain_text("'score' writes it, and not in every configuration")
    page.get_by_role("link", name="gae").first.click()
    expect(page.locator("main .finding")).to_contain_text("BP001")
    page.get_by_role("link", name="scores").first.click()
    expect(page.locator("main .finding")).to_contain_text("BP001")
    expect(page.locator("main .state")).to_contain_text("not in this configuration")

    page.go_back()
    arrives(page, "gae")  # the configuration is kept
    panel.get_by_role("button", name="Leave all open").click()
    is_off(page)


def test_a_configuration_is_in_the_link(opened: Opened) -> None:
    page = opened.go(PLAN)
    page.locator("#panel").get_by_role("group", name="reward.enable").get_by_role("radio", name="True").check()
    address = page.url

    again = opened.go(f"#{address.partition('#')[2]}")
    is_off(again)
    assert again.locator("#panel input:checked + span").all_inner_texts()[0] == "True"
    assert again.locator(".stages .who .mark").all_inner_texts()[1].startswith("●")


def test_a_choice_with_the_keyboard_keeps_the_focus(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&stage=score")
    page.locator("#panel input").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")

    is_off(page, "score")
    page.keyboard.press("ArrowLeft")
    is_off(page)
    assert page.evaluate("document.activeElement.type") == "radio"


@pytest.fixture
def together_opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    file = tmp_path / "together.html"
    spec = together.spec
    contracts = Contracts({stage.qualname: stage for stage in spec.stages}, {}, {"together": spec})
    file.write_text(page_of(Project(contracts)), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    yield (opened := Opened(context, file))
    context.close()
    assert opened.problems == []


def test_a_finding_is_certain_once_a_condition_on_two_keys_is_decided(together_opened: Opened) -> None:
    page = together_opened.go("#view=findings")
    level = page.locator(".finding .level")
    critic = page.locator("#panel").get_by_role("group", name="critic.enable")
    estimator = page.locator("#panel").get_by_role("group", name="algorithm.estimator")
    expect(level).to_have_text(["possible error", "possible error"])

    estimator.get_by_role("radio", name="'gdpo'").check()
    expect(level).to_have_text(["error", "possible error"])
    expect(page.locator(".finding").first).to_contain_text("scores in gdpo")
    critic.get_by_role("radio", name="False").check()
    expect(level).to_have_text(["error", "error"])
    critic.get_by_role("radio", name="True").check()
    expect(level).to_have_text(["error"])
    estimator.get_by_role("radio", name="anything else").check()
    expect(level).to_have_count(0)
    is_off(page, "gdpo", "late")


def test_nobody_runs_what_contradicts_the_pipeline(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&view=findings&when.reward.enable=True&when.trainer.val_only=True")

    expect(page.get_by_role("alert")).to_contain_text("Nobody runs such a configuration")
    assert page.locator(".finding").count() == 0


def test_the_configuration_of_a_finding_is_chosen_by_a_click(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&view=findings")
    page.locator(".region").first.click()

    expect(page.locator(".finding .level")).to_have_text(["error"])
    expect(page.locator("#panel .control.chosen")).to_have_count(2)


def test_a_condition_says_what_it_switches(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&stage=score")
    page.locator("main").get_by_role("link", name="scored (reward.enable)").click()

    arrives(page, "scored (reward.enable)")
    expect(page.locator("main .plain a")).to_have_text(["score"])
    page.locator("main").get_by_role("group", name="reward.enable").get_by_role("radio", name="False").check()
    expect(page.locator("main .state")).to_contain_text("does not hold")
    page.locator("main").get_by_role("link", name="reward.enable", exact=True).click()
    assert page.locator("main .kind").inner_text() == "Key of the configuration"


def test_a_condition_says_what_the_names_in_it_stand_for(together_opened: Opened) -> None:
    page = together_opened.go("#pipeline=together&stage=late")
    link = page.locator("main").get_by_role("link", name="trainer.step < trainer.last and not use_critic")

    expect(link).to_have_attribute("title", "use_critic: critic.enable or algorithm.estimator == 'gae'")
    link.click()
    expect(page.locator("main dt")).to_have_text(["use_critic"])
    expect(page.locator("main dd")).to_have_text(["critic.enable or algorithm.estimator == 'gae'"])


def test_who_listens_hears_once_what_is_on(opened: Opened) -> None:
    state = opened.go(f"{PLAN}&stage=update").locator("main .state")

    expect(state).to_have_text("●runs always")
    expect(state.locator(".unseen")).to_have_count(0)
    expect(state.locator("[aria-hidden]")).to_have_text("●")


# --- the matrix -------------------------------------------------------------------------------------------------------


def test_the_matrix_is_read_with_the_keyboard(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&view=matrix")
    grid = page.get_by_role("grid")
    grid.focus()
    told = page.locator(".told")
    for key in ("End", "Home", "ArrowRight", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)

    assert told.inner_text() == "responses, generate: writes, i64 \"batch response\"; read by 'score'"
    page.keyboard.press("Enter")
    arrives(page, "responses")
    page.get_by_role("link", name="show in the matrix").click()
    assert page.locator(".row.here .rowname").inner_text() == "responses"


def test_the_matrix_shows_the_fields_that_are_asked_for(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&view=matrix&when.reward.enable=False")
    page.get_by_label("Show only fields").fill("SCO")

    expect(page.locator(".rowname")).to_have_text(["scores"])
    assert page.locator(".cell.off").count() == 1
    page.get_by_label("Show only fields").fill("nothing")
    expect(page.get_by_text("No field has this in its name.")).to_be_visible()


# --- how it looks -----------------------------------------------------------------------------------------------------


def test_what_authors_write_is_text(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&stage=generate")

    assert page.locator("main .about").inner_text() == HOSTILE
    assert page.title() == "generate · A small project"
    assert page.locator("main b, main img").count() == 0
    assert opened.go(f"{PLAN}&field=responses").locator("main .about").inner_text() == HOSTILE


def test_it_is_dark_where_the_system_is_and_where_somebody_says_so(opened: Opened) -> None:
    page = opened.go()

    def lightness() -> int:
        """Of the ground, from 0 to 255."""
        return int(page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))

    assert lightness() > 200
    page.emulate_media(color_scheme="dark")
    assert lightness() < 60
    page.get_by_role("button", name="Switch to light").click()
    assert lightness() > 200
    opened.go(PLAN)
    assert lightness() > 200, "it is remembered"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_on_its_ground(opened: Opened, scheme: Literal["light", "dark"]) -> None:
    """What is off is grey, and still there to be read: contrasts of WCAG AA, 3 for signs and 4.5 for text."""
    chosen = "&when.reward.enable=False&when.algorithm.estimator='gae'"
    opened.page.emulate_media(color_scheme=scheme)
    for state in ("", PLAN, *(f"{PLAN}{shown}{chosen}" for shown in ("", "&stage=score", "&field=scores"))):
        assert opened.go(state).evaluate(FAINT) == [], state
    for view in ("matrix", "findings", "codes"):
        assert opened.go(f"{PLAN}&view={view}{chosen}").evaluate(FAINT) == [], view


def test_paper_holds_the_page_without_what_is_clicked(opened: Opened) -> None:
    page = opened.go(f"{PLAN}&field=scores")
    page.emulate_media(media="print", color_scheme="dark")

    for gone in (".top", "#stages", "#panel", ".tabs", ".zoom"):
        expect(page.locator(gone)).to_be_hidden()
    expect(page.locator(".path")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).color.match(/\\d+/)[0]") < "60", "ink is dark"


def test_a_narrow_screen_has_the_stages_and_the_configuration_in_drawers(opened: Opened) -> None:
    page = opened.go(PLAN)
    page.set_viewport_size({"width": 420, "height": 800})
    expect(page.locator("#panel")).to_be_hidden()
    page.get_by_role("button", name="Configuration").click()
    expect(page.locator("#panel")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    page.get_by_role("button", name="Stages").click()
    page.locator("#stages").get_by_role("link", name="update").click()

    arrives(page, "update")
    expect(page.locator("#stages")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 420, "nothing sticks out"


# --- a size that nobody has yet ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("large") / "large.html"
    file.write_text(page_of(Project(large(300, 3000)), "A large project"), encoding="utf-8")
    return file


@pytest.fixture
def large_opened(browser: Browser, large_file: Path) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    yield (opened := Opened(context, large_file))
    context.close()
    assert opened.problems == []


def test_three_thousand_fields_are_searched_as_somebody_types(large_opened: Opened) -> None:
    page = large_opened.go()

    assert page.evaluate(TYPE, "stage_250_field_07") < 1000, "milliseconds; tests/benchmarks/test_page.py measures it"
    assert page.locator("#results .hit").first.inner_text() == "stage_250_field_07"


def test_a_matrix_of_three_thousand_by_three_hundred_holds_what_is_in_sight(large_opened: Opened) -> None:
    page = large_opened.go("#pipeline=large&view=matrix&field=stage_299_field_09")

    assert page.locator(".row.here .rowname").inner_text() == "stage_299_field_09"
    assert page.locator(".row").count() < 100
    page.get_by_role("grid").evaluate("grid => { grid.scrollTop = 40000; }")
    expect(page.locator(".rowname").first).to_contain_text("stage_15")
    assert page.locator(".row").count() < 100
