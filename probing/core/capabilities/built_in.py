"""The capabilities of this program."""

from probing.core.capabilities.capability import Capability, Command

KNOWLEDGE = Capability(
    "knowledge",
    kind="probing.store.declared.knowledge:FACTS",
    shared="predictions",
    reports="probing.reports.knowledge.declarations:KNOWLEDGE",
)
EDGES = Capability(
    "edges",
    kind="probing.store.declared.edges:EDGES",
    shared="edges",
    reports="probing.reports.edges.declarations:EDGES",
    line="Edge probing: which layers encode syntax and meaning.",
    commands={
        "tasks": Command(
            "probing.commands.edges.tasks",
            "List the tasks: spans, data sets, licences and, with --counts, how much data they have.",
        ),
        "train": Command(
            "probing.commands.edges.train",
            "Train probes of every layer for edge probing tasks and store their predictions; resumable, does nothing"
            " the second time.",
        ),
        "trace": Command(
            "probing.commands.edges.trace",
            "Apply the probes of every layer to one span of a sentence, or to a pair of spans.",
        ),
    },
    reporting=(
        "Report stored probes: F1, expected layer, centre of gravity, order of tasks; the same numbers as on the pages."
    ),
)
SENTENCES = Capability(
    "sentences",
    kind="probing.store.declared.sentences:SENTENCES",
    shared="sentences",
    reports="probing.reports.sentences.declarations:SENTENCES",
    line="Sentence probing: which layers encode a property of the whole sentence, before and after fine-tuning.",
    commands={
        "train": Command(
            "probing.commands.sentences.train",
            "Train probes of every layer for whole sentences, also for a fine-tuned model's base; resumable, does"
            " nothing the second time.",
        ),
        "ask": Command(
            "probing.commands.sentences.ask",
            "Analyse one sentence: entropy, shares and distance of attention by layer, repeated words, and every"
            " probe's prediction.",
        ),
        "tasks": Command(
            "probing.commands.sentences.tasks",
            "List the tasks: question, data sets, licences and, with --counts, how much data they have and what was"
            " left out.",
        ),
        "make": Command(
            "probing.commands.sentences.make",
            "Write a task that is made by rule as TSV: odd-man-out, from UD English EWT.",
        ),
    },
    reporting=(
        "Report stored probes of whole sentences: accuracy, changes, fates of properties; the same numbers as on the"
        " pages."
    ),
)
CHANGES = Capability(
    "changes",
    kind="probing.store.declared.changes:CHANGES",
    shared="sentences",
    reports="probing.reports.changes.declarations:CHANGES",
    line="Effects of fine-tuning, layer by layer.",
    commands={
        "measure": Command(
            "probing.commands.changes.measure",
            "Measure attention, perplexity and similarity of states of a model and its base; resumable, does nothing"
            " the second time.",
        ),
    },
    reporting=(
        "Report the effects of fine-tuning: attention, similarity and perplexity; the same numbers as on the pages."
    ),
)
FORGETTING = Capability(
    "forgetting",
    kind="probing.store.declared.forgetting:FORGETTING",
    shared="forgetting",
    reports="probing.reports.forgetting.declarations:FORGETTING",
    line="Facts that fine-tuning lost: what comes back, and is it memory?",
    commands={
        "recover": Command(
            "probing.commands.forgetting.recover",
            "Ask for the facts that a fine-tuned model lost, by every way that may bring them back, next to what"
            " guessing brings; resumable.",
        ),
    },
    reporting=(
        "Report the outcome of the facts that fine-tuned models lost, next to guesses; the same numbers as on the page."
    ),
)
SERIES = Capability(
    "series",
    kind="probing.store.declared.series:SERIES",
    shared="forgetting",
    reports="probing.reports.forgetting.declared_series:SERIES",
    line="Trainings state by state: when facts are forgotten, and what prevents it.",
    commands={
        "follow": Command(
            "probing.commands.forgetting.follow",
            "Ask every state of a training for the same facts, and store when each was forgotten; resumable, does"
            " nothing the second time.",
        ),
        "prevent": Command(
            "probing.commands.forgetting.prevent",
            "Fine-tune a base in several recipes against forgetting, and store what each scores and keeps; resumable,"
            " keeps no weights.",
        ),
    },
    reporting="Report when facts were forgotten, and what prevents it; the same numbers as on the pages.",
)
