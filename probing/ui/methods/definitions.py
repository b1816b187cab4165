"""The page of methods and data: definitions, provenance, licences, and differences from the papers."""

import json

import pandas as pd
import streamlit as st

from probing.core.glossary.terms import TERMS, Term
from probing.core.metrics import METRICS, Metric
from probing.core.provenance import LOCAL
from probing.core.registry import read_registry
from probing.figures.shown_runs import set_name
from probing.store.run_queries import runs as all_runs
from probing.store.schema import TABLES
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, filled, joined
from probing.ui.widgets.tables import fitted

HOW = """
**A fact** is a subject, a relation and an object. A template turns it into a sentence with exactly one `[MASK]`, and the object must be
one token of the model's vocabulary. Other facts are left out and counted by reason.

**Probing a layer.** The sentence goes through the frozen encoder once. At every layer, 0 (the embeddings) to L, the hidden state at the
mask goes through a *decoding head*: Linear, GELU, LayerNorm, Linear onto the vocabulary. It scores the whole vocabulary; the position of
the object in order of score is the fact's **rank** at that layer.

| head | parameters per layer | how it is made |
|---|---|---|
| `full` | everything, as in the paper | trained from the pre-trained head |
| `tied` | transform, LayerNorm, bias; the vocabulary matrix is shared and frozen | trained from the pre-trained head, or from the map |
| `logit_lens` | nothing: the pre-trained head reads every layer (nostalgebraist 2020) | not trained |
| `least_squares` | as `tied` | the pre-trained head on top of an affine map from the layer to the last, in closed form |
| `tuned_lens` | as `tied` | such a map, trained to the last layer's distribution by KL divergence (Belrose et al. 2023) |

The **map** is the affine map with the least squared error to the last layer's state at the same masked positions. A fine-tuned body that
is read through its base's head is mapped to the *base's* last layer. If the map has a higher validation loss than the logit lens, the
head starts without it. It folds into the head's first layer, so these kinds have as many parameters as `tied`.

Heads learn by masked language modelling (15 %, of which 80 % masked, 10 % random, 10 % unchanged) on plain encyclopaedic text, WikiText,
never on the sentences that the facts come from. The checkpoint with the lowest validation loss is probed, the start included. The
encoder never changes. `tuned_lens` learns from the last layer's distribution at the same positions instead of the masked words; its
checkpoint is chosen in the same way.

**What a layer knows depends on the head that reads it.** A head can also learn the favourite answers of a relation, without regard to the
subject. So every curve states its head, and the page *Decoding heads* compares all stored kinds, each with its swapped subject.

**Averages.** *Macro* is the mean over relations, *micro* the mean over facts; every figure states which. The paper's curves are macro.

**Intervals** are 95 %: Wilson intervals for micro and for a single relation; for macro, the share of each relation is drawn from a beta
distribution, so that a relation without hits is not treated as certain; for MRR, those of a mean (Student, normal). They speak of other
facts with the same answers. With other answers, too, numbers vary more: `low_answers` and `high_answers` are a jackknife over (relation,
answer), for P@k of runs with predictions. Sentences that compare layers or models use the outer ends of both.

**Baselines.** *Majority answer*: always giving the relation's most frequent object. *Swapped subject*: the same facts, but the model is
asked about another subject of the relation, one that does not have the right answer among its recorded answers. Only a value above it
comes from knowing the subject. If there is no such subject, the fact does not have this baseline; reports give the number of facts that
have it. Compact runs do not have it. The tab *Yardsticks* explains both, their differences and the null of total knowledge.

**Exposure** is the relation of a fact to a model's training text, if that text is known: *stated* in so many words in training templates,
*evidence* (some sentence contains subject and answer), *unseen* (none does), or *held out* on purpose. *Held out in part*: no sentence
contains both, but one of the fact's own evidence sentences is in the text and names it in another form; numbers of held-out facts exclude
these. *Unknown*: all other models. A fine-tuned model has the exposure of its
base. Stated facts were chosen by hash, so stated minus held out is the effect of stating a fact. Facts with evidence were not chosen, so
an effect of evidence alone on nesia-mini's P@1 is not shown (see its card).

**Fine-tuned models** are asked in the same way; a body without a masked-LM head is read through its base's whole head. A **control** was
trained further on its base's pre-training text. If it took as many steps of the same size as the other models, its losses show what
as many further steps on the base's own text cost. A new text or input format can cost more, apart from the task. **Forgotten relation**
has three named definitions (caption, authors, strict), below; only *authors* is compared with the paper's cells. **Lost** facts are
known at the base's last layer and not at the fine-tuned model's; each has one of five
fates. Two models on the same facts are compared by exact McNemar tests and differences with Newcombe's interval. The **loss** of P@k, and
of P@k minus the swapped subject, is the base's share minus the model's, through the same kind of head. If only counts of a run are
stored, its facts cannot be paired with the base's, and the interval treats the two shares as independent.
"""

