"""What takes space on this machine, and its deletion."""

import json

import pytest
from typer.testing import CliRunner

from probing.commands.main import app
from probing.core.errors import StoreError
from tests.models.tiny_models import save


def listed(run) -> dict[tuple[str, str], int]:
    return {(one["what"], one["name"]): one["bytes"] for one in json.loads(run("space", "--json").stdout)}


def test_runs_probe_sets_and_models_are_listed_with_their_space_and_deleted(
    run, cache, tiny_model, facts_file, monkeypatch, tmp_path
):
    monkeypatch.setattr("probing.store.space.inventory.scan_cache_dir", no_hub)
    assert listed(run) == {}
    for name in ("one", "two"):
        run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens", "--as", name)
    save("bert", cache / "models" / "mine")
    sizes = listed(run)
    runs = [name for what, name in sizes if what == "run"]
    assert (
        len(runs) == 2 and all(sizes.values()) and {name for what, name in sizes if what == "facts"} == {"one", "two"}
    )
    assert sizes["model", "mine"] == sum(path.stat().st_size for path in (cache / "models" / "mine").iterdir())
    assert "facts: 2" in (shown := run("space").output) and "mine" in shown
    refused = CliRunner().invoke(app, ["delete", "facts", "one"], input="n\n")
    assert "nothing was deleted" in refused.output and listed(run) == sizes
    run("delete", "facts", "one", "--yes")
    left = listed(run)
    assert ("facts", "one") not in left and left["facts", "two"] == sizes["facts", "two"]
    assert "ok  runs" in run("check").output
    (last,) = (name for what, name in left if what == "run")
    run("delete", "run", last, "--yes")
    run("delete", "model", "mine", "--yes")
    assert (
        listed(run) == {}
        and not (cache / "models" / "mine").exists()
        and not list((cache / "runs").glob("*predictions-*"))
    )


def no_hub():
    from huggingface_hub.errors import CacheNotFound

    raise CacheNotFound("none", cache_dir="none")


@pytest.mark.parametrize(("what", "name"), [("run", "../x"), ("model", "."), ("facts", "trex")])
def test_what_is_not_listed_cannot_be_deleted(run, cache, monkeypatch, what, name):
    monkeypatch.setattr("probing.store.space.inventory.scan_cache_dir", no_hub)
    with pytest.raises(StoreError, match=f"no {what} .* there are: none"):
        run("delete", what, name, "--yes")
