"""What every page shares: models by short names, links to many sections, and one word on the demonstration model."""

import re

from probing.ui.frame import navigation

from .conftest import PAGES, ROOT

TUNED, CONTROL = "nesia-mini-qa-squad-1", "nesia-mini-control"
#: Headings of the sidebar -> their pages, in order.
GROUPS = {
    "Try it": ["Home", "Live"],
    "Facts": ["Layer curves", "Relations", "Facts", "Compare models", "Decoding heads"],
    "Grammar": ["Pipeline", "Edge sentences"],
    "Sentences": ["Sentence probes"],
    "Fine-tuning": ["What fine-tuning changed", "Forgetting"],
    "Your model": ["Your model"],
    "Papers": ["Reproduction", "Methods and data"],
}
NOTICE = "small demonstration model"


def main_words(app) -> str:
    return "\n".join(str(one.value) for one in app.main.markdown)


def shortly(options: list[str]) -> list[str]:
    """The first two names of a menu, without the mark on whether a model learned its task."""
    return [name.split()[0] for name in options[:2]]


def links(app) -> list[tuple[str, str]]:
    """Text and anchor of the links to the sections of a page."""
    (line,) = [one.value for one in app.main.markdown if "On this page" in one.value] or [""]
    return [(text.replace("\\", ""), anchor) for text, anchor in re.findall(r"\[([^\[\]]*)\]\(#(.*?)\)", line)]


def test_menus_name_models_shortly_and_links_in_full(look):
    app = look("layer_curves")
    menu = app.sidebar.multiselect(key="layer_curves.models")
    assert shortly(menu.options) == ["nesia-mini", "QA-SQuAD-1"]
    menu.set_value([TUNED]).run()
    assert not app.exception and app.query_params["models"] in (TUNED, [TUNED])


def test_the_sidebar_has_every_page_once_under_the_heading_of_its_group(visit):
    found: dict[str, list[str]] = {}
    for one in visit("methods", "empty").sidebar:
        if one.type == "header":
            found[one.value.replace("\\", "")] = pages = []
        elif one.type == "page_link":
            pages.append(one.proto.label)
    assert list(found.items()) == list(GROUPS.items())
    files = {"app.py", *(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py"))}
    assert set(navigation.PAGES) == files and len(navigation.PAGES) == sum(map(len, GROUPS.values()))


def test_a_page_of_many_sections_links_to_those_that_it_draws_and_to_no_other(look):
    app = look("home")
    drawn = [(head.value.replace("\\", ""), head.proto.anchor) for head in app.main.header]
    assert len(drawn) > 3 and links(app) == drawn
    again = app.run()
    assert links(again) == drawn, "the links are there when the page is drawn again"


def test_the_link_opens_a_tab_and_no_link_leads_to_a_section_of_another(look):
    for tab, wanted in (("facts", {"Kept, gained, lost"}), ("models", {"Facts kept and lost, model by model"})):
        app = look("compare", compare_tab=tab)
        reached = {head.value.replace("\\", "") for head in app.main.header if head.proto.anchor}
        assert not app.exception and wanted <= reached and not reached & {"Early exit", "What they answer instead"}
        assert app.query_params.get("compare_tab", ["facts"]) in (tab, [tab])


def test_the_demonstration_model_is_explained_on_the_first_page_only_and_stays_at_hand(visit):
    app = visit("home")
    assert NOTICE in main_words(app) and NOTICE in main_words(app.run()), "as long as the visitor stays"
    app.switch_page(PAGES["layer_curves"])
    app.run()
    assert NOTICE not in main_words(app)
    app.switch_page(PAGES["home"])
    app.run()
    assert NOTICE not in main_words(app)
    sidebar = app.sidebar
    assert any(NOTICE in one.value for one in sidebar.markdown) and any("--model bert-base-uncased" in one.value for one in sidebar.code)
