"""The card of shared heads says what each layer's head reached: by logit lens, by the map, at the start and in the end."""

from pathlib import Path

from probing.workflows.share.cards import Origin, heads_card
from probing.workflows.share.heads import HeadSet

ORIGIN = Origin("mine", "somebody/mine")


def card(recipe, *losses):
    text = heads_card(ORIGIN, "0" * 64, [HeadSet("tied", 0, recipe, list(losses), Path())], [], "en", "mit", "somebody/mine-heads")
    return text[text.index("Validation loss in nats") :]


def test_a_head_that_was_tried_behind_the_map_shows_all_four_losses():
    tried = {"layer": 0, "start": 5.1, "best": 4.9, "best_step": 100, "steps": 100, "logit_lens": 6.25, "map": 5.0, "positions": 1024}
    last = {"layer": 1, "start": 4.5, "best": 4.4, "best_step": 50, "steps": 100}
    text = card({"start": "least-squares"}, tried, last)
    assert "| layer | by logit lens | by least-squares map | at the start | final | at step |" in text
    assert "| 0 | 6.250 | 5.000 | 5.100 | 4.900 | 100 |" in text
    assert "| 1 | 4.500 |  | 4.500 | 4.400 | 50 |" in text, "the last layer starts as the pre-trained head"
    assert "compared on the first 1,024 validation positions" in text


def test_a_map_that_was_compared_on_all_positions_says_nothing_of_a_part():
    text = card({}, {"layer": 0, "start": 5.0, "best": 5.0, "best_step": 0, "steps": 0, "logit_lens": 6.25, "map": 5.0})
    assert "| 0 | 6.250 | 5.000 | 5.000 | 5.000 | 0 |" in text and "the first" not in text


def test_a_head_from_the_pretrained_one_has_the_loss_of_the_logit_lens_and_one_from_random_has_not():
    row = {"layer": 0, "start": 6.0, "best": 5.0, "best_step": 9, "steps": 9}
    assert "| 0 | 6.000 | 6.000 | 5.000 | 9 |" in card({"start": "pre-trained"}, row)
    text = card({"start": "random"}, row)
    assert "logit lens" not in text and "| 0 | 6.000 | 5.000 | 9 |" in text
