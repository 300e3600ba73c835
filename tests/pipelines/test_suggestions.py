"""The threshold that the data suggest for each similarity."""

import json
from dataclasses import replace
from math import nan

import msgspec
import numpy as np
import pytest
from support.datasets import boxes_as_outlines, dataset, object_rows
from support.wrong_shapes import people

import bboxqa
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table, text_column
from bboxqa.pipelines.agree import agree_files
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.sensitivity import in_words, sensitivity, suggested_thresholds

SETTINGS = AgreeSettings(bootstrap=40)
OF_BOXES = ["bbox", "giou", "centroid"]


def rows_of(data, settings=SETTINGS, **more):
    images = compared_images(data)
    return suggested_thresholds(images, sensitivity(images, settings), settings, **more).records()


def same(row, expected):
    """Return whether two rows are equal; None is as NaN."""
    one, other = (
        {
            name: nan if value is None else value
            for name, value in each.items()
            if not isinstance(value, str)
        }
        for each in (row, expected)
    )
    return row["reason"] == expected["reason"] and one == pytest.approx(other, nan_ok=True)


def without_outlines(data):
    return replace(data, annotations=replace(data.annotations, segmentation=None))


def cut(rows):
    """Return the box of each row without a small corner."""
    return [
        [[x, y, x + width, y, x + width, y + height, x + 1, y + height, x, y + height - 1]]
        for *_, (x, y, width, height) in rows
    ]


def outlined(outlines=cut, seed=1):
    rows = object_rows(np.random.default_rng(seed), n_images=16)
    return dataset(rows, outlines(rows), size=(60, 60))


@pytest.fixture(scope="module")
def data():
    return outlined()


def test_each_similarity_is_as_if_it_were_the_chosen_one(data):
    found = rows_of(data)
    assert [row["similarity"] for row in found] == [*OF_BOXES, "polygon", "mask", "pixel"]
    for row in found:
        settings = msgspec.structs.replace(SETTINGS, similarity=row["similarity"])
        own = sensitivity(compared_images(data), settings)
        assert row.pop("similarity") == settings.similarity
        assert same(row, {**own.separation.row(), "n_images": own.n_images})
    # The outlines are nearly the boxes.
    polygon, bbox = found[3], found[0]
    # Chance is measured with fewer passes.
    assert polygon["distance"] == pytest.approx(bbox["distance"], abs=0.03)


def test_only_shapes_that_annotations_have_are_compared(data):
    assert [row["similarity"] for row in rows_of(without_outlines(data))] == OF_BOXES
    # Outlines that are the boxes tell nothing new.
    assert [row["similarity"] for row in rows_of(outlined(boxes_as_outlines))] == OF_BOXES
    blocks = {"size": [60, 60], "counts": b"0Po1"}
    masks = outlined(lambda rows: [blocks] * len(rows))
    assert [row["similarity"] for row in rows_of(masks)] == [*OF_BOXES, "polygon", "mask"]
    turned = data.annotations.rotated_box + np.array([0, 0, 0, 0, 30.0])
    annotations = replace(data.annotations, rotated_box=turned)
    # The outlines have five sides.
    with_outlines = rows_of(replace(data, annotations=annotations))
    assert "obb" not in [row["similarity"] for row in with_outlines]
    without = replace(data, annotations=replace(annotations, segmentation=None))
    assert [row["similarity"] for row in rows_of(without)] == [*OF_BOXES, "obb"]


def test_why_a_similarity_suggests_nothing(data):
    some = outlined(lambda rows: [*cut(rows)[:-2], None, None])
    found = {row["similarity"]: row for row in rows_of(some)}
    assert "has no segmentation, and 1 more problem" in found["polygon"]["reason"]
    assert found["polygon"]["threshold"] is None
    unsized = rows_of(replace(data, image_size=data.image_size * 0))
    assert unsized[1]["reason"] == "the size of 16 of 16 images is not known"


def test_the_story_ends_with_the_thresholds_of_other_similarities(data):
    diagnosis = bboxqa.agree(data, bootstrap=40).diagnose()
    table = diagnosis.tables["suggested_threshold"]
    assert diagnosis.story[-1].endswith(in_words(table))
    found = {row["similarity"]: row["threshold"] for row in table.records()}
    assert f" centroid {found['centroid']:g}, " in in_words(table)
    assert in_words(table).startswith("; by another similarity: ")
    alone = Table({"similarity": text_column(["bbox"]), "threshold": np.array([0.5])})
    assert in_words(alone) == ""


@pytest.fixture
def document():
    errors = {"p*": "jitter=3%", "p03": "miss=0.2"}
    return people(bboxqa.simulate(images=12, annotators=3, errors=errors, seed=2).document())


def of_file(tmp_path, document, **more):
    file = tmp_path / "file.json"
    file.write_text(json.dumps(document))
    result = agree_files([file], SETTINGS, **more)
    table = result.diagnose().tables["suggested_threshold"]
    return result, {row["similarity"]: row for row in table.records()}


def test_the_shapes_of_a_file_are_read_although_boxes_are_compared(tmp_path, document):
    result, found = of_file(tmp_path, document)
    assert [*found] == [*OF_BOXES, "keypoints"]
    assert found["keypoints"]["n_images"] == 12
    data = bboxqa.read_coco(document, keypoints=True)
    by_hand = bboxqa.agree(data, similarity="keypoints", bootstrap=40).diagnose()
    (row,) = [row for row in by_hand.tables["suggested_threshold"].records()
              if row["similarity"] == "keypoints"]  # fmt: skip
    assert found["keypoints"]["threshold"] == row["threshold"]
    assert result.n_annotations == len(data.annotations)


def test_shapes_that_cannot_be_read_do_not_stop_a_diagnosis(tmp_path, document):
    document["annotations"][3]["keypoints"].append(1)
    result, found = of_file(tmp_path, document)
    assert result.n_annotations == len(document["annotations"])
    assert found["keypoints"]["threshold"] is None
    assert "keypoints have" in found["keypoints"]["reason"]
    assert found["giou"]["distance"] > 0.5
