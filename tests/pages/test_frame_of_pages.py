"""What every page shares: models by short names."""

TUNED = "nesia-mini-qa-squad-1"


def shortly(options: list[str]) -> list[str]:
    """The first two names of a menu, without the mark on whether a model learned its task."""
    return [name.split()[0] for name in options[:2]]


def test_menus_name_models_shortly_and_links_in_full(look):
    app = look("layers")
    menu = app.multiselect(key="layers.models")
    assert shortly(menu.options) == ["nesia-mini", "QA-SQuAD-1"]
    menu.set_value([TUNED]).run()
    assert not app.exception and app.query_params["models"] in (TUNED, [TUNED])
