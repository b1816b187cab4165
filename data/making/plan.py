"""All that is made after the base, in order: fine-tuned models, heads, predictions, probes, changes, and what comes
back.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from data.making import edges, forgetting, sentences
from data.making.models import (
    CONTROL,
    FACT_BY_FACT,
    FIRST,
    FURTHER_SEEDS,
    MODEL,
    PAPER,
    SECOND_WORDING,
    SHIPPED,
    SHUFFLED,
    TUNED,
    Tuned,
    downloads,
    wikitext,
)
from probing.changes.measure_run import measure_changes
from probing.edges.train import train_edges
from probing.facts.probe import probe
from probing.facts.requests import AMONG_CANDIDATES, CARRIED, INDEPENDENT, VOCABULARY, ProbeRequest
from probing.forgetting.recover import recover
from probing.heads.requests import HeadsRequest
from probing.heads.training_run import train_all_heads as train_heads
from probing.kernel.errors import Say
from probing.kernel.fact import PHRASES
from probing.kernel.files import SAMPLES_FOLDER, cache_folder
from probing.kernel.models.names import LEAST_SQUARES, LOGIT_LENS, TIED
from probing.sentences.train import train_sentences

#: Seconds of one processor per training step of 2,000 tokens.
SECONDS_PER_STEP = 0.6


@dataclass(frozen=True)
class Step:
    """One piece of the work, done by one process after the steps of ``after``; ``minutes`` of one processor are an
    estimate that is printed beforehand.
    """

    name: str
    run: Callable[[Say], object]
    minutes: float
    after: tuple[str, ...] = ()


def full_runs() -> Path:
    """Folder of all predictions, of which those that ship are taken."""
    return cache_folder() / "nesia-facts"


def ranked_runs() -> Path:
    """Folder of all runs that rank candidates."""
    return cache_folder() / "nesia-candidates"


def carried_runs() -> Path:
    """Folder of all runs on what is carried."""
    return cache_folder() / "nesia-carried"


def steps() -> list[Step]:
    """The plan: of two steps that do not depend on each other, the more important one first."""
    made = [_tuning(one) for one in TUNED]
    return (
        made
        + list(_heads())
        + list(_facts())
        + list(_candidates())
        + list(_carried())
        + list(_probes())
        + list(_forgetting())
        + list(_sample())
    )


def _tuning(one: Tuned) -> Step:
    after = (f"fine-tune {MODEL}-{one.like}",) if one.like else ()
    return Step(f"fine-tune {one.name}", one.make, one.all_steps * SECONDS_PER_STEP / 60, after)


def _of(one: Tuned) -> tuple[str, ...]:
    return (f"fine-tune {one.name}",)


def _trained(called: str, head: str, ships: bool = False) -> HeadsRequest:
    """Training of heads on text without facts, by the usual recipe."""
    out = SHIPPED / called / "heads" / head if ships else None
    return HeadsRequest(
        called, head, out=out, half=True, threads=1, text=wikitext(), valid=downloads() / "wikitext-2" / "valid.txt"
    )


def _heads() -> Iterator[Step]:
    """Heads of the base, which ship, and those of the paper's models and the control, of which only counts do."""

    def step(called: str, head: str, minutes: float, after: tuple[str, ...], ships: bool = False) -> Step:
        return Step(
            f"{head} heads of {Path(called).name}", partial(train_heads, _trained(called, head, ships)), minutes, after
        )

    yield step(MODEL, TIED, 2, (), ships=True)
    yield step(MODEL, LEAST_SQUARES, 1, (), ships=True)
    for one in (*PAPER, CONTROL):
        yield step(one.called, TIED, 2, _of(one))


def _facts() -> Iterator[Step]:
    """Predictions of all facts by every model and head."""

    def step(called: str, head: str, after: tuple[str, ...], top: int = 1, templates: str | None = None) -> Step:
        # Runs of one folder ship alike.
        out = full_runs() / "-".join(filter(None, (Path(called).name, head, templates)))
        # Other sets have one wording, and were asked in it.
        sets = ("trex", "google_re") if templates else ("all",)
        request = ProbeRequest(
            called,
            head=head,
            templates=templates,
            top=top,
            threads=1,
            device="cpu",
            progress=False,
            out=out,
        )
        name = f"facts of {Path(called).name} by {head}" + (f", {templates}" if templates else "")
        return Step(name, partial(_probe_sets, request, sets), 2, after)

    tied = (f"{TIED} heads of {MODEL}",)
    for templates in (None, SECOND_WORDING):
        yield step(MODEL, LOGIT_LENS, (), top=3, templates=templates)
        yield step(MODEL, TIED, tied, templates=templates)
    yield step(MODEL, LEAST_SQUARES, (f"{LEAST_SQUARES} heads of {MODEL}",))
    for one in (*FIRST, *SHUFFLED, *FURTHER_SEEDS):
        yield step(one.called, LOGIT_LENS, _of(one))
    for one in (*PAPER, CONTROL):
        yield step(one.called, TIED, (f"{TIED} heads of {one.name}",))


