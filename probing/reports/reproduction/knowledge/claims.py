"""The rules on BERTnesia's claims, in words; their code is in ``claims_layers`` and ``claims_finetuning``."""

from probing.reports.reproduction.findings import Rule
from probing.reports.reproduction.knowledge import claims_finetuning as tuning
from probing.reports.reproduction.knowledge import claims_layers as layers

_TOTALS = "total(ks=(1,), averages=('micro',))"
_PAIRED = "transitions(pairs, ks=(1,))"
_LOST = "forgotten(T-REx runs, ks=(1,), definitions=('authors',))"
_LAYERS = "macro_paired_by_layer(pairs, k=1)"
_RELATIONS = "precision_by_relation(T-REx runs, k)"
_DRAWN = "1,000 draws of the curve, as for its band in figures; the relations are fixed, and the layers are drawn independently"
_SHARES_UNSURE = (
    "Cannot tell if Wilson's 95 % interval crosses an end of that range. The interval of 41 relations is some 15 to 25 points wide: they "
    "can refute the claim, but only several hundred relations could confirm it."
)
_FORGOTTEN_UNSURE = "The intervals are Newcombe's for paired differences, over the same relations and over the same facts."
_LAYERS_UNSURE = "The intervals are those of the macro difference, paired over the same facts of each relation."

