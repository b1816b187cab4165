"""The form of a user's own facts: which of them can be asked, and their answers from a live model."""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from probing.facts.sources import COLUMNS, own_facts
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp
from probing.kernel.app.frame import View
from probing.kernel.app.selection import link
from probing.kernel.app.texts import Markdown, count, filled, joined, listing
from probing.kernel.errors import ProbingError
from probing.kernel.fact import Fact, FactSet
from probing.kernel.questions import Question
from probing.kernel.user_tables import SUFFIXES
from probing.live import page_live_models as live_models


def of_model(facts: Sequence[Fact], model: str, base: str = "") -> Sequence[Fact]:
    """The facts whose answer is one word of a model's; all if it is not on this machine, or cannot be read."""
    from probing.facts.askable import of_one_piece

    try:
        return of_one_piece(facts, model, base)
    except (ProbingError, OSError):
        return facts


def say(facts: FactSet, asked: Markdown | None = None) -> None:
    """States how many facts were read, or how they are asked, and names those left out, with reasons."""
    parts: list[Markdown] = [asked or filled("{facts} read.", facts=count(len(facts.facts), "fact"))]
    for reason, number in sorted(facts.left_out.items()):
        named = listing([fact.object or fact.prompt for fact, why in facts.dropped if why == reason])
        which = filled(" ({named})", named=named) if named else ""
        parts.append(filled("{n:,} left out: {reason}{which}.", n=number, reason=reason, which=which))
    st.markdown(joined(" ", [*parts, *([filled("Read as {how}.", how=facts.said)] if facts.said else [])]))
    if facts.dropped:
        with st.expander("What is left out", icon=":material/filter_alt_off:"):
            rows = [{"reason": reason, "prompt": fact.prompt, "object": fact.object} for fact, reason in facts.dropped]
            st.dataframe(pd.DataFrame(rows).head(blocks.MAX_ROWS), hide_index=True)


MAX_FACTS = 200
SAMPLE = (
    "subject,relation,object,prompt\n"
    "Germany,capital,Berlin,The capital of Germany is [MASK].\n"
    'Mozart,instrument,piano,"Mozart, as a child, played the [MASK]."\n'
    "snow,colour,white,Fresh snow is [MASK].\n"
)


