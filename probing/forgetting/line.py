"""Asks eleven means of the weights of a base and its fine-tuned model for facts, scores them, and saves one of them."""

import copy
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from tqdm import tqdm
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerBase

from probing.finetuning.readers import DEV
from probing.finetuning.setup import TASK_HEAD, prepare, take_stored_weights
from probing.forgetting.follow import Training, series_config, series_files, write_series
from probing.forgetting.ranks import Questions, ranks_by_layer
from probing.forgetting.recover import one_set
from probing.forgetting.requests import LineRequest
from probing.forgetting.series import ALL, CHOSEN, REPORTED, AskedStates, Progress, line_rows
from probing.forgetting.ways import LINE
from probing.kernel.errors import ModelError, OptionError, ProbingError, Say
from probing.kernel.fact import FactSet
from probing.kernel.files import atomic_folder, cache_folder, require_writable, result_folders, runs_folder
from probing.kernel.models.arrays import stored_arrays
from probing.kernel.models.catalogue import at_same_commits, open_encoder, opened_base
from probing.kernel.models.delta_weights import apply_difference, is_difference, parameters_of
from probing.kernel.models.head import layout_of
from probing.kernel.models.hub import locate
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import FINETUNING, base_entry, find_entry, finetuning_note
from probing.kernel.models.records import refuse_taken_name
from probing.kernel.models.torch_settings import quiet_loading, set_threads
from probing.kernel.objectives import task_named
from probing.kernel.options import spelled
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.registry import ModelEntry

#: Per cent of the fine-tuned model's weights, the rest is the base's.
POINTS = tuple(range(0, 101, 10))
#: A user's score of a model with its tokenizer: a number, or one per example, whose mean it is.
ScoreFunction = Callable[[PreTrainedModel, PreTrainedTokenizerBase], float | Sequence[float]]
_Weights = Mapping[str, torch.nn.Parameter]


class Between:
    """The weights of a fine-tuned model, moved in place between those of its base and its own."""

    def __init__(self, name: str, tuned: _Weights, base: _Weights):
        both = tuned.keys() & base.keys()
        other = next((one for one in sorted(both) if tuned[one].shape != base[one].shape), None)
        if other or not both:
            sizes = f"{other} of size {tuple(tuned[other].shape)}, its base {tuple(base[other].shape)}" if other else ""
            raise ModelError(
                f"{name} has {sizes or 'no weight of its base'}; weights are averaged between a model and the base that"
                f" it was fine-tuned from ({spelled('base')})"
            )
        self._ends = [(tuned[one], base[one].detach().to(tuned[one]), tuned[one].detach().clone()) for one in both]

    @torch.no_grad()
    def move(self, percent: int | float) -> None:
        """Takes so many per cent of the fine-tuned weights; both ends, and what is equal in both, to the bit."""
        for weight, of_base, of_tuned in self._ends:
            weight.copy_(torch.lerp(of_base, of_tuned, percent / 100))


@dataclass(frozen=True)
class _Opened:
    tuned: Encoder
    base: Encoder
    entry: ModelEntry
    origin: ModelEntry

    @property
    def folders(self) -> tuple[Path, Path]:
        """Of the fine-tuned model and of its base."""
        tuned, base = ((one.location, one.revision or None) for one in (self.entry, self.origin))
        return locate(*tuned).folder, locate(*base).folder

    def whole(self) -> tuple[PreTrainedModel, Between]:
        """The fine-tuned model with all that its folder has of heads, by its own class, and its way to the base."""
        (folder, of_base), loading = self.folders, {"dtype": torch.float32, **layout_of(self.tuned.body.config)}
        with quiet_loading():
            base = AutoModelForMaskedLM.from_pretrained(of_base, **loading)
            if is_difference(folder):
                model = copy.deepcopy(base)
                apply_difference(model, folder, self.base.weights_id)
            else:
                named = [*(AutoConfig.from_pretrained(folder).architectures or ()), ""][0]
                model = getattr(transformers, named, AutoModel).from_pretrained(folder, **loading)
        return model.eval(), Between(self.tuned.name, parameters_of(model), parameters_of(base))