#: Claim (a name in ``data/published``) -> its rule.
RULES: dict[str, Rule] = {
    "inner layers hold knowledge": Rule(
        _TOTALS,
        "Holds if the intermediate share, (total - last) / total at P@1 over facts, is between 17 and 60 per cent for the base and every "
        "fine-tuned model on every probe set of the paper that was probed. Does not hold if one share is surely outside.",
        "Cannot tell if none is surely outside and the 95 % interval of some share crosses 17 or 60 per cent (Wilson's, over the facts "
        "that some layer knows).",
        layers.inner_layers, every=True,
    ),
    "some relations double": Rule(
        "relation_forgetting(base run on T-REx, k=1), column doubling",
        "Holds if 10 to 20 per cent of the base's T-REx relations have a P@1 at the last layer of at least twice the best inner layer's.",
        _SHARES_UNSURE, layers.doubling,
    ),
    "some relations are best inside": Rule(
        "relation_forgetting(base run on T-REx, k=1), column authors",
        "Holds if 2 to 12 per cent of the base's T-REx relations are forgotten as the authors count (best inner layer above the last, "
        "unpaired t-test p <= 0.05).",
        _SHARES_UNSURE, layers.best_inside,
    ),
    "growth is nearly exponential": Rule(
        _RELATIONS,
        "Holds if macro P@1 on T-REx rises at every layer from two thirds of the layers on (8 of 12), and an exponential fits it better "
        "than a line. Both are fitted to P@1 by least squares, and the residuals in P@1 are compared.",
        "Does not hold if one step is surely no rise or the line fits better. Cannot tell if neither is so and the 95 % interval of the "
        f"smallest step or of the difference in residuals contains 0 ({_DRAWN}).",
        layers.exponential_growth,
    ),
    "other ranks show the same": Rule(
        _RELATIONS,
        "Holds if for the base and every fine-tuned model the curves of P@10 and P@100 over layers 1 to L have a rank correlation of at "
        "least 0.8 with that of P@1. Does not hold if one is surely below.",
        f"Cannot tell if none is surely below and some 95 % interval crosses 0.8 ({_DRAWN}).",
        layers.other_ranks, every=True,
    ),
    "models agree early": Rule(
        _LAYERS,
        "Holds if QA-SQuAD-2, RANK-MSMARCO and NER-CoNLL (those that were probed) stay within 2 points of the base's macro P@1 on T-REx at "
        "layers 1 to L / 2, and at least one of them leaves that band later.",
        f"Cannot tell if a deciding interval crosses 2 points. {_LAYERS_UNSURE}",
        tuning.early_agreement, needs=tuning.FIGURE_4,
    ),
    "who knows more keeps less inside": Rule(
        _TOTALS,
        "Holds if across at least four models the rank correlation of total knowledge and intermediate share is -0.5 or lower on every "
        "probe set of the paper. Part of this is arithmetic: a total that the last layer reaches alone has an intermediate share of 0.",
        "Cannot tell if no correlation is surely above -0.5 and some interval crosses it: 1,000 draws, each total and share drawn "
        "uniformly from its own 95 % interval. The models are fixed: the interval says nothing about other models.",
        layers.inside_against_total, every=True,
    ),
    "fine-tuning always forgets": Rule(
        _PAIRED,
        "Holds if every fine-tuned model knows fewer facts than the base at the last layer on every probe set of the paper. Does not hold "
        "if one is surely not below. The control is shown for comparison and does not decide.",
        f"Cannot tell if a 95 % interval (Newcombe) contains 0 or the difference has p > {tuning.SIGNIFICANT} (exact McNemar, "
        "Benjamini-Hochberg over these pairs). A model of which only counts are stored is compared as an independent sample, by its "
        "interval alone.",
        tuning.always_forgets, every=True,
    ),
    "the last layers lose most": Rule(
        _LAYERS,
        "Holds if for every fine-tuned model the layer at which its macro P@1 on T-REx falls furthest below the base's is in the last "
        "third.",
        "Cannot tell if the intervals of the largest early and the largest late loss overlap, the loss may be 0, or the single facts of a "
        f"model are not stored. {_LAYERS_UNSURE}",
        tuning.last_layers_lose, every=True,
    ),
    "ranking forgets least": Rule(
        f"{_LOST}; {_PAIRED}",
        "Holds if no other fine-tuned model has fewer forgotten T-REx relations as the authors count, and none a higher P@1 at the last "
        "layer on T-REx.",
        f"Cannot tell if none is surely ahead and some difference may have either sign. {_FORGOTTEN_UNSURE}",
        tuning.ranking_least, needs=("RANK-MSMARCO",), every=True,
    ),
    "more data does not help": Rule(
        _PAIRED,
        "Holds if MLM-MSMARCO, tuned on the larger text, is not above MLM-SQuAD in P@1 at the last layer on T-REx and Google-RE. It cannot "
        "be tested if all models took the same number of steps, because then the amount of data did not differ.",
        "Cannot tell if neither difference is surely above 0 and one may be (Newcombe's paired 95 % interval).",
        tuning.more_data, needs=("MLM-MSMARCO", "MLM-SQuAD"),
    ),
    "a harder task keeps more": Rule(
        f"{_PAIRED}; {_LOST}",
        "Holds if QA-SQuAD-2 is above QA-SQuAD-1 in P@1 at the last layer on more than half of the paper's probe sets, and has fewer "
        "forgotten T-REx relations as the authors count.",
        f"Cannot tell if the probe sets with a sure sign do not decide, or the relations do not. {_FORGOTTEN_UNSURE}",
        tuning.harder_task, needs=("QA-SQuAD-1", "QA-SQuAD-2"),
    ),
    "language modelling keeps more than question answering": Rule(
        f"{_LOST}; {_PAIRED}",
        "Holds if MLM-SQuAD has fewer forgotten T-REx relations than QA-SQuAD-2 as the authors count, and a higher P@1 at the last layer.",
        f"Cannot tell if neither difference surely goes the other way and one may have either sign. {_FORGOTTEN_UNSURE}",
        tuning.language_modelling, needs=("MLM-SQuAD", "QA-SQuAD-2"),
    ),
    "text of the probe helps": Rule(
        _TOTALS,
        "Holds if on LAMA's SQuAD probe the total knowledge of MLM-SQuAD at P@1 is above the base's, by less than 5 points. Our own "
        "questions are different sentences and cannot decide it.",
        "Cannot tell if the 95 % interval of the difference crosses 0 or 5 points (Newcombe's for two shares that are not paired, which "
        "is wider than a paired one).",
        tuning.text_of_the_probe, needs=("MLM-SQuAD",),
    ),
    "ranking is close to its language model": Rule(
        _LAYERS,
        "Holds if RANK-MSMARCO and MLM-MSMARCO are within 2 points of each other in macro P@1 at every layer on every probe set of the "
        "paper. Does not hold if one difference is surely larger.",
        f"Cannot tell if none is surely larger and some interval crosses 2 points. {_LAYERS_UNSURE}",
        tuning.ranking_like_language_model, needs=("MLM-MSMARCO", "RANK-MSMARCO"),
    ),
}  # fmt: skip
