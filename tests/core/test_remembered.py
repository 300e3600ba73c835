"""Results that are kept as long as what they were made of."""

import gc
import weakref

from bboxqa.core.arrays import remembered


class Source:
    def __init__(self, number):
        self.number = number


def test_a_result_is_freed_with_its_object():
    class Result:
        pass

    @remembered
    def result_of(source):
        return Result()

    source = Source(1)
    result = weakref.ref(result_of(source))
    assert result() is not None
    del source
    gc.collect()
    assert result() is None
