"""Audits: labels of one annotator against a model."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from support.brute import box_iou
from support.cli import run
from support.datasets import annotation, csv_rows, image, write
from support.datasets import document as coco

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.diagnostics.audit import labelled_share

NAMES = ("car", "truck")
COLUMNS = [
    "rank", "kind", "image", "label", "prediction", "x", "y", "width", "height", "category",
    "suggested", "score", "reason",
]  # fmt: skip


def document(rows, n_images=2, names=NAMES):
    """Return a COCO document from rows of image, category and box, with further keys."""
    annotations = [
        annotation(10 * n, image_id, category, box, **dict(*more))
        for n, (image_id, category, box, *more) in enumerate(rows)
    ]
    images = [image(n, f"{n}.png", width=400, height=400) for n in range(n_images)]
    return coco(annotations, images, [{"id": n, "name": name} for n, name in enumerate(names)])


def results(rows):
    return [
        {"image_id": place, "category_id": category, "bbox": list(box), "score": score}
        for place, category, box, score in rows
    ]


RIGHT, NAMED, MOVED, GHOST, LOST = (
    [x, y, 20, 20] for x, y in ((10, 10), (60, 10), (110, 10), (160, 160), (200, 10))
)
# Id 0, category 0 and image 0 are ordinary ones. 16 · 20 / (400 + 80) = 2/3; 200 / 600 = 1/3.
LABELS = [
    (0, 0, RIGHT), (0, 1, NAMED), (0, 0, [110, 20, 20, 20]), (0, 0, GHOST), (0, 0, [12, 10, 20, 20])
]  # fmt: skip
MODEL = [(0, 0, RIGHT, 0.9), (0, 0, NAMED, 0.8), (0, 0, MOVED, 0.7), (1, 1, LOST, 0.6)]


@pytest.fixture
def files(tmp_path):
    """The labels, and the results of the model."""
    labels = write(tmp_path / "labels.json", document(LABELS))
    return labels, write(tmp_path / "model.json", results(MODEL))


def test_each_kind(files):
    found = {}
    for row in bboxqa.audit(*files).suspects.records():
        found.setdefault(row["kind"], row)
    expected = {
        "spurious": ("30", None, GHOST, "car", "", 1.0, "no prediction overlaps it"),
        "class": ("10", 1, NAMED, "truck", "car", 0.8,
                  "another category has score 0.80, its own 0.00"),
        "twice": ("40", None, [12, 10, 20, 20], "car", "", 2 * 18 / 22 - 1,
                  "IoU 0.82 with another label, and no prediction of its own"),
        "place": ("20", 2, MOVED, "car", "car", 0.7 * (1 - 1 / 9),
                  "IoU 0.33 with a prediction of score 0.70"),
        "missing": ("", 3, LOST, "", "truck", 0.6, "score 0.60, and no label"),
    }  # fmt: skip
    assert [*found][:2] == ["spurious", "class"]
    for kind, (label, place, box, category, suggested, score, reason) in expected.items():
        row = found[kind]
        assert (row["label"], row["prediction"], row["reason"]) == (label, place, reason)
        assert [row[side] for side in ("x", "y", "width", "height")] == box
        assert (row["category"], row["suggested"]) == (category, suggested)
        assert row["score"] == pytest.approx(score, abs=1e-6)


def test_order_of_input_does_not_matter(files):
    names = [name for name in COLUMNS if name != "prediction"]
    first = bboxqa.audit(*files).suspects.records()
    for file in files:
        content = json.loads(file.read_text("utf-8"))
        (content if isinstance(content, list) else content["annotations"]).reverse()
        write(file, content)
    second = bboxqa.audit(*files).suspects.records()
    assert [[row[name] for name in names] for row in first] == [
        [row[name] for name in names] for row in second
    ]
    assert {3 - row["prediction"] for row in second if row["prediction"] is not None} == {
        row["prediction"] for row in first if row["prediction"] is not None
    }


def matched(pairs):
    """Return the pairs (weight, label, prediction) that are taken by falling weight."""
    found = []
    for _, label, prediction in sorted(pairs, key=lambda pair: (-pair[0], *pair[1:])):
        if all(label != a and prediction != b for a, b in found):
            found.append((label, prediction))
    return found


def brute(labels, model):
    """Return the kind and score of each label, and the score of each prediction without one."""
    iou = {
        (a, b): float(box_iou(label[0], each[0]))
        for a, label in enumerate(labels) for b, each in enumerate(model)
    }  # fmt: skip
    weights = [(value * model[b][2], a, b) for (a, b), value in iou.items()]
    same = matched([each for each in weights if iou[each[1:]] >= 0.5])
    ends = {("a", a) for a, _ in same} | {("b", b) for _, b in same}
    near = matched([
        each for each in weights
        if iou[each[1:]] >= 0.1 and ("a", each[1]) not in ends and ("b", each[2]) not in ends
    ])  # fmt: skip
    scores, used = [], set()
    for a, (box, category) in enumerate(labels):
        over = {b: iou[a, b] for b in range(len(model))}
        support = max((model[b][2] * min(1, 2 * i) for b, i in over.items() if i >= 0.1), default=0)
        named = [
            [model[b][2] for b, i in over.items() if i >= 0.5 and (model[b][1] == category) is own]
            for own in (True, False)
        ]
        partner = dict(same).get(a, dict(near).get(a))
        found = {"spurious": 1 - support}
        found["class"] = max(named[1], default=0) * (1 - max(named[0], default=0))
        if partner is not None:
            i, s = over[partner], model[partner][2]
            place = s * (1 - i * i) * min(1, 2 * (1 - i)) ** 4
            if a in dict(same) or s >= 0.5:
                found["place"] = place
            if a not in dict(same) and s >= 0.5:
                del found["spurious"]
        if a not in dict(same):
            others = [
                float(box_iou(box, other))
                for c, (other, name) in enumerate(labels)
                if c != a and name == category and (c in dict(same) or c < a)
            ]
            found["twice"] = 2 * max([*others, 0]) - 1
        kind = max(found, key=lambda each: round(found[each], 9))
        scores.append(found[kind])
        if kind == "place" and found[kind] >= 0.01 and a not in dict(same):
            used.add(partner)
    open_ = [b for b in range(len(model)) if b not in used and ("b", b) not in ends
             and all(iou[a, b] < 0.5 for a in range(len(labels)))]  # fmt: skip
    open_.sort(key=lambda b: -model[b][2])
    missing = [model[b][2] for n, b in enumerate(open_)
               if all(box_iou(model[b][0], model[c][0]) < 0.5 for c in open_[:n])]  # fmt: skip
    return sorted(each for each in scores if round(each, 6) >= 0.01), sorted(missing)


def boxes():
    """Return a strategy of boxes in the order of a data set, with distinct scores."""
    box = st.tuples(*[st.integers(0, 12)] * 2, *[st.integers(3, 9)] * 2)
    return st.lists(st.tuples(box, st.integers(0, 1)), unique_by=lambda row: row[0],
                    min_size=1, max_size=6).map(sorted)  # fmt: skip


@st.composite
def predictions(draw):
    rows = draw(boxes())
    scores = draw(st.permutations(range(1, len(rows) + 1)))
    return [(*row, n / 8 + 0.01) for row, n in zip(rows, scores, strict=True)]


@settings(deadline=None)
@given(boxes(), predictions())
def test_scores_by_brute_force(labels, model):
    drawn = document([(0, category, box) for box, category in labels])
    predicted = document([(0, category, box, {"score": s}) for box, category, s in model])
    # Both know all categories.
    found = bboxqa.audit(*(bboxqa.read_coco(each, min_annotators=1) for each in (drawn, predicted)))
    of_labels, missing = brute(labels, model)
    rows = found.suspects.records()
    for expected, is_label in ((of_labels, True), (missing, False)):
        scores = sorted(row["score"] for row in rows if bool(row["label"]) is is_label)
        # Scores have six digits.
        assert scores == pytest.approx(expected, rel=0, abs=5.1e-7)
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)


def test_share_is_learnt_from_other_images():
    """High predictions are labelled, low ones not; each fold is predicted by the others."""
    rng = np.random.default_rng(0)
    score, height = rng.random(4000), rng.uniform(10, 100, 4000)
    category, place = rng.integers(0, 2, 4000).astype(np.int32), np.arange(4000, dtype=np.int32)
    chance = score * np.where(category == 1, 0.2, 0.9)
    found = labelled_share(score, height, category, place, rng.random(4000) < chance)
    for own in (0, 1):
        for low in (0.3, 0.6):
            rows = (category == own) & (score > low) & (score < low + 0.2)
            assert found[rows].mean() == pytest.approx(chance[rows].mean(), abs=0.12)
    # A change of the labels of an image does not change its own predictions.
    labelled = rng.random(4000) < chance
    again = labelled ^ (place % 5 == 0)
    parts = [labelled_share(score, height, category, place, each) for each in (labelled, again)]
    assert np.array_equal(*(part[place % 5 == 0] for part in parts))
    assert np.isnan(labelled_share(score, height, category, place, score > 2)).all()


def test_votes_of_several_annotators(tmp_path):
    rows = [
        (0, 0, RIGHT, {"annotator": "ann"}), (0, 1, [11, 10, 20, 20], {"annotator": "bob"}),
        (0, 1, RIGHT, {"annotator": "eve"}), (0, 0, LOST, {"annotator": "ann"}),
        (0, 0, LOST, {"annotator": "eve"}),
    ]  # fmt: skip
    labels = write(tmp_path / "labels.json", document([(0, 0, RIGHT)]))
    found = bboxqa.audit(labels, write(tmp_path / "team.json", document(rows)))
    assert found.basis == "the votes of 3 annotators"
    missing, named = found.suspects.records()
    assert (missing["kind"], missing["score"]) == ("missing", pytest.approx(2 / 3, abs=1e-6))
    assert (named["kind"], named["suggested"]) == ("class", "truck")
    assert named["score"] == pytest.approx(2 / 3 * (1 - 1 / 3), abs=1e-6)


def test_place_by_votes_that_agree(tmp_path):
    """Two of three votes, each 1 beside their median; the label is 6 and 8 beside them."""
    boxes = [[100, 100, 20, 20], [102, 100, 20, 20], [200, 200, 20, 20]]
    rows = [(0, 0, box, {"annotator": who}) for box, who in zip(boxes, "abc", strict=True)]
    labels = write(tmp_path / "labels.json", document([(0, 0, [108, 100, 20, 20])]))
    found = bboxqa.audit(labels, write(tmp_path / "team.json", document(rows)))
    place = found.suspects.records()[0]
    assert (place["kind"], place["x"]) == ("place", 101)
    iou = (13 / 27 + (12 / 28 + 14 / 26) / 2) / 2
    expected = 2 * (19 / 21) / 3 * (1 - iou**2)
    assert place["score"] == pytest.approx(expected, abs=1e-6)


def test_a_model_without_scores_is_sure(tmp_path):
    labels = write(tmp_path / "labels.json", document(LABELS))
    model = write(tmp_path / "other.json", document([(0, 0, RIGHT), (1, 0, LOST)]))
    found = bboxqa.audit(labels, model)
    assert found.basis == "predictions without scores, each taken as sure"
    assert found.suspects.records()[0]["score"] == 1


@pytest.mark.parametrize(("labels", "model", "kinds"), [
    ([], [], []), ([], [(0, 0, RIGHT)], ["missing"]), ([(0, 0, RIGHT)], [], ["spurious"]),
])  # fmt: skip
def test_nothing_drawn(labels, model, kinds):
    sides = [bboxqa.read_coco(document(rows), min_annotators=1) for rows in (labels, model)]
    assert [row["kind"] for row in bboxqa.audit(*sides).suspects.records()] == kinds
    assert [*bboxqa.audit(sides[0]).suspects.records()] == []


def test_of_equal_scores_the_largest_is_first():
    drawn = document([(0, 0, GHOST), (1, 0, [0, 0, 30, 90])])
    sides = [bboxqa.read_coco(each, min_annotators=1) for each in (drawn, document([]))]
    found = bboxqa.audit(*sides).suspects.records()
    assert [(row["image"], row["score"]) for row in found] == [("1.png", 1), ("0.png", 1)]


def test_crowds_are_no_labels(tmp_path):
    rows = [(0, 0, RIGHT), (0, 0, [150, 0, 100, 100], {"iscrowd": 1})]
    labels = write(tmp_path / "labels.json", document(rows))
    model = write(tmp_path / "model.json", results([(0, 0, LOST, 0.9), (1, 0, LOST, 0.8)]))
    kinds = [(row["kind"], row["image"]) for row in bboxqa.audit(labels, model).suspects.records()]
    assert kinds == [("spurious", "0.png"), ("missing", "1.png")]


def test_geometry_alone(tmp_path):
    same = [(n, 0, (10 * n + 5, 20, 20, 20)) for n in range(30)]
    rows = [*same, (3, 0, (0, 300, 300, 10)), (4, 0, (46, 20, 20, 20)), (5, 0, (200, 200, 20, 20))]
    rows += [(31, 0, (1, 1, 20, 20)), (31, 0, (60, 1, 20, 20))]
    rows += [(32, 0, (1, 1, 20, 20)), (32, 0, (60, 1, 20, 20))]
    found = bboxqa.audit(write(tmp_path / "labels.json", document(rows, 33)))
    assert found.n_predictions is None
    by_reason = {row["reason"]: row for row in found.suspects.records()}
    assert {row["kind"]: row["image"] for row in by_reason.values()} == {
        "place": "3.png", "twice": "4.png", "missing": "30.png",
    } | {"place": by_reason["all 2 labels are as in the image before"]["image"]}  # fmt: skip
    copied = by_reason["all 2 labels are as in the image before"]
    assert (copied["image"], copied["width"], copied["score"]) == ("32.png", 400, 0.666667)
    nothing = write(tmp_path / "empty.json", document([]) | {"images": []})
    assert len(bboxqa.audit(nothing).suspects) == 0


@pytest.mark.parametrize(
    ("labels", "model", "error"),
    [
        (document(LABELS), document([(0, 0, RIGHT)], names=("person",)),
         "no category in common: the labels have 'car', 'truck', this has 'person'"),
        (document(LABELS), document([(0, 0, RIGHT, {"score": 0.5}), (0, 0, LOST)]),
         "1 of 2 predictions have no score"),
        (document(LABELS), document([(0, 0, RIGHT, {"score": 50})]), "scores are from 50 to 50"),
        (document(LABELS), document([]) | {"images": [{"id": 1, "file_name": "x.png"}]},
         "no image in common: the labels have "),
        (document(LABELS), [{"image_id": 0, "category_id": 0, "bbox": RIGHT}], "score is missing"),
        (document([(0, 0, RIGHT, {"annotator": who}) for who in ("ann", "bob")]), results(MODEL),
         "several annotators drew in 1 image, such as '0.png'"),
        (document(LABELS),
         document([(0, 0, RIGHT, {"annotator": who}) for who in ("ann", "bob")])
         | {"images": [{"id": 0, "file_name": "0.png", "width": 50, "height": 40}]},
         r"model.json: image '0.png' is 50 × 40; the annotators' record of it says \d+ × \d+"),
    ],
)  # fmt: skip
def test_errors(tmp_path, labels, model, error):
    files = [write(tmp_path / f"{name}.json", content)
             for name, content in (("labels", labels), ("model", model))]  # fmt: skip
    with pytest.raises(DatasetError, match=error):
        bboxqa.audit(*files)


def test_results_are_no_labels(files):
    labels, model = files
    for paths in (model, [labels, model]):
        with pytest.raises(DatasetError, match="is a list of results of a model") as error:
            bboxqa.audit(paths)
        assert f"bboxqa audit LABELS --predictions {model}" in error.value.advice


def test_yolo_as_it_predicts(tmp_path):
    """Labels of Ultralytics' layout have names and sizes; predictions have class numbers only."""
    for folder in ("data/images/val", "data/labels/val", "runs/predict/labels"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("a", "b"):
        Image.new("RGB", (200, 100)).save(tmp_path / f"data/images/val/{name}.jpg")
        (tmp_path / f"data/labels/val/{name}.txt").write_text("7 .5 .5 .1 .1\n3 .2 .2 .1 .1\n")
    yaml = "path: .\ntrain: images/val\nval: images/val\nnames: {3: car, 7: bus}\n"
    (tmp_path / "data/data.yaml").write_text(yaml)
    (tmp_path / "runs/predict/labels/a.txt").write_text("7 .5 .5 .1 .1 .9\n7 .2 .2 .1 .1 .8\n")
    command = ("audit", "data", "--predictions", "runs/predict/labels")
    found = run(*command, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "images joined by name without folder and suffix" in found.stdout
    assert "1 image without predictions left out; if nothing was found there:" in found.stdout
    found = run(*command, "--missing-txt", "asked", "--format", "json", cwd=tmp_path)
    rows = json.loads(found.stdout)["suspects"]
    assert [(row["kind"], row["image"], row["category"], row["suggested"]) for row in rows] == [
        ("spurious", "val/b.jpg", "car", ""), ("spurious", "val/b.jpg", "bus", ""),
        ("class", "val/a.jpg", "car", "bus"), ("spurious", "val/a.jpg", "bus", ""),
    ]  # fmt: skip
    write(tmp_path / "other.json", document([(0, 0, RIGHT, {"score": 0.5})]))
    found = run(
        "audit", "data", "--predictions", "other.json", "--missing-txt", "asked", cwd=tmp_path
    )
    assert "other.json: no image in common" in found.stderr
    coco = write(tmp_path / "labels.json", document([(0, 0, RIGHT)]))
    content = json.loads(coco.read_text())
    content["images"][0]["file_name"] = "a.jpg"
    write(coco, content)
    found = run("audit", coco, "--predictions", "runs/predict/labels", cwd=tmp_path)
    assert "Name each as in the labels: --map 'class 7=NAME'" in found.stderr
    # Where some are renamed, the other numbers are not guessed.
    (tmp_path / "runs/predict/labels/a.txt").write_text("7 .5 .5 .1 .1 .9\n3 .2 .2 .1 .1 .8\n")
    found = run(*command, "--map", "class 7=car", cwd=tmp_path)
    assert "the labels do not have left out: 'class 3'; --map OLD=NEW renames" in found.stdout


def test_what_was_typed_wrongly_is_said_with_what_to_type(files, tmp_path):
    labels, _ = files
    same = run("audit", labels, "--predictions", labels)
    assert "is given as labels and as predictions; name the file of a model" in same.stderr
    (tmp_path / "loop.json").symlink_to("loop.json")
    circle = run("audit", labels, "--predictions", tmp_path / "loop.json")
    assert "loop.json: cannot be read: Too many levels of symbolic links" in circle.stderr
    folds = run("audit", labels, "--folds", "99", "--out", tmp_path / "folds")
    assert "--folds is 99; expected at most " in folds.stderr
    rows = [(0, 0, RIGHT, {"annotator": who}) for who in ("ann", "bob")]
    several = write(tmp_path / "two.json", document(rows))
    stderr = run("audit", several).stderr
    assert f"bboxqa consensus {several} -o merged.json" in stderr


def test_files_of_several_people_are_no_labels(files, tmp_path):
    folder = tmp_path / "people"
    folder.mkdir()
    labels, model = files
    for name in ("ann", "bob", "cid"):
        rows = [(0, 0, [*map(sum, zip(RIGHT, (len(name), n, 0, 0), strict=True))]) for n in (0, 50)]
        rows[0] = (0, 0, [ord(name[0]), 10, 20, 20])
        write(folder / f"{name}.json", document(rows))
    for typed in ([folder], [folder / "ann.json", "--predictions", model, folder / "bob.json"]):
        found = run("audit", *typed)
        assert (found.returncode, "labels are not by one annotator" in found.stderr) == (2, True)
        assert "several, in one folder, are votes: --predictions DIR" in found.stderr
    votes = run("audit", labels, "--predictions", folder)
    assert "by the votes of 3 annotators" in votes.stdout


def test_command(files, tmp_path):
    labels, model = files
    out = tmp_path / "out"
    found = run("audit", labels, "--predictions", model, "--out", out, "--top", "3")
    assert found.returncode == 0
    assert found.stdout.splitlines()[1:8] == [
        "Look at the first 3 of 5 places (score 0.5 or more), by the scores of a model",
        " kind      look  of",
        " missing      1   1  an object without a label",
        " spurious     1   2  a label without an object",
        " class        1   1  another category",
        " place        1   1  badly drawn",
        " twice        1   1  repeats another label",
    ]
    rows = csv_rows(out / "audit.csv")
    assert [*rows[0]] == COLUMNS
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert {file.name for file in out.iterdir()} == {"audit.csv", "summary.json", "manifest.json"}
    for path, file in ((out, "manifest.json"), (out / "audit.csv", "audit.csv")):
        assert run("validate", path).stderr == (
            f"Error: {out / file}: is a part of a result of bboxqa, not the annotations measured\n"
            "Name the annotations that were audited.\n"
        )
    shown = json.loads(run("audit", labels, "--predictions", model, "--format", "json").stdout)
    assert [each["n"] for each in shown["kinds"]] == [1, 2, 1, 1, 1]
    assert len(shown["suspects"]) == 6
    assert found.stdout.splitlines()[8] == (
        "First: 0.png spurious car 1.00, 0.png class truck 0.80, 0.png twice car 0.64; "
        "worst image: 0.png, 4 places"
    )
    assert f"Written: {out}" in found.stdout.splitlines()
    assert "--predictions RESULTS" in run("audit", labels).stdout
    reading = ("--image-size", "400x400", "--missing-txt", "asked", "--map", "car=big car")
    found = run("audit", labels, "--predictions", model, *reading).stdout
    shown = "--image-size 400x400 --missing-txt asked --map 'car=big car' --out audit/"
    assert found.splitlines()[-1].endswith(f"--predictions {model} {shown}")
    rows = [{"image_id": 0, "category_id": 0, "bbox": RIGHT}] * 3
    found = run("audit", labels, "--predictions", write(tmp_path / "n.json", rows)).stderr
    assert "n.json: results[0] and 2 more: score is missing, or no number; expected" in found
    assert run("audit").returncode == 2


@pytest.mark.parametrize("to", ["cvat", "label-studio", "coco", "csv", "yolo", "voc", "labelme"])
def test_sent_back_and_accepted(files, tmp_path, to):
    """What stays as it was sent changes nothing; the rest of what a model proposes can be added."""
    labels, model = files
    review, new = tmp_path / "review", tmp_path / "new.json"
    command = ["audit", labels, "--predictions", model, "--send-back", review, "--to", to]
    found = run(*command)
    assert found.returncode == 0
    assert f"bboxqa accept {labels} {review} -o NEW.json" in found.stderr
    sent = (review / "sent.csv").read_text("utf-8").splitlines()
    assert [row.split(": ")[0].rpartition(",")[2].strip('"') for row in sent[1:]] == [
        "spurious", "class", "twice", "place", "missing",
    ]  # fmt: skip
    assert "1 proposed box among them: delete what is no object" in found.stderr
    if to in ("cvat", "label-studio", "coco"):
        text = next(review.glob("review.*")).read_text("utf-8")
        assert {"1.0", "0.8", "0.6"} <= {*re.findall(r'"score"(?:>|: ?)([\d.]+)', text)}
    untouched = run("accept", labels, review, "-o", new)
    assert (untouched.returncode, new.read_bytes()) == (0, labels.read_bytes())
    assert "1 annotation proposed, as sent, and so not added" in untouched.stderr
    assert run("accept", labels, review, "-o", new, "--add-proposed", "--force").returncode == 0
    before, after = (json.loads(each.read_text("utf-8"))["annotations"] for each in (labels, new))
    assert after[: len(before)] == before
    (added,) = after[len(before) :]
    assert (added["image_id"], added["category_id"], added["bbox"]) == (1, 1, LOST)
    assert run(*command).returncode == 2
    assert run("audit", labels, "--send-back", review).returncode == 2


def test_page(files, tmp_path):
    """Names are escaped, and pixels stand behind the boxes."""
    labels, model = files
    content = json.loads(labels.read_text("utf-8"))
    content["images"][0]["file_name"] = "<b>0.png"
    content["images"][1]["file_name"] = "1.png"
    write(labels, content)
    Image.new("RGB", (400, 400)).save(tmp_path / "1.png")
    page = tmp_path / "page.html"
    command = ["audit", labels, "--predictions", model, "--report", page, "--images", tmp_path]
    assert run(*command).returncode == 0
    text = page.read_text("utf-8")
    assert "<b>0.png" not in text
    assert "&lt;b&gt;0.png" in text
    assert "data:image/webp" in text
    assert text.index("&lt;b&gt;0.png</bdi>") < text.index(">1.png</bdi>")
    assert "Look at 5 of 6 places" in text
    assert "another category has score 0.80, its own 0.00" in text
    assert '<input type="checkbox" name="kind" value="class">' in text
    assert "</svg> other labels" in re.sub("<bdi>", "", text)
    folder = tmp_path / "pages"
    split = run("audit", labels, "--predictions", model, "--report", folder, "--split")
    assert split.returncode == 0
    assert (folder / "index.html").is_file()
    for wrong in (["--split"], ["--images", tmp_path], ["--report", labels]):
        assert run("audit", labels, *wrong).returncode == 2


@pytest.mark.parametrize(
    ("names", "groups"),
    [(["a/1.png", "a/2.png", "b/1.png"], [["a/1.png", "a/2.png"], ["b/1.png"]]),
     (["1.png", "2.png", "3.png"], [["1.png", "3.png"], ["2.png"]])],
)  # fmt: skip
def test_folds(tmp_path, names, groups):
    content = document([(0, 0, RIGHT)], len(names))
    for record, name in zip(content["images"], names, strict=True):
        record["file_name"] = name
    labels, out = write(tmp_path / "labels.json", content), tmp_path / "folds"
    done = run("audit", labels, "--folds", 2, "--out", out)
    assert (done.returncode, f"Written: {out}" in done.stdout) == (0, True)
    for number, own in enumerate(groups, 1):
        assert (out / f"test-{number}.txt").read_text("utf-8").split() == own
        rest = [name for name in names if name not in own]
        assert (out / f"train-{number}.txt").read_text("utf-8").split() == rest
    assert run("audit", labels, "--folds", 2).returncode == 2


def test_stage_of_batch(tmp_path):
    """One project asks for it, with a list of results; the other one does not."""
    for name in ("one", "two"):
        folder = tmp_path / "projects" / name
        folder.mkdir(parents=True)
        write(folder / "labels.json", document(LABELS))
        write(folder / "results.json", results(MODEL))
    toml = tmp_path / "projects/one/bboxqa.toml"
    toml.write_text("audit = true\n", "utf-8")
    out = tmp_path / "out"
    command = ["batch", tmp_path / "projects", "--out", out, "--jobs", "1"]
    assert run(*command).returncode == 0
    one, two = csv_rows(out / "projects.csv")
    assert one["message"].endswith("audit: 5 places worth a look")
    assert "audit" not in two["message"]
    assert [*out.glob("**/audit.csv")] == [*out.glob("projects/one/audit.csv")] != []
    # The tables of agreement with the model stay beside that of the audit.
    of_two = {file.name for file in (out / "projects/two").iterdir()}
    assert {file.name for file in (out / "projects/one").iterdir()} == of_two | {"audit.csv"}
    assert "images.csv" in of_two
    toml.write_text("audit = 1\n", "utf-8")
    assert run(*command).returncode == 1
