"""Small files in the formats of CoNLL-2003, SQuAD and MS MARCO, written for tests."""

import json
from pathlib import Path

_SENTENCE = (("Rocky", "I-PER"), ("was", "O"), ("born", "O"), ("in", "O"), ("Philadelphia", "I-LOC"), (".", "O"))
_PLACES = ("France", "Germany", "Italy")
_CAPITALS = ("Paris", "Berlin", "Rome")


def write_conll(folder: Path) -> Path:
    """Training and test sentences in CoNLL-2003's columns, IOB1."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["-DOCSTART- -X- -X- O", ""]
    lines += [f"{word} NN I-NP {tag}" for word, tag in _SENTENCE] + [""]
    lines += ["Paris NNP I-NP I-LOC", "Berlin NNP I-NP B-LOC", "Rome NNP I-NP I-ORG", ""]
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (folder / name).write_text("\n".join(lines * 3), encoding="utf-8")
    return folder


def write_treebank(folder: Path) -> Path:
    """The three parts of UD English EWT with universal tags; "saw" is a noun once and a verb twice in training."""
    folder.mkdir(parents=True, exist_ok=True)
    noun, verb = (("a", "DET"), ("saw", "NOUN")), (("we", "PRON"), ("saw", "VERB"))
    blocks = []
    for words in (noun, verb, verb):
        blocks += [f"{n}\t{word}\t{word}\t{tag}\tX\t_\t0\troot\t_\t_" for n, (word, tag) in enumerate(words, 1)] + [""]
    for part in ("train", "dev", "test"):
        (folder / f"en_ewt-ud-{part}.conllu").write_text("\n".join(blocks) + "\n", encoding="utf-8")
    return folder


def write_squad(folder: Path) -> Path:
    """A file with impossible questions (2.0) and one without (1.1); a dozen articles, so that both parts have some."""
    folder.mkdir(parents=True, exist_ok=True)

    def article(number: int, impossible: bool) -> dict:
        place, capital = _PLACES[number % 3], _CAPITALS[number % 3]
        context = f"The capital of {place} is {capital}. Rocky was born in Boston {number}."
        questions = [
            {
                "id": f"{number}a",
                "question": f"capital of {place}",
                "answers": [{"text": capital, "answer_start": context.index(capital)}],
            },
        ]
        if impossible:
            questions[0]["is_impossible"] = False
            questions.append({"id": f"{number}b", "question": "moon of paris", "answers": [], "is_impossible": True})
        return {"title": f"article {impossible} {number}", "paragraphs": [{"context": context, "qas": questions}]}

    for name, impossible in (("some-v2.0.json", True), ("some-v1.1.json", False)):
        text = json.dumps({"version": name, "data": [article(n, impossible) for n in range(12)]})
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_msmarco(folder: Path, queries: int = 12) -> Path:
    """BM25 lists as JSON and judgements in TREC's format; the last query has no judgement."""
    folder.mkdir(parents=True, exist_ok=True)
    lists, judgements = [], []
    for query in range(queries):
        hits = [
            {
                "qid": query,
                "docid": f"d{query}-{n}",
                "rank": n + 1,
                "content": f"{_CAPITALS[n % 3]} is city {n} of {query}",
            }
            for n in range(12)
        ]
        lists.append({"query": f"city {query}", "hits": hits[::-1]})
        if query < queries - 1:
            judgements += [f"{query} 0 d{query}-{n} {grade}" for n, grade in ((1, 3), (2, 1), (5, 2), (7, 0))]
            judgements.append(f"{query} 0 d{query}-not-listed 3")
    (folder / "lists.json").write_text(json.dumps(lists), encoding="utf-8")
    (folder / "qrels.txt").write_text("\n".join(judgements), encoding="utf-8")
    return folder


def write_glue(folder: Path) -> Path:
    """CoLA, SST-2 and RTE as GLUE has them; one of CoLA's training sentences is in its development part, too."""
    cola = [f"gj04\t{int(n % 3 > 0)}\t\tThe city is {_CAPITALS[n % 3]} {n}" for n in range(24)]
    sst2 = [f"{_CAPITALS[n % 3]} is red {n} \t{n % 2}" for n in range(24)]
    labels = ("entailment", "not_entailment")
    rte = [f"{n}\tParis is in {_PLACES[n % 3]} {n}.\tIt is {_PLACES[n % 2]}.\t{labels[n % 2]}" for n in range(24)]
    for name, header, lines in (
        ("CoLA", [], cola),
        ("SST-2", ["sentence\tlabel"], sst2),
        ("RTE", ["index\tsentence1\tsentence2\tlabel"], rte),
    ):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for part, rows in (("train", lines[:17]), ("dev", lines[16:] if name == "CoLA" else lines[17:])):
            (folder / name / f"{part}.tsv").write_text("\n".join([*header, *rows]) + "\n", encoding="utf-8")
    return folder
