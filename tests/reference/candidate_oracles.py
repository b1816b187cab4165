"""Log-likelihoods of answers of several tokens by lm-pub-quiz and minicons, for models of ``tests.tiny_models``.

The table beside this file was made once, with lm-pub-quiz 0.3.3 and minicons 0.3.39 installed beside this project's
dependencies, by ``python -m tests.reference.candidate_oracles``.
"""

import json
from pathlib import Path

TABLE = Path(__file__).with_suffix(".json")
ARCHITECTURES = ("bert", "modernbert", "roberta")
PROMPTS = ("The capital of france is [MASK].", "It was born in [MASK]")
ANSWERS = ("paris", "parisian", "Rocky Balboa", "Rome", "red green blue", "one two three", "londoner and Madrid")
#: Our measure -> what lm-pub-quiz calls it.
MEASURES = {"answer_l2r": "answer_l2r+word_l2r", "within_word_l2r": "within_word_l2r"}


def values() -> list[dict]:
    """A row per library, model, measure, prompt and answer: its number of tokens and its log-likelihood in nats."""
    from lm_pub_quiz import Evaluator
    from minicons.scorer import MaskedLMScorer

    from tests import tiny_models

    rows = []
    for architecture in ARCHITECTURES:
        model, tokenizer = tiny_models.build(architecture)
        for measure, theirs in MEASURES.items():
            quiz = Evaluator.from_model(model, tokenizer=tokenizer, model_type="MLM", pll_metric=theirs)
            for prompt in PROMPTS:
                template = prompt.replace("[MASK]", "[Y]")
                for answer, (scores, roles) in zip(
                    ANSWERS, quiz.score_answers(template=template, answers=list(ANSWERS), reduction=None), strict=True
                ):
                    own = [scores[place][1] for place in roles["answer"]]
                    rows.append(
                        {
                            "library": "lm-pub-quiz",
                            "architecture": architecture,
                            "measure": measure,
                            "prompt": prompt,
                            "answer": answer,
                            "tokens": len(own),
                            "value": round(sum(own), 6),
                        }
                    )
        # The name that transformers 4 had for this, and minicons still uses.
        tokenizer.batch_encode_plus = tokenizer.__call__
        scorer = MaskedLMScorer(model, "cpu", tokenizer=tokenizer)
        prefix = PROMPTS[1].removesuffix(" [MASK]")
        for answer in ANSWERS:
            (found,) = scorer.conditional_score(
                [prefix], [answer], PLL_metric="within_word_l2r", reduction=lambda x: (len(x), x.sum().item())
            )
            rows.append(
                {
                    "library": "minicons",
                    "architecture": architecture,
                    "measure": "within_word_l2r",
                    "prompt": PROMPTS[1],
                    "answer": answer,
                    "tokens": found[0],
                    "value": round(found[1], 6),
                }
            )
    return rows


if __name__ == "__main__":
    TABLE.write_text("[\n" + ",\n".join(json.dumps(row) for row in values()) + "\n]\n", encoding="utf-8")
