"""Names and colours of models: the same on every page, no two equal, and every one can be seen."""

import pandas as pd
import pytest

from probing.kernel.figures.looks import looks_of, usual_colours
from probing.kernel.figures.theme import pale

RUNS = pd.DataFrame(
    [
        ("nesia-mini", None, "pre-training"),
        ("nesia-mini-qa-squad-1", "nesia-mini", "QA-SQuAD-1"),
        ("own", "nesia-mini", "unknown"),
    ]
    * 2,
    columns=["model", "base", "objective"],
)


def test_every_stored_model_has_one_name_and_one_colour_whatever_the_order_of_runs():
    looks = looks_of(RUNS)
    assert looks.names == {"nesia-mini": "nesia-mini", "nesia-mini-qa-squad-1": "QA-SQuAD-1", "own": "own"}
    assert list(looks.colours) == ["nesia-mini", "nesia-mini-qa-squad-1", "own"] and looks.shipped == set(
        looks.colours
    ) - {"own"}
    assert looks_of(RUNS[::-1]) == looks
    assert looks_of(pd.DataFrame()).names == {}


@pytest.mark.parametrize("own", [("a",), ("a", "zz"), ("nesia-mini-2", "my bert", "b")])
@pytest.mark.parametrize("objective", ["unknown", "SST-2", "pre-training"])
def test_an_own_model_changes_no_other_models_colour(own, objective):
    runs = pd.concat([RUNS, pd.DataFrame([(name, "nesia-mini", objective) for name in own], columns=RUNS.columns)])
    colours = looks_of(runs).colours
    assert {name: colours[name] for name in RUNS["model"][:2]} == usual_colours(RUNS["model"][:2])
    assert len({*colours.values()}) == len(colours) and looks_of(runs[6:7]).colours == usual_colours(own[:1])


def test_models_of_which_only_results_ship_were_not_added_by_the_user():
    shipped = [
        ("nesia-mini-sst-2-shuffled", "nesia-mini", "SST-2 (shuffled labels)"),
        ("nesia-mini-sst-2-seed-2", "nesia-mini", "SST-2"),
    ]
    runs = pd.concat([RUNS, pd.DataFrame(shipped, columns=RUNS.columns)])
    assert looks_of(runs).added == ("own",)
    # They come after the models that ship.
    names = [name for name in looks_of(runs).colours if name != "own"]
    assert names == ["nesia-mini", "nesia-mini-qa-squad-1", "nesia-mini-sst-2-seed-2", "nesia-mini-sst-2-shuffled"]
    # Theirs are pale shades of their task's colour.
    colours = looks_of(
        pd.concat([runs, pd.DataFrame([("nesia-mini-sst-2", "nesia-mini", "SST-2")], columns=RUNS.columns)])
    ).colours
    assert (
        colours["nesia-mini-sst-2-seed-2"] == colours["nesia-mini-sst-2-shuffled"] == pale(colours["nesia-mini-sst-2"])
    )
    # The same task of the same base by the user is.
    again = pd.DataFrame([("nesia-mini-sst-2-again", "nesia-mini", "SST-2")], columns=RUNS.columns)
    assert set(looks_of(pd.concat([runs, again])).added) == {"own", "nesia-mini-sst-2-again"}


def test_results_are_shown_without_a_registry_too(tmp_path, monkeypatch):
    (tmp_path / "registry.toml").write_text("no registry", encoding="utf-8")
    for path in (tmp_path / "registry.toml", tmp_path / "none.toml"):
        monkeypatch.setenv("PROBING_REGISTRY", str(path))
        looks = looks_of(RUNS)
        # What finetune names by itself is known by its base.
        assert looks.names["nesia-mini-qa-squad-1"] == "QA-SQuAD-1" and len(set(looks.colours.values())) == 3
