"""When annotators worked: speed, and how agreement changes with time."""

import json
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from jsonschema import validate
from msgspec.structs import replace
from support.cli import run
from support.datasets import dataset
from support.matched import matched, random_data
from support.resampled import expanded
from support.wrong_shapes import tiring

import bboxqa
from bboxqa.agreement.resampling import drawn_counts
from bboxqa.diagnostics.over_time import FEW_SESSIONS, SHORT_SESSIONS, work, work_sessions
from bboxqa.diagnostics.rates import image_f1
from bboxqa.model.annotations import times_of
from bboxqa.report.agreement_summary import diagnosis_schema

HERE, THERE = (10, 10, 20, 20), (60, 60, 20, 20)
ANN, BOB = "annotator 0000", "annotator 0001"
START = 1_767_600_000.0


def timed(data, seconds):
    """Return a data set whose annotations were made so many seconds after the first."""
    times = times_of(START + np.asarray(seconds, float), data.annotations.annotator)
    return replace(data, annotations=replace(data.annotations, times=times))


def random_times(data, seed, gap=60.0):
    """Return times of annotators who annotate one image after the other, with pauses."""
    rng = np.random.default_rng(seed)
    of, seconds = data.annotations, np.zeros(len(data.annotations))
    for who in range(len(data.annotator_names)):
        rows = np.flatnonzero(of.annotator == who)
        steps = rng.exponential(gap, len(rows)) + (rng.random(len(rows)) < 0.1) * 2000
        seconds[rows] = np.cumsum(steps)
    return timed(data, seconds)


def test_speed_and_sessions_by_hand():
    rows = [(0, 0, 0, HERE), (0, 0, 0, THERE), (1, 0, 0, HERE), (2, 0, 0, HERE), (2, 0, 0, THERE),
            (0, 1, 0, HERE), (1, 1, 0, HERE), (2, 1, 0, HERE)]  # fmt: skip
    # In the order of the data set: image 0 of ann, then of bob, and so on.
    data = timed(dataset(rows), [0, 10, 0, 40, 30, 5000, 5030, 4000])
    found = matched(data)
    table = work_sessions(found)
    assert table["annotator"].tolist() == [ANN, ANN, BOB, BOB]
    assert table["session"].tolist() == [1, 2, 1, 2]
    assert [start[11:] for start in table["start"]] == ["08:00", "09:23", "08:00", "09:06"]
    assert table["minutes"] == pytest.approx([40 / 60, 0.5, 0.5, 0])
    assert table["n"].tolist() == [3, 2, 2, 1]
    assert table["n_images"].tolist() == [2, 1, 2, 1]
    # Images 0 and 1: ann drew 3 objects, bob 2 of them. Image 2: ann drew 2, bob 1.
    assert table["f1"] == pytest.approx([4 / 5, 2 / 3, 4 / 5, 2 / 3])
    # Ann took 10 and 30 s in the first session, and 30 s in the second.
    assert table["median_seconds"][:3] == pytest.approx([20, 30, 30])
    assert table["per_minute"][:3] == pytest.approx([60 * 2 / 40, 2, 2])
    assert np.isnan(table["per_minute"][3])
    whole = work(found)
    assert whole["annotator"].tolist() == ["(all)", ANN, BOB]
    assert whole["n_sessions"].tolist() == [4, 2, 2]
    assert whole["per_minute"] == pytest.approx([60 * 4 / 100, 60 * 3 / 70, 2])
    assert whole["hours"] == pytest.approx(np.array([100, 70, 30]) / 3600)
    assert set(whole["drift_status"]) == {FEW_SESSIONS}
    assert set(whole["fatigue_status"]) == {SHORT_SESSIONS}


def lines(found, x, groups, weights):
    """Return the slope of weighted least squares with an intercept per group; NaN without one."""
    f1, group = found.matched / np.maximum(found.drawn, 1), np.asarray(groups)
    columns = np.column_stack([x, group[:, None] == np.unique(group)]).astype(float)
    root = np.sqrt(found.drawn * weights)[:, None]
    if np.linalg.matrix_rank(columns * root) <= np.linalg.matrix_rank(columns[:, 1:] * root):
        return np.nan
    return np.linalg.lstsq(columns * root, f1 * root[:, 0], rcond=None)[0][0]


class Cells(NamedTuple):
    image: np.ndarray
    annotator: np.ndarray
    matched: np.ndarray
    drawn: np.ndarray


