"""Coefficients of a table of codes are those of its ratings one by one."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ratings import reliability, tables

from bboxqa.agreement import code_tables
from bboxqa.agreement.alpha.levels import alpha
from bboxqa.agreement.code_tables import alpha_of_codes, kappa_of_codes
from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.agreement.kappa.cohen import cohen_pairs
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


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_highest_code_of_a_type(dtype):
    highest = min(np.iinfo(dtype).max, 40_000)
    codes = np.array([[highest, 0, 1, -1], [highest, 0, 0, highest]], dtype)
    check(codes, highest + 1)


def test_any_negative_number_is_missing():
    codes = np.array([[0, 1, -1, 0], [0, 1, 1, -1], [0, 0, 1, 1]])
    assert alpha_of_codes(np.where(codes < 0, -9, codes), 2) == alpha_of_codes(codes, 2)
    found = kappa_of_codes(np.where(codes < 0, -9, codes), 2)
    assert np.array_equal(found.kappa, kappa_of_codes(codes, 2).kappa)


@pytest.mark.parametrize("chunk", [1, 7, 39, 40, 41])
def test_any_size_of_chunk(monkeypatch, chunk):
    codes = np.random.default_rng(2).integers(-1, K, (4, 40))
    monkeypatch.setattr(code_tables, "_CHUNK", chunk)
    check(codes)


def test_few_gaps_and_many_gaps():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, K, (5, 60))
    for row, share in enumerate([0, 0.05, 0.5, 0.95, 1]):
        codes[row, rng.random(60) < share] = -1
    check(codes)


def test_more_values_than_fit_a_narrow_code():
    codes = np.array([[0, 40_000, 32_767, -1], [0, 40_000, 32_766, 32_768]])
    check(codes, 40_001)


def test_memory_is_that_of_the_table_however_many_annotators():
    codes = np.random.default_rng(0).integers(-1, 2, (400, 12)).astype(np.int32)
    alpha_of_codes(codes[:2], 2)
    tracemalloc.start()
    found = alpha_of_codes(codes, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
    assert found.value == pytest.approx(alpha(unit_counts(reliability(codes, 2))).value)


def test_nothing_to_compare():
    for codes in (np.zeros((2, 0), int), np.array([[0, -1], [-1, 1]]), np.zeros((1, 3), int)):
        check(codes)
    check(np.ones((3, 4), int))


def test_nobody_at_all():
    nobody = np.zeros((0, 4), int)
    assert np.isnan(alpha_of_codes(nobody, K).value)
    assert len(kappa_of_codes(nobody, K)) == 0


def test_codes_are_not_changed():
    codes = np.array([[0, 1, -1], [0, 1, 1]])
    before = codes.copy()
    check(codes)
    assert np.array_equal(codes, before)


@pytest.mark.parametrize("measure", [alpha_of_codes, kappa_of_codes])
@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (
            np.zeros(3, int),
            (
                "codes has shape (3,) of int64; expected annotators x units of integers; "
                "for other values use ratings_from_table"
            ),
        ),
        (
            np.zeros((2, 2)),
            (
                "codes has shape (2, 2) of float64; expected annotators x units of integers; "
                "for other values use ratings_from_table"
            ),
        ),
        (np.array([[0, 4], [0, 1]]), "a code is 4; expected -1 (missing) to 3"),
    ],
)
def test_wrong_codes(measure, codes, said):
    with pytest.raises(ConfigError) as error:
        measure(codes, K)
    assert str(error.value) == said
