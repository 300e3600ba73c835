"""Annotators against a reference, one of them or a file, and against their own other sessions."""

import json
import re

import jsonschema
import numpy as np
import pytest
from jsonschema import validate
from scipy.optimize import linear_sum_assignment
from support.brute import box_iou
from support.cli import run
from support.datasets import document_of, write
from support.resampled import expanded

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.pipelines.agree import FIGURES
from bboxqa.report.agreement_summary import summary, summary_schema
from bboxqa.report.agreement_text import reference_lines

HERE, THERE, FAR, NEW = ([x, y, 20, 20] for x, y in ((10, 10), (60, 60), (110, 10), (150, 150)))


def document(rows, names=("1.png", "2.png", "3.png"), asked=None):
    """Return a COCO document from rows of image, annotator, category and box."""
    content = document_of(rows, names, ("cow", "sheep"), size=(200, 200))
    for record, people in zip(content["images"], asked or (), strict=asked is not None):
        record["annotators"] = [*people]
    return content


# 4 px to the right: IoU 16 · 20 / (400 + 80) = 2/3; 10 px down: 200 / 600 = 1/3, no match.
TEAM = [
    (1, "ann", 1, HERE), (1, "ann", 2, [64, 60, 20, 20]), (1, "ann", 1, NEW),
    (2, "ann", 2, [10, 20, 20, 20]), (3, "ann", 1, HERE), (3, "bob", 1, HERE),
]  # fmt: skip
EXPERT = [
    (1, "eve", 1, HERE), (1, "eve", 1, THERE), (1, "eve", 2, FAR), (2, "eve", 2, HERE),
]  # fmt: skip
ASKED = (("ann", "eve"), ("ann", "bob", "eve"), ("ann", "bob"))
OF_TEAM = tuple(tuple(name for name in names if name != "eve") for names in ASKED)


def both():
    """Return annotators with an expert among them, and the two apart."""
    team = bboxqa.read_coco(document(TEAM, asked=OF_TEAM))
    expert = bboxqa.read_coco(document(EXPERT, ("1.png", "2.png")), min_annotators=1)
    return bboxqa.read_coco(document(TEAM + EXPERT, asked=ASKED)), team, expert


def figures(table):
    return [
        {name: row[name] for name in row if not name.endswith(("_low", "_high"))}
        for row in table.records()
    ]


def test_figures_by_hand():
    _, team, expert = both()
    found = bboxqa.agree(team, reference=expert, bootstrap=0).reference
    assert (found.n_images, found.n_reference_images, found.n_annotations) == (2, 2, 4)
    ann, bob = figures(found.annotators)
    assert ann == {
        "annotator": "ann", "n_images": 2, "n": 4, "n_reference": 4, "n_matched": 2,
        "precision": 0.5, "recall": 0.5, "f1": 0.5, "class_share": 0.5,
        "mean_similarity": pytest.approx((1 + 2 / 3) / 2),
        # A third box overlaps its object too little to match: neither a miss nor an extra.
        "miss_rate": 1 / 4, "extra_rate": 1 / 4, "twice_rate": 0,
    }  # fmt: skip
    # bob was asked about image 2 and drew nothing there; image 3 is not in the reference.
    assert bob == {
        "annotator": "bob", "n_images": 1, "n": 0, "n_reference": 1, "n_matched": 0,
        "precision": None, "recall": 0, "f1": 0, "class_share": None, "mean_similarity": None,
        "miss_rate": 1, "extra_rate": None, "twice_rate": None,
    }  # fmt: skip


def test_offsets_by_hand_include_boxes_that_do_not_match():
    _, team, expert = both()
    offsets = bboxqa.agree(team, reference=expert, bootstrap=0).reference.offsets
    # Three boxes: as the reference, 4 px to the right, 10 px down; sides of 20 px.
    assert offsets["n"].tolist() == [3] * 4 + [0] * 4
    assert offsets["offset_px"][:4] == pytest.approx([4 / 3, 10 / 3, 4 / 3, 10 / 3])
    assert offsets["offset_percent"][:4] == pytest.approx([20 / 3, 50 / 3, 20 / 3, 50 / 3])
    assert np.isnan(offsets["offset_px"][4:]).all()


