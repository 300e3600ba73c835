"""Key points of simulated annotators have the errors that were asked for."""

import numpy as np
import pytest

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.geometry.similarities.box import COCO_SIGMAS


def joints(errors, n_images=60):
    """Return what p01 placed and the truth, (M, 17, 3) both, and the roots of the areas."""
    made = bboxqa.simulate(
        images=n_images, keypoints=True, annotators=1, errors={"p01": errors} if errors else {}
    )
    assert (made.boxes.truth == np.arange(len(made))).all()
    truth = made.truth()["annotations"]
    points = np.array([row["keypoints"] for row in truth]).reshape(-1, 17, 3)
    size = np.sqrt([row["bbox"][2] * row["bbox"][3] for row in truth])
    return made.boxes.joints, points, size


def test_without_errors_joints_are_those_of_the_truth():
    placed, truth, _ = joints("")
    assert placed.tolist() == truth.tolist()
    assert (truth[..., 2] == 2).all()


def test_joints_scatter_by_multiples_of_their_sigmas():
    placed, truth, size = joints("scatter=2", 300)
    distance = np.linalg.norm((placed - truth)[..., :2], axis=2) / size[:, None]
    expected = 2 * np.array(COCO_SIGMAS)
    assert np.sqrt((distance**2).mean(0)) == pytest.approx(expected, rel=0.1)


def test_joints_move_with_their_boxes():
    placed, truth, _ = joints("offset=5,-3")
    moved = (placed - truth)[..., :2]
    # Boxes end at the edges of images.
    assert np.median(moved, axis=(0, 1)) == pytest.approx([5, -3], abs=0.011)


def test_omitted_joints_have_zeros_and_change_nothing_else():
    both, _, _ = joints("scatter=1 omit=0.1")
    alone, _, _ = joints("scatter=1")
    is_omitted = both[..., 2] == 0
    assert is_omitted.mean() == pytest.approx(0.1, abs=0.02)
    assert not both[is_omitted].any()
    assert both[~is_omitted].tolist() == alone[~is_omitted].tolist()


@pytest.mark.parametrize("error", ["scatter=1", "omit=0.1"])
def test_errors_of_joints_need_joints(error):
    with pytest.raises(ConfigError, match="needs key points: add --keypoints"):
        bboxqa.simulate(images=1, errors={"p01": error})


def test_key_points_are_not_put_into_rotated_boxes():
    with pytest.raises(ConfigError, match="keypoints go with upright boxes"):
        bboxqa.simulate(images=1, keypoints=True, rotated=True)


def truth(*names):
    """Return two dogs with a nose and two ears, the second without its left ear."""
    points = ([30, 20, 2, 25, 15, 2, 35, 15, 1], [130, 20, 2, 0, 0, 0, 135, 15, 2])
    joints = ["nose", "left_ear", "right_ear"]
    return {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 300, "height": 200}],
        "categories": [
            {"id": number, "name": name, "keypoints": [*joints, "tail"][: 2 + number]}
            for number, name in enumerate(names, 1)
        ],
        "annotations": [
            {"id": n + 1, "image_id": 1, "category_id": min(n + 1, len(names)), "keypoints": each}
            | {"bbox": [20 + 100 * n, 10, 40, 60], "area": 2400}
            for n, each in enumerate(points)
        ],
    }


def test_a_truth_keeps_its_key_points_without_errors():
    made = bboxqa.simulate(truth("dog"), keypoints=True, annotators=1)
    expected = [each["keypoints"] for each in truth("dog")["annotations"]]
    assert [each["keypoints"] for each in made.document()["annotations"]] == expected
    assert made.document()["categories"][0]["keypoints"] == ["nose", "left_ear", "right_ear"]
