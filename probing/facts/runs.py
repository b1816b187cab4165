"""Which stored runs a report is about, and whether two can be compared: conditions that every figure carries."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from probing.facts.store import same_tokens
from probing.kernel.errors import StoreError
from probing.kernel.models.names import canonical_heads
from probing.kernel.objectives import CONTROL
from probing.kernel.options import spelled
from probing.kernel.store.database import Database
from probing.kernel.store.stored import fact_runs, newest
from probing.kernel.success import training_of

NAMES = ("model", "head", "seed", "probe_set")
IDENTITY = ("run_id", *NAMES)
PAIR = ("base_run_id", "run_id", "base", "model", "head", "seed", "probe_set")


def choose(
    db: Database,
    models: Sequence[str] | None = None,
    heads: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    templates: str = "default",
) -> pd.DataFrame:
    """Runs with every column of the table ``runs``, the newest of each model, head, seed and probe set.

    None keeps all, but of seeds the primary runs only.
    """
    runs, heads = fact_runs(db), canonical_heads(heads)
    runs = runs[runs["template_set"] == templates]
    runs = runs[runs["role"] == "primary"] if seeds is None else runs[runs["seed"].isin(list(seeds))]
    for column, values in (("model", models), ("head", heads), ("probe_set", probe_sets)):
        if values is not None:
            runs = runs[runs[column].isin(list(values))]
    names = ["model", "head", "seed", "probe_set"]
    return newest(runs, names).sort_values(names).reset_index(drop=True)


def stored_templates(
    db: Database,
    models: Sequence[str] | None = None,
    heads: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
) -> list[str]:
    """Names of the template sets that have primary runs of these models, heads and probe sets; None keeps all."""
    runs, heads = fact_runs(db), canonical_heads(heads)
    runs = runs[runs["role"] == "primary"]
    for column, values in (("model", models), ("head", heads), ("probe_set", probe_sets)):
        runs = runs if values is None else runs[runs[column].isin(list(values))]
    return sorted(set(runs["template_set"]))


def pairs(runs: pd.DataFrame, bases: Sequence[str] | None = None) -> pd.DataFrame:
    """Every fine-tuned model's run paired with its base's (or each of ``bases``') with the same head, seed, probe set
    and template set.

    A run whose base is not among ``runs`` has no pair.
    """
    if bases is not None:
        runs = runs.drop(columns="base").merge(pd.DataFrame({"base": list(bases)}), how="cross")
    tuned = runs[runs["base"].fillna("").ne("") & runs["base"].ne(runs["model"])]
    keys = ["head", "seed", "probe_set", "template_set"]
    theirs = (
        runs[["run_id", "model", *keys]].drop_duplicates().rename(columns={"run_id": "base_run_id", "model": "base"})
    )
    return tuned.merge(theirs, on=["base", *keys])[list(PAIR)].reset_index(drop=True)


def base_of(run: pd.Series) -> str:
    """The base that a run's model was fine-tuned from; empty if there is none."""
    return run["base"] if isinstance(run["base"], str) and run["base"] != run["model"] else ""


def nothing_common(runs: pd.DataFrame, model: str, base: str) -> str:
    """The message for two models that have no runs with the same head and probe set."""

    def has(name: str) -> str:
        model_runs = runs[runs["model"] == name]
        return (
            "; ".join(f"{head} on {', '.join(part['probe_set'])}" for head, part in model_runs.groupby("head"))
            or "no run"
        )

    return (
        f"{model} and {base} have no such run with the same head and probe set. {model} has {has(model)}. {base} has"
        f" {has(base)}. Probe both on the same facts with the same head"
    )


def identities(db: Database, run_ids: Sequence[str], by_fact: bool = False) -> pd.DataFrame:
    """run_id, model, head, seed, probe_set of the runs, in the order given; unknown ones are left out.

    With ``by_fact``, runs with counts only are left out, too.
    """
    known = (_by_fact(db) if by_fact else fact_runs(db)).set_index("run_id", drop=False)
    return known.loc[[run_id for run_id in run_ids if run_id in known.index], list(IDENTITY)].reset_index(drop=True)


def pair_identities(db: Database, run_pairs: pd.DataFrame | Sequence[tuple[str, str]]) -> pd.DataFrame:
    """The columns of ``pairs`` for a frame of it, or for (base's run id, run id) of each pair.

    A pair is left out if one of its runs has counts only, because its facts cannot be compared one by one.
    """
    known = _by_fact(db).set_index("run_id")
    if isinstance(run_pairs, pd.DataFrame):
        run_pairs = run_pairs[run_pairs["base_run_id"].isin(known.index) & run_pairs["run_id"].isin(known.index)]
        return run_pairs[list(PAIR)].drop_duplicates(["base_run_id", "run_id"]).reset_index(drop=True)
    rows = [
        (base, run, known.at[base, "model"], *known.loc[run, ["model", "head", "seed", "probe_set"]])
        for base, run in dict.fromkeys(run_pairs)
        if base in known.index and run in known.index
    ]
    return pd.DataFrame(rows, columns=list(PAIR))


def _by_fact(db: Database) -> pd.DataFrame:
    runs = fact_runs(db)
    return runs[~runs["counted"].astype(bool)]


@dataclass(frozen=True)
class RunSelection:
    """The chosen runs of facts; None keeps all."""

    models: Sequence[str] | None = None
    heads: Sequence[str] | None = None
    probe_sets: Sequence[str] | None = None
    templates: str = "default"

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", canonical_heads(self.heads))

    def runs(self, db: Database) -> pd.DataFrame:
        """The primary run of each model, head and probe set."""
        return choose(db, self.models, self.heads, self.probe_sets, templates=self.templates)

    def other_templates(self, db: Database) -> list[str]:
        """Further template sets that the chosen models were probed with."""
        return [
            name for name in stored_templates(db, self.models, self.heads, self.probe_sets) if name != self.templates
        ]

    def refuse_unknown(self, db: Database, bases: Sequence[str] | None = None) -> None:
        """Raises a ``StoreError`` for an unknown template set, or a name no run of it has, with the sets that do."""
        if (there := stored_templates(db)) and self.templates not in there:
            raise StoreError(f"no run with {spelled('templates', self.templates)}; there are {', '.join(there)}")
        every = choose(db, templates=self.templates)
        for option, values in {
            "model": self.models,
            "head": self.heads,
            "probe_set": self.probe_sets,
            "base": bases,
        }.items():
            column = "model" if option == "base" else option
            if unknown := sorted(set(values or ()) - set(every[column])):
                elsewhere = stored_templates(db, **{f"{column}s": unknown})
                with_templates = f" probed with {spelled('templates', self.templates)}" if elsewhere else ""
                probed_with = f"; it was probed with {spelled('templates', ', '.join(elsewhere))}" if elsewhere else ""
                names = ", ".join(sorted(set(every[column]))) or "none"
                raise StoreError(
                    f"no run with {spelled(option, ', '.join(unknown))}{with_templates}{probed_with}; there are {names}"
                )


@dataclass(frozen=True)
class Check:
    """One condition of a fair comparison, and both runs' values in words; ``same`` of the control: there is one."""

    name: str
    same: bool
    words: str


def comparability(first: Mapping[str, Any], second: Mapping[str, Any], db: Database | None = None) -> tuple[Check, ...]:
    """Checks vocabulary, casing, facts, head recipe, template set, precision and control of two rows of ``runs``.

    Without a database only one of the two runs can be the control.
    """
    own, other = _config(first), _config(second)
    return (
        _vocabulary(first, second, db),
        _casing(first, second, own, other),
        _facts(first, second, own, other),
        _recipe(first, second, own, other),
        _alike("template set", first["template_set"], second["template_set"]),
        _alike("precision", first["dtype"], second["dtype"]),
        _control(first, second, db),
    )


def stored_comparability(db: Database, first: str, second: str) -> tuple[Check, ...]:
    """``comparability`` of two stored runs, by their ids."""
    stored = fact_runs(db).set_index("run_id", drop=False)
    return comparability(stored.loc[first].to_dict(), stored.loc[second].to_dict(), db)


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> pd.DataFrame:
    """Fields that differ between two configurations, also in the heads' recipes: name, first, second (as text)."""
    own, other = _flat(_config(first)), _flat(_config(second))
    rows = [
        (name, own.get(name, ""), other.get(name, ""))
        for name in sorted({*own, *other})
        if own.get(name) != other.get(name)
    ]
    return pd.DataFrame(rows, columns=["name", "first", "second"])


def as_long(control: str, models: Sequence[str]) -> tuple[bool, str]:
    """Whether a control is recorded to have as many steps of the same size as these models, so that its losses show the
    cost of further training alone; and the recorded training in words.
    """
    own, theirs = training_of(control), {model: training_of(model) for model in models}
    unknown = [name for name, training in {control: own, **theirs}.items() if training is None]
    if own is None or unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        return False, f"{control}, but how long {unknown[0]}{more} was trained is not recorded here"
    if other := [
        f"{model} for {training.words}"
        for model, training in theirs.items()
        if training is not None and training != own
    ]:
        more = f", and {len(other) - 1} more not as the control either" if len(other) > 1 else ""
        return False, f"{control}, trained for {own.words}; {other[0]}{more}"
    return True, f"{control}, trained as long: {own.words}"


def badge(checks: Sequence[Check]) -> str:
    """One line for stamps and exports: what differs, and the control."""
    control = next((check.words for check in checks if check.name == "control"), "")
    differing = [f"{check.name} ({check.words})" for check in checks if not check.same and check.name != "control"]
    alike = ", ".join(check.name for check in checks if check.same and check.name != "control")
    outcome = f"not alike in {'; '.join(differing)}" if differing else f"alike in {alike}"
    return f"{outcome}; control: {control}" if control else outcome


def _alike(name: str, first: object, second: object) -> Check:
    same = first == second
    return Check(name, same, f"{first}" if same else f"{first} and {second}")


def _vocabulary(first: Mapping[str, Any], second: Mapping[str, Any], db: Database | None) -> Check:
    """Compares names, and tokens if the names differ: models name the same tokens differently."""
    names = first["tokenizer"], second["tokenizer"]
    if names[0] != names[1] and db is not None and same_tokens(db, *names):
        return Check("vocabulary", True, f"{names[1]}")
    return _alike("vocabulary", *names)


def _casing(first: Mapping[str, Any], second: Mapping[str, Any], own: dict, other: dict) -> Check:
    """As the tokenizers treat capitals; runs without a record of it are alike if they have one vocabulary."""
    casings = [config.get("casing") or "not recorded" for config in (own, other)]
    if first["tokenizer"] == second["tokenizer"] and "not recorded" in casings:
        return Check("casing", True, "one vocabulary")
    same = casings[0] == casings[1] != "not recorded"
    return Check("casing", same, casings[0] if casings[0] == casings[1] else f"{casings[0]} and {casings[1]}")


def _facts(first: Mapping[str, Any], second: Mapping[str, Any], own: dict, other: dict) -> Check:
    sums = own.get("facts_sha256"), other.get("facts_sha256")
    same = (
        sums[0] == sums[1]
        if all(sums)
        else (first["probe_set"], first["n_probed"]) == (second["probe_set"], second["n_probed"])
    )
    sizes = [
        f"{int(run['n_probed']):,} probed, {int(run['n_read']) - int(run['n_probed']):,} left out"
        for run in (first, second)
    ]
    if same:
        return Check("facts", True, sizes[0])
    size_words = (
        f"{sizes[0]} in one run, {sizes[1]} in the other"
        if sizes[0] != sizes[1]
        else f"{sizes[0]} in both runs, but different facts"
    )
    left = [json.loads(run.get("left_out") or "{}") for run in (first, second)]
    only = [f"{n:,} {why}" for reasons, rest in (left, left[::-1]) for why, n in reasons.items() if why not in rest]
    return Check("facts", False, f"{size_words}; one run alone left out {', '.join(only)}" if only else size_words)


def _recipe(first: Mapping[str, Any], second: Mapping[str, Any], own: dict, other: dict) -> Check:
    if first["head"] != second["head"]:
        return Check("head recipe", False, f"{first['head']} and {second['head']}")
    if own.get("head_recipe") == other.get("head_recipe") and first["seed"] == second["seed"]:
        return Check("head recipe", True, f"{first['head']}, seed {first['seed']}")
    recipes = [
        _flat({"seed": run["seed"], "head_recipe": config.get("head_recipe")})
        for run, config in ((first, own), (second, other))
    ]
    names = sorted({*recipes[0], *recipes[1]})
    changed = [name.removeprefix("head_recipe.") for name in names if recipes[0].get(name) != recipes[1].get(name)]
    return Check("head recipe", False, f"{first['head']}, but other {', '.join(changed)}")


def _control(first: Mapping[str, Any], second: Mapping[str, Any], db: Database | None) -> Check:
    """The control that was trained as long as the fine-tuned models of the two, or why there is none."""
    tuned = [run["model"] for run in (first, second) if run["base"] and run["objective"] != CONTROL]
    if own := [run["model"] for run in (first, second) if run["objective"] == CONTROL]:
        return Check("control", *as_long(own[0], tuned)) if tuned else Check("control", True, f"{own[0]} is one")
    if db is None:
        return Check("control", False, "not checked")
    known = fact_runs(db)
    bases = {run["base"] or run["model"] for run in (first, second)}
    fit = known[(known["objective"] == CONTROL) & known["base"].isin(bases)]
    fit = fit[(fit["head"] == second["head"]) & (fit["probe_set"] == second["probe_set"]) & (fit["role"] == "primary")]
    controls = [as_long(name, tuned) if tuned else (True, name) for name in dict.fromkeys(fit["model"])]
    # A control that was trained as long comes first.
    return (
        Check("control", *max(controls, key=lambda control: control[0]))
        if controls
        else Check("control", False, "none was probed in the same way")
    )


def _config(run: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(run["config"])


def _flat(config: Mapping[str, Any]) -> dict[str, str]:
    """Field -> value as text; the recipe, itself JSON, field by field; checksums by their first digits."""
    fields: dict[str, str] = {}
    for name, value in config.items():
        if name == "head_recipe":
            try:
                recipe = json.loads(value)
            except (TypeError, ValueError):
                recipe = value
            if isinstance(recipe, Mapping):
                fields |= {f"head_recipe.{part}": str(content) for part, content in recipe.items()}
                continue
        text = str(value)
        fields[name] = text[:12] if len(text) == 64 and set(text) <= set("0123456789abcdef") else text
    return fields
