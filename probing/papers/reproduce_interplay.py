"""How the paper on fine-tuning and sentence-level probing is reproduced: from a family's base to the tables."""

from probing.changes.measure_run import measure_changes
from probing.changes.requests import ChangesRequest
from probing.finetuning.objectives import CALLED, Task
from probing.kernel.errors import OptionError, RegistryError, Say
from probing.kernel.fetch import fetch_or_stand_in
from probing.kernel.files import cache_folder
from probing.kernel.registry import FamilyEntry, FamilyMember
from probing.papers.interplay_paper import INTERPLAY
from probing.papers.reproduce_plan import Plan, Procedure, made_here
from probing.papers.reproduce_steps import compare, fetch, fine_tune, in_words
from probing.papers.requests import ReproduceRequest, Stage
from probing.sentences.requests import SentencesRequest
from probing.sentences.tasks import SENTENCE_TASKS
from probing.sentences.train import train_sentences

#: The paper's probing tasks and fine-tuning tasks; Figure 2 compares CoLA on the first token with CoLA on the mean.
TASKS = ("bigram-shift", "coordination-inversion", "odd-man-out")
OBJECTIVES = ("CoLA", "SST-2", "RTE", "QA-SQuAD-1", "CoLA (mean)")


def _tasks(request: ReproduceRequest) -> tuple[str, ...]:
    if request.tasks == ("all",):
        return TASKS
    if set(request.tasks) - set(TASKS):
        raise OptionError(
            f"got the tasks {','.join(request.tasks)!r}; expected all, or some of {', '.join(TASKS)}, separated by"
            " commas"
        )
    return request.tasks


def _members(request: ReproduceRequest, family: FamilyEntry) -> tuple[FamilyMember, ...]:
    return tuple(_member(family, CALLED[label]) for label in OBJECTIVES)


def _member(family: FamilyEntry, task: Task) -> FamilyMember:
    """The family's model of an objective, if it has the same base; else one that is fine-tuned here."""
    for member in family.members:
        if member.objective == task.label and (member.base or family.base) == family.base:
            return member.model_copy(update={"base": family.base})
    return made_here(task, family.base)


def _begin(plan: Plan, say: Say) -> None:
    say(
        f"{plan.family.base}, probed for {', '.join(plan.tasks)} by the protocol {plan.request.protocol}; fine-tuned"
        " models:"
    )
    for member in plan.members:
        say(f"  {in_words(member)}")


def _fetch(plan: Plan, say: Say) -> None:
    fetch(plan, ["wikitext-2-raw"] if plan.request.blocks else [], say)
    for task in plan.tasks:
        _fetch_task(plan, task, say)


def _fetch_task(plan: Plan, task: str, say: Say) -> None:
    """Any of a task's data sets is enough: a fetched one, or the first that can be fetched."""
    names = SENTENCE_TASKS[task].data_sets
    fetched = [name for name in names if (cache_folder() / "downloads" / name).is_dir()]
    for name in fetched[:1] or names:
        try:
            say(f"  {task}: {fetch_or_stand_in(plan.registry, name, plan.request.source, say)}")
            return
        except RegistryError as error:
            if name == names[-1] or fetched:
                raise
            say(f"  {task}: not from {name} ({error})")


def _train(plan: Plan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        say(f"  {model}:")
        sentences_request = SentencesRequest(
            model, tasks=plan.tasks, protocol=request.protocol, device=request.device, executor=request.executor
        )
        train_sentences(sentences_request, say)


def _measure(plan: Plan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        say(f"  {model}:")
        changes_request = ChangesRequest(
            model, blocks=request.blocks, sentences=request.sentences, device=request.device, executor=request.executor
        )
        measure_changes(changes_request, say)


REPRODUCE_INTERPLAY = Procedure(
    INTERPLAY,
    "Fine-tuning and probing, {family.base}",
    prefix="interplay-",
    tasks=_tasks,
    members=_members,
    begin=_begin,
    steps={
        Stage.fetch: _fetch,
        Stage.finetune: fine_tune,
        Stage.train: _train,
        Stage.measure: _measure,
        Stage.tables: compare,
    },
)
