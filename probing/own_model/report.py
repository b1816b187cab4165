"""What a user's own model knows of the user's own facts, next to its base and to T-REx; also in plain words."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from probing.facts.forgotten import outcome_words
from probing.facts.report_candidates import grouped, newest
from probing.facts.report_layers import by_layer
from probing.facts.report_pairs import BESIDE, listed_facts, paired_with_yardsticks, transitions_beside_wrong
from probing.facts.requests import INDEPENDENT, VOCABULARY
from probing.facts.runs import choose
from probing.facts.store_candidates import candidate_runs, ranked_facts
from probing.facts.store_facts import MAX_ROWS, fact_ranks, search_facts
from probing.facts.store_pairs import weight_drift
from probing.forgetting.report_outcome import any_in_words, outcome, stored_runs
from probing.forgetting.report_outcome import ways as ways_back
from probing.forgetting.report_savings import stored_words
from probing.kernel.columns import Columns
from probing.kernel.errors import StoreError
from probing.kernel.fact import SEVERAL_TOKENS, FactSet
from probing.kernel.models.checkpoint import warn_of_drift
from probing.kernel.models.names import LOGIT_LENS, head_order
from probing.kernel.report import shown_baselines
from probing.kernel.stats.intervals import MIN_FACTS, wider, wilson, wilson_mean
from probing.kernel.stats.paired_tests import PairedCounts, paired_difference
from probing.kernel.store.database import Database

TREX = "trex"
#: What to do where nothing is stored of a model on a set of facts.
_AGAIN = "probe both with: python -m probing own"
PARTS = ("lost", "gained", "kept", "never")
_COLUMNS = Columns("part relation subject object prompt base_rank rank base_answer answer fate fact_id")
_RANKS = ("base_ranks", "ranks")
#: What is right of answers of the file without knowing the subject -> words.
_BLIND = {
    "chance": "by chance",
    "alone": "by the answer alone",
    "swapped": "by a blind guess (other subjects)",
    "majority": "by the commonest answer",
}
FACT_ROWS = ("part", "prompt", "object", *_RANKS, "base_answer", "answer", "fate", "fact_id")


@dataclass(frozen=True)
class OwnResult:
    """The result of a model on a set of facts; a fact is known if the rank of its answer is at most k.

    Without a base, which is then empty, ``layers`` has the columns of ``by_layer`` instead of
    ``paired_with_yardsticks``, and ``changed`` (the facts by outcome with both ranks) is empty. ``run_ids``: of the
    base, if there is one, and of the model. ``left_out``: reason -> number of facts. ``trex``: P@k at the last layer on
    T-REx. ``back``: of ``forgetting.report_outcome.outcome``, by vocabulary, ``any_back``: how many of the lost
    facts come back by one of the ways, beside its yardsticks, and what their savings say, in words. ``doubt``: why
    the base is perhaps not the model's. ``beside``: shares of lost facts that are first at an inner layer, and of wrong
    answers (``BESIDE``).

    By the ``measure`` that ranks the answers of the file, k is 1, ``layers`` has those of ``report_candidates.grouped``
    for both models, ``changed`` also has the facts of a model alone, and ``trex`` and ``beside`` are empty.
    ``measures`` are the stored ones, ``of_words`` the model's run by vocabulary; empty if there is none.
    """

    model: str
    base: str
    head: str
    probe_set: str
    k: int
    run_ids: tuple[str, ...]
    n: int
    left_out: dict[str, int]
    layers: pd.DataFrame
    changed: pd.DataFrame
    trex: pd.DataFrame
    back: pd.DataFrame
    measure: str
    measures: tuple[str, ...]
    of_words: str
    any_back: str = ""
    doubt: str = ""
    beside: dict[str, float] = field(default_factory=dict)

    @property
    def small(self) -> bool:
        """Whether the facts are too few for any conclusion."""
        return self.n < MIN_FACTS

    @property
    def title(self) -> str:
        return f"What {self.model} knows of {self.probe_set}"

    @property
    def known(self) -> str:
        """When a fact counts as known."""
        return (
            f"rank ≤ {self.k}" if self.measure == VOCABULARY else "alone in the first place among answers of the file"
        )

    @property
    def yardstick(self) -> str:
        """What answers are ranked among, and what is right without knowing the subject; nothing for all words."""
        if self.measure == VOCABULARY:
            return ""
        last = self.layers[self.layers["model"] == self.model].iloc[-1]
        of = dict.fromkeys(_BLIND, self.n) | {"swapped": last["swapped_n"]}
        right = [f"{_short(last[name] * of[name])} {words}" for name, words in _BLIND.items() if pd.notna(last[name])]
        return f"Among {_short(last['candidates'])} answers (mean); of {self.n:,} facts right: {', '.join(right)}."

    @property
    def origin(self) -> str:
        """How the numbers were made, in one line."""
        return f"BERTnesia Explorer; heads: {self.head}; known: {self.known}; runs {', '.join(self.run_ids)}"

    @property
    def sentences(self) -> list[str]:
        return [*self.answer, *self.details]

    @property
    def answer(self) -> list[str]:
        """The result in one or two sentences."""
        last = self._last
        sentences = self._compared(last) if self.base else [self._alone(last)]
        if self.doubt:
            sentences.insert(0, f"Warning: {self.doubt}")
        if self.small:
            sentences.append(
                f"These are {self.n} facts, fewer than {MIN_FACTS}: read them one by one, and draw no conclusion about"
                " the model from the shares."
            )
        return sentences

    @property
    def line(self) -> str:
        """The result in a line: "mine knows 20 % of 50 facts (rank ≤ 1, last layer), base 42 %: 12 lost, 1 gained"."""
        shares = {self.model: self._last["value"], self.base: self._last.get("base_value", 0)}
        own, base = (f"{share * self.n:,.0f}" if self.small else f"{100 * share:.0f} %" for share in shares.values())
        lost, gained = ((self.changed["part"] == part).sum() for part in ("lost", "gained"))
        beside = f", {self.base} {base}: {lost:,} lost, {gained:,} gained" if self.base else ""
        return f"{self.model} knows {own} of {self.n:,} facts ({self.known}, last layer){beside}"

    @property
    def details(self) -> list[str]:
        """What follows the answer."""
        sentences = [self._asked(), *(self._lost() if self.base else [])]
        for row in self.trex.to_dict("records"):
            sentences.append(
                f"Of {int(row['n']):,} facts of T-REx, asked in the same way, {row['model']} knows"
                f" {100 * row['value']:.1f} % at the last layer (95 % interval {100 * row['low']:.1f} to"
                f" {100 * row['high']:.1f})."
            )
        return sentences + self._ways()

    def _asked(self) -> str:
        left = ", ".join(f"{number:,} {reason}" for reason, number in self.left_out.items())
        both = f"{self.base} and {self.model} were" if self.base else f"{self.model} was"
        known = "first among all words" if self.k == 1 else f"among the first {self.k} of all words"
        if self.measure != VOCABULARY:
            known = "first, and ties with no other, among the answers that the file has for its relation"
        asked = f"{both} asked {self.n:,} facts of {self.probe_set}" + (f"; left out: {left}" if left else "")
        return f"{asked}. A fact counts as known at a layer if its answer is {known} there. {self.yardstick}".rstrip()

    @property
    def _last(self) -> dict:
        """The shares of both models at the last layer."""
        return wider(self.layers).iloc[-1].to_dict() if self.measure == VOCABULARY else self._places()

    def _places(self) -> dict:
        """The last layer, as ``layers`` has it of ranks among all words."""
        kept, lost, gained, never = (
            (self.changed["part"] == part).sum() for part in ("kept", "lost", "gained", "never")
        )
        own, low, high = (kept + gained) / self.n, *wilson(int(kept + gained), self.n)
        change = paired_difference(PairedCounts(int(kept), int(gained), int(lost), int(never)))
        differences = {f"difference{end}": getattr(change, end[1:] or "value") for end in ("", "_low", "_high")}
        return {"n": self.n, "base_value": (kept + lost) / self.n, "value": own, "low": low, "high": high} | differences

    def _alone(self, last: dict) -> str:
        known = round(last["value"] * last["n"])
        interval = "" if self.small else f" (95 % interval {100 * last['low']:.1f} to {100 * last['high']:.1f})"
        share = "" if self.small else f", {100 * last['value']:.1f} %"
        return f"At the last layer {self.model} knows {known:,} of {int(last['n']):,} facts{share}{interval}."

    def _compared(self, last: dict) -> list[str]:
        n = int(last["n"])
        if self.small:
            known, own_known = round(last["base_value"] * n), round(last["value"] * n)
            return [f"At the last layer {self.base} knows {known:,} of {n:,} facts and {self.model} {own_known:,}."]
        low, high = 100 * last["difference_low"], 100 * last["difference_high"]
        sure = "fewer" if high < 0 else "more" if low > 0 else ""
        verdict = (
            f"{self.model} knows {sure} of these facts than its base"
            if sure
            else "The facts do not decide which of the two knows more"
        )
        points = f"{100 * last['difference']:+.1f} points (95 % interval {low:+.1f} to {high:+.1f})".replace("-", "−")
        return [
            f"{verdict}: {points}.",
            (
                f"At the last layer {self.base} knows {100 * last['base_value']:.1f} % of {n:,} facts and {self.model} "
                f"{100 * last['value']:.1f} %."
            ),
        ]

    def _lost(self) -> list[str]:
        counts = self.changed["part"].value_counts()
        lost = int(counts.get("lost", 0))
        sentences = [f"{self.model} lost {lost:,} that {self.base} knows and gained {int(counts.get('gained', 0)):,}."]
        inside = [
            self._inside(fate, n)
            for fate in ("still_inside", "moved")
            if (n := int((self.changed["fate"] == fate).sum()))
        ]
        if inside:
            sentences.append(f"Of the lost ones {' and '.join(inside)}.")
        if lost and not self.small:
            # A share of the facts that the base knew, which may be few even in a large set.
            known = lost + int(counts.get("kept", 0))
            low, high = wilson_mean(lost / known, known)
            sentences.append(
                f"That is {100 * lost / known:.1f} % of what {self.base} knew (95 % interval {100 * low:.1f} to"
                f" {100 * high:.1f})."
            )
        return sentences

    def _inside(self, fate: str, n: int) -> str:
        share, wrong = (100 * self.beside.get(f"{fate}_{name}", math.nan) for name in ("share", "wrong"))
        shares = "" if math.isnan(wrong) else f" ({share:.1f} %; of equally confident wrong answers {wrong:.1f} %)"
        return f"{n:,}{shares} {'is ' if n == 1 else 'are '}{outcome_words(fate)}"

    def _ways(self) -> list[str]:
        if self.back.empty or self.small or self.measure != VOCABULARY:
            return []
        parts = ", ".join(f"{row.part} {row.n:,}" for row in self.back.itertuples() if row.n)
        return [
            f"Of {int(self.back['known'].iloc[0]):,} facts that {self.base} knew: {parts}. {self.any_back}".rstrip()
        ]


def _short(number: float) -> str:
    return f"{number:,.1f}".removesuffix(".0")


def result_of(db: Database, model: str, probe_set: str, k: int = 1, measure: str = "") -> OwnResult:
    """The result of a model on a set of facts, next to its base if that was asked by the same heads.

    A measure that is empty or not stored is that of all facts for k = 1: among the answers of the file, if answers of
    several tokens are left out of the ranks among all words.
    """
    stored = {VOCABULARY: choose(db, probe_sets=[probe_set]), INDEPENDENT: _rankings(db, probe_set)}
    of_model = {name: runs[runs["model"] == model] for name, runs in stored.items()}
    measures = tuple(name for name, runs in of_model.items() if len(runs))
    if not measures:
        every = pd.concat([choose(db, [model]), candidate_runs(db)])[["model", "probe_set"]].drop_duplicates()
        known = ", ".join(sorted(every.loc[every["model"] == model, "probe_set"])) or "nothing"
        raise StoreError(
            f"{model} has no results on {probe_set} (stored of it: {known}). Either it was not probed: python -m"
            " probing own; or none of the facts could be asked: an answer of several tokens needs a second, different"
            " answer in the file"
        )
    if measure not in measures:
        several = any(SEVERAL_TOKENS in _left_out(run) for run in of_model[VOCABULARY].to_dict("records"))
        measure = measures[-1 if several and k == 1 else 0]
    row, base = _pair(of_model[measure], stored[measure])
    run_ids = tuple(run["run_id"] for run in (base, row) if run is not None)
    both = [run_ids] if measure == VOCABULARY and base is not None else []
    if measure == INDEPENDENT:
        compared = stored[measure][stored[measure]["run_id"].isin(run_ids)]
        k, layers, changed = 1, grouped(db, compared, common=True), _among_answers(db, run_ids)
    elif base is None:
        layers, changed = (
            shown_baselines(by_layer(db, [row["run_id"]], f"p_at_{k}", "micro")),
            pd.DataFrame(columns=list(_COLUMNS)),
        )
    else:
        layers = shown_baselines(paired_with_yardsticks(db, base["run_id"], row["run_id"], k))
        changed = listed_facts(db, both, (k,), PARTS)[list(_COLUMNS)]
    if base is not None and changed.empty and layers.empty:
        raise StoreError(f"{model} and {base['model']} have no fact of {probe_set} in common; {_AGAIN}")
    left_out = _left_out(row)
    if apart := int(row["n_probed"]) - len(changed) if measure == INDEPENDENT else 0:
        left_out["not ranked by the base, or among other candidates"] = apart
    forgetting_runs = stored_runs(db, [model], [probe_set], [k])
    return OwnResult(
        model=model,
        base="" if base is None else base["model"],
        head=row["head"],
        probe_set=probe_set,
        k=k,
        run_ids=run_ids,
        n=len(changed) if measure == INDEPENDENT else int(layers["n"].max()) if len(layers) else 0,
        left_out=left_out,
        layers=layers,
        changed=changed,
        trex=_on_trex(db, [run["model"] for run in (base, row) if run is not None], row["head"], k, measure),
        measure=measure,
        measures=measures,
        of_words=_pair(of_model[VOCABULARY], stored[VOCABULARY])[0]["run_id"] if VOCABULARY in measures else "",
        back=outcome(db, forgetting_runs),
        any_back=" ".join([any_in_words(ways_back(db, forgetting_runs)), *stored_words(db, model, probe_set, k)[-1:]]),
        doubt="" if base is None else warn_of_drift(model, base["model"], weight_drift(db, [model]).to_dict("records")),
        beside=next(iter(transitions_beside_wrong(db, both, (k,))[list(BESIDE)].to_dict("records")), {}),
    )


def _rankings(db: Database, probe_set: str) -> pd.DataFrame:
    """The newest runs that ranked the answers of a file by ``independent``."""
    runs = newest(candidate_runs(db))
    ours = (runs["probe_set"] == probe_set) & (runs["measure"] == INDEPENDENT) & (runs["seed"] == 0)
    return runs[ours & (runs["candidates_file"] == "")].drop_duplicates(["model", "head"])


def _among_answers(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """The facts that a base and a model, or a model alone, were asked, with their ranks at the last layer."""
    rows = ranked_facts(db, run_ids, common=True)
    last = rows[rows["layer"] == rows.groupby("run_id")["layer"].transform("max")].rename(columns={"best": "answer"})
    base, model = (last[last["run_id"] == run_ids[n]].set_index("fact_id") for n in (0, -1))
    facts = model.join(base[["rank", "answer"]].add_prefix("base_"), how="inner")
    known = zip(facts["base_rank"] == 1, facts["rank"] == 1, strict=True)
    names = {(True, True): "kept", (True, False): "lost", (False, True): "gained", (False, False): "never"}
    return facts.assign(part=[names[both] for both in known], fate="").reset_index()[list(_COLUMNS)]


def fact_rows(db: Database, result: OwnResult) -> pd.DataFrame:
    """The facts of a result, one row each: lost, gained, kept, never known; without a base known and not known.

    ``base_ranks`` (empty without a base) and ``ranks`` are of the right answer at layers 0 to L; ``base_answer`` and
    ``answer`` are the last layers' best tokens; ``fate`` is in words.
    """
    rows = result.changed
    if not result.base and result.measure == VOCABULARY:
        rows = search_facts(db, result.run_ids[-1], limit=MAX_ROWS).rename(columns={"last_rank": "rank"})
        rows = rows.assign(
            part=["kept" if rank <= result.k else "never" for rank in rows["rank"]], base_answer="", answer="", fate=""
        )
    if result.measure == VOCABULARY:
        ranks = fact_ranks(db, result.run_ids)
    else:
        ranks = (
            ranked_facts(db, result.run_ids, common=True)
            .groupby(["fact_id", "run_id"], as_index=False)
            .agg(ranks=("rank", list))
        )
    ranks = ranks.pivot(index="fact_id", columns="run_id", values="ranks")
    columns = _RANKS[-len(result.run_ids) :]
    of_run = {
        name: ranks[run_id].reindex(rows["fact_id"]).tolist()
        for name, run_id in zip(columns, result.run_ids, strict=True)
    }
    rows = rows.assign(
        **{"base_ranks": [[] for _ in range(len(rows))], **of_run}, fate=[outcome_words(fate) for fate in rows["fate"]]
    )
    order = rows["part"].map(PARTS.index)
    return rows.assign(order=order).sort_values("order", kind="stable", ignore_index=True)[list(FACT_ROWS)]


def _pair(model_runs: pd.DataFrame, runs: pd.DataFrame) -> tuple[pd.Series, pd.Series | None]:
    """The model's run, and its base's by the first kind of heads that both have; else the model's first."""
    order = sorted(model_runs.to_dict("records"), key=lambda row: head_order(row["head"]))
    for row in order:
        base = runs[(runs["model"] == row["base"]) & (runs["head"] == row["head"])] if row["base"] else runs.head(0)
        if len(base):
            return pd.Series(row), base.iloc[0]
    return pd.Series(order[0]), None


