"""Shares and quantiles, compared with those of scipy."""

import numpy as np
import pytest
from scipy import special

from bboxqa.agreement.estimators import normal_share, t_quantile, t_tail

FREEDOM = np.array([1, 2, 3, 5, 9, 38, 39, 40, 99, 500, 5000, 1e6])[:, None]


def test_tails_of_student_are_those_of_scipy():
    t = np.array([0, 1e-3, 0.1, 1, 1.96, 2.5, 4, 8, 20, 60, np.inf])
    assert t_tail(FREEDOM, t) == pytest.approx(special.stdtr(FREEDOM, -t), rel=1e-12)
    assert t_tail(FREEDOM, -t).tolist() == t_tail(FREEDOM, t).tolist()


@pytest.mark.parametrize("share", [0.975, 1 - 0.05 / 16, 1 - 0.05 / 1600])
def test_quantiles_of_student_are_those_of_scipy(share):
    freedom = FREEDOM[FREEDOM > 1]
    assert t_quantile(freedom, share) == pytest.approx(special.stdtrit(freedom, share), rel=1e-13)


def test_the_normal_distribution_is_that_of_scipy():
    for value in (-8, -1.96, 0, 0.3, 2):
        assert normal_share(value) == pytest.approx(special.ndtr(value), rel=1e-14)