DIFFERENCES = """
Definitions are those of *BERTnesia* (Wallat, Singh and Anand 2020). We depart from it on purpose in these points:

- **Ranks count from 1.** The authors' code counts from 0 and tests `rank <= k`, so its P@10 is a P@11, and a right first answer has
  reciprocal rank 0. P@1 is the same.
- **The best checkpoint** of a head is probed, not that of the last epoch, and dropout is off.
- **Total knowledge** is the share of facts known at *any* layer 1 to L, a union over facts, not a maximum of means. A union over many
  noisy read-outs grows by chance alone; the paper has no control for it. We compare it with the null of total knowledge (tab
  *Yardsticks*).
- **The head has 24,063,546 parameters** for BERT-base, according to its description in the paper; the appendix states 24,459,834.
- **The `tied` head is ours** and needs a fraction of the memory; the paper's is `full`. `least_squares` is ours, too. `tuned_lens` is that
  of Belrose et al. 2023 (*Eliciting Latent Predictions from Transformers with the Tuned Lens*), but starts from the closed-form map.
- **Templates** have our own wording in the shipped snapshot; a LAMA folder is probed with its own. The paper used LAMA's, so its numbers
  and ours on the shipped snapshot are not directly comparable.
- **"LAMA's templates"** are asked without the blank that LAMA writes before the full stop. BERT's tokenizers treat both alike; RoBERTa's
  does not, and with random weights 79 % of its ranks differ. For such models these cells differ slightly from LAMA's questions.
- **"common sense (ours)" and "questions (ours)"** are our own sentences, unrelated to LAMA's ConceptNet and SQuAD parts.
- **nesia-mini** is not BERT but a small model, trained here. All of its training text is known, so exposure can be shown.
- **Its fine-tuned family** was trained on small parts of the data sets, for 500 to 3,700 steps by objective, and each model is that of the
  step that was best on a development part (200 to 3,700). *Compare models* states where the control was not trained as long; the paper's
  models were each trained to the end. Word embeddings were frozen, and the models are stored, and were probed, as one-byte
  differences from nesia-mini. NER is uncased here; the paper's is cased, with a cased base.
- **The union over re-trained heads** of the last layer, if they were trained, is a second and weaker control of total knowledge.
- **Forgetting** is also judged by a stricter test than the paper's: paired, corrected for the number of tests, and with a minimum drop.
- **Facts whose answer is part of the subject** (about one in seven of T-REx) are marked and can be filtered: copying is not knowledge.
- **De-duplication** is by (relation, subject, object) as written. Models do not share a common vocabulary unless this is requested.
"""

OWN_LICENCES = (
    {"what": "BERTnesia Explorer", "licence": "Apache-2.0", "source": "this repository"},
    {"what": "templates, common-sense clozes, questions", "licence": "Apache-2.0", "source": "written for this project, data/facts"},
)


def metric_text(metric: Metric) -> Markdown:
    """One metric as Markdown."""
    low = "−∞" if metric.low is None else f"{metric.low:g}"
    high = "∞" if metric.high is None else f"{metric.high:g}"
    better = "neither direction is better" if metric.better == "neither" else f"{metric.better} is better"
    return filled(
        "**{label}** · {unit}, {low} to {high}, {better}\n\n{definition}\n\n*Ties*: {ties}. *Nothing to count*: {empty}. "
        "*Source*: {source}.",
        label=metric.label,
        unit=metric.unit,
        low=low,
        high=high,
        better=better,
        definition=metric.definition,
        ties=metric.ties,
        empty=metric.empty,
        source=metric.source.rstrip("."),
    )


