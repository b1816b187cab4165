"""What every page shares: models by short names, and links to many sections."""

import re

TUNED = "nesia-mini-qa-squad-1"


def shortly(options: list[str]) -> list[str]:
    """The first two names of a menu, without the mark on whether a model learned its task."""
    return [name.split()[0] for name in options[:2]]


def links(app) -> list[tuple[str, str]]:
    """Text and anchor of the links to the sections of a page."""
    (line,) = [one.value for one in app.main.markdown if "On this page" in one.value] or [""]
    return [(text.replace("\\", ""), anchor) for text, anchor in re.findall(r"\[([^\[\]]*)\]\(#(.*?)\)", line)]


def test_menus_name_models_shortly_and_links_in_full(look):
    app = look("layers")
    menu = app.multiselect(key="layers.models")
    assert shortly(menu.options) == ["nesia-mini", "QA-SQuAD-1"]
    menu.set_value([TUNED]).run()
    assert not app.exception and app.query_params["models"] in (TUNED, [TUNED])


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
