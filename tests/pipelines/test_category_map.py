"""What a map of categories changes in alpha."""

import json
import re

import msgspec
import numpy as np
import pytest
from support.resampled import expanded

import bboxqa
from bboxqa.agreement.alpha.nominal import pooled_alpha
from bboxqa.agreement.counts.unit_counts import coincidences
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree_files import agree_files

SETTINGS = AgreeSettings(bootstrap=60, seed=4, iou_threshold=(0.5, 0.7))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    errors = ["p*: jitter=1", "p02: confuse=cow/sheep:0.4"]
    made = bboxqa.simulate(images=12, categories="cow,sheep,horse", errors=errors)
    path = tmp_path_factory.mktemp("map") / "trial.json"
    path.write_text(json.dumps(made.document()))
    return path


def measured(path, category_map):
    settings = msgspec.structs.replace(SETTINGS, category_map=category_map)
    result = agree_files([path], settings)
    return result, [note for note in result.notes if note.startswith("with --map")]


def alpha_of_drawn(part, places):
    """Return the alpha of images that were drawn, some of them several times."""
    data = coincidences(part.reliability, "category")
    rows = np.concatenate([np.flatnonzero(data.group == place) for place in places])
    drawn = {name: getattr(data, name)[rows] for name in ("value", "marginal", "diagonal")}
    group = np.zeros(len(rows), np.int32)
    return pooled_alpha(type(data)(group=group, n_groups=1, n_values=data.n_values, **drawn)).value


def test_alpha_before_and_after_in_the_same_draws(path):
    (before, none), (after, notes) = measured(path, {}), measured(path, {"sheep": "cow"})
    assert none == []
    assert len(notes) == 2
    for old, new, note in zip(before.thresholds, after.thresholds, notes, strict=True):
        rng = np.random.default_rng(4)
        drawn = [rng.integers(0, 12, 12) for _ in range(60)]
        apart = [alpha_of_drawn(new, places) - alpha_of_drawn(old, places) for places in drawn]
        low, high = expanded(apart, 12)
        assert new.alpha > old.alpha
        assert note == (
            f"with --map, {new.threshold_label}: alpha {old.alpha:.4f} → {new.alpha:.4f}, "
            f"difference {new.alpha - old.alpha:+.4f} [{low:.4f}, {high:.4f}]"
        )


def test_compare_gives_the_difference_in_python(path):
    _, notes = measured(path, {"sheep": "cow"})
    data, mapped = (bboxqa.read_coco(path, category_map=names) for names in ({}, {"sheep": "cow"}))
    changes = bboxqa.compare(data, mapped, bootstrap=60, seed=4, iou_threshold=(0.5, 0.7))
    for note, change in zip(notes, changes.thresholds, strict=True):
        found = change.pooled
        low, high = found.interval
        assert note.endswith(f"difference {found.difference:+.4f} [{low:.4f}, {high:.4f}]")


def test_an_alpha_that_the_map_leaves_without_meaning(path):
    _, notes = measured(path, {"sheep": "cow", "horse": "cow"})
    words = r"alpha 0\.\d{4} → – \(undefined: only one value occurs"
    assert re.match(f"with --map, IoU 0.5: {words}", notes[0])


def test_a_map_that_joins_nothing_changes_nothing(path):
    assert measured(path, {"cow": "bull"})[1] == []


def test_files_that_fit_with_the_map_only(path, tmp_path):
    document = json.loads(path.read_text())
    for number, (who, name) in enumerate((("p01", "cow"), ("p02", "Rind")), start=1):
        own = [each for each in document["annotations"] if each["annotator"] == who]
        categories = [{**each} for each in document["categories"]]
        categories[0]["name"] = name
        part = {**document, "annotations": own, "categories": categories}
        (tmp_path / f"{number}.json").write_text(json.dumps(part))
    settings = msgspec.structs.replace(SETTINGS, category_map={"Rind": "cow"})
    result = agree_files([tmp_path], settings)
    assert not any(note.startswith("with --map") for note in result.notes)
