"""Coefficients of a table of codes are those of its ratings one by one."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ratings import reliability, tables

from bboxqa.agreement.code_tables import alpha_of_codes, kappa_of_codes
from bboxqa.agreement.cohen import cohen_pairs
from bboxqa.agreement.levels import alpha
from bboxqa.agreement.unit_counts import unit_counts
from bboxqa.core.errors import ConfigError

K = 4
DTYPES = [np.int8, np.int16, np.int32, np.int64]


def check(codes, n_values=K):
    data = reliability(codes, n_values)
    expected, found = alpha(unit_counts(data)), alpha_of_codes(codes, n_values)
    for name in ("value", "observed", "expected"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), nan_ok=True)
    assert found.status == expected.status
    pairs = cohen_pairs(data, len(codes)).table
    table = kappa_of_codes(codes, n_values)
    for name in ("first", "second", "n_shared"):
        assert getattr(table, name).tolist() == getattr(pairs, name).tolist()
        assert getattr(table, name).dtype == getattr(pairs, name).dtype
    for name in ("observed", "expected", "kappa"):
        assert getattr(table, name) == pytest.approx(getattr(pairs, name))


@given(tables(annotators=(2, 5), units=(1, 12)), st.sampled_from(DTYPES))
def test_any_table(values, dtype):
    check(values.astype(dtype))


@given(
    tables(units=(1, 12), missing=False),
    st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64]),
)
def test_codes_without_a_sign(values, dtype):
    check(values.astype(dtype))


def test_memory_is_that_of_the_table_however_many_annotators():
    codes = np.random.default_rng(0).integers(-1, 2, (400, 12)).astype(np.int32)
    alpha_of_codes(codes[:2], 2)
    tracemalloc.start()
    found = alpha_of_codes(codes, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
    assert found.value == pytest.approx(alpha(unit_counts(reliability(codes, 2))).value)


@pytest.mark.parametrize("measure", [alpha_of_codes, kappa_of_codes])
@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (
            np.zeros(3, int),
            r"codes has shape \(3,\) of int64; expected annotators x units",
        ),
        (
            np.zeros((2, 2)),
            r"codes has shape \(2, 2\) of float64; expected annotators x units",
        ),
        (np.array([[0, 4], [0, 1]]), r"a code is 4; expected -1 \(missing\) to 3"),
    ],
)
def test_wrong_codes(measure, codes, said):
    with pytest.raises(ConfigError, match=f"^{said}"):
        measure(codes, K)
