"""The rules on the claims about fine-tuning and sentence-level probing, in words; their code is in the other modules ``claims_``."""

from probing.reports.reproduction.findings import Rule
from probing.reports.reproduction.sentences import claims_accuracy as accuracy
from probing.reports.reproduction.sentences import claims_change as change
from probing.reports.reproduction.sentences import claims_inside as inside
from probing.reports.reproduction.sentences import claims_open as left
from probing.reports.reproduction.sentences.evidence import COLA, COLA_MEAN, RTE, SQUAD, SST

_ACCURACY = "sentences report: accuracy of the pre-trained encoder's probes, layers 1 to L"
_CHANGE = "sentences report: change of accuracy, layers 0 to floor(L/2) and the rest"
_ATTENTION = "changes report: attention by layer"
_PERPLEXITY = "changes report: perplexity on masked blocks"
_MEANS = (
    "The ends of a mean over layers are the means of the layers' ends (Wilson's for an accuracy, Newcombe's for a paired change), the "
    "widest interval that any dependence between layers allows."
)
_CANNOT = f"Cannot tell if nothing surely fails and some interval crosses its limit. {_MEANS}"
_UNREAD = (
    "A property on which the pre-trained encoder's probes do not surely beat the majority label cannot fall, so it is left out; without "
    "it the verdict cannot be that the claim holds."
)
_DRAWN = "Cannot tell if nothing surely fails and some interval crosses its limit (bootstrap over sentences, or over blocks of text)."

