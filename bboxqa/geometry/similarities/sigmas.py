"""The OKS sigmas of joints: COCO's, or the sigmas given in the settings."""

from collections.abc import Sequence

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import count
from bboxqa.model.annotations import Dataset
from bboxqa.model.shapes.coco_joints import coco_places

COCO_SIGMAS = (
    0.026, 0.025, 0.025, 0.035, 0.035, 0.079, 0.079, 0.072, 0.072, 0.062, 0.062, 0.107, 0.107,
    0.087, 0.087, 0.089, 0.089,
)  # fmt: skip
"""COCO's sigmas of the 17 joints of people."""


def sigmas_of(dataset: Dataset) -> tuple[tuple[float, ...], ...]:
    """Return the sigma of each joint of each category.

    The sigmas of the data set are used, or else COCO's. Raises ConfigError if a category with key
    points has neither.
    """
    if dataset.joint_sigmas:
        return dataset.joint_sigmas
    return given_sigmas(dataset, ())


def given_sigmas(dataset: Dataset, sigmas: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Return the sigma of each joint of each category from the settings; empty without `sigmas`.

    A single sigma is for all joints; several are for the categories with as many joints. Raises
    ConfigError if a category with key points has no sigmas, or if no category has as many joints as
    there are sigmas.
    """
    if len(sigmas) > 1 and all(len(joints) != len(sigmas) for joints in dataset.joint_names):
        for name, joints in zip(dataset.category_names, dataset.joint_names, strict=True):
            if joints:
                raise _wrong_number(name, joints, sigmas)
    return tuple(
        _of_category(name, joints, sigmas)
        for name, joints in zip(dataset.category_names, dataset.joint_names, strict=True)
    )


def _of_category(name: str, joints: tuple[str, ...], sigmas: Sequence[float]) -> tuple[float, ...]:
    if len(sigmas) == 1:
        return tuple(sigmas) * len(joints)
    if not joints or len(sigmas) == len(joints):
        return tuple(sigmas) if joints else ()
    if places := coco_places(joints):
        return tuple(COCO_SIGMAS[place] for place in places)
    if sigmas:
        raise _wrong_number(name, joints, sigmas)
    found = count(len(joints), "key point")
    why = "not COCO's 17" if len(joints) != 17 else "whose names are not COCO's"
    raise ConfigError(
        f"category {name!r} has {found}, {why}: similarity 'keypoints' needs the sigma of each. "
        "Give one number for all (--sigmas 0.05), one for each in their order (--sigmas "
        "0.03,0.05,...), or have them estimated from the annotators (--sigmas estimated)"
    )


def _wrong_number(name: str, joints: tuple[str, ...], sigmas: Sequence[float]) -> ConfigError:
    """Return the error for a category whose number of key points differs from the sigmas."""
    return ConfigError(
        f"--sigmas has {len(sigmas)} numbers, but category {name!r} has "
        f"{count(len(joints), 'key point')}; expected one number for all, as many as there are key "
        "points, or: --sigmas estimated"
    )
