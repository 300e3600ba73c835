"""Work in threads, and in a second process, which ends with the first."""

import sys

import pytest

from bboxqa.core import machine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is none elsewhere")


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_give_results_in_order_and_take_few_items_ahead(monkeypatch, n_threads):
    monkeypatch.setattr(machine, "cores", lambda: n_threads)
    taken = []

    def items():
        for number in range(20):
            taken.append(number)
            yield number

    ahead = []
    for done, found in enumerate(machine.in_threads(lambda number: number**2, items())):
        assert found == done**2
        ahead.append(len(taken) - done)
    assert len(ahead) == 20
    assert max(ahead) <= n_threads + 1


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_a_thread_is_raised(monkeypatch, n_threads):
    monkeypatch.setattr(machine, "cores", lambda: n_threads)
    found = machine.in_threads(lambda number: 1 // number, [1, 0, 1])
    assert next(found) == 1
    with pytest.raises(ZeroDivisionError):
        next(found)
