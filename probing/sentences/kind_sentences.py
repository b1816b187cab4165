"""The runs of sentence-level probing."""

from probing.kernel.store.kinds import Kind
from probing.sentences import tables
from probing.sentences.kind import RULES, SCANS
from probing.sentences.requests_run import SentenceRunConfig
from probing.sentences.store import sentence_runs
from probing.sentences.tasks import SENTENCE_TASKS

SENTENCES = Kind(
    "sentences",
    SentenceRunConfig,
    tables.TABLES,
    RULES,
    SCANS,
    about=tables.__doc__,
    listed=sentence_runs,
    command="sentences train",
    title="probes of sentences",
    open_tasks={name: task.open for name, task in SENTENCE_TASKS.items()},
    line="sentences {task:<22} {protocol}, seed {seed}, {n_test:,} tested{left}",
)