def _opened(request: LineRequest) -> _Opened:
    entry = find_entry(request.model, request.base, request.name, request.revision)
    tuned = open_encoder(request.model, request.base, request.device, name=request.name, revision=request.revision)
    entry = at_same_commits(entry, tuned)
    origin, base = base_entry(entry), opened_base(tuned, entry)
    if origin is None or base is None:
        raise ModelError(
            f"{tuned.name} has no recorded base; name the model that it was fine-tuned from with {spelled('base')}"
        )
    if tuned.tokenizer.get_vocab() != base.tokenizer.get_vocab():
        raise ModelError(
            f"{tuned.name} and its base {base.name} have different vocabularies, so their weights have no mean;"
            f" expected the model that it was fine-tuned from ({spelled('base')})"
        )
    return _Opened(tuned, base, entry, origin)


@dataclass(frozen=True)
class _Scorer:
    """Scores a model on the line: on all examples, and on the halves where a point is chosen and reported."""

    between: Between
    parts: Callable[[], tuple[Sequence[float], Sequence[int], str]]  #: scores, numbers of examples, and the metric
    identity: str = ""  #: of model and examples; empty: scores are not kept

    def at(self, percent: int, folder: Path) -> tuple[Sequence[float], Sequence[int], str]:
        """The scores at a point."""

        def made() -> dict[str, NDArray[Any]]:
            self.between.move(percent)
            scores, sizes, metric = self.parts()
            name = np.frombuffer(metric.encode(), np.uint8)
            return {"scores": np.array(scores, np.float64), "sizes": np.array(sizes), "metric": name}

        key = fingerprint_of(f"{self.identity} {percent}")
        found = stored_arrays(folder / f"{key}.safetensors", made) if self.identity else made()
        return found["scores"].tolist(), found["sizes"].tolist(), found["metric"].tobytes().decode()


def half_of(text: str) -> int:
    """Which half a text falls in, 0 or 1, by its hash."""
    return hashlib.sha256(text.encode()).digest()[0] % 2


def _of_task(opened: _Opened, data: Path | None, say: Say) -> _Scorer | None:
    """The scorer of a model that ``finetune`` made, by its task's head and data; None without them, which is said."""
    folder = opened.folders[0]
    recipe = finetuning_note(folder).get("recipe")
    if not recipe:
        say(f"{opened.tuned.name} has no task of ours, so the points have no score")
        return None
    task = task_named(recipe["objective"]).pooled(recipe.get("pooling"))
    # Other tasks have a development part only if the training left it out.
    settings = recipe | ({"looks": 1} if task.slug in DEV else {})
    try:
        ready = prepare(task, opened.origin, task.data_at(data), None, settings, recipe["seed"])
        take_stored_weights(ready, folder)
    except ProbingError as error:
        if data:
            raise
        say(f"the points have no score: {error}")
        return None
    model, training = ready.training.model, ready.training
    model.to(str(opened.tuned.device))  # type: ignore[arg-type]  # transformers wraps it
    scored = [*(ready.dev or training.test)]
    parts = [training.test, *([one for n, one in enumerate(scored) if half_of(str(n)) == half] for half in (0, 1))]
    if not all(parts):
        say(f"the points have no score: {len(scored)} examples of {task.label} are too few for two halves")
        return None
    digest = hashlib.sha256(repr([recipe, opened.tuned.weights_id, scored, training.test]).encode()).hexdigest()

    def score() -> tuple[list[float], list[int], str]:
        found = [training.scores(part)[0] for part in parts]
        return [one.value for one in found], [len(part) for part in parts], found[0].metric

    return _Scorer(Between(opened.tuned.name, parameters_of(model), parameters_of(ready.before)), score, digest)


def _of_function(opened: _Opened, function: ScoreFunction) -> _Scorer:
    """The scorer by a user's function; a score that is one number has no halves."""
    model, between = opened.whole()

    def score() -> tuple[list[float], list[int], str]:
        values = np.atleast_1d(np.asarray(function(model, opened.tuned.tokenizer), np.float64))
        if values.ndim > 1 or not values.size or not np.isfinite(values).all():
            raise OptionError(f"score= gave {values!r}; expected a number, or one for each example")
        halves = np.array([half_of(str(n)) for n in range(len(values))])
        parts = [values, *(values[halves == half] if len(values) > 1 else values for half in (0, 1))]
        if not all(map(len, parts)):
            raise OptionError(
                f"score= gave {len(values)} examples, too few for two halves; expected more, or one number"
            )
        return [part.mean() for part in parts], [len(part) for part in parts], "score"

    return _Scorer(between, score)


