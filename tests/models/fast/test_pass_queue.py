"""Tests of models/fast/pass_queue: passes under way, in order, a few at a time."""

import pytest

from unmask.models.fast.pass_queue import PassQueue, StartedPass


class Passes:
    """Passes that note when they start and when they are fetched; done when told so."""

    def __init__(self):
        self.started, self.fetched, self.ready = [], [], set()

    def of(self, name, count):
        for k in range(count):
            self.started.append((name, k))
            yield StartedPass(
                lambda k=k: (name, k) in self.ready, lambda k=k: self.fetched.append((name, k))
            )


def test_a_line_starts_a_few_and_keeps_the_order():
    seen, line = Passes(), PassQueue(3)
    first = line.add(seen.of("a", 4))
    assert seen.started == [("a", 0), ("a", 1), ("a", 2)]
    second = line.add(seen.of("b", 2))
    assert len(seen.started) == 3
    line.tend()  # nothing is done
    assert not seen.fetched
    seen.ready = {("a", 1)}  # not the oldest
    line.tend()
    assert not seen.fetched
    seen.ready = {("a", 0), ("a", 1)}
    line.tend()
    assert seen.fetched == [("a", 0), ("a", 1)]
    assert seen.started[-2:] == [("a", 3), ("b", 0)]
    first()
    assert seen.fetched == [("a", k) for k in range(4)]
    second()
    assert seen.fetched[-2:] == [("b", 0), ("b", 1)]
    second()  # all is there: it does not wait for more
    assert len(seen.fetched) == 6


def test_a_later_answer_may_be_asked_for_first():
    seen, line = Passes(), PassQueue(2)
    first, second = line.add(seen.of("a", 3)), line.add(seen.of("b", 3))
    second()
    first()
    assert seen.fetched == seen.started == [(n, k) for n in "ab" for k in range(3)]


def test_all_can_be_started_before_the_last_answers_are_there():
    seen, line = Passes(), PassQueue(3)
    first, second = line.add(seen.of("a", 4)), line.add(seen.of("b", 3))
    line.start_all()
    assert len(seen.started) == 7
    assert seen.fetched == seen.started[:5]  # one place was needed to see that there are no more
    second()
    first()
    assert seen.fetched == seen.started
    line.start_all()  # there is nothing to start
    assert len(seen.started) == 7


def test_a_line_may_be_empty():
    line = PassQueue(2)
    line.add(iter(()))()
    line.tend()


@pytest.mark.parametrize("late", [True, False])
def test_what_fails_on_the_way_is_raised_again_by_its_own_job(late):
    """At the start of a pass or at its end; others go on."""

    def broken():
        yield StartedPass(lambda: False, lambda: None)
        if late:
            yield StartedPass(lambda: False, lambda: 1 / 0)
        raise ZeroDivisionError

    seen, line = Passes(), PassQueue(1)
    first, second = line.add(broken()), line.add(seen.of("b", 2))
    with pytest.raises(ZeroDivisionError):
        second()
    with pytest.raises(ZeroDivisionError):
        first()
    second()
    assert seen.fetched == [("b", 0), ("b", 1)]
