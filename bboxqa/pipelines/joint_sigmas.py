"""How far annotators scatter about each joint, for the similarity of key points."""

from math import log, nan

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count, first_few
from bboxqa.geometry.box_similarities import given_sigmas
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.geometry.registry import similarity
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import compared_images

ESTIMATED = "estimated"
# The sigma for matching people before sigmas are known: joints a fifth of their size apart match.
_FIRST = 0.1
_THRESHOLD = 0.5
# A joint labelled by fewer pairs gets the median sigma of the others.
_LEAST = 10
# The lowest sigma: copies have no scatter, but the similarity divides by it.
_SMALLEST = 1e-3
_SHOWN = 20
_Sigmas = tuple[tuple[float, ...], ...]


def with_sigmas(data: Dataset, settings: AgreeSettings) -> Dataset:
    """Return a data set with the sigmas of its joints, if its key points are compared."""
    if similarity(settings.similarity).needs != "keypoints" or data.annotations.keypoints is None:
        return data
    if isinstance(settings.sigmas, str):
        # Sigmas estimated from annotators, and a note that names them.
        found, notes = estimated_sigmas(data), []
        named = zip(data.category_names, data.joint_names, found, strict=True)
        for category, joints, sigmas in named:
            pairs = zip(joints, sigmas, strict=True)
            shown = first_few([f"{joint} {sigma:.3f}" for joint, sigma in pairs], _SHOWN)
            notes += [f"sigmas of {category} estimated: {shown}"] * bool(joints)
        return replace(data, joint_sigmas=found, notes=(*data.notes, *notes))
    return replace(data, joint_sigmas=given_sigmas(data, settings.sigmas))


def refuse_estimated(settings: AgreeSettings) -> None:
    """Refuse sigmas that would be estimated from each of two data sets that are compared."""
    if settings.sigmas == ESTIMATED and similarity(settings.similarity).needs == "keypoints":
        raise ConfigError(
            "two data sets are compared with the same sigmas; give as numbers those that "
            "`bboxqa agree --sigmas estimated` prints"
        )


def with_points(data: Dataset, settings: AgreeSettings) -> Dataset:
    """Return a data set without annotations that lack key points, if these are compared."""
    if similarity(settings.similarity).needs != "keypoints" or data.annotations.keypoints is None:
        return data
    found = labelled(data)
    n_left_out = len(data.annotations) - len(found.annotations)
    if n_left_out and not len(found.annotations):
        raise DatasetError(
            [f"none of {count(n_left_out, 'annotation')} has labelled key points"],
            "Boxes are compared with --similarity bbox.",
        )
    note = f"{count(n_left_out, 'annotation')} without labelled key points left out"
    return replace(found, notes=(*data.notes, *[note] * bool(n_left_out)))


def labelled(data: Dataset) -> Dataset:
    """Return the annotations with labelled key points."""
    of, keypoints = data.annotations, data.annotations.keypoints
    if keypoints is None:
        return data
    rows = np.flatnonzero(keypoints.packed().labelled()[1])
    return data if len(rows) == len(of) else replace(data, annotations=of.take(rows))


def estimated_sigmas(data: Dataset) -> _Sigmas:
    """Return the sigma of each joint of each category from the spread of annotators.

    sigma² is the mean of d² / s² of one annotator about the true place: half of the mean between
    two annotators, as both err. The mean is estimated from the median, which is robust to swapped
    joints: with normal scatter the squared distance is exponential, and its median is ln 2 times
    its mean.
    """
    uniform = tuple((_FIRST,) * len(joints) for joints in data.joint_names)
    part = compared_images(replace(data, joint_sigmas=uniform)).data
    pairs, _ = candidate_pairs(part, "keypoints", _THRESHOLD)
    units = match(part.annotations, pairs, "greedy", _THRESHOLD)
    of = part.annotations
    inside = units.unit[pairs.left] == units.unit[pairs.right]
    inside &= of.category[pairs.left] == of.category[pairs.right]
    found = _spreads(part, pairs.left[inside], pairs.right[inside])
    if np.isnan(found).all():
        names = zip(data.category_names, data.joint_names, strict=True)
        shown = ", ".join(repr(category) for category, joints in names if joints)
        raise ConfigError(
            f"sigmas of {shown} cannot be estimated: fewer than {_LEAST} pairs of annotators "
            "labelled the same joint of the same object; give them as numbers, such as --sigmas "
            "0.05"
        )
    usual = np.nanmedian(found)
    result: list[tuple[float, ...]] = []
    for row, joints in zip(found, data.joint_names, strict=True):
        own = row[: len(joints)]
        middle = np.nanmedian(own) if (~np.isnan(own)).any() else usual
        sigmas = np.maximum(np.where(np.isnan(own), middle, own), _SMALLEST)
        result.append(tuple(sigmas.round(4).tolist()))
    return tuple(result)


def _spreads(data: Dataset, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the sigma of each category and joint from pairs, (C, J); NaN with few of them."""
    # Only --sigmas estimated needs it.
    from bboxqa.diagnostics.object_cells import medians

    of, points = data.annotations, data.annotations.keypoints
    most = max(map(len, data.joint_names), default=0)
    found = np.full(len(data.joint_names) * most, nan)
    if points is not None:
        area, _ = points.packed().scales(of.bbox)
        first, second, number, offsets = points.joints_of_pairs(left, right)
        joint = np.arange(len(number)) - offsets[:-1][number]
        scale = (area[left] + area[right])[number] / 2
        both = (points.visibility[first] > 0) & (points.visibility[second] > 0) & (scale > 0)
        squared = ((points.xy[first] - points.xy[second]) ** 2).sum(1)[both] / scale[both]
        key = (of.category[left][number] * most + joint)[both]
        known = np.bincount(key, minlength=len(found)) >= _LEAST
        found[known] = np.sqrt(medians(squared, key, len(found)) / log(2) / 2)[known]
    return found.reshape(len(data.joint_names), most)
