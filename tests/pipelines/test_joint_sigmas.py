"""How far annotators scatter about each joint, against what they were made with."""

import json

import numpy as np
import pytest
from support.cli import run
from support.poses import SWAPPED, people_document

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.geometry.box_similarities import COCO_SIGMAS
from bboxqa.pipelines.joint_sigmas import estimated_sigmas


def _read(document):
    return bboxqa.read_coco(document, keypoints=True)


def test_recovers_the_sigmas_of_simulated_annotators_also_beside_swaps():
    def swap(who, number, points):
        return points[SWAPPED] if who == "bob" and number % 20 == 0 else points

    document = people_document(np.random.default_rng(1), n_images=800, damage=swap)
    (found,) = estimated_sigmas(_read(document))
    error = np.array(found) / COCO_SIGMAS - 1
    assert np.abs(error).max() < 0.10
    assert abs(error.mean()) < 0.03


def test_estimated_sigmas_are_named_and_used():
    sigmas = (0.02, 0.05, 0.1)
    document = people_document(
        np.random.default_rng(2), n_images=200, sigmas=sigmas, joints=("nose", "paw", "tail")
    )
    data = _read(document)
    result = bboxqa.agree(data, similarity="keypoints", sigmas="estimated", bootstrap=0)
    (note,) = [note for note in result.notes if note.startswith("sigmas of person estimated: nose")]
    assert result.thresholds[0].existence.f1 > 0.98
    numbers = [float(part.split()[1]) for part in note.partition(": ")[2].split(", ")]
    assert numbers == pytest.approx(sigmas, rel=0.2)
    given = bboxqa.agree(data, similarity="keypoints", sigmas=numbers, bootstrap=0)
    assert given.thresholds[0].place.mean_iou == pytest.approx(
        result.thresholds[0].place.mean_iou, abs=0.01
    )


def test_nothing_to_estimate_from_is_refused():
    document = people_document(np.random.default_rng(3), n_images=3)
    with pytest.raises(ConfigError, match="sigmas of 'person' cannot be estimated"):
        bboxqa.agree(_read(document), similarity="keypoints", sigmas="estimated")


@pytest.mark.parametrize(
    ("sigmas", "problem"),
    [
        ("0.1,x", "expected a number, numbers between commas, or estimated"),
        ("0.1,-1", "--sigmas has -1; expected numbers above 0"),
        ("0", "--sigmas is 0; expected numbers above 0"),
        ("0.1,0.2", "--sigmas has 2 numbers, but category 'cat' has 3 key points"),
    ],
)
def test_sigmas_that_cannot_be_used_are_refused(tmp_path, sigmas, problem):

    document = people_document(
        np.random.default_rng(4), n_images=2, sigmas=(0.1,) * 3, joints=("nose", "paw", "tail")
    )
    document["categories"][0]["name"] = "cat"
    path = tmp_path / "cats.json"
    path.write_text(json.dumps(document))
    done = run("agree", path, "--similarity", "keypoints", "--sigmas", sigmas)
    assert done.returncode == 2
    assert problem in " ".join(done.stderr.split())
