"""Figures of simulated annotators, each with its 95 % interval."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import bboxqa
from bboxqa.core.arrays import rows
from bboxqa.diagnostics import diagnostic
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units
from bboxqa.pipelines.joint_sigmas import with_sigmas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bboxqa.core.arrays import FloatArray
    from bboxqa.pipelines.simulated_boxes import Boxes, Scene

Figures = dict[str, tuple[float, float, float]]
"""The value and the 95 % interval of each figure by name."""

MANY_IMAGES = 50_000
"""Images whose figures count as true where the errors do not imply them."""


def data_of(seed: int, images: int, options: Mapping[str, Any]) -> bboxqa.Dataset:
    """Return a simulated data set."""
    simulation = bboxqa.simulate(images=images, seed=seed, **options)
    with tempfile.TemporaryDirectory() as folder:
        path, _ = simulation.write(Path(folder) / "simulated.json")
        return bboxqa.read_coco(path)


def of_all(seed: int, images: int, bootstrap: int, options: Mapping[str, Any]) -> Figures:
    """Measure existence, class and place of one simulated data set."""
    return _of_all(data_of(seed, images, options), bootstrap)[0]


def _of_all(data: bboxqa.Dataset, bootstrap: int) -> tuple[Figures, bboxqa.ThresholdResult]:
    (found,) = bboxqa.agree(data, bootstrap=bootstrap).thresholds
    existence, classes, place = found.existence, found.class_agreement, found.place
    figures = {
        "existence F1": (existence.f1, *existence.interval),
        "class share": (classes.share, *classes.share_interval),
        "class alpha": (classes.alpha, *classes.interval),
        "mean IoU": (place.mean_iou, *place.interval),
        "alpha": (found.alpha, *found.interval),
    }
    if not existence.reason:
        figures["existence alpha"] = (existence.alpha, *existence.alpha_interval)
    return figures, found


def of_p04(seed: int, images: int, bootstrap: int, options: Mapping[str, Any]) -> Figures:
    """Measure how the annotator p04 errs."""
    return _of_p04(data_of(seed, images, options), bootstrap)


def _of_p04(data: bboxqa.Dataset, bootstrap: int) -> Figures:
    tables = _tables(data, bootstrap, ("annotators", "offsets"))
    (row,) = [each for each in tables["annotators"] if each["annotator"] == "p04"]
    figures = {
        name: _with_bounds(row, name) for name in ("miss_rate", "extra_rate", "class_share", "f1")
    }
    return figures | _offsets("p04", tables["offsets"])


def rates_of_p04(
    names: Iterable[str], seed: int, images: int, bootstrap: int, options: Mapping[str, Any]
) -> Figures:
    """Measure how often the annotator p04 draws objects twice, in parts or two in one box."""
    found = tables_of(seed, images, bootstrap, options, ("boxes_per_object",))["boxes_per_object"]
    (row,) = [each for each in found if each["annotator"] == "p04"]
    return {name: _with_bounds(row, name) for name in names}


def copied_from_p01(seed: int, images: int, bootstrap: int, options: Mapping[str, Any]) -> Figures:
    """Measure how many of the boxes of p01 and p04 are identical."""
    found = tables_of(seed, images, bootstrap, options, ("copies",))["copies"]
    (row,) = [
        each for each in found if (each["annotator_1"], each["annotator_2"]) == ("p01", "p04")
    ]
    return {"identical_share": _with_bounds(row, "identical_share")}


def offset_of_p01(seed: int, images: int, bootstrap: int, options: Mapping[str, Any]) -> Figures:
    """Measure where the annotator p01 places the edges of boxes."""
    return _offsets("p01", tables_of(seed, images, bootstrap, options, ("offsets",))["offsets"])


def _offsets(name: str, rows: Iterable[Mapping[str, Any]]) -> Figures:
    return {
        f"offset_px, {row['edge']}": _with_bounds(row, "offset_px")
        for row in rows
        if row["annotator"] == name
    }


def _with_bounds(row: Mapping[str, Any], name: str) -> tuple[float, float, float]:
    return _numbers(row[key] for key in (name, f"{name}_low", f"{name}_high"))


def _numbers(values: Iterable[float | None]) -> tuple[float, float, float]:
    value, low, high = (math.nan if value is None else value for value in values)
    return value, low, high


def tables_of(
    seed: int, images: int, bootstrap: int, options: Mapping[str, Any], names: Iterable[str]
) -> dict[str, list[dict[str, Any]]]:
    """Return rows of diagnostics by name."""
    return _tables(data_of(seed, images, options), bootstrap, names)


def _tables(
    data: bboxqa.Dataset, bootstrap: int, names: Iterable[str]
) -> dict[str, list[dict[str, Any]]]:
    settings = bboxqa.AgreeSettings(bootstrap=bootstrap)
    matched = matched_units(compared_images(with_sigmas(data, settings)), settings)
    return {name: diagnostic(name)(matched).records() for name in names}


def of_all_and_one(seed: int, images: int, bootstrap: int, options: Mapping[str, Any]) -> Figures:
    """Measure all together, and one annotator, one category and one pair of annotators."""
    data = data_of(seed, images, options)
    figures, found = _of_all(data, bootstrap)
    of_one = _of_p04(data, bootstrap)
    category = found.categories.records()[0]
    (pair,) = [
        each
        for each in found.pairs.records()
        if (each["annotator_1"], each["annotator_2"]) == ("p01", "p04")
    ]
    return (
        {name: figures[name] for name in ("existence F1", "class share", "mean IoU", "alpha")}
        | {"mean alpha": (found.mean_image_alpha, *found.mean_image_interval)}
        | {f"{name} of p04": of_one[name] for name in ("miss_rate", "class_share", "f1")}
        | {
            "alpha of a category": _numbers(category[key] for key in ("alpha", "low", "high")),
            "F1 of a category": _with_bounds(category, "f1"),
            "F1 of a pair": _with_bounds(pair, "f1"),
        }
    )


def merged_share(options: Mapping[str, Any]) -> float:
    """Return the share of objects that p04 draws with others in one box.

    Of four annotators; as `boxes_per_object` counts them, but by the true objects: those that two
    of the three others draw, in a box around another one that two draw.
    """
    simulation = bboxqa.simulate(images=MANY_IMAGES, seed=0, **options)
    return _merged_share(simulation.scene, simulation.boxes)


def _merged_share(scene: Scene, boxes: Boxes) -> float:
    by_p04 = boxes["annotator"] == 3
    is_expected = np.bincount(boxes["truth"][~by_p04], minlength=len(scene)) >= 2
    around = np.flatnonzero(by_p04 & (boxes["merged"] >= 0))
    unseen = is_expected.copy()
    unseen[boxes["truth"][by_p04 & (boxes["merged"] < 0)]] = False
    start, stop = (
        np.searchsorted(scene.image, boxes["image"][around], side) for side in ("left", "right")
    )
    inside, offsets = rows(start, stop)
    box = np.repeat(np.arange(len(around)), np.diff(offsets))
    shared = _areas(_common(scene.edges[inside], boxes["edges"][around[box]]))
    kept = unseen[inside] & (2 * shared >= _areas(scene.edges[inside]))
    several = np.bincount(box[kept], minlength=len(around)) > 1
    merged = np.unique(inside[kept & several[box]])
    return len(merged) / int(is_expected.sum())


def _common(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the edges of what each two boxes share."""
    low, high = np.maximum(one, other)[:, :2], np.minimum(one, other)[:, 2:]
    return np.concatenate([low, np.maximum(low, high)], axis=1)


def _areas(edges: FloatArray) -> FloatArray:
    area: FloatArray = (edges[:, 2:] - edges[:, :2]).prod(axis=1)
    return area
