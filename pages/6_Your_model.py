"""What a user's own model knows of the user's own facts, and what it lost against its base."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import streamlit as st

from probing.choices import AMONG, OwnModelSelection
from probing.choices import OWN_MODEL_TABS as TABS
from probing.facts.requests import INDEPENDENT, VOCABULARY
from probing.facts.sources import own_facts
from probing.forgetting.page_when import draw_savings
from probing.forgetting.ways import KEPT, NOT_RECOVERED
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.frame import View, open_sample, show
from probing.kernel.app.selection import address, link
from probing.kernel.app.texts import Markdown, count, filled
from probing.kernel.errors import ProbingError, StoreError
from probing.kernel.models.names import find_entry
from probing.kernel.registry import name_in_files, name_of_model
from probing.own_model import run as background
from probing.own_model.figures import fact_squares, fact_table, outcome_bar, own_curves, report_page
from probing.own_model.page_form import draw_form, why_not
from probing.own_model.page_run import draw_line, draw_run, draw_space, scroll_up
from probing.own_model.report import OwnResult, asked, fact_rows, not_asked, result_of, side_by_side
from probing.own_model.run import OwnRun

#: Model and facts of the finished sample.
SAMPLE = ("nesia-mini-sst-2", "sample")
#: Outcomes of facts, as the sentence and its bar have them.
OUTCOMES = ("kept", "lost", "gained", "never")
#: Facts of the table; the CSV has all.
MOST_ROWS = 25
CAPTION = (
    "Squares: layers 1 to the last in their model's colour, full where the layer gives the right answer. Dot: kept,"
    " lost, gained or never known."
)
HOW = (
    "Lost: the base has the answer within the chosen rank at its last layer, and the fine-tuned model has not; gained:"
    " the reverse. Every layer is read by the pre-trained head (logit lens). A fact that a layer does not give may"
    " still be in the model."
)
#: Measure -> what answers are ranked among, and the caption if a run has no such ranks.
LACKS = {
    VOCABULARY: "No ranks among all words: for them an answer must be one word piece.",
    INDEPENDENT: "No ranks among the answers of the file: for them it needs two different answers.",
}
CAPTION_AMONG = "Squares: layers 1 to the last, full where the right answer is first among the answers of the file."
HOW_AMONG = (
    "The answers that the file has for a relation, or all if it has one only, are ranked by log-likelihood, all word"
    " pieces of an answer masked (independent). Known: alone in the first place; answers with equal scores share it in"
    " the curve (P@1). By chance each of the answers is as likely; the answer alone is scored without the prompt. Lost:"
    " the base has it first at its last layer, and the fine-tuned model has not; gained: the reverse. Every layer is"
    " read by the pre-trained head (logit lens)."
)
CURVE = "Share of the facts that each layer knows; bands are 95 % intervals."
CURVE_HOW = (
    "Every layer of both models is read by the pre-trained head (logit lens). A fact counts as known at a layer if its"
    " answer has at most the chosen rank there. Of a handful of facts each can be read by itself, but shares allow no"
    " conclusion on the model."
)
PER_CENT = {
    "value": st.column_config.NumberColumn("right, % (P@k)", format="percent"),
    "low": st.column_config.NumberColumn("from", format="percent"),
    "high": st.column_config.NumberColumn("to", format="percent"),
    "majority": st.column_config.NumberColumn("the commonest answer", format="percent"),
    "chance": st.column_config.NumberColumn("by chance", format="percent"),
    "trex": st.column_config.NumberColumn("T-REx", format="percent"),
}


def own_result(view: View, run: OwnRun | None) -> OwnResult | None:
    """The result of a run, or of the sample; None if nothing is stored yet, or it cannot be read, which is said."""
    if view.database is None:
        return None
    model, probe_set = SAMPLE
    try:
        if run is not None:
            wish, probe_set = run.state.wish, run.state.wish.called
            model = wish.name or find_entry(wish.model, wish.base or None).name
        own = selection.of(OwnModelSelection)
        return view.read(result_of, model, probe_set, own.my_k, own.my_measure)
    except StoreError:
        return None
    except ProbingError as error:
        blocks.problem(error)
        return None


def of_sample(view: View) -> View:
    """The page on the finished sample; without one if that cannot be read."""
    try:
        return replace(view, database=open_sample())
    except StoreError:
        return replace(view, database=None)


def sentence(view: View, result: OwnResult, rows: pd.DataFrame) -> None:
    """Draws what became of the facts, as words and as a bar; without a base, what the model knows."""
    n = {part: int((rows["part"] == part).sum()) for part in OUTCOMES}
    if not result.base:
        blocks.sentence("{kept:,} of {n:,} facts known.", kept=n["kept"], n=result.n)
    elif selection.of(OwnModelSelection).own_tab == "curve":
        names = {"base": view.name(result.base), "model": view.name(result.model), "n": result.n}
        words = "At the last layer {base} knows {before:,} of {n:,} facts, {model} **{after:,}**."
        blocks.sentence(words, before=n["kept"] + n["lost"], after=n["kept"] + n["gained"], **names)
    else:
        words = "At the last layer {kept:,} kept, **{lost:,} lost**, {gained:,} gained, {never:,} never known."
        blocks.sentence(words, **n)
    st.html(outcome_bar(n))


def head(view: View, runs: Sequence[OwnRun], run: OwnRun | None, result: OwnResult | None, rows: pd.DataFrame) -> None:
    """Draws the sentence, and which run it is about; nothing above the form, which is about none."""
    if selection.of(OwnModelSelection).own_tab == "new":
        return
    if result is not None and selection.of(OwnModelSelection).own_tab != "space":
        sentence(view, result, rows)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="own-run"):
        if runs:
            selection.bound("my_run", options={run.id: called(run) for run in runs})
        elif result is not None:
            words = ":blue-badge[A finished sample] {model} against {base}, {facts}."
            st.markdown(
                filled(
                    words,
                    model=view.name(result.model),
                    base=view.name(result.base),
                    facts=count(result.n, "question"),
                ),
                width="content",
            )
        if result is not None and len(result.measures) > 1:
            selection.bound("my_measure", value=result.measure, options=list(AMONG))
        if result is not None and result.measure == VOCABULARY:
            selection.bound("my_k")
        st.button(
            "Ask your own model",
            type="primary",
            on_click=selection.update,
            kwargs={"own_tab": "new"},
            icon=":material/add:",
        )
    if result is not None and result.yardstick:
        blocks.caption("{words}", words=result.yardstick)
    if result is not None and run is not None and run.whole:
        for measure in set(AMONG) - set(result.measures):
            st.caption(LACKS[measure])


def called(run: OwnRun) -> str:
    """A run in menus."""
    wish = run.state.wish
    return (
        f"{wish.name or name_of_model(wish.model)} on {wish.called}, {run.state.created[:16].replace('T', ' ')}"
        f" ({run.status})"
    )


def facts(view: View, result: OwnResult, rows: pd.DataFrame, *, own: bool) -> None:
    """Draws the facts, lost first, and what leads on; ``own``: the run is the user's, which every page shows."""
    if result.doubt:
        st.warning(filled("{doubt}", doubt=result.doubt), icon=":material/report:")
    run = {"model": result.model, "head": result.head, "probe_set": result.probe_set}
    top, base = rows.head(MOST_ROWS), view.name(result.base) if result.base else ""
    # The page Facts has the ranks among all words.
    of_words = view.read(asked, result.of_words) if own and result.of_words else set()
    links = {fact: address("facts", fact=fact, **run) for fact in top["fact_id"] if fact in of_words}
    among = result.measure != VOCABULARY
    caption = CAPTION_AMONG if among else CAPTION
    colours = view.colours_of([result.base, result.model])
    shades = colours[result.base], colours[result.model]
    st.html(fact_table(top, shades, base=base, model=view.name(result.model), k=result.k, links=links))
    blocks.files(
        drawing(fact_squares, top, shades, base=base, model=view.name(result.model), k=result.k),
        table=rows,
        stamp=view.stamp(f"{result.title}, {result.head}, {result.known}", result.run_ids),
        name="own-facts",
        caption=caption if len(rows) == len(top) else f"{caption} {len(top)} of {len(rows):,} facts; Data has all.",
        how=HOW_AMONG if among else HOW,
        alt=f"Facts that {result.model} lost, gained and kept, with the layers that know them",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        file = f"{name_in_files(result.model)}-{result.probe_set}.html"
        looks = {"type": "tertiary", "icon": ":material/description:"}
        blocks.download("Report (HTML)", lambda: report(result), file, "text/html", "own_model.report", **looks)
        if not of_words:
            return
        both = tuple(name for name in (result.base, result.model) if name)
        # The other pages have the ranks among all words.
        words = " (all words)" if among else ""
        link(
            "layers",
            filled("Its curve in Layers{words}", words=words),
            models=both,
            heads=(result.head,),
            probe_sets=(result.probe_set,),
        )
        n = int(rows["fact_id"].isin(of_words).sum())
        some = f" ({n:,} of {len(rows):,})" if n < len(rows) else words
        link("facts", filled("These facts one by one{some}", some=some), afresh=True, **run)
        if result.base:
            link(
                "compare",
                filled("Compared with its base{words}", words=words),
                tuned=result.model,
                k=result.k,
                head=result.head,
                probe_set=result.probe_set,
            )


def report(result: OwnResult) -> bytes:
    figure = own_curves(result.layers, base=result.base, model=result.model, k=result.k)
    return report_page(result.title, result.sentences, figure, result.changed, result.origin).encode()


def curve(view: View, result: OwnResult, run: OwnRun | None) -> None:
    """Draws what every layer knows, and all models that were asked the same facts."""
    table = result.layers[result.layers["model"] == result.model] if "model" in result.layers else result.layers
    for best in table.nlargest(1, "value").itertuples():
        words = "{model} knows most at layer {layer}: {value:.0f} % of {n}."
        numbers = {"layer": int(best.layer), "value": 100 * best.value, "n": count(int(best.n), "fact")}
        blocks.tab_sentence(words, model=view.name(result.model), **numbers)
    blocks.figure(
        drawing(own_curves, result.layers, base=result.base, model=result.model, k=result.k, labels=view.names),
        table=result.layers,
        stamp=view.stamp(f"{result.title}, {result.head}, {result.known}", result.run_ids),
        name="own-model",
        caption=CURVE,
        how=CURVE_HOW if result.measure == VOCABULARY else HOW_AMONG,
        alt=f"P@{result.k} by layer of {result.model}",
    )
    table = view.read(side_by_side, result.probe_set, result.k, result.measure)
    st.header("All models on these facts")
    blocks.table_with_download(
        table,
        shown=table.drop(columns=["run_id", "trex_low", "trex_high", "trex_n"])
        .dropna(axis="columns", how="all")
        .assign(model=table["model"].map(view.label)),
        stamp=view.stamp(f"{result.probe_set}, last layer, {result.known}", tuple(table["run_id"])),
        name="own-model-all",
        column_config={"n": "facts", "left_out": "left out", **PER_CENT},
    )
    if run is None or view.database is None:
        return
    file = Path(run.state.wish.facts)
    try:
        left = not_asked(view.database, table, own_facts(file.read_bytes(), file.name, result.probe_set))
    except (OSError, ProbingError):
        # The copy of the facts was deleted or replaced; the numbers stay.
        return
    if len(left):
        with st.expander(filled("Left out: {rows}", rows=count(len(left), "row")), icon=":material/filter_alt_off:"):
            st.dataframe(left.head(blocks.MAX_ROWS), hide_index=True)


def ways(view: View, result: OwnResult) -> None:
    """Draws how many of the known facts come back, and by which way."""
    if result.back.empty:
        blocks.missing(
            "No ways back were looked for in this run: choose them before it starts.",
            "python -m probing own --model FOLDER --base BASE --facts FILE --recover",
        )
        return
    st.header("Of the facts that the base knew")
    if result.measure != VOCABULARY:
        st.caption("Ways back are found by ranks among all words.")
    sizes = result.back.set_index("part")["n"]
    numbers = {"known": count(int(sizes.sum()), "fact"), "kept": int(sizes[KEPT]), "left": int(sizes[NOT_RECOVERED])}
    words = "Of {known} that {base} knew {kept:,} are kept, and {left:,} come back by no way."
    blocks.tab_sentence(words, base=view.name(result.base), **numbers)
    back = result.back[result.back["n"] > 0]
    blocks.table_with_download(
        result.back,
        shown=back[[name for name in ("part", "n", "share", "low", "high") if name in back]],
        stamp=view.stamp(f"{result.title}, ways back, rank ≤ {result.k}", result.run_ids),
        name="own-model-ways",
    )
    draw_savings(view, result.model, result.probe_set, result.k)


def new(view: View, runs: Sequence[OwnRun], run: OwnRun | None, refused: Markdown | None) -> None:
    """Draws the form; while a run is at work, or did not end well, that stands where its button was."""
    busy = next((own_run for own_run in runs if own_run.running), None)
    stands = busy or (run if run is not None and run.status != background.DONE else None)
    draw_form(
        view,
        refused,
        lambda: draw_run(stands, may_act=refused is None) if stands else None,
        busy=busy is not None,
    )


def draw(view: View) -> None:
    refused, own = why_not(), selection.of(OwnModelSelection)
    runs = background.own_runs()
    if own.my_run and own.my_run not in {run.id for run in runs}:
        blocks.say_ignored([own.my_run])
    run = next((own_run for own_run in runs if own_run.id == own.my_run), runs[0] if runs else None)
    shown = view if run else of_sample(view)
    result = own_result(shown, run)
    rows = shown.read(fact_rows, result) if result else pd.DataFrame()
    head(shown, runs, run, result, rows)
    # The same tabs before a run and while it is at work: other tabs would be drawn again, and the view would jump.
    titles = {name: title for name, title in TABS.items() if result or run or name not in ("facts", "curve", "ways")}
    titles = {name: title for name, title in titles.items() if name != "space" or refused is None}
    with selection.open_tab("own_tab", titles, view.page) as tab:
        if tab == "space":
            draw_space(view)
        elif tab == "new":
            new(view, runs, run, refused)
        else:
            if run is not None and run.status != background.DONE:
                draw_run(run, may_act=refused is None)
            elif result is None:
                blocks.note(
                    "No results of this run are stored: they were deleted, or none of its facts could be asked."
                )
            if result is not None:
                if tab == "facts":
                    facts(shown, result, rows, own=run is not None)
                    if run is not None and run.status == background.DONE and not run.state.wish.line:
                        draw_line(shown, run, result, refused is None)
                elif tab == "curve":
                    curve(shown, result, run)
                else:
                    if run is not None and run.status == background.DONE:
                        draw_line(shown, run, result, refused is None)
                    ways(shown, result)
            if run is not None and run.status == background.DONE and tab == "facts":
                draw_run(run, may_act=refused is None)
    scroll_up()


show("own_model", "Your model", "What did your model forget?", draw, needs_results=False)