def line(
    request: LineRequest, say: Say = print, score: ScoreFunction | None = None, facts: FactSet | None = None
) -> tuple[str, str]:
    """Asks every point for the facts, stores the series, and returns the names of model and probe set.

    A killed run goes on where it was. ``facts`` are taken in place of the request's; ``score`` is larger for a better
    model, in [0, 1].
    """
    threads, target = set_threads(request.threads), request.out or runs_folder()
    require_writable(target)
    opened = _opened(request)
    tuned, base = opened.tuned, opened.base
    refuse_taken_name(tuned, [target] if request.out else result_folders())
    fact_set = facts or one_set(request.facts, request.called, say)
    questions, layers = Questions.of(fact_set, base, request.size), [base.depth]
    say(f"{tuned.name} and its base {base.name}, {len(questions.facts):,} facts of {questions.probe_set}")
    scorer = _of_function(opened, score) if score else _of_task(opened, request.data, say)
    moved, of_base = parameters_of(tuned.body), parameters_of(base.body)
    if tuned.opens_base is None:
        moved |= {f"head {name}": weight for name, weight in tuned.head.named_parameters()}
        of_base |= {f"head {name}": weight for name, weight in base.head.named_parameters()}
    between, folder = Between(tuned.name, moved, of_base), cache_folder() / "forgetting" / "line"
    asked, scores = [], []
    for percent in tqdm(POINTS, unit="point", desc=f"line {tuned.name}"):

        def made(percent: int = percent) -> dict[str, np.ndarray]:
            between.move(percent)
            return ranks_by_layer(tuned, questions, layers)._asdict()

        parts = (base.weights_id, tuned.weights_id, tuned.configuration, questions.sha256, threads, percent)
        asked.append(stored_arrays(folder / f"{fingerprint_of(canonical_json(parts))}.safetensors", made))
        scores.append(scorer.at(percent, folder) if scorer else ((None,) * 3, (0,) * 3, ""))
    states = AskedStates(
        POINTS,
        layers,
        np.stack([one["own"] for one in asked]),
        np.stack([one["swapped"] for one in asked]),
        questions.relations,
    )
    ends = canonical_json({"0": base.weights_id, "100": tuned.weights_id})
    training = Training(
        tuned.name, base.name, base.weights_id, opened.entry.objective, protection=LINE, state_weights=ends
    )
    config = series_config(training, tuned, tuned.weights_id, questions, (POINTS, layers), threads)
    config = config.model_copy(update={"scored": fingerprint_of(repr(scores)) if scorer else ""})
    files = series_files(config, target, fact_by_fact=False, line=True)
    if files.whole():
        say(f"{tuned.name}: line {config.fingerprint} exists already")
        return tuned.name, questions.probe_set
    halves = np.array([half_of(str(answer)) for answer in questions.gold])
    members = {ALL: halves >= 0, CHOSEN: halves == 0, REPORTED: halves == 1}
    history = [
        Progress(percent, score=values[0], metric=metric)
        for percent, (values, _, metric) in zip(POINTS, scores, strict=True)
    ]
    write_series(files, tuned, states, questions, history, line_rows(config.fingerprint, states, members, scores))
    say(f"{tuned.name}: line {config.fingerprint}: {files.file('series_runs')}")
    return tuned.name, questions.probe_set


def save_point(request: LineRequest, say: Say = print) -> Path:
    """Writes the model at ``save`` to a new folder, with all that only the fine-tuned one has, and the tokenizer."""
    assert request.save is not None and request.out is not None
    if request.out.exists():
        raise ModelError(f"{request.out} exists already; name a new folder with --out")
    opened = _opened(request)
    (folder, _), (model, between) = opened.folders, opened.whole()
    between.move(100 * request.save)
    with atomic_folder(request.out) as half:
        model.save_pretrained(half)
        opened.tuned.tokenizer.save_pretrained(half)
        if (folder / TASK_HEAD).is_file():
            shutil.copyfile(folder / TASK_HEAD, half / TASK_HEAD)
        if note := copy.deepcopy(finetuning_note(folder)):
            kept = (1 - note["recipe"].get("average", 0.0)) * request.save
            note["recipe"]["average"] = round(1 - kept, 6)
            note |= {"stored_as_difference": False, "scores": []}
            (half / FINETUNING).write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
    say(f"wrote {request.out}: {request.save:g} of {opened.tuned.name} and {1 - request.save:g} of {opened.base.name}")
    return request.out
