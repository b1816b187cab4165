"""Two models probed on the same facts: the outcome of every fact, counted and listed, equal to raw ranks and to the
reports.
"""

import re
import shutil

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

import probing
from probing.facts.forgotten import fate_of, part_of
from probing.kernel.stats.paired_tests import PairedCounts, paired_difference
from tests.fixtures.commands import WORDS

TEXTS = (
    "The capital of {} is [MASK].",
    "{} is in [MASK].",
    "It is {} and [MASK].",
    "{} was born in [MASK].",
    "The [MASK] is {}.",
)


def some_facts() -> pd.DataFrame:
    """Facts about tokens of the tiny model, so that some are known by chance at rank 10."""
    tokens = [word for word in WORDS if word.isalpha()]
    rows = [
        {
            "subject": tokens[-n - 1],
            "relation": f"r{n % 5}",
            "object": tokens[n % len(tokens)],
            "prompt": TEXTS[n % 5].format(tokens[-n - 1]),
        }
        for n in range(len(tokens))
    ]
    return pd.DataFrame([row for row in rows if row["subject"] != row["object"]])


@pytest.fixture(scope="module")
def two(tiny_model, tmp_path_factory):
    """The tiny model and one that was fine-tuned from it, as ``Probed`` in two folders; the second lacks one fact and
    has another.
    """
    root = tmp_path_factory.mktemp("two")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(root / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(root / "snapshot"))
        tuned = shutil.copytree(tiny_model, root / "tuned")
        generator = torch.Generator().manual_seed(4)
        weights = load_file(tuned / "model.safetensors")
        moved = {name: value + 0.08 * torch.randn(value.shape, generator=generator) for name, value in weights.items()}
        save_file(moved, tuned / "model.safetensors", metadata={"format": "pt"})
        facts, found = some_facts(), []
        for folder, table in ((tiny_model, facts.iloc[:-1]), (tuned, facts.iloc[1:])):
            model = probing.load(folder, "logit_lens", base=str(tiny_model) if folder == tuned else None, device="cpu")
            found.append(model.probe(table, called="mine", out=root / folder.name, progress=False))
        yield found


def outcomes(base, tuned, k) -> pd.DataFrame:
    """Part and fate of every fact that both were asked, by plain Python from the raw ranks."""
    ranks = {
        one: {fact: list(part["rank"]) for fact, part in probed.table.groupby("fact_id")}
        for one, probed in (("b", base), ("t", tuned))
    }
    rows = []
    for fact in sorted(ranks["b"].keys() & ranks["t"].keys()):
        before, after = ranks["b"][fact], ranks["t"][fact]
        part = part_of(before[-1], after[-1], k)
        rows.append((fact, part, fate_of(before, after) if part == "lost" else "", before[-1], after[-1]))
    return pd.DataFrame(rows, columns=["fact_id", "part", "fate", "base_rank", "rank"])


def test_the_lines_of_the_readme_compare_a_base_with_trained_heads_and_a_model_without(
    repo_root, tmp_path, monkeypatch, caplog
):
    """With shipped models in place of the reader's: only nesia-mini has trained heads."""
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    facts = [("Rocky Balboa was born in [MASK].", "Philadelphia"), ("The capital of France is [MASK].", "Paris")]
    (tmp_path / "my.csv").write_text("\n".join(map(",".join, [("question", "answer"), *facts])), encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", (repo_root / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (lines,) = (block for block in blocks if ".compare(base)" in block)
    made = {"probing": probing}
    exec(lines.replace("my-bert-ner", "nesia-mini-ner-conll").replace("my-bert", "nesia-mini"), made)
    assert made["base"].head == "tied" and made["tuned"].head == "logit_lens"
    assert "nesia-mini was probed with tied heads; it is asked again by the logit lens" in caplog.text
    compared = made["tuned"].compare(made["base"])
    assert compared.head == "logit_lens" and compared.counts["n"].tolist() == [2]
    by_name = probing.load("nesia-mini", head="logit_lens").probe("my.csv", progress=False)
    pd.testing.assert_frame_equal(made["tuned"].compare(by_name).kept, compared.kept)
    # The other way round, too.
    assert made["base"].compare(made["tuned"]).counts["lost"].tolist() == compared.counts["gained"].tolist()


@pytest.mark.parametrize("k", [1, 10])
def test_every_fact_has_the_outcome_of_its_raw_ranks(two, k):
    base, tuned = two
    compared, expected = tuned.compare(base, k), outcomes(base, tuned, k)
    assert k == 1 or set(expected["part"]) == {"kept", "gained", "lost", "never"}, "the planted models must differ"
    (counts,) = compared.counts.to_dict("records")
    assert (counts["probe_set"], counts["n"], counts["only_base"], counts["only_model"]) == (
        "mine",
        len(expected),
        1,
        1,
    )
    for part in ("kept", "gained", "lost", "never"):
        mine = expected[expected["part"] == part]
        listed = getattr(compared, part)
        assert counts[part] == len(mine) == len(listed)
        got = listed.sort_values("fact_id")
        assert (
            got[["fact_id", "base_rank", "rank"]].values.tolist()
            == mine[["fact_id", "base_rank", "rank"]].values.tolist()
        )
        assert got["fate"].fillna("").tolist() == mine["fate"].tolist()
    slow = paired_difference(PairedCounts(*(counts[part] for part in ("kept", "gained", "lost", "never"))))
    assert [counts[name] for name in ("difference", "low", "high", "p_value")] == [
        slow.value,
        slow.low,
        slow.high,
        slow.p,
    ]


def test_the_answers_are_the_best_tokens_of_both_last_layers(two):
    base, tuned = two
    compared = tuned.compare(base, 10)
    listed = pd.concat([compared.lost, compared.kept, compared.gained, compared.never]).set_index("fact_id")
    for probed, prefix in ((base, "base_"), (tuned, "")):
        last = probed.table[probed.table["layer"] == 2].set_index("fact_id").loc[listed.index]
        assert (listed[f"{prefix}answer"] == last["top_token"]).all()
        for mine, theirs in (("probability", "probability"), ("answer_probability", "top_probability")):
            assert listed[f"{prefix}{mine}"].tolist() == pytest.approx(last[theirs].tolist())
        assert (listed[["subject", "object", "prompt"]] == last[["subject", "object", "prompt"]]).all(axis=None)


def test_every_layer_is_counted_and_the_last_one_is_the_count(two):
    base, tuned = two
    compared = tuned.compare(base, 10)
    layers = compared.by_layer
    assert layers["layer"].tolist() == [0, 1, 2] and set(layers["probe_set"]) == {"mine"}
    both = base.table.merge(tuned.table, on=["fact_id", "layer"])
    for row in layers.itertuples():
        here = both[both["layer"] == row.layer]
        known, now = here["rank_x"] <= 10, here["rank_y"] <= 10
        assert (row.n, row.kept, row.lost, row.gained) == (
            len(here),
            (known & now).sum(),
            (known & ~now).sum(),
            (~known & now).sum(),
        )
        assert row.low <= row.value <= row.high and row.difference_low <= row.difference <= row.difference_high
    shared = ["kept", "gained", "lost", "never", "base_value", "value", "difference", "p_value"]
    assert layers[shared].iloc[-1].tolist() == compared.counts[shared].iloc[0].tolist()