def _probe_sets(request: ProbeRequest, sets: Sequence[str], say: Say) -> None:
    for facts in sets:
        probe(replace(request, facts=facts), say)


def _candidates() -> Iterator[Step]:
    """Answers of several words, ranked among candidates by every model that ships, and by the base in further ways."""

    def step(called: str, after: tuple[str, ...], head: str = LOGIT_LENS, measure: str = INDEPENDENT) -> Step:
        how = {"measure": measure, "threads": 1, "device": "cpu", "progress": False, "out": ranked_runs()}
        request = ProbeRequest(called, PHRASES, head, **how)  # type: ignore[arg-type]
        return Step(f"candidates of {called} by {head}, {measure}", partial(probe, request), 1, after)

    for measure in AMONG_CANDIDATES:
        yield step(MODEL, (), measure=measure)
    yield step(MODEL, (f"{TIED} heads of {MODEL}",), head=TIED)
    for one in FIRST:
        yield step(one.called, _of(one))


def _carried() -> Iterator[Step]:
    """Whether the base and NER-CoNLL go by what their layers show."""
    for called, after in ((MODEL, ()), *((one.called, _of(one)) for one in PAPER if one.end == "ner-conll")):
        request = ProbeRequest(
            called, "trex", measure=CARRIED, threads=1, device="cpu", progress=False, out=carried_runs()
        )
        yield Step(f"what is carried in {called}", partial(probe, request), 4, after)


def _probes() -> Iterator[Step]:
    """Probes of spans and of sentences, and what fine-tuning changed."""
    known = {one.called: one for one in TUNED}

    def after(called: str) -> tuple[str, ...]:
        if called == str(sentences.random_twin()):
            return ("random twin",)
        return _of(known[called]) if called in known else ()

    for request in edges.plan():
        run = partial(train_edges, replace(request, out=edges.results()))
        yield Step(edges.name_of(request), run, edges.minutes(request), after(request.model))
    yield Step("random twin", sentences.make_random_twin, 0.1)
    for asked in sentences.probings():
        # Others are compared with the states of the base.
        first = after(asked.model) + (() if asked.model == MODEL else (f"sentence probes of {MODEL}",))
        name = f"sentence probes of {Path(asked.model).name}"
        yield Step(name, partial(train_sentences, asked), sentences.minutes(asked), first)
    for measured in sentences.measurings():
        name = f"changes of {Path(measured.model).name}"
        yield Step(name, partial(measure_changes, measured), 2, after(measured.model))


def _forgetting() -> Iterator[Step]:
    """What comes back of the lost facts, when they were lost, and what prevents it."""
    for name, one, request in forgetting.recoveries():
        # Lessons of five kinds: 14 trainings a seed, each asked three times. The control with planted facts is taught
        # and fine-tuned before.
        lessons = 8 * request.seeds if request.lessons else 0
        again = one.all_steps * SECONDS_PER_STEP / 60 + 10 if request.plant else 0
        yield Step(name, partial(recover, request), 20 + lessons + again, _of(one))
    for end in forgetting.FOLLOWED:
        yield Step(
            f"states of {MODEL}-{end}", partial(forgetting.follow_states, end), 15, (f"fine-tune {MODEL}-{end}",)
        )
    for end in forgetting.AVERAGED:
        name = f"means of {MODEL} and {MODEL}-{end}"
        yield Step(name, partial(forgetting.average_weights, end), 10, (f"fine-tune {MODEL}-{end}",))
    yield Step("recipes against forgetting", forgetting.compare_recipes, 90, (f"fine-tune {MODEL}-ner-conll",))


def _sample() -> Iterator[Step]:
    """The finished sample of *Your model*, which is asked right where it ships."""
    one = next(one for one in FIRST if one.end == "sst-2")
    yield Step(f"sample of {one.name}", partial(_ask_sample, one.called), 1, _of(one))


def _ask_sample(model: str, say: Say) -> None:
    out = SAMPLES_FOLDER / "own-model"
    # Runs of another base would be shown, too.
    for path in out.glob("*.parquet"):
        path.unlink()
    for measure in (VOCABULARY, INDEPENDENT):
        for called in (MODEL, model):
            request = ProbeRequest(
                called, str(out / "sample.csv"), LOGIT_LENS, measure=measure, progress=False, out=out
            )
            probe(replace(request, threads=1, device="cpu"), say)
    # Of other facts, and most of the size.
    (out / f"exposure-{MODEL}.parquet").unlink()


def fact_by_fact(model: str, head: str, seed: int, templates: str) -> bool:
    """Whether a run's predictions ship, and not only its counts."""
    if templates == SECOND_WORDING:
        return False
    if model == MODEL:
        return head in (LOGIT_LENS, TIED) and seed == 0
    return head == LOGIT_LENS and model in {one.name for one in FACT_BY_FACT}
