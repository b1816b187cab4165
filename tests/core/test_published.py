"""The files of published numbers, paper by paper: checked when read, each error with its name."""

import re
import tomllib

import pytest

from probing.core.edges.published import PublishedEdges
from probing.core.errors import PublishedError
from probing.core.knowledge.published import PublishedKnowledge
from probing.core.published import FOLDER, Published
from probing.core.sentences.published import PublishedSentences

PAPERS = (PublishedKnowledge, PublishedEdges, PublishedSentences)
#: Paper -> what is typed wrong, and the words that name it.
SLIPS: dict[type[Published], list[tuple[str, str, str]]] = {
    PublishedKnowledge: [
        ("shares = [0.43, 0.38, 0.38]", "shares = [0.34, 0.38, 0.38]", "0.34"),
        ("T-REx = [29, 34]", "T-REx = [34, 29]", "last <= total"),
        ("place_of_birth = 2937", "place_of_birth = 2938", "add up to 5529"),
        ('model = "BERT"', 'model = "BURT"', "BURT"),
        ("divisor = 42", "divisor = 'many'", "divisor"),
        ("number = 2\n", "number = 1\n", "each once"),
    ],
    PublishedEdges: [
        ("88.40, 93.48,", "88.40,", "pos has 12 F1s of base, expected 13"),
        ("88.40, 93.48,", "884.0, 93.48,", "884.0, expected 0 to 100 per cent"),
        ("large = 11.68", "large = 31.68", "31.68 on large, expected 0 to 24"),
        ("large = 11.68", "huge = 11.68", "huge"),
        ('name = "srl"', 'name = "pos"', "each once"),
    ],
    PublishedSentences: [
        ("CoLA = [0.07, 4.73]", "CoLA = [0.07]", "Field required"),
        ("CoLA = [0.07, 4.73]", "MNLI = [0.07, 4.73]", "no fine-tuning task is called ['MNLI']"),
        ('model = "BERT"\ntask = "bigram-shift"', 'model = "GPT"\ntask = "bigram-shift"', "no model is called ['GPT']"),
        ("BERT = [78.6, 86.5]", "BERT = [78.6]", "expected 2 per cent"),
        ('name = "SST-2"', 'name = "CoLA"', "each once"),
    ],
}
OF_ALL = [("title =", "titel =", "titel"), ("[[models]]", "[[models]", "not a file of published numbers")]
each_paper = pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.file)


@pytest.mark.parametrize(("paper", "slip"), [(paper, slip) for paper in PAPERS for slip in SLIPS[paper] + OF_ALL])
def test_a_slip_is_named(tmp_path, paper, slip):
    old, new, words = slip
    text = (FOLDER / paper.file).read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "paper.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(PublishedError, match=re.escape(words)):
        paper.read(path)


@each_paper
def test_a_missing_file_and_an_unknown_figure_are_named_with_what_there_is(tmp_path, paper):
    with pytest.raises(PublishedError, match=r"nowhere\.toml"):
        paper.read(tmp_path / "nowhere.toml")
    known = paper.read()
    with pytest.raises(
        PublishedError, match=f"no Figure 19 here; there are {known.figures[0].number}, {known.figures[1].number}"
    ):
        known.figure("19" if isinstance(known.figures[0].number, str) else 19)


@each_paper
def test_every_claim_and_figure_of_the_file_is_read_and_cannot_be_changed(paper):
    raw, known = tomllib.loads((FOLDER / paper.file).read_text(encoding="utf-8")), paper.read()
    assert [claim["name"] for claim in raw["claims"]] == [claim.name for claim in known.claims] and len(
        known.claims
    ) >= 12
    assert [figure["number"] for figure in raw["figures"]] == [figure.number for figure in known.figures]
    assert all(known.figure(one.number) is one for one in known.figures)
    with pytest.raises(ValueError, match="frozen"):
        known.claims[0].name = "other"
