"""The claims of a paper in short: its own number, ours, the verdict, and the reason in one line."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from probing.core.claims import Check, Claim
from probing.core.facts.fact import PROBE_SETS
from probing.reports.reproduction.judge import FAILS, HOLDS, UNSURE, UNTESTED, Judged, deciding

#: What a tile says of a claim.
TILE = ("claim", "paper", "here", "verdict", "reason")
#: The verdict of a claim that neither holds nor fails.
OPEN = "undecided"
_DRAWN = "drawn, no number"
#: Verdict on a comparison -> its word after a count of one, and of several.
_COUNTED = {HOLDS: ("holds", "hold"), FAILS: ("fails", "fail"), UNSURE: ("within chance", "within chance")}
_LEARNED = " (not shown to have learned its task)"


class Short(NamedTuple):
    """A claim in short.

    Attributes:
        number: the paper's.
        why: why it has no check.
    """

    number: str
    why: str = ""


#: Name of a claim -> the claim in short.
SHORT: dict[str, Short] = {
    # BERTnesia
    "inner layers hold knowledge": Short("17 to 60 %, mean 24 %", "A range over models and facts, without an interval."),
    "some relations double": Short("15 % of the relations", "Published without an interval."),
    "some relations are best inside": Short("7 %, 3 relations", "3 relations, and two definitions in the paper."),
    "growth is nearly exponential": Short("after layer 8 of 12", "“Almost exponentially” names no two numbers."),
    "other ranks show the same": Short("ranks 1, 10 and 100", "“The same trends” names no two numbers."),
    "models agree early": Short("alike to layer 6 of 12"),
    "who knows more keeps less inside": Short("a trend over 7 models", "The paper gives no test of the trend."),
    "fine-tuning always forgets": Short("T-REx: 29 %, then 6 to 23 %"),
    "the last layers lose most": Short(_DRAWN),
    "ranking forgets least": Short("T-REx: 23 %, others 6 to 15 %"),
    "more data does not help": Short("T-REx: 14 against 15 %"),
    "a harder task keeps more": Short("T-REx: 10 against 6 %"),
    "language modelling keeps more than question answering": Short("T-REx: 15 against 6 and 10 %"),
    "text of the probe helps": Short("up to 5 % ahead; Table 3: behind"),
    "ranking is close to its language model": Short("T-REx: 23 against 14 %"),
    # Edge probing
    "tasks come in the order of the pipeline": Short("layers 3.4, 3.8, 5.7, 6.5, 9.5 of 24"),
    "entities come after parsing": Short("layer 4.6, parsing 5.7 of 24"),
    "both metrics give one order": Short("centres at 13.8 and 13.6 of 24", "Published without an interval."),
    "both sizes give one order": Short("12 and 24 layers", "Needs encoders of two sizes."),
    "tasks stay where they are relative to the top": Short("12 and 24 layers", "Needs encoders of two sizes."),
    "syntax is more localisable": Short("K(s) 0.87 against 0.46", "Published without an interval."),
    "weights of relations and proto-roles are nearly uniform": Short("K(s) 0.01", "“Close to uniform” names no bound."),
    "entity weights are weakly concentrated": Short("K(s) 0.06", "“Weakly” names no bound."),
    "weights lie above the gains": Short("layer 13.8 against 5.7 of 24", "“Much later” names no bound."),
    "weights lie in the middle": Short("layers 9 to 20 of 24", "“Concentrated” names no bound."),
    "most is solved early": Short("layers 1 to 7 of 24", "“Most, for many tasks” names no bound."),
    "entities are solved in layer 1 with a long tail": Short("layer 1 of 24", "“A long tail” names no bound."),
    "relations and proto-roles improve to the top": Short("to layer 24", "Names no two layers to compare."),
    "more layers help": Short("all 8 tasks"),
    "the last layers lose": Short("0.01 to 0.51 points", "Published without an interval."),
    "most tags need no context": Short("89 %", "Other sentences here: the level is not comparable."),
    "single sentences leave the order": Short("often", "“Often” names no number."),
    # Fine-tuning and probing
    "mean-pooling beats CLS-pooling": Short(_DRAWN),
    "bigram-shift is easiest": Short(_DRAWN),
    "albert is worst on odd-man-out": Short(_DRAWN),
    "roberta's first token lacks the sentence": Short(_DRAWN),
    "higher layers change most": Short("BERT, CoLA: 0.1, then 4.7 points", "“Mostly, up or down” is no single comparison."),
    "cola improves bigram-shift": Short("+3.4 to +5.4 points"),
    "rte improves coordination": Short("+3.3 points"),
    "gains are negligible with mean-pooling": Short("+1.5 and +1.7 points"),
    "no gain over mean-pooling": Short("not significant", "What is not significant is not shown to be equal."),
    "sst-2 costs word order and odd words": Short("−1.1 to −7.2 points"),
    "squad costs word order and odd words": Short("−1.5 to −4.3 points"),
    "entropy of the first token rises": Short(_DRAWN),
    "attention moves most in the last layers": Short(_DRAWN),
    "perplexity rises": Short(_DRAWN),
    "the last layers raise perplexity": Short(_DRAWN),
    "390 probes on 12 models": Short("390 probes", "On the paper's own work: nothing to repeat."),
    "few violations are not syntactic": Short("15 %", "On the labels of CoLA, not on a model."),
    "removed or no longer linear": Short("left open", "The paper leaves it open."),
    # Forgetting
    "relearning brings most back": Short("88 % of the accuracy", "Other models, which were trained to unlearn."),
    "frozen lower layers lose less": Short("less", "Other models, which learned task after task."),
}
#: Page that a claim names, as the files have it -> the page that shows it now.
SHOWN_ON = {
    "relations": "layers",
    "pipeline": "grammar",
    "edge_sentences": "grammar",
    "sentence_probes": "grammar",
    "forgetting": "compare",
}


def tiles(judged: Sequence[Judged]) -> pd.DataFrame:
    """``TILE``, one row per claim in the order of the paper; the verdict is ``holds``, ``does not hold`` or ``OPEN``."""
    rows = [
        (_title(one.claim), SHORT[one.claim.name].number, _here(one), one.verdict if one.verdict in (HOLDS, FAILS) else OPEN, _reason(one))
        for one in judged
    ]
    return pd.DataFrame(rows, columns=list(TILE))


def counts(table: pd.DataFrame) -> tuple[int, int, int]:
    """How many claims hold, do not hold, and cannot be judged."""
    hold, fail = (int(table["verdict"].eq(one).sum()) for one in (HOLDS, FAILS))
    return hold, fail, len(table) - hold - fail


def with_comparisons(judged: Sequence[Judged]) -> pd.DataFrame:
    """Every comparison of every claim, next to the claim and its ``TILE``; a claim without a check has one row."""
    rows = []
    for one, short in zip(judged, tiles(judged).to_dict("records"), strict=True):
        said = short | {"says": one.claim.says, "where": one.claim.where, "against": one.claim.against}
        said |= {"asks": one.claim.check.asks if one.claim.check else ""}
        compared = one.compared.drop(columns="claim").rename(columns={"verdict": "comparison"}).to_dict("records")
        rows += [said | row for row in compared or [{}]]
    return pd.DataFrame(rows)


def _title(claim: Claim) -> str:
    """The name of a claim, with the capitals that names of models and tasks have."""
    words = claim.name.replace("albert", "ALBERT").replace("roberta", "RoBERTa").replace("cola ", "CoLA ").replace("rte ", "RTE ")
    words = words.replace("sst-2", "SST-2").replace("squad ", "SQuAD ").replace("squad-", "SQuAD-")
    return words[:1].upper() + words[1:]


def _here(one: Judged) -> str:
    """Ours: the comparison that is closest to another verdict."""
    row, check = deciding(one), one.claim.check
    if row is None or check is None or pd.isna(row["difference"]):
        return ""
    sides = [_number(check, row[side]) for side in ("first", "second") if pd.notna(row[side])]
    said = " against ".join(sides) if len(sides) == 2 else _number(check, row["difference"], signed=True)
    named = ", ".join(PROBE_SETS.get(one, one) for one in row["compared"].split(", "))
    return said + (f" ({named})" if named else "")


def _number(check: Check, value: float, *, signed: bool = False) -> str:
    """A share in per cent, a difference of shares in points, all else in its own unit."""
    column = check.columns[0]
    if check.report == "changes values" or column in ("expected_layer", "perplexity", "log_change"):
        words = f"{value:{'+' if signed else ''}{',.0f' if abs(value) >= 100 else '.2g'}}"
    elif signed or column in ("change", "gain"):
        words = f"{100 * value:+.1f} points"
    else:
        words = f"{100 * value:.1f} %"
    return words.replace("-", "−")


def _reason(one: Judged) -> str:
    """One line: what decides, or what is missing."""
    table, n = one.compared, len(one.compared)
    if not n:
        return SHORT[one.claim.name].why
    found = {words: int(table["verdict"].eq(verdict).sum()) for verdict, words in _COUNTED.items()}
    said = [f"{count} {words[count > 1]}" for words, count in found.items() if count]
    words = [f"of {n} comparisons {', '.join(said)}"] if said else []
    if table["verdict"].eq(UNTESTED).any():
        words.append(f"needs {missing(one)}")
    line = "; ".join(words)
    return f"{line[:1].upper()}{line[1:]}."


def missing(one: Judged) -> str:
    """What the comparisons of a claim name and the results do not have.

    Numbers of a model that did not learn its task, and of sentences that stand for those of the paper, may be stored all the same.
    """
    parts = list(dict.fromkeys("; ".join(filter(None, one.compared["missing"])).split("; ")))
    unlearned = [part.removesuffix(_LEARNED) for part in parts if part.endswith(_LEARNED)]
    sets = [PROBE_SETS[part] for part in parts if part in PROBE_SETS]
    words = [part for part in parts if part not in PROBE_SETS and not part.endswith(_LEARNED)]
    if unlearned:
        words.append(f"{'a model' if len(unlearned) == 1 else 'models'} that learned {' and '.join(unlearned)}")
    if sets:
        words.append(f"the paper's facts of {' and '.join(sets)}")
    return ", and ".join(words)