def _left_out(row: pd.Series) -> dict[str, int]:
    """Reason -> number of facts, in the order of the reasons; a run among candidates counts these, too."""
    counts = json.loads(row["left_out"] or "{}")
    facts = counts.get("facts", {}) if "measure" in row else counts
    return {reason: int(number) for reason, number in sorted(facts.items()) if number}


def _on_trex(db: Database, models: list[str], head: str, k: int, measure: str) -> pd.DataFrame:
    """P@k at the last layer of each of the models that was asked T-REx by these heads, among all words only."""
    runs = choose(db, models, [head], [TREX])
    columns = ["model", "n", "value", "low", "high"]
    if runs.empty or measure != VOCABULARY:
        return pd.DataFrame(columns=columns)
    return by_layer(db, list(runs["run_id"]), f"p_at_{k}", "micro", last_only=True)[columns]


COLUMNS = Columns("model base n left_out value low high majority chance trex trex_low trex_high trex_n run_id")


def side_by_side(
    db: Database, probe_set: str, k: int = 1, measure: str = VOCABULARY, head: str = LOGIT_LENS
) -> pd.DataFrame:
    """P@k of the last layer of every model on a probe set, and on T-REx (``trex...``) if the same kind of heads asked
    it.

    Bases first. ``majority``, the share that the relation's most frequent answer has, is NaN for too few facts. Among
    the answers of a file its place is taken by ``chance``, and T-REx is empty.
    """
    among = measure != VOCABULARY
    runs = _rankings(db, probe_set) if among else choose(db, None, [head], [probe_set])
    runs = runs[runs["head"] == head]
    if runs.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    own = _last_ranked(db, runs) if among else _last(db, runs, k)
    wide = _last(db, choose(db, [] if among else list(runs["model"]), [head], [TREX]), k)
    rows = []
    for run in runs.to_dict("records"):
        on_own, trex = own.loc[run["model"]], wide.loc[run["model"]] if run["model"] in wide.index else {}
        rows.append(
            {
                "model": run["model"],
                "base": run["base"] or "",
                "n": int(on_own["n"]),
                "left_out": ", ".join(f"{number:,} {reason}" for reason, number in _left_out(run).items()),
                **{name: on_own[name] for name in ("value", "low", "high", "chance" if among else "majority")},
                **{
                    f"trex{end}": trex.get(name)
                    for end, name in (("", "value"), ("_low", "low"), ("_high", "high"), ("_n", "n"))
                },
                "run_id": run["run_id"],
            }
        )
    models = pd.DataFrame(rows, columns=list(COLUMNS))
    return models.sort_values(["base", "model"], ignore_index=True)