def random_documents(seed, n_images=6):
    """Return three annotators of random images and a reference, without ties."""
    rng = np.random.default_rng(seed)
    truth, drawn = [], []
    for image in range(1, n_images + 1):
        for _ in range(int(rng.integers(0, 6))):
            box = np.array([*rng.uniform(0, 80, 2), *rng.uniform(15, 50, 2)])
            truth.append((image, "eve", int(rng.integers(1, 3)), box.tolist()))
            for who in ("ann", "bob", "cid"):
                if rng.random() < 0.8:
                    moved = (box + rng.normal(0, 5, 4)).clip(1).tolist()
                    drawn.append((image, who, int(rng.integers(1, 3)), moved))
    names = [f"{n}.png" for n in range(1, n_images + 1)]
    asked = [[w for w in ("ann", "bob", "cid") if rng.random() < 0.8] for _ in names]
    drawn = [row for row in drawn if row[1] in asked[row[0] - 1]]
    return document(drawn, names, asked), document(truth, names)


def brute(team, truth, who, threshold):
    """Return drawn, expected, matched, of one category, and the sum of IoU, image by image."""
    total = np.zeros(5)
    ids = [{image["file_name"]: image["id"] for image in part["images"]} for part in (team, truth)]
    for image in team["images"]:
        if who not in image["annotators"]:
            continue
        drawn, expected = (
            [
                each
                for each in part["annotations"]
                if each["image_id"] == of[image["file_name"]] and each["annotator"] in (who, "eve")
            ]
            for part, of in zip((team, truth), ids, strict=True)
        )
        total[:2] += len(drawn), len(expected)
        iou = [[box_iou(a["bbox"], b["bbox"]) for b in expected] for a in drawn]
        iou = np.array(iou, np.float64).reshape(len(drawn), len(expected))
        iou[iou < threshold] = 0
        for a, b in zip(*linear_sum_assignment(-iou), strict=True):
            if iou[a, b]:
                same = drawn[a]["category_id"] == expected[b]["category_id"]
                total[2:] += 1, same, iou[a, b]
    return total


@pytest.mark.parametrize("seed", range(6))
def test_figures_are_those_of_the_best_assignment(seed):
    team, truth = random_documents(seed)
    data = bboxqa.read_coco(team), bboxqa.read_coco(truth, min_annotators=1)
    result = bboxqa.agree(data[0], reference=data[1], iou_threshold=(0.3, 0.6), bootstrap=0)
    for part in result.thresholds:
        for row in part.reference.annotators.records():
            total = brute(team, truth, row["annotator"], part.iou_threshold)
            n, n_reference, n_matched, n_same, similarity = total
            assert [row["n"], row["n_reference"], row["n_matched"]] == total[:3].tolist()
            assert row["precision"] == pytest.approx(n_matched / n)
            assert row["recall"] == pytest.approx(n_matched / n_reference)
            assert row["f1"] == pytest.approx(2 * n_matched / (n + n_reference))
            assert row["class_share"] == pytest.approx(n_same / n_matched)
            assert row["mean_similarity"] == pytest.approx(similarity / n_matched)


