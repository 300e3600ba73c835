"""When annotations were made, and in which session of work."""

import numpy as np
import pytest

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.model.annotations import times_of

BOX = [10, 10, 20, 20]


def document(times):
    """Return a COCO document of one annotation per time, by two annotators in turns."""
    annotations = [
        {"id": n, "image_id": 1, "category_id": 1, "annotator": "ab"[n % 2], "bbox": BOX,
         "area": 400, "iscrowd": 0} | ({} if time is None else {"made": {"at": time}})
        for n, time in enumerate(times, 1)
    ]  # fmt: skip
    return {
        "images": [{"id": 1, "file_name": "a.png", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "cow"}],
        "annotations": annotations,
    }


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-31T08:15:00Z", "2026-01-31 09:15:00+01:00", "2026-01-31 08:15:00",
        "20260131T08:15:00", 1769847300, 1769847300.0, 1769847300000, "1769847300",
    ],
)  # fmt: skip
def test_times_of_all_kinds_are_read(value):
    data = bboxqa.read_coco(document([value, value]), time_key="made.at")
    assert data.annotations.times.seconds.tolist() == [1769847300, 1769847300]


@pytest.mark.parametrize(
    "value", ["today", "2026-01-31", 12, "2026-13-31 08:15:00", True, [2026], 1e300]
)
def test_what_is_no_time_is_named(value):
    source = document(["2026-01-31T08:15:00", value])
    with pytest.raises(
        DatasetError, match=r"document: annotation 2: made\.at is .*expected a time"
    ):
        bboxqa.read_coco(source, time_key="made.at")


def test_annotations_without_a_time_are_in_no_session():
    times = bboxqa.read_coco(document([1769847300, None]), time_key="made.at").annotations.times
    # The second annotation, by a, comes first.
    assert times.session.tolist() == [-1, 0]
    assert np.isnan(times.elapsed[0])


def test_sessions_are_those_of_each_annotator_one_by_one():
    rng = np.random.default_rng(7)
    annotator = rng.integers(0, 3, 60).astype(np.int32)
    seconds = np.where(rng.random(60) < 0.1, np.nan, rng.integers(0, 40_000, 60).astype(float))
    found = times_of(seconds, annotator)
    for who in range(3):
        rows = [n for n in np.argsort(seconds).tolist() if annotator[n] == who]
        session, begun, before = -1, None, None
        for row in rows:
            time = seconds[row]
            if np.isnan(time):
                assert found.session[row] == -1
                continue
            if before is None or time - before > 1800:
                session, begun, step = session + 1, time, np.nan
            else:
                step = time - before
            before = time
            assert (found.session[row], found.elapsed[row]) == (session, time - begun)
            assert found.step[row] == pytest.approx(step, nan_ok=True)
