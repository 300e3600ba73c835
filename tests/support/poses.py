"""People whose joints annotators place with a known scatter."""

import numpy as np

from bboxqa.geometry.box_similarities import COCO_SIGMAS
from bboxqa.model.keypoints import COCO_JOINTS
from support.datasets import document_of

SWAPPED = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15]
"""COCO's joints with left and right exchanged."""


def people_document(
    rng,
    *,
    n_images=40,
    annotators=("ann", "bob"),
    sigmas=COCO_SIGMAS,
    joints=COCO_JOINTS,
    damage=None,
):
    """Return a COCO document of one person per image, drawn by each annotator.

    The distance of a joint from its place has a mean square of sigma² area, in both directions
    together. `damage(who, number, points)` may change the (J, 3) points of an annotator.
    """
    rows = []
    sigmas = np.array(sigmas)
    for number in range(1, n_images + 1):
        area = rng.uniform(1e4, 4e4)
        truth = rng.uniform(0, 1, (len(sigmas), 2)) * [200, 400] + [200, 100]
        for who in annotators:
            spread = (sigmas * np.sqrt(area / 2))[:, None]
            points = np.full((len(sigmas), 3), 2.0)
            points[:, :2] = truth + rng.normal(0, 1, truth.shape) * spread
            if damage is not None:
                points = damage(who, number, points)
            labelled = points[points[:, 2] > 0, :2]
            low, high = labelled.min(0), labelled.max(0)
            box = [*low.tolist(), *(high - low).tolist()]
            more = {"iscrowd": 0, "area": area, "keypoints": points.ravel().tolist()}
            rows.append((number, who, 1, box, more))
    content = document_of(rows, n_images, ("person",), size=(640, 640))
    content["categories"][0]["keypoints"] = list(joints)
    return content