def test_intervals_are_those_of_draws_of_images(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    team, truth = random_documents(1, n_images=40)
    data = bboxqa.read_coco(team), bboxqa.read_coco(truth, min_annotators=1)
    (part,) = bboxqa.agree(data[0], reference=data[1]).thresholds
    table = part.reference.annotators
    sums = np.array(
        [
            brute({**team, "images": [image]}, truth, "ann", 0.5)[:3]
            for image in team["images"]
            if "ann" in image["annotators"]
        ]
    )
    rng = np.random.default_rng(3)
    drawn = sums[rng.integers(0, len(sums), (4000, len(sums)))].sum(1)
    for name, values in (
        ("recall", drawn[:, 2] / drawn[:, 1]),
        ("precision", drawn[:, 2] / drawn[:, 0]),
    ):
        expected = expanded(values, len(sums))
        ends = [table[f"{name}_{end}"][0] for end in ("low", "high")]
        assert ends == pytest.approx(expected, abs=0.02)
    (line,) = (line for line in reference_lines(part.reference, "") if line.startswith(" ann "))
    assert re.fullmatch(r" ann( +\d\.\d\d \[\d\.\d\d, \d\.\d\d\]){5}", line)


def test_files_have_the_figures_and_the_schema(tmp_path):
    write(tmp_path / "all.json", document(TEAM + EXPERT, asked=ASKED))
    done = run(
        "agree", "all.json", "--reference", "eve", "--out", "out", "--diagnose", cwd=tmp_path
    )
    assert done.returncode == 0
    assert "Edges of boxes against those of the reference" in done.stdout
    found = json.loads((tmp_path / "out" / "summary.json").read_text())
    jsonschema.validate(found, summary_schema())
    record = found["thresholds"][0]["reference"]
    assert record["name"] == "eve"
    assert record["annotators"][0]["precision"]["value"] == 0.5
    assert [edge["value"] for edge in record["annotators"][0]["offset_px"]] == pytest.approx(
        [4 / 3, 10 / 3, 4 / 3, 10 / 3]
    )
    lines = (tmp_path / "out" / "reference.csv").read_text().splitlines()
    assert lines[0].startswith("iou_threshold,annotator,n_images,n,n_reference,n_matched,precision")
    assert lines[1].startswith("0.5,ann,2,4,4,2,0.5,")
    assert len((tmp_path / "out" / "reference_offsets.csv").read_text().splitlines()) == 9


def test_the_story_names_who_agrees_less_than_others_do():
    options = {"images": 60, "annotators": 3, "categories": ("cow", "sheep")}
    made = bboxqa.simulate(errors={"p*": "jitter=1", "p03": "miss=0.4"}, **options)
    data = bboxqa.read_coco(made.document())
    truth = bboxqa.read_coco(made.truth(), min_annotators=1)
    (line,) = [
        line
        for line in bboxqa.agree(data, reference=truth, bootstrap=200).story
        if "document" in line
    ]
    assert re.match("p03 misses 4. % of the objects of document; the others: 0 %", line)
    alike = bboxqa.simulate(errors={"p*": "jitter=1 miss=0.2"}, **options)
    result = bboxqa.agree(
        bboxqa.read_coco(alike.document()),
        reference=bboxqa.read_coco(alike.truth(), min_annotators=1),
        bootstrap=200,
    )
    assert not any("document" in line for line in result.story)


def test_names_that_differ_by_case_are_a_warning_until_they_are_mapped(tmp_path):
    gold = document(EXPERT, ("1.png", "2.png"))
    gold["categories"] = [{"id": 1, "name": "COW"}, {"id": 2, "name": "sheep"}]
    write(tmp_path / "all.json", document(TEAM, asked=OF_TEAM))
    write(tmp_path / "gold.json", gold)
    ask = ("agree", "all.json", "--reference", "gold.json", "--bootstrap", "0")
    found = run(*ask, cwd=tmp_path).stdout
    assert "\nWarning: gold.json uses categories that no annotator has: COW. Their" in f"\n{found}"
    mapped = run(*ask, "--map", "COW=cow", cwd=tmp_path).stdout
    assert "Warning" not in mapped
    assert "against the reference" in mapped


def test_crowds_of_either_side_are_left_out():
    whole = document(TEAM + EXPERT, asked=ASKED)
    whole["annotations"][2]["iscrowd"] = whole["annotations"][8]["iscrowd"] = 1
    found = bboxqa.agree(bboxqa.read_coco(whole), reference="eve").reference
    row = found.annotators.records()[0]
    assert (row["n"], row["n_reference"], row["n_matched"]) == (3, 3, 2)


def test_refusals():
    whole, team, _ = both()
    with pytest.raises(ConfigError, match="'ben', which is neither an annotator nor a file"):
        bboxqa.agree(whole, reference="ben")
    with pytest.raises(TypeError, match="reference is a int"):
        bboxqa.agree(whole, reference=7)
    with pytest.raises(DatasetError, match="several annotators drew in 1 image, such as "):
        bboxqa.agree(whole, reference=team)
    elsewhere = bboxqa.read_coco(document(EXPERT, ("x/1.png", "x/2.png")), min_annotators=1)
    with pytest.raises(DatasetError, match="--join name would join 2 more images"):
        bboxqa.agree(team, reference=elsewhere)
    larger = document(EXPERT, ("1.png", "2.png"))
    larger["images"][0]["width"] = 400
    with pytest.raises(DatasetError, match=r"'1.png' is 400 × 200; .* says 200 × 200 \(1 such"):
        bboxqa.agree(team, reference=bboxqa.read_coco(larger, min_annotators=1))


def test_a_file_that_names_nobody_is_compared_with_a_reference(tmp_path):
    nobody = [(image, None, *drawn) for image, who, *drawn in TEAM if who == "ann"]
    write(tmp_path / "export.json", document(nobody))
    write(tmp_path / "gold.json", document(EXPERT, ("1.png", "2.png")))
    done = run("agree", "export.json", "--reference", "gold.json", cwd=tmp_path)
    assert "1 annotator not named in the file: (not named)\n" in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith(" (not named)")]
    assert row.split()[2] == "0.50"
    assert "F1 of (not named) with the reference is 0.50" in done.stdout


