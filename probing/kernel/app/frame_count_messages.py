"""Runs with stored counts only: messages that pages show in place of their facts."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from probing.facts.fact import PROBE_SETS
from probing.facts.sources_sources import SHIPPED
from probing.kernel.app.frame import View
from probing.kernel.app.texts import filled
from probing.kernel.figures.looks import head_name, set_name
from probing.kernel.models.names_head_kinds import STORED


def counts_only(run: Mapping[str, Any] | Any) -> bool:
    """Whether only counts are stored for a run, without predictions per fact."""
    return bool(run.get("counted", False))


def probe_command(run: Mapping[str, Any] | Any) -> str:
    """The command that stores a run's predictions per fact."""
    probe_set, templates = run["probe_set"], run.get("template_set", "default")
    own = f"FILE --as {probe_set}" if probe_set not in PROBE_SETS else "LAMA_FOLDER"
    facts = probe_set if probe_set in SHIPPED and templates == "default" else own
    return f"python -m probing probe --model {run['model']} --head {run['head']} --facts {facts}"


def heads_command(run: Mapping[str, Any] | Any) -> str:
    """The command that trains a run's heads, if their kind is stored in files, and probes the model through them."""
    train = (
        f"python -m probing train-heads --model {run['model']} --head {run['head']} && "
        if run["head"] in STORED
        else ""
    )
    return train + probe_command(run)


def say(view: View, *runs: Mapping[str, Any] | Any) -> bool:
    """Reports each run with stored counts only, with the command that stores more; returns whether there was one."""
    counted = [run for run in runs if counts_only(run)]
    for run in counted:
        st.info(
            filled(
                "Only counts are stored for this run, no single facts: {model} read with {head} on {facts}. This"
                " command probes it:",
                model=view.name(run["model"]),
                head=head_name(run["head"]),
                facts=set_name(run["probe_set"]),
            ),
            icon=":material/info:",
        )
        st.code(probe_command(run), language="shell", wrap_lines=True)
    return bool(counted)
