"""Groups of facts: who is lost, who is a yardstick, and that no subject is on both sides of a relearning."""

import numpy as np
import pytest

from probing.core.forgetting.groups import Answered, drawn, matched, subject_folds
from probing.core.forgetting.summary import FactBack
from probing.core.forgetting.ways import NOT_RECOVERED, WAYS


def answered(**changed):
    """Six facts: kept, lost, lost, never known, a wrong answer of the same kind that is gone, one of another kind."""
    columns = {
        "subjects": ["Ann", "Bob", "Cid", "Dan", "Eve", "Flo"],
        "relations": ["born", "born", "born", "born", "born", "works"],
        "answers": np.array([7, 7, 8, 7, 8, 9]),
        "said": np.array([7, 7, 8, 7, 7, 7]),
        "base_rank": np.array([1, 1, 1, 5, 12, 3]),
        "tuned_rank": np.array([1, 40, 2, 30, 15, 2]),
        "tuned_rank_of_said": np.array([1, 40, 2, 1, 11, 60]),
        "probability": np.full(6, 0.4),
        "probability_of_said": np.full(6, 0.4),
    }
    return Answered(**{**columns, **changed})


def test_the_groups_of_a_table_that_is_worked_out_by_hand():
    facts = answered()
    assert facts.lost().tolist() == [1, 2] and facts.lost(10).tolist() == [1, 3]
    assert facts.never_known().tolist() == [3, 4, 5] and facts.never_known(10).tolist() == [4]
    assert facts.wrong_answers().tolist() == [4], "7 is no answer of 'works', and the fourth fact's first answer is still given"
    assert facts.wrong_answers(10).tolist() == [4]
    assert answered(tuned_rank_of_said=np.array([1, 40, 2, 1, 9, 60])).wrong_answers(10).tolist() == []


def test_no_subject_is_in_two_folds_and_another_seed_draws_others():
    subjects = [f"Subject {n % 300}" for n in range(900)] + ["subject 0"]
    folds = subject_folds(subjects, 5, seed=1)
    assert len({(name.casefold(), fold) for name, fold in zip(subjects, folds.tolist(), strict=True)}) == 300
    assert np.bincount(folds, minlength=5).min() > 900 / 5 / 2
    assert (folds != subject_folds(subjects, 5, seed=2)).any() and (folds == subject_folds(subjects, 5, seed=1)).all()
    with pytest.raises(ValueError, match="at least 2"):
        subject_folds(subjects, 1, seed=1)


def test_a_lost_fact_is_matched_once_to_a_fact_of_its_relation_and_answer():
    facts = answered(
        relations=["born"] * 6,
        answers=np.array([7, 7, 7, 7, 8, 7]),
        base_rank=np.array([1, 1, 1, 5, 5, 5]),
        tuned_rank=np.array([9] * 6),
        tuned_rank_of_said=np.array([9] * 6),
    )
    pairs = matched(facts, facts.lost(), facts.never_known(), seed=1, most=10)
    assert len(pairs) == 2 and len(set(pairs[:, 0])) == 2 and set(pairs[:, 1]) == {3, 5}, "the fifth fact has another answer"
    assert len(matched(facts, facts.lost(), facts.never_known(), seed=1, most=1)) == 1
    assert matched(facts, facts.lost(), [], seed=1, most=9).shape == (0, 2)


def test_at_most_so_many_are_drawn_in_order():
    assert drawn(np.array([4, 6, 9]), 3, 1).tolist() == [4, 6, 9]
    some = drawn(np.arange(100), 10, 1)
    assert len(set(some.tolist())) == 10 and (np.diff(some) > 0).all()


def test_a_fact_comes_back_by_the_first_way_that_brings_it():
    backs = [(None, True, None, 5), (3, True, 1, 5), (0, False, None, None), (None, False, 2, 45), (None, False, None, 45)]
    found = [FactBack(0, layer, fitted, back, steps, 1, 0).way for layer, fitted, back, steps in backs]
    assert found == [WAYS[1], WAYS[0], WAYS[0], WAYS[2], WAYS[3]]
    assert FactBack(0, None, False, None, None, 1, 0).way == NOT_RECOVERED
