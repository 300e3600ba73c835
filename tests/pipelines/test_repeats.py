"""Annotators who annotated images in several sessions: with others, and with themselves."""

import json

import numpy as np
import pytest
from jsonschema import validate
from support.cli import run

import bboxqa
from bboxqa.pipelines.agree import FIGURES
from bboxqa.report.agreement_summary import summary, summary_schema

HERE, THERE, FAR = [10, 10, 20, 20], [60, 60, 20, 20], [110, 10, 20, 20]


def document(rows, n_images=2, asked=None):
    """Return a COCO document from rows of image, annotator, session, category and box."""
    images = [
        {"id": n, "file_name": f"{n}.png", "width": 200, "height": 200}
        | ({} if asked is None else {"annotators": asked})
        for n in range(1, n_images + 1)
    ]
    annotations = [
        {"id": n, "image_id": image, "annotator": who, "category_id": category, "bbox": box,
         "area": box[2] * box[3], "iscrowd": 0} | ({} if session is None else {"session": session})
        for n, (image, who, session, category, box) in enumerate(rows, 1)
    ]  # fmt: skip
    categories = [{"id": n, "name": name} for n, name in enumerate(("cow", "sheep"), 1)]
    return {"images": images, "categories": categories, "annotations": annotations}


def random_rows(seed, n_images=8):
    """Return three annotators, of whom some annotated some images in up to three sessions."""
    rng = np.random.default_rng(seed)
    rows = []
    for image in range(1, n_images + 1):
        for who in ("ann", "bob", "cid"):
            for session in range(1, 2 + int(rng.integers(3))):
                for box in (HERE, THERE, FAR):
                    if rng.random() < 0.8 or box is HERE:
                        right, down = rng.integers(-4, 5, 2).tolist()
                        moved = [box[0] + right, box[1] + down, *box[2:]]
                        rows.append((image, who, session, int(rng.integers(1, 3)), moved))
    return rows


def measured(rows, **more):
    return bboxqa.agree(bboxqa.read_coco(document(rows, **more), session_key="session"))


@pytest.mark.parametrize("seed", [1, 2])
def test_each_annotator_is_measured_as_if_sessions_were_annotators(seed):
    rows = random_rows(seed)
    table = measured(rows, n_images=8).repeats
    assert table["annotator"].tolist() == ["(all)", "ann", "bob", "cid"]
    for place, who in enumerate(("ann", "bob", "cid"), 1):
        own = [row for row in rows if row[1] == who]
        again = {row[0] for row in own if row[2] > 1}
        kept = [(i, f"s{session}", None, *rest) for i, _, session, *rest in own if i in again]
        alone = bboxqa.agree(bboxqa.read_coco(document(kept, n_images=8))).thresholds[0]
        found = {
            "f1": (alone.existence.f1, *alone.existence.interval),
            "alpha": (alone.alpha, *alone.interval),
            "class_alpha": (alone.class_agreement.alpha, *alone.class_agreement.interval),
            "class_share": (alone.class_agreement.share, *alone.class_agreement.share_interval),
            "mean_iou": (alone.place.mean_iou, *alone.place.interval),
        }
        assert found.keys() == FIGURES.keys()
        for name, expected in found.items():
            got = [table[column][place] for column in (name, f"{name}_low", f"{name}_high")]
            assert got == pytest.approx(expected, nan_ok=True), (who, name)


def test_agreement_between_annotators_is_that_of_first_sessions():
    rows = random_rows(3)
    first = [row for row in rows if row[2] == 1]
    found, expected = measured(rows, n_images=8), measured(first, n_images=8)
    assert expected.repeats is None
    assert any("themselves is unknown" in note for note in expected.notes)
    alone, other = found.thresholds[0], expected.thresholds[0]
    assert alone.alpha == other.alpha
    assert alone.interval == other.interval
    assert alone.existence == other.existence
    assert alone.place == other.place


def test_repeats_are_printed_and_written(tmp_path):
    source, out = tmp_path / "twice.json", tmp_path / "out"
    source.write_text(json.dumps(document(random_rows(4), n_images=8)))
    done = run("agree", source, "--session-key", "session", "--out", out, "--details")
    assert "Annotators with themselves, in images annotated again" in done.stdout
    assert "\n (all)" in done.stdout
    found = json.loads((out / "summary.json").read_text())
    validate(found, summary_schema())
    first = found["thresholds"][0]["repeats"][0]
    assert first["annotator"] is None
    lines = (out / "repeats.csv").read_text().splitlines()
    assert lines[0].startswith("iou_threshold,annotator,n_images,n_annotations,f1,f1_low,f1_high")
    assert float(lines[1].split(",")[4]) == first["f1"]["value"]
    once = [row for row in random_rows(4) if row[2] == 1]
    assert "repeats" not in summary(measured(once, n_images=8))["thresholds"][0]


def test_who_agrees_least_with_themselves_is_noted():
    """Of three annotators, cid draws other objects again in each second image."""
    rows = [
        (image, who, session, 1, FAR if who == "cid" and session == 2 and image % 2 else box)
        for image in range(1, 21)
        for who in ("ann", "bob", "cid")
        for session in (1, 2)
        for box in (HERE, THERE)[: 1 + (who != "bob" or image != 1 or session == 1)]
    ]
    result = measured(rows, n_images=20)
    (note,) = [note for note in result.notes if "other sessions" in note]
    table = result.repeats
    low, f1, high = (table[name][3] for name in ("f1_low", "f1", "f1_high"))
    assert note.startswith("cid agrees least with what cid drew in other sessions: ")
    assert f" F1 {f1:.2f} [{low:.2f}, {high:.2f}] at IoU 0.5; the others: " in note
    found = result.diagnose()
    assert found.tables["repeats"].records() == table.records()
    # Without a difference nobody is named.
    same = [row for row in rows if row[1] != "cid"]
    assert not [note for note in measured(same, n_images=20).notes if "other sessions" in note]