def show_upload(view: View) -> None:
    """Draws the upload, checks the file, asks the model and draws the table."""
    blocks.caption(
        "A sentence with a gap and the right word per line; at most {most} are asked. The file is not stored.",
        most=MAX_FACTS,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        blocks.download("Sample file", SAMPLE, "own-facts.csv", "text/csv", "own.sample")
        link("own_model", "What did my model forget of them?", own_tab="new")
    file = st.file_uploader("Your facts", type=[suffix[1:] for suffix in SUFFIXES], key="own.file")
    offered = live_models.choices()
    left, right = st.columns(2)
    with left:
        called = {name: choice.called(view.label(name)) for name, choice in offered.items()}
        name = selection.current().live_model or view.chosen.model
        # The named base belongs to one model.
        model = selection.bound("live_model", "Model to ask", value=name, options=called, resets={"own_base": ""})
    with right:
        head = selection.bound("own_head")
    choice = _with_base(view, offered[model], offered)
    if file is None:
        return
    content = file.getvalue()
    try:
        facts = own_facts(content, file.name)
    except ProbingError as error:
        blocks.problem(error)
        return
    if choice.here:
        one_word = of_model(facts.facts, choice.location, choice.base and offered[choice.base].location)
        words = "{facts}, {n:,} of them with an answer of one word piece, which has a rank here."
        say(facts, filled(words, facts=count(len(facts.facts), "fact"), n=len(one_word)))
    else:
        say(facts)
    if len(facts.facts) > MAX_FACTS:
        _say_command(choice, head)
    key = f"own.answers.{hashlib.sha256(content).hexdigest()[:16]}.{model}.{choice.base}.{head}"
    unready = not facts.facts or (live_models.lacks_head(choice) and not choice.base)
    if st.button(filled("Ask {model}", model=view.name(model)), type="primary", disabled=unready, key="own.ask"):
        try:
            st.session_state[key] = ask_all(facts.facts[:MAX_FACTS], choice, head)
        except ProbingError as error:
            blocks.problem(error)
    if key in st.session_state:
        _answers(st.session_state[key], view.label(model), head)


def _with_base(view: View, choice: live_models.Choice, offered: dict[str, live_models.Choice]) -> live_models.Choice:
    """The choice, completed by the base that the user names if the model was saved without a head."""
    if not live_models.lacks_head(choice):
        return choice
    blocks.note(live_models.WITHOUT_HEAD, "help", name=view.name(choice.name))
    bases = {"": "choose its base", **{name: view.label(name) for name in live_models.bases(offered, choice)}}
    base = selection.bound("own_base", filled("{name} was fine-tuned from", name=view.name(choice.name)), options=bases)
    return replace(choice, base=base)


def _say_command(model: live_models.Choice, head: str) -> None:
    """States that only the first facts are asked, with the command that asks all."""
    blocks.note("Only the first {most} are asked here. This command asks all of them:", most=MAX_FACTS)
    base = f" --base {shlex.quote(live_models.choices()[model.base].location)}" if model.base else ""
    blocks.command_line(
        f"python -m probing probe --model {shlex.quote(model.location)}{base} --facts YOUR_FILE.csv --head {head}"
    )


def ask_all(facts: tuple[Fact, ...], model: live_models.Choice, head: str) -> pd.DataFrame:
    """Gold rank of every fact at every layer: one column ``layer 0`` to ``layer L``, missing with a ``note`` if it
    cannot be asked.

    The user has pressed a button to ask the model, so it is downloaded if it is not on this machine.
    """
    from probing.facts.askable import answer_ids

    bar = st.progress(0.0, text="Loading the model …")
    answers = answer_ids(facts, live_models.load(model, head, fetch=True).encoder)
    model = replace(model, here=True)
    rows = []
    for number, (fact, answer) in enumerate(zip(facts, answers, strict=True)):
        bar.progress(
            (number + 1) / len(facts), text=filled("Asking fact {number:,} of {n:,}", number=number + 1, n=len(facts))
        )
        row: dict[str, object] = {name: getattr(fact, name) for name in COLUMNS} | {"note": ""}
        if isinstance(answer, str):
            row["note"] = answer
        else:
            got = live_models.ask(model, Question(fact.prompt, head, 1, (fact.object,)))
            row |= {f"layer {layer.layer}": layer.watched[0].rank for layer in got.layers}
        rows.append(row)
    bar.empty()
    table = pd.DataFrame(rows)
    layers = [name for name in table.columns if name.startswith("layer ")]
    return table.astype(dict.fromkeys(layers, "Int64"))[[*COLUMNS, *layers, "note"]]


def _answers(table: pd.DataFrame, model: str, head: str) -> None:
    layers = [name for name in table.columns if name.startswith("layer ")]
    if layers:
        has_rank = table[layers[-1]].notna()
        right = int((table.loc[has_rank, layers[-1]] == 1).sum())
        somewhere = int((table.loc[has_rank, layers[1:]].min(axis=1) == 1).sum())
        st.markdown(
            filled(
                "Of {facts} **{right:,}** are right at the last layer, **{somewhere:,}** at some layer. Ranks of the"
                " right word:",
                facts=count(int(has_rank.sum()), "fact"),
                right=right,
                somewhere=somewhere,
            )
        )
    else:
        st.markdown("None of these facts could be asked; the column “note” gives the reason.")
    # What is empty takes no room; the file has every column.
    table_shown = table[[name for name in table if name in layers or table[name].ne("").any()]]
    table_shown = table_shown.rename(columns={name: name.replace("layer ", "L") for name in layers})
    blocks.table_with_download(
        table, shown=table_shown, stamp=Stamp(f"own facts, {model}, {head} heads"), name="own-facts"
    )