@pytest.mark.parametrize("seed", [1, 2])
def test_changes_are_slopes_of_least_squares(seed):
    data = random_times(random_data(seed, n_annotators=3, n_images=40), seed, gap=200.0)
    units = replace(matched(data), bootstrap=40, seed=5)
    table, times, of = work(units), data.annotations.times, data.annotations
    cells, session, elapsed = Cells(*image_f1(units)), [], []
    for image, who in zip(cells.image, cells.annotator, strict=True):
        rows = np.flatnonzero((of.image == image) & (of.annotator == who))
        rows = rows[np.argsort(times.seconds[rows])]
        middle = rows[(len(rows) - 1) // 2] if len(rows) else None
        session.append(-1 if middle is None else times.session[middle])
        elapsed.append(0.0 if middle is None else times.elapsed[middle] / 3600)
    session, elapsed = np.array(session), np.array(elapsed)
    images = np.unique(cells.image[session >= 0])
    (draws,) = drawn_counts(len(images), 40, 5)
    by_session = [f"{who} {number}" for who, number in zip(cells.annotator, session, strict=True)]
    for name, x, groups in (
        ("drift", session, cells.annotator), ("fatigue", elapsed, np.array(by_session)),
    ):  # fmt: skip
        for place in range(4):
            kept = session >= 0
            if place > 0:
                kept &= cells.annotator == place - 1
            own = Cells(*(column[kept] for column in cells))
            number = np.searchsorted(images, own.image)
            slope = lines(own, x[kept], groups[kept], np.ones(len(number)))
            assert table[name][place] == pytest.approx(slope, abs=1e-9), (name, place)
            drawn = [lines(own, x[kept], groups[kept], weights[number]) for weights in draws.T]
            low, high = expanded(drawn, len(images) if place == 0 else kept.sum())
            assert table[f"{name}_low"][place] == pytest.approx(min(low, slope), abs=1e-9)
            assert table[f"{name}_high"][place] == pytest.approx(max(high, slope), abs=1e-9)


@pytest.fixture(scope="module")
def tired():
    """Return three annotators of whom the last one misses ever more."""
    found = bboxqa.simulate(images=300, objects=10, annotators=3, seed=1)
    document = tiring(found.document(), "p03", 0.05, 0.4)
    return bboxqa.read_coco(document, time_key="created_at", segmentation=False)


def test_fatigue_of_a_simulated_annotator_is_found(tired):
    units = matched(tired, bootstrap=200)
    table, sessions = work(units), work_sessions(units)
    own = sessions.take(np.flatnonzero(sessions["annotator"] == "p03"))
    # Of n objects, p03 draws (1 − miss) n, and the two others all: 2 (1 − miss) / (2 − miss).
    miss = 0.05 * np.linspace(1, 8, 300)
    f1 = 2 * (1 - miss) / (2 - miss)
    bounds = np.round(np.cumsum([0, *own["n_images"]]) / own["n_images"].sum() * 300).astype(int)
    of_sessions = [f1[low:high].mean() for low, high in pairwise(bounds)]
    slope = np.polyfit(own["session"], of_sessions, 1, w=np.sqrt(own["n_images"]))[0]
    assert table["drift_low"][3] < slope < table["drift_high"][3] < 0
    rate = (f1[-1] - f1[0]) / (own["minutes"].sum() / 60)
    assert table["fatigue_low"][3] < rate < table["fatigue_high"][3] < 0


def test_tables_of_times_are_written_if_times_are_read(tmp_path):
    source, out = tmp_path / "made.json", tmp_path / "out"
    bboxqa.simulate(images=12, objects=3, seed=1).write(source)
    done = run("agree", source, "--time-key", "created_at", "--diagnose", "--out", out)
    assert done.returncode == 0
    found = json.loads((out / "details.json").read_text())["diagnosis"]
    validate(found, diagnosis_schema())
    assert [row["name"] for row in found["work"]] == [None, "p01", "p02", "p03"]
    assert found["work"][1]["drift"]["status"] == FEW_SESSIONS
    lines = (out / "work_sessions.csv").read_text().splitlines()
    assert lines[1].startswith("p01,1,2026-01-05 08:00,")
    again = run("agree", source, "--diagnose", "--out", out, "--force")
    assert "work" not in json.loads((out / "details.json").read_text())["diagnosis"]
    assert "work_sessions" not in again.stdout