def term_text(term: Term) -> Markdown:
    """One term as Markdown."""
    return filled("**{name}**: {meaning}. *Source*: {source}.", name=term.name, meaning=term.meaning, source=term.source)


def definitions() -> None:
    """Draws the methods, every term of the hover help, and every metric from the table that the figures also use."""
    st.markdown(HOW)
    st.markdown("## Every term")
    st.markdown(joined("\n", [filled("- {term}", term=term_text(term)) for term in TERMS]))
    st.markdown("## Every quantity")
    for metric in METRICS.values():
        with st.container(border=True):
            st.markdown(metric_text(metric))


def licences() -> pd.DataFrame:
    """Models and data with licence and source, from the registry."""
    registry = read_registry()
    rows: list[dict] = list(OWN_LICENCES)
    rows += [
        {
            "what": f"model {entry.name}",
            "licence": entry.licence,
            "source": entry.source,
            "revision": entry.revision[:12],
            "paper": entry.paper,
        }
        for entry in registry.models
    ]
    rows += [
        {"what": f"data {entry.title}", "licence": entry.licence, "source": entry.homepage, "revision": "", "paper": entry.paper}
        for entry in registry.data
    ]
    return pd.DataFrame(rows).fillna("")


def provenance(view: View) -> None:
    """Draws the origin of data and models, and the runs in the store."""
    st.markdown("## Where models and data come from")
    table = licences()
    st.dataframe(table, hide_index=True, placeholder=blocks.EMPTY, column_config=fitted(table))
    st.caption(
        "Triples (subject, relation, object) of T-REx and Google-RE come from LAMA's files; they ship as labels only, without sentences. "
        "LAMA's own texts, templates and judgements are not shipped; `python -m probing fetch lama` downloads them from their source."
    )
    st.markdown("## Runs in the store")
    runs = view.read(all_runs) if view.database else pd.DataFrame()
    if runs.empty:
        blocks.missing("No run is stored.", blocks.PROBE_COMMAND)
        return
    assert view.database is not None
    shown = runs.assign(
        left_out=[left_out_text(text) for text in runs["left_out"]],
        probe_set=runs["probe_set"].map(set_name),
        model_revision=runs["model_revision"].fillna(LOCAL),
    )
    columns = [
        "model", "head", "probe_set", "template_set", "n_read", "n_probed", "left_out", "run_id", "hub_id", "model_revision", "objective",
        "role",
        "seed",
        "layers", "dtype", "device", "code_version", "created",
    ]  # fmt: skip
    blocks.table_with_download(shown[columns], stamp=view.stamp("all runs", tuple(runs["run_id"])), name="runs")
    st.caption("Read = probed + left out. The id of a run is the sha256 of its whole configuration; equal ids mean equal bytes.")


def columns() -> None:
    """Draws every column of every stored table."""
    st.markdown("## Every column of the stored tables")
    rows = [{"table": name, **column.described} for name, table in TABLES.items() for column in table.columns]
    shown = pd.DataFrame(rows).replace("`", "", regex=True)
    st.dataframe(shown, hide_index=True, placeholder=blocks.EMPTY, column_config=fitted(shown))
    st.caption("Results are Parquet files, named after their table. `python -m probing tables` prints this list with what a row is.")


def left_out_text(text: str | None) -> str:
    """ "12 object is several tokens, 3 duplicate" from the stored counts."""
    counts = json.loads(text) if isinstance(text, str) and text else {}
    return ", ".join(f"{n:,} {reason}" for reason, n in sorted(counts.items())) or "none"


def differences() -> None:
    """Draws the differences from the papers."""
    st.markdown(DIFFERENCES)


def bert() -> None:
    """Explains how to show another model than the shipped one."""
    st.markdown("## Another model on these pages")
    st.markdown(
        "**nesia-mini is a small demonstration model.** One command probes BERT-base on the same facts; its runs then appear with "
        "nesia-mini's on every page, without a restart. `tied` heads are trained first with `train-heads`; `logit_lens` needs no training."
    )
    st.code(blocks.BERT_COMMAND, language="shell")
    st.markdown("Instead of `all` you can give a file of your own facts, or any folder in LAMA's layout.")