def _last(db: Database, runs: pd.DataFrame, k: int) -> pd.DataFrame:
    if runs.empty:
        return pd.DataFrame(columns=["n", "value", "low", "high", "majority"])
    return shown_baselines(by_layer(db, list(runs["run_id"]), f"p_at_{k}", "micro", last_only=True)).set_index("model")


def _last_ranked(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    points = grouped(db, runs)
    return points[points["layer"] == points.groupby("model")["layer"].transform("max")].set_index("model")


def not_asked(db: Database, models: pd.DataFrame, facts: FactSet) -> pd.DataFrame:
    """The facts of a set that were left out, by the reading of the file (``model`` is empty) or by a model.

    A model's reason is that of its run, or all of its run's if there are several.
    """
    rows = [("", reason, fact.subject, fact.object, fact.prompt) for fact, reason in facts.dropped]
    for model in models.itertuples():
        fact_ids = asked(db, model.run_id)
        ours = {reason for _, reason in facts.dropped}
        reasons = ", ".join(
            part.split(" ", 1)[1] for part in model.left_out.split(", ") if part and part.split(" ", 1)[1] not in ours
        )
        rows += [
            (model.model, reasons, fact.subject, fact.object, fact.prompt)
            for fact in facts.facts
            if fact.fact_id not in fact_ids
        ]
    return pd.DataFrame(rows, columns=["model", "reason", "subject", "object", "prompt"])


def asked(db: Database, run_id: str) -> set[str]:
    """The ids of the facts of a run, by either measure."""
    fact_ids = set(ranked_facts(db, [run_id], (0,))["fact_id"])
    while len(page := search_facts(db, run_id, offset=len(fact_ids), limit=MAX_ROWS)):
        fact_ids |= set(page["fact_id"])
    return fact_ids