def test_labels_of_yolo_take_what_they_lack_from_the_annotators(tmp_path):
    write(tmp_path / "team.json", document(TEAM, ("day/1.png", "day/2.png", "day/3.png")))
    (tmp_path / "gold/labels").mkdir(parents=True)
    (tmp_path / "gold/labels/1.txt").write_text("0 .1 .1 .1 .1\n")
    done = run("agree", "team.json", "--reference", "gold", "--details", cwd=tmp_path)
    assert "images joined by name without folder and suffix, which YOLO lacks" in done.stdout
    assert " 1 of its 1 image, 1 object" in done.stdout
    # That is said of labels of the annotators, and asks a reference about no more images.
    done = run("agree", "team.json", "--reference", "gold", "--missing-txt", "asked", cwd=tmp_path)
    assert " 1 of its 1 image, 1 object" in done.stdout


def in_sessions(rows, n_images=2):
    """Return a COCO document from rows of image, annotator, session, category and box."""
    with_key = [
        (image, who, category, box, {} if session is None else {"session": session})
        for image, who, session, category, box in rows
    ]
    return document(with_key, [f"{n}.png" for n in range(1, n_images + 1)])


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
    return bboxqa.agree(bboxqa.read_coco(in_sessions(rows, **more), session_key="session"))


@pytest.mark.parametrize("seed", [1, 2])
def test_each_annotator_is_measured_as_if_sessions_were_annotators(seed):
    rows = random_rows(seed)
    table = measured(rows, n_images=8).repeats
    assert table["annotator"].tolist() == ["(all)", "ann", "bob", "cid"]
    for place, who in enumerate(("ann", "bob", "cid"), 1):
        own = [row for row in rows if row[1] == who]
        again = {row[0] for row in own if row[2] > 1}
        kept = [(i, f"s{session}", None, *rest) for i, _, session, *rest in own if i in again]
        alone = bboxqa.agree(bboxqa.read_coco(in_sessions(kept, n_images=8))).thresholds[0]
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
    out, source = tmp_path / "out", tmp_path / "twice.json"
    write(source, in_sessions(random_rows(4), n_images=8))
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
