"""Words of a command line that are no text, and names that no file can have: one line, no traceback."""

import pytest

from probing.commands.main import main
from probing.core.errors import CacheError, OptionError
from probing.core.paths import cache_folder, snapshot_folder

LONG, NESIA = "x" * 300, "nesia-mini"
#: A byte that is no UTF-8, as Python reads it from a command line.
HALF = "\udcff"


@pytest.fixture()
def said(cache, monkeypatch, capsys):
    """What a command that ends with exit code 1 prints as its error: one line."""

    def call(*words) -> str:
        monkeypatch.setattr("sys.argv", ["probing", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 1
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1, error
        return error

    return call


@pytest.mark.parametrize(
    "words",
    [
        ["sentences", "ask", f"{HALF} king"],
        ["sentences", "ask", "king", "--pair", HALF],
        ["ask", f"[MASK] {HALF}"],
        ["edges", "trace", "--sentence", HALF],
        ["edges", "train", "--tasks", HALF],
        ["probe", "--facts", HALF],
        ["report", "--model", HALF],
        ["pull", HALF],
        ["finetune", HALF],
        ["nothing", HALF],
    ],
    ids=" ".join,
)
def test_a_word_that_is_no_text_is_refused_by_every_command(words, run):
    with pytest.raises(OptionError, match="half a character"):
        run(*words)


@pytest.mark.parametrize(
    "words",
    [
        ["ask", "--model", LONG, "It is [MASK]."],
        ["probe", "--model", NESIA, "--facts", LONG],
        ["probe", "--model", NESIA, "--facts", "common_sense", "--name", LONG],
        ["edges", "train", "--model", NESIA, "--tasks", LONG],
        ["sentences", "train", "--model", NESIA, "--tasks", LONG],
        ["sentences", "train", "--model", NESIA, "--tasks", f"{LONG}.tsv"],
        ["pull", "--from-folder", LONG],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_name_of_300_letters_is_refused_in_one_line(words, said):
    assert LONG[:4] in said(*words)


def test_a_cache_with_a_name_of_300_letters_is_named(said, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", f"/tmp/{LONG}")
    assert "File name too long" in said("runs")


def test_the_home_is_expanded_in_the_names_of_both_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PROBING_CACHE", "~")
    monkeypatch.setenv("PROBING_SNAPSHOT", "~/results")
    assert (cache_folder(), snapshot_folder()) == (tmp_path, tmp_path / "results")


@pytest.mark.parametrize("name", ["\n", "a\x1bb", HALF, "~nobody-has-this-name/x"])
def test_a_cache_that_no_folder_should_be_called_is_refused(name, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", name)
    with pytest.raises(CacheError, match="PROBING_CACHE is"):
        cache_folder()