#: Claim (a name in ``data/published``) -> its rule.
RULES: dict[str, Rule] = {
    "mean-pooling beats CLS-pooling": Rule(
        _ACCURACY,
        "Holds if in every task accuracy with mean-pooling is above that with CLS-pooling in more than half of the layers and on average "
        "over them. Tasks on which no pooling beats the majority label are left out.",
        f"{_CANNOT} Differences between poolings are paired over the same sentences.",
        accuracy.mean_beats_first,
    ),
    "bigram-shift is easiest": Rule(
        _ACCURACY,
        "Holds if mean-pooled accuracy on bigram-shift, averaged over layers 1 to L, is at least 5 points above that on "
        "coordination-inversion and on odd-man-out (those that were probed).",
        _CANNOT, accuracy.shift_easiest,
    ),
    "albert is worst on odd-man-out": Rule(
        f"{_ACCURACY}, of three encoders",
        "Holds if accuracy on odd-man-out, averaged over layers 1 to L, is lower for ALBERT than for both others and higher for RoBERTa "
        "than for both, with both poolings.",
        _CANNOT, accuracy.albert_worst,
    ),
    "roberta's first token lacks the sentence": Rule(
        f"{_ACCURACY}, of three encoders",
        "Holds if RoBERTa's accuracy on coordination-inversion, averaged over layers 1 to L, is more than 5 points below both others' with "
        "CLS-pooling and above both with mean-pooling. That the missing objective is the reason is not tested.",
        _CANNOT, accuracy.roberta_lacks_sentence,
    ),
    "higher layers change most": Rule(
        _CHANGE,
        "Holds if in more than half of the cells (a fine-tuning task, a probing task, a pooling) the change over the upper layers is "
        "surely larger in size than that over the lower ones. Does not hold if in half of them it surely is not.",
        "Cannot tell if the sure cells do not decide. The interval of a cell is a bootstrap over test sentences where the predictions of "
        f"both models are stored. Elsewhere: {_MEANS}", change.upper_changes_most, every=True,
    ),
    "cola improves bigram-shift": Rule(
        _CHANGE,
        "Holds if fine-tuning on CoLA raises bigram-shift with CLS-pooling by more than 1 point over the upper layers, for every encoder.",
        _CANNOT, change.cola_improves_shift, needs=(COLA,),
    ),
    "rte improves coordination": Rule(
        _CHANGE,
        "Holds if fine-tuning on RTE raises coordination-inversion with CLS-pooling by more than 1 point over RoBERTa's upper layers.",
        _CANNOT, change.rte_improves_coordination, needs=(RTE,),
    ),
    "gains are negligible with mean-pooling": Rule(
        _CHANGE,
        "Judged if CoLA on bigram-shift (and, for RoBERTa, RTE on coordination-inversion) surely gains with CLS-pooling over the upper "
        "layers. Holds if the gain with mean-pooling is at most 1 point there. Does not hold if one gain is surely larger.",
        _CANNOT, change.negligible_with_mean, needs=(COLA,),
    ),
    "no gain over mean-pooling": Rule(
        "sentences report: CLS after fine-tuning against mean-pooling before, by layer",
        "Judged if the same gains are sure. Holds if the CLS probe after fine-tuning is at no layer significantly (q at most 5 %, "
        "McNemar, Benjamini-Hochberg) above the mean-pooled probe before, and is surely not above it on average over the upper "
        "layers. Does not hold if it is significantly above at one layer.",
        "Cannot tell if it is significantly above at no layer and the average is not surely at most 0.", change.no_gain_over_mean,
        needs=(COLA,),
    ),
    "sst-2 costs word order and odd words": Rule(
        _CHANGE,
        "Holds if fine-tuning on SST-2 lowers bigram-shift and odd-man-out with both poolings in both groups of layers, and, if all "
        "three encoders are stored, RoBERTa's most in more than half of the columns. Does not hold if one cell surely does not fall.",
        f"{_CANNOT} {_UNREAD}", change.sst_costs, needs=(SST,),
    ),
    "squad costs word order and odd words": Rule(
        _CHANGE,
        "Holds if fine-tuning on SQuAD lowers bigram-shift and odd-man-out with both poolings in both groups of layers, and changes "
        "coordination-inversion by at most 1 point. Does not hold if one cell surely fails.",
        f"{_CANNOT} {_UNREAD}", change.squad_costs, needs=(SQUAD,),
    ),
    "entropy of the first token rises": Rule(
        f"{_ATTENTION}: entropy-change-first",
        "Holds if after CoLA with CLS-pooling the entropy of the first token's attention rises in each of the last 3/12 of the layers, and "
        "after CoLA with mean-pooling it falls in the last layer. Does not hold if one surely fails.",
        f"{_DRAWN} Cannot hold without a model fine-tuned with mean-pooling.", inside.entropy_rises, needs=(COLA, COLA_MEAN),
    ),
    "attention moves most in the last layers": Rule(
        f"{_ATTENTION}: emd-first",
        "Holds if after CoLA with CLS-pooling the distance is larger in the upper half of the layers than in the lower and larger in each "
        "of the last 2/12 of the layers than in every other layer, and if after CoLA with mean-pooling it is less than half of that there.",
        f"{_DRAWN} Cannot hold without a model fine-tuned with mean-pooling. The paper names no ground distance; ours is the distance "
        "between token positions.",
        inside.attention_moves_late, needs=(COLA, COLA_MEAN),
    ),
    "perplexity rises": Rule(
        _PERPLEXITY,
        "Holds if perplexity is above the base's after CoLA and after SST-2, and more so after SST-2. If RoBERTa and BERT are both "
        "stored, the first epoch must also raise RoBERTa's more, on both tasks.",
        f"{_DRAWN} The comparison of epochs has no interval.", inside.perplexity_rises, needs=(COLA, SST),
    ),
    "the last layers raise perplexity": Rule(
        f"{_PERPLEXITY}, with layers of the base put back",
        "Holds if putting back the last 3/12 of the layers undoes at least half of the rise in log perplexity, and more than putting back "
        "as many first layers (a control that the paper lacks), for CoLA and for SST-2, and if the two shares differ by at most 10 points. "
        "Judged if perplexity surely rises.",
        _DRAWN, inside.last_layers_raise, needs=(COLA, SST),
    ),
    "390 probes on 12 models": Rule(
        "layers, tasks, poolings and models of the paper's Tables 2 and 5",
        "Holds if layers x tasks x poolings x models of the paper are 390, and its models 12.",
        "This is arithmetic with the paper's own numbers; ours are only counted.", left.number_of_probes,
    ),
    "few violations are not syntactic": Rule(
        "CoLA's annotation",
        "Needs the kind of each violation, which GLUE's files do not have.", "Not tested.", left.few_violations,
    ),
    "removed or no longer linear": Rule(
        "sentences report where-gone: fates of properties",
        "Counts the cells that every linear probe of the same layer and pooling has lost (the base's: frozen, rescaled or aligned; the "
        "model's own): the 95 % interval of the difference from the base's probe lies below 0 and reaches below -2 points. Holds if in "
        "more than half of them the neural probe of the same layer and pooling holds (the interval lies above -2 points). Does not hold if "
        "in half of them it has lost. What other tokens or layers hold is listed next to it.",
        "Cannot tell if the cells of which the neural probe is undecided could turn the majority.", left.removed_or_not_linear, every=True,
    ),
}  # fmt: skip
