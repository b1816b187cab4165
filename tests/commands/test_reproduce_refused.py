"""What ``reproduce`` refuses for each paper before anything is made, and the commands that it names."""

import pytest

from probing.core.errors import RegistryError, StoreError
from probing.workflows.requests.reproduction import PaperName

REGISTRY = """
models = [{ name = "planted", source = "somewhere/planted", licence = "none" }]
families = [{ name = "planted", title = "A family", base = "planted", members = [] }]
data = []
"""


@pytest.fixture(autouse=True)
def registry(tmp_path, monkeypatch) -> None:
    (tmp_path / "registry.toml").write_text(REGISTRY)
    monkeypatch.setenv("PROBING_REGISTRY", str(tmp_path / "registry.toml"))


def words(paper: str, *more: object) -> list[object]:
    return ["reproduce", "--paper", paper, "--family", "planted", "--device", "cpu", *more]


@pytest.mark.parametrize(
    ("paper", "given", "message"),
    [
        (
            "bertnesia",
            "--only train",
            "got the stage 'train'; --paper bertnesia has fetch, finetune, heads, probe, tables",
        ),
        ("bertnesia", "--heads sideways", "got heads 'sideways'; expected some of tied, logit_lens"),
        (
            "bertnesia",
            "--tasks pos",
            "got --tasks, which is an option of --paper edge-probing and not of --paper bertnesia",
        ),
        ("bertnesia", "--tasks all", "got --tasks, which is an option of --paper edge-probing"),
        (
            "bertnesia",
            "--protocol quick",
            "got --protocol, which is an option of --paper interplay and not of --paper bertnesia",
        ),
        ("bertnesia", "--workers 2", "got --workers 2 with --executor local"),
        ("bertnesia", "--address auto", "got --address auto with --executor local"),
        ("edge-probing", "--only heads", "got the stage 'heads'; --paper edge-probing has fetch, train, tables"),
        (
            "edge-probing",
            "--heads tied",
            "got --heads, which is an option of --paper bertnesia and not of --paper edge-probing",
        ),
        (
            "edge-probing",
            "--steps 3",
            "got --steps, which is an option of --paper bertnesia and not of --paper edge-probing",
        ),
        ("edge-probing", "--tasks nonsense", "got the tasks 'nonsense'; expected some of all, pos"),
        ("edge-probing", "--workers 2", "got --workers 2 with --executor local"),
        (
            "interplay",
            "--only heads",
            "got the stage 'heads'; --paper interplay has fetch, finetune, train, measure, tables",
        ),
        (
            "interplay",
            "--heads tied",
            "got --heads, which is an option of --paper bertnesia and not of --paper interplay",
        ),
        (
            "interplay",
            "--seeds 2",
            "got --seeds, which is an option of --paper edge-probing and not of --paper interplay",
        ),
        ("interplay", "--tasks tree-depth", "got the tasks 'tree-depth'; expected all, or some of bigram-shift"),
        ("interplay", "--protocol loose", "got --protocol loose; expected one of ours, quick, senteval"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(run, cache, tmp_path, paper, given, message):
    found = run(*words(paper, *given.split(), "--out", tmp_path / "tables"), code=2).output
    assert message in " ".join(found.replace("│", " ").split())
    assert not cache.exists() and not (tmp_path / "tables").exists()


@pytest.mark.parametrize(
    ("paper", "message"),
    [
        ("bertnesia", "no runs of planted; make them with: python -m probing reproduce --family planted"),
        (
            "edge-probing",
            "no cumulative probes of planted are stored; .* reproduce --paper edge-probing --family planted",
        ),
        ("interplay", "no sentence probes of planted are stored; .* reproduce --paper interplay --family planted"),
    ],
)
def test_tables_without_results_name_the_command_that_makes_them(run, cache, paper, message):
    with pytest.raises(StoreError, match=message):
        run(*words(paper, "--only", "tables"))


@pytest.mark.parametrize("paper", list(PaperName))
def test_an_unknown_family_is_refused_with_the_known_ones(run, cache, paper):
    with pytest.raises(RegistryError, match="no family 'huge' in the registry; it has planted"):
        run("reproduce", "--paper", paper, "--family", "huge")
