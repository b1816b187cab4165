"""Can two runs be compared? The conditions, in words that every figure and file carries."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from probing.facts.store import runs as all_runs
from probing.facts.store import same_tokens
from probing.finetuning.objectives import CONTROL
from probing.finetuning.success_training_length import training_of
from probing.kernel.store.database import Database


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
    stored = all_runs(db).set_index("run_id", drop=False)
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
    known = all_runs(db)
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
