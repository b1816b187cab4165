"""The page of single targets on planted stores: every bar and every count is recomputed from the planted probabilities."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from probing.core.edges.tasks import read_task
from probing.core.edges.traces import AMBIGUOUS
from probing.ui.edge_sentences import trace
from probing.ui.edge_sentences import words as found_words
from tests.core.edges.edge_files import conllu, propbank, write_ewt, write_propbank
from tests.edges_planted import POS, ROLES, RUNS, SRL, PlantedEdgeRun, own_too, plant_edge_runs, planted_part, planted_probabilities
from tests.pages.conftest import opening, words
from tests.pages.planted_family import charts

MINI = {task.name: PlantedEdgeRun(task=task) for task in (POS, SRL, ROLES)}
COMMAND = "python -m probing edges train"


def listed(app) -> list[str]:
    """The sentences of the list."""
    return list(next(one.value for one in app.dataframe if "sentence" in one.value)["sentence"])


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    return plant_edge_runs(tmp_path_factory.mktemp("edges") / "runs")


@pytest.fixture
def look(edges, tmp_path, monkeypatch):
    return opening(edges, tmp_path / "cache", monkeypatch)


@dataclass(frozen=True)
class Slow:
    """What the layers make of a target, the obvious way."""

    task: str
    target: int
    text: str
    spans: tuple
    gold: frozenset
    seen: bool
    settled: int | None
    revisions: int
    ambiguous: bool
    memory_right: bool


def slow(task, part: str = "dev") -> list[Slow]:
    run, data, found = MINI[task.name], planted_part(task, part), []
    p = planted_probabilities(run, part)
    shares = p / p.sum(axis=2, keepdims=True)
    for number, target in enumerate(data.targets):
        top = p[:, number].argmax(axis=1)
        right = [bool(data.gold[number, label]) for label in top]
        settled = None
        for layer in reversed(range(len(right))):
            if not right[layer]:
                break
            settled = layer
        found.append(
            Slow(
                task.name,
                number,
                data.records[data.sentences[number]].text,
                (target.span1, target.span2),
                frozenset(np.array(task.labels)[data.gold[number]]),
                bool(data.seen[number]),
                settled,
                sum(one != other for one, other in zip(top[1:], top[:-1], strict=True)),
                shares[:, number].mean(axis=0).max() <= AMBIGUOUS,
                bool((data.memory[number] == data.gold[number]).all()) and not data.unknown[number],
            )
        )
    return found


def texts(targets) -> set[str]:
    return {one.text for one in targets}


EVERY = [one for task in (POS, SRL, ROLES) for one in slow(task)]
AMBIGUOUS_OF = Counter(one.text for one in EVERY if one.ambiguous)
CHOICES = [
    ({"trace_kind": "ambiguous"}, [one for one in EVERY if one.ambiguous and AMBIGUOUS_OF[one.text] > 1]),
    ({"trace_kind": "revised"}, [one for one in EVERY if one.revisions]),
    ({"settled": "2"}, [one for one in EVERY if one.settled == 2]),
    ({"trace_unseen": "1", "trace_task": "srl"}, [one for one in EVERY if not one.seen and one.task == "srl"]),
    ({"trace_task": "proto-roles", "trace_label": "volition"}, [one for one in slow(ROLES) if "volition" in one.gold]),
]


def number_of_sentences(app) -> int:
    (line,) = [one.value for one in app.main.markdown if "sentence" in one.value and one.value.startswith("**")]
    return int(line.strip("*").split()[0].replace(",", ""))


def share(word: tuple | None, other: tuple | None) -> bool:
    return word is not None and other is not None and word[0] < other[1] and other[0] < word[1]


@pytest.mark.parametrize(("query", "wanted"), CHOICES, ids=[", ".join(query) for query, _ in CHOICES])
def test_the_filters_find_the_sentences_that_the_obvious_way_finds(look, query, wanted):
    app = look("edge_sentences", **query)
    assert not app.exception and texts(wanted)
    assert number_of_sentences(app) == len(texts(wanted))
    assert dict(app.query_params) == {name: [value] for name, value in query.items()} or dict(app.query_params) == query


def test_a_later_task_that_settles_before_an_earlier_one_is_found_where_both_share_a_word(look):
    roles, tags = [one for one in EVERY if one.task == "srl"], [one for one in EVERY if one.task == "pos"]
    pairs = [
        (late, early)
        for late in roles
        for early in tags
        if late.text == early.text
        and late.settled is not None
        and early.settled is not None
        and late.settled < early.settled
        and any(share(one, early.spans[0]) for one in late.spans)
    ]
    app = look("edge_sentences", later_first="srl", earlier_last="pos")
    assert number_of_sentences(app) == len({late.text for late, _ in pairs}) > 0
    table = next(one.value for one in app.dataframe if "memory" in one.value)
    here = [pair for pair in pairs if any(pair[0].text in one.value.replace("\\", "") for one in app.main.markdown)]
    assert len(table) == len({one for pair in here for one in pair}), "only the targets out of order are listed"


def test_a_panel_shows_the_normalised_probabilities_of_the_right_label_and_of_one_wrong_label_for_all_layers(look):
    record = planted_part(SRL, "dev").records[4]
    app = look("edge_sentences", trace_task="srl", text_hash=record.sha256, other_panels="1")
    assert not app.exception and record.text.split()[1] in words(app)
    targets = [one for one in slow(SRL) if one.text == record.text]
    p = planted_probabilities(MINI["srl"], "dev")
    shares = p / p.sum(axis=2, keepdims=True)
    panels = [
        [trace for trace in figure["data"] if trace["name"] == name]
        for name in ("right label", "best wrong label")
        for figure in charts(app)
    ]
    assert [len(one) for one in panels] == [3, 1, 3, 1] and len(targets) == 4, "the second figure has what the first leaves out"
    right, wrong = ([numbers(trace["y"]) for one in panels[first : first + 2] for trace in one] for first in (0, 2))
    for one in targets:
        gold = planted_part(SRL, "dev").gold[one.target]
        worst = np.where(gold, -1, shares[:, one.target].mean(axis=0)).argmax()
        place = next(n for n, found in enumerate(right) if found == pytest.approx(shares[:, one.target, gold.argmax()]))
        assert wrong[place] == pytest.approx(-shares[:, one.target, worst])
    right = sum(one.settled is not None for one in targets)
    assert f"right for **{right} of 4 targets**" in "\n".join(str(one.value) for one in app.main.markdown)
    assert f"gives exactly the right labels for {sum(one.memory_right for one in targets)}" in words(app)


def numbers(values) -> list[float]:
    """The numbers of a trace, which Plotly may have packed."""
    if isinstance(values, dict):
        import base64

        return list(np.frombuffer(base64.b64decode(values["bdata"]), dtype=np.dtype(values["dtype"])))
    return [float(one) for one in values]


def test_tasks_that_were_probed_on_one_text_are_shown_together(look):
    record = planted_part(POS, "dev").records[0]
    table = next(one.value for one in look("edge_sentences", text_hash=record.sha256).dataframe if "memory" in one.value)
    assert {one.split(":")[0] for one in table["target"]} == {"Part of speech", "Semantic roles"}
    assert table["target"].iloc[0] == f"Part of speech: {record.words[0]}"


def test_words_that_are_not_there_are_nowhere_and_the_page_names_the_command_that_brings_them(look):
    record = planted_part(ROLES, "dev").records[0]
    app = look("edge_sentences", trace_task="proto-roles", text_hash=record.sha256)
    assert not app.exception
    text = words(app)
    assert f"text {record.sha256[:12]}" in text.replace("\\", "") and "`python -m probing fetch spr2-uds ud-english-ewt` fetches" in text
    shown = everything(app)
    assert record.text not in shown and "words 1–3" in shown and "word 4" in shown


def everything(app) -> str:
    """All that the page shows: words, tables, figures."""
    tables = [one.value.to_csv() for one in app.dataframe]
    return words(app) + str(tables) + "".join(str(one.proto.spec) for one in app.get("plotly_chart"))


@pytest.fixture
def wordless(tmp_path, monkeypatch):
    """Opens the page on results that hold no words, as those that ship."""

    def blank(table: str, rows: list[dict]) -> list[dict]:
        return [row | {"text": None} for row in rows] if table == "edge_sentences" else rows

    runs = [PlantedEdgeRun(task=task) for task in (POS, SRL)]
    return opening(plant_edge_runs(tmp_path / "bare", runs, change=blank), tmp_path / "cache", monkeypatch)


def fetch_ewt(cache, records) -> None:
    """Puts sentences where `fetch ud-english-ewt` would."""
    rows = {f"dev-{number}": [(word, "NN", 0, "root") for word in one.words] for number, one in enumerate(records)}
    write_ewt(cache / "downloads" / "ud-english-ewt", dev=conllu(rows))


def test_words_appear_once_their_data_set_is_fetched_and_no_other_task_is_read(wordless, tmp_path, monkeypatch):
    record = planted_part(POS, "dev").records[0]
    before = wordless("edge_sentences", text_hash=record.sha256)
    assert record.text not in everything(before) and "`python -m probing fetch ud-english-ewt` fetches the words" in words(before)
    fetch_ewt(tmp_path / "cache", planted_part(POS, "dev").records)
    asked = []
    monkeypatch.setattr(found_words, "read_task", lambda name, folder: asked.append(name) or read_task(name, folder))
    after = wordless("edge_sentences", text_hash=record.sha256)
    assert not after.exception and f"Part of speech: {record.words[0]}" in everything(after) and "sha256" not in words(after)
    assert {one.text for one in planted_part(POS, "dev").records} >= set(listed(after))
    assert asked == ["pos"], "srl has the same sentences, so it need not be read"
    wordless("edge_sentences", text_hash=record.sha256)
    assert asked == ["pos"], "unchanged files are read once"


def test_a_data_set_that_cannot_be_read_is_left_out_and_the_next_task_has_the_words(wordless, tmp_path):
    records = planted_part(POS, "dev").records
    (tmp_path / "cache" / "downloads" / "ud-english-ewt").mkdir(parents=True)
    for part in ("train", "dev", "test"):
        (tmp_path / "cache" / "downloads" / "ud-english-ewt" / f"en_ewt-ud-{part}.conllu").write_text("no treebank\n")
    tables = [
        [(word, "NN", "*", "(V*)" if place == 3 else "(ARG0*)" if place == 2 else "*") for place, word in enumerate(one.words)]
        for one in records[1:]
    ]
    write_propbank(tmp_path / "cache" / "downloads" / "ewt-propbank", dev=propbank(*tables))
    app = wordless("edge_sentences", text_hash=records[1].sha256)
    assert not app.exception and records[1].text in everything(app)
    assert records[0].text not in everything(app) and "fetch ud-english-ewt`" in words(app), "one sentence lacks its words"


def test_filters_that_keep_nothing_are_said_and_can_be_cleared(look):
    app = look("edge_sentences", trace_task="proto-roles", later_first="proto-roles", earlier_last="pos")
    assert "No sentence passes these filters" in words(app)
    next(one for one in app.button if one.label == "Clear all filters").click().run()
    assert not app.exception and number_of_sentences(app) == len(texts(EVERY))


def test_another_model_has_its_own_answers_and_only_its_tasks(look):
    app = look("edge_sentences", trace_model="other-bert")
    assert not app.exception and app.selectbox(key="edge_sentences.trace_task").options == ["all tasks", "Part of speech", "Semantic roles"]
    assert len(charts(app)[0]["data"][0]["x"]) == 7 or charts(app)[0]["layout"]["xaxis"]["tickvals"][-1] == 6


def test_without_stored_answers_the_page_names_the_command(visit):
    app = visit("edge_sentences", "empty")
    assert not app.exception and COMMAND in words(app)


def test_a_store_of_one_run_is_enough(tmp_path, monkeypatch):
    one = plant_edge_runs(tmp_path / "one", [PlantedEdgeRun()])
    app = opening(one, tmp_path / "cache", monkeypatch)("edge_sentences")
    assert not app.exception and len(charts(app)) == 1


def test_runs_without_stored_predictions_are_no_answers(tmp_path, monkeypatch):
    bare = plant_edge_runs(tmp_path / "bare", [PlantedEdgeRun(predictions=False)])
    app = opening(bare, tmp_path / "cache", monkeypatch)("edge_sentences")
    assert not app.exception and COMMAND in words(app)


def test_the_planted_store_has_more_runs_than_the_page_reads():
    assert len(RUNS) > len(MINI)


@pytest.fixture
def with_own(tmp_path, monkeypatch):
    """Opens the page on results with sentences of our own."""
    return opening(plant_edge_runs(tmp_path / "own", change=own_too), tmp_path / "cache", monkeypatch)


def test_our_own_sentences_come_first_with_their_tasks_and_the_page_says_what_they_are(with_own):
    app = with_own("edge_sentences")
    assert not app.exception and dict(app.query_params) == {}
    assert app.selectbox(key="edge_sentences.trace_task").options == ["all tasks", "Part of speech", "Semantic roles"]
    own = [one for task in (POS, SRL) for one in slow(task)]
    assert number_of_sentences(app) == len(texts(own)) and set(listed(app)) <= texts(own)
    assert "too few for scores" in words(app) and "sha256" not in words(app)
    choice = next(one for one in app.get("button_group") if one.key == "edge_sentences.trace_part")
    assert [one.content.replace("\\", "") for one in choice.proto.options] == ["our own sentences", "dev", "test"]
    app = with_own("edge_sentences", trace_part="dev")
    assert not app.exception and number_of_sentences(app) == len(texts(EVERY)) and "too few" not in words(app)


def test_a_link_to_sentences_that_are_not_stored_shows_those_that_are(look):
    app = look("edge_sentences", trace_part="own")
    assert not app.exception and "not in these results: our own sentences" in words(app) and number_of_sentences(app) == len(texts(EVERY))


def test_of_more_panels_than_fit_those_with_most_revisions_are_drawn_in_their_order():
    rows = [
        {"panel": f"pos.{target}.0", "revisions": revisions, "layer": layer}
        for target, revisions in enumerate([0, 3, 0, 1] + [2] * 10)
        for layer in range(3)
    ]
    drawn = trace.most_revised(pd.DataFrame(rows), 12)
    assert list(dict.fromkeys(drawn["panel"])) == [f"pos.{target}.0" for target in (1, 3, *range(4, 14))] and len(drawn) == 36
