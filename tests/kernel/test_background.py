"""Reading ahead and writing behind: in order, bounded, and no error is lost."""

import threading

import pytest

from probing.kernel.models.arrays import BackgroundWriter, read_ahead

#: No test waits so long; it only keeps a broken one from hanging.
PATIENCE = 20


def test_the_next_is_made_while_this_one_is_used():
    second = threading.Event()
    found = read_ahead([1, 2], lambda item: second.set() if item == 2 else item)
    assert next(found) == 1
    assert second.wait(PATIENCE)


def test_all_come_in_order_and_an_error_at_its_turn():
    assert list(read_ahead(range(5), lambda item: item * item)) == [0, 1, 4, 9, 16]
    assert list(read_ahead([], str)) == []
    found = read_ahead([2, 1, 0, 3], lambda item: 6 // item)
    assert [next(found), next(found)] == [3, 6]
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_calls_are_done_behind_in_order_and_all_before_leaving():
    go, done = threading.Event(), []
    with BackgroundWriter() as writing:
        writing.later(go.wait, PATIENCE)
        writing.later(done.append, 1)
        assert done == []
        go.set()
        writing.later(done.append, 2)
    assert done == [1, 2]


def test_no_more_calls_wait_than_are_allowed():
    go, started = threading.Event(), threading.Event()

    def adds_three(writing):
        for _ in range(3):
            writing.later(go.wait, PATIENCE)
        started.set()

    with BackgroundWriter(limit=2) as writing:
        adder = threading.Thread(target=adds_three, args=(writing,))
        adder.start()
        assert not started.wait(0.2), "the third call must not be taken while two are waiting"
        go.set()
        assert started.wait(PATIENCE)
        adder.join()


def test_an_error_behind_surfaces():
    with pytest.raises(ZeroDivisionError), BackgroundWriter() as writing:
        writing.later(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError), BackgroundWriter(limit=1) as writing:
        writing.later(lambda: 1 // 0)
        writing.later(lambda: pytest.fail("the first error ends it"))


def test_an_error_of_ones_own_is_kept_and_what_was_asked_is_still_written():
    done = []
    with pytest.raises(KeyboardInterrupt), BackgroundWriter() as writing:
        writing.later(done.append, 1)
        writing.later(lambda: 1 // 0)
        raise KeyboardInterrupt
    assert done == [1]
