"""`bboxqa consensus`: what it writes and says, what is reviewed, and what comes back."""

import csv
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cli import run
from support.datasets import csv_rows, document_of, write
from support.reviews import in_coco, in_cvat, in_studio

import bboxqa
from bboxqa.pipelines.consensus import coco_document

SIMULATED = Path("tests/data/simulated.json").resolve()
PEOPLE = ("ann", "bob", "cid")


def document(boxes, *, asked=PEOPLE, size=(100, 100)):
    """Return COCO of boxes by annotator; each is x, y, width, height, and maybe a category."""
    named = [(who, box) for who, own in boxes.items() for box in own]
    names = sorted({name for _, (*_, name) in named if isinstance(name, str)} | {"cat"})
    rows = [(1, who, 1 + names.index((*box, "cat")[4]), box[:4]) for who, box in named]
    return document_of(rows, ["a.jpg"], names, size=size, annotators=[*asked])


def written(folder, content, *options, name="export.json", out="merged.json"):
    write(folder / name, content)
    return run("consensus", name, "-o", out, *options, cwd=folder)


def test_the_merged_file_says_who_drew_what_and_dropped_csv_the_rest(tmp_path):
    boxes = {"ann": [(10, 10, 20, 20), (60, 60, 9, 9)], "bob": [(12, 10, 20, 20)]}
    found = written(tmp_path, document(boxes))
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines() == [
        (
            "1 image, 3 annotations, 3 annotators named by the key 'annotator' on annotations: "
            "ann, bob, cid"
        ),
        "",
        "1 object kept, 1 dropped: kept with 2 of 3 votes",
        "2 annotations in the kept objects; 1 outvoted",
        "Worth a look: 2 objects: 2 near the quorum",
        "Written: merged.json, dropped.csv",
        "Next: bboxqa consensus export.json -o merged.json --send-back review/ --to cvat --force",
    ]
    merged = json.loads((tmp_path / "merged.json").read_text())
    assert merged["images"] == [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}]
    assert merged["annotations"] == [
        {
            "id": 1, "image_id": 1, "category_id": 1, "bbox": [11, 10, 20, 20], "area": 400,
            "iscrowd": 0, "votes": 2, "asked": 3, "drawn_by": ["ann", "bob"], "members": [1, 3],
            "spread": [2, 0, 2, 0], "tie": False,
        }
    ]  # fmt: skip
    assert csv_rows(tmp_path / "dropped.csv") == [
        {
            "image": "a.jpg", "annotator": "ann", "id": "2", "category": "cat", "x": "60.0",
            "y": "60.0", "width": "9.0", "height": "9.0", "reason": "outvoted: 1 of 3 drew it",
        }
    ]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_each_annotation_is_a_member_or_dropped_and_shuffling_changes_no_byte(seed):
    rng = random.Random(seed)
    boxes = {
        who: [
            (rng.randint(-5, 30), rng.randint(-5, 30), rng.randint(1, 20), rng.randint(1, 20),
             rng.choice("xyz")) for _ in range(rng.randint(1, 8))
        ]
        for who in PEOPLE
    }  # fmt: skip
    # No other layout of boxes explains those that leave the image.
    content = document(boxes, size=(50, 50))
    for each in content["annotations"]:
        kind = rng.choice(["box", "crowd", "outline", "line", "empty"])
        if kind == "crowd":
            each["iscrowd"] = 1
        elif kind == "outline":
            ring = crossing(6, rng.randint(0, 8))
            each |= {"bbox": bounded(ring), "segmentation": [ring]}
        elif kind != "box":
            x, y, width, height = each["bbox"]
            line = [x, y, x + width, y + height, x, y]
            each["segmentation"] = [line] if kind == "line" else []
    first = bboxqa.consensus(bboxqa.read_coco(content))
    merged = coco_document(first)
    members = [number for each in merged["annotations"] for number in each["members"]]
    dropped = [int(each["id"]) for each in first.dropped.records()]
    assert sorted(members + dropped) == [*range(1, len(content["annotations"]) + 1)]
    people = {each["id"]: each["annotator"] for each in content["annotations"]}
    for each in merged["annotations"]:
        assert each["drawn_by"] == [people[member] for member in each["members"]]
        assert each["votes"] == len({*each["drawn_by"]})
    for each in content.values():
        rng.shuffle(each)
    again = bboxqa.consensus(bboxqa.read_coco(content))
    assert json.dumps(coco_document(again)) == json.dumps(merged)
    assert again.dropped.records() == first.dropped.records()


def test_two_annotators_are_told_what_one_vote_is_worth(tmp_path):
    boxes = {"ann": [(10, 10, 20, 20), (60, 60, 9, 9)], "bob": [(12, 10, 20, 20)]}
    found = written(tmp_path, document(boxes, asked=["ann", "bob"]))
    assert "2 objects kept, 0 dropped: kept with 1 of 2 votes" in found.stdout
    assert "both drew 1 object, one alone 1: look at the latter (on two public sets" in found.stdout
    assert "Worth a look: 1 object: 1 drawn by 1 of 2" in found.stdout
    found = written(tmp_path, document(boxes, asked=["ann", "bob"]), "--quorum", "2", "--force")
    assert "1 object kept, 1 dropped: kept with 2 of 2 votes" in found.stdout
    more = ("--quorum", "2", "--iou", "0.4", "--pattern", "*.json", "--force")
    again = "--quorum 2 --iou 0.4 --pattern '*.json' --send-back review/ --to cvat --force"
    assert again in written(tmp_path, document(boxes, asked=["ann", "bob"]), *more).stdout


def test_equal_boxes_are_pre_drawn(tmp_path):
    boxes = {"ann": [(10, 10, 20, 20)], "bob": [(10, 10, 20, 20)], "cid": [(11, 10, 20, 20)]}
    found = written(tmp_path, document(boxes))
    assert (
        "Warning: 67 % of the boxes are exactly equal to one of another annotator" in found.stdout
    )
    # Other outlines in equal boxes are drawn by each.
    content = document(boxes)
    for each, at in zip(content["annotations"], (12, 14, 13), strict=True):
        each["segmentation"] = [[at, 10, 30, 10, 30, 30, 10, 30, 10, 28]]
    found = written(tmp_path, content, "--force")
    assert "exactly equal" not in found.stdout
    assert "Next: bboxqa validate merged.json\n" in found.stdout


@pytest.mark.parametrize(
    ("to", "out"),
    [("cvat", "m.xml"), ("label-studio", "m.json"), ("csv", "m.csv"), ("yolo", "labels")],
)
def test_other_formats_hold_the_same_objects(tmp_path, to, out):
    coco = written(tmp_path, json.loads(SIMULATED.read_text()))
    assert coco.returncode == 0
    more = ["--to", to, "--force", "--lossy"]
    found = written(tmp_path, json.loads(SIMULATED.read_text()), *more, out=out)
    assert found.returncode == 0
    (typed,) = (line for line in found.stdout.splitlines() if line.startswith("Next: bboxqa"))
    again = run(*typed.split()[2:], cwd=tmp_path)
    assert (again.returncode, (tmp_path / "page.html").is_file()) == (0, True)
    assert "left out: votes, asked, drawn_by, members, spread, tie of annotations" in found.stderr
    run("convert", out, "back.json", "--to", "coco", "--image-size", "320x240", cwd=tmp_path)
    boxes = []
    for name in ("merged.json", "back.json"):
        content = json.loads((tmp_path / name).read_text())
        images = {each["id"]: each["file_name"].partition(".")[0] for each in content["images"]}
        boxes.append(
            sorted((images[e["image_id"]], *(round(x, 1) for x in e["bbox"]))
                   for e in content["annotations"])
        )  # fmt: skip
    assert [e[0] for e in boxes[1]] == [e[0] for e in boxes[0]]
    for own, back in zip(*boxes, strict=True):
        assert own[1:] == pytest.approx(back[1:], abs=0.11)


def test_outputs_and_inputs_are_not_replaced(tmp_path):
    content = document({who: [(10, 10, 20, 20)] for who in PEOPLE})
    assert written(tmp_path, content).returncode == 0
    again = written(tmp_path, content)
    assert "merged.json: already exists" in again.stderr
    (tmp_path / "dropped.csv").write_text("of merged.json")
    other = written(tmp_path, content, out="other.json")
    assert "Written: other.json, other_dropped.csv" in other.stdout
    assert (tmp_path / "dropped.csv").read_text() == "of merged.json"
    # Each output has its own table again.
    other = written(tmp_path, content, "--quorum", "3", "--force", out="other.json")
    assert "Written: other.json, other_dropped.csv" in other.stdout
    assert "Written: merged.json, dropped.csv" in written(tmp_path, content, "--force").stdout
    (tmp_path / "other.json").unlink()
    again = written(tmp_path, content, out="other.json")
    assert "other_dropped.csv: already exists; name another output" in again.stderr
    own = written(tmp_path, content, "--force", out="export.json")
    assert (own.returncode, "export.json" in own.stderr) == (2, True)
    one = written(tmp_path, document({"ann": [(1, 1, 5, 5)]}, asked=["ann"]), "--force")
    assert one.returncode == 2
    assert "or by a file or folder for each: --annotator NAME=1" in one.stderr


def test_the_page_shows_quorums_and_pictures_of_what_was_outvoted(tmp_path):
    boxes = {"ann<": [(10, 10, 20, 20), (60, 60, 9, 9)], "bob": [(12, 10, 20, 20)]}
    content = document(boxes, asked=["ann<", "bob", "cid"])
    found = written(tmp_path, content, "--report", "page.html")
    assert "Written: merged.json, dropped.csv, page.html" in found.stdout
    page = (tmp_path / "page.html").read_text()
    assert "1 object kept, 1 dropped" in page
    assert "vertical line: the quorum, 2<" in page
    # The curve, and its points as a table: two objects with one vote, one of them with more.
    assert page.count("votes with which an object is kept") == 1
    assert re.findall(r"<tr><td[^>]*>(\d)</td><td[^>]*>(\d)</td></tr>", page)[:2] == [
        ("1", "2"), ("2", "1"),
    ]  # fmt: skip
    assert "dropped: drawn by 1 of 3, 2 needed" in page
    assert "cat by consensus (annotation merged)" in page
    assert "ann&lt;" in page
    assert "ann<" not in page
    (tmp_path / "page.html").write_text("not a page")
    again = written(tmp_path, content, "--report", "page.html", out="other.json")
    assert (again.returncode, "page.html: is no page of bboxqa" in again.stderr) == (2, True)
    top = written(tmp_path, content, "--top", "3", out="other.json")
    assert "--top is for --report FILE" in top.stderr
    forced = written(tmp_path, content, "--report", "page.html", "--force")
    assert (forced.returncode, (tmp_path / "page.html").read_text()) == (0, page)


def crossing(n, seed):
    return np.random.default_rng(seed).uniform(1, 90, 2 * n).round(1).tolist()


def bounded(ring):
    x, y = ring[::2], ring[1::2]
    return [min(x), min(y), max(x) - min(x), max(y) - min(y)]


def of_all(folder):
    """Return the annotators and ids of merged.json and of dropped.csv."""
    merged = json.loads((folder / "merged.json").read_text())["annotations"]
    kept = [str(member) for each in merged for member in each["members"]]
    return kept + [row["id"] for row in csv_rows(folder / "dropped.csv")], merged


def test_tangled_outlines_are_refused(tmp_path):
    content, tangled = document({who: [(1, 1, 90, 90)] for who in PEOPLE}), crossing(200, 0)
    for each, ring in zip(content["annotations"], (tangled, tangled, crossing(5, 1)), strict=True):
        each |= {"bbox": bounded(ring), "segmentation": [ring]}
    found = written(tmp_path, content, "--iou", "0.1")
    assert found.returncode == 2
    assert "crosses itself over 500 times\nTo find it: bboxqa validate" in found.stderr


def test_keys_that_are_not_merged_are_named_in_one_note(tmp_path):
    content = document({who: [(10, 10, 20, 20)] for who in PEOPLE})
    for n, each in enumerate(content["annotations"]):
        each |= {"quality": n, "attributes": {"occluded": n > 0, "rotation": 0}}
    assert written(tmp_path, content).stderr == (
        "Note: left out, as shapes and categories alone are merged: 2 annotations with "
        "'attributes.occluded', 3 annotations with 'quality'\n"
    )


def export(folder):
    """Write a file of three annotators: agreed, tied, outvoted and badly placed objects."""
    rows = [
        # Agreed: nobody has to look.
        *((1, who, 1, [10, 10, 40, 40]) for who in PEOPLE),
        # A tie of categories, with two of three votes.
        (2, "ann", 1, [20, 20, 50, 50]), (2, "bob", 2, [22, 20, 50, 50]),
        # Outvoted, one vote below the quorum.
        (3, "cid", 1, [30, 30, 60, 60]),
        (3, "ann", 2, [120, 120, 50, 50]),
        # Boxes overlap little.
        (4, "ann", 1, [50, 50, 40, 40]), (4, "bob", 1, [66, 50, 40, 40]),
        (4, "cid", 1, [50, 64, 40, 40]),
    ]  # fmt: skip
    images, more = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"], {"annotators": [*PEOPLE]}
    content = document_of(rows, images, ("cat", "dog"), size=(200, 200), **more)
    write(folder / "export.json", content)


def sent(folder, to):
    export(folder)
    found = run("consensus", "export.json", "-o", "merged.json", "--send-back", "review",
                "--to", to, cwd=folder)  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found


def of_csv(path, change, added=()):
    """Change a table of boxes."""
    rows = csv_rows(path)
    kept, sides = [], ("x", "y", "width", "height")
    for row in rows:
        new = change(row["image"], [float(row[each]) for each in sides], row["category"])
        if new is not None:
            box, label = new
            kept.append(row | dict(zip(sides, box, strict=True)) | {"category": label})
    for name, box, label in added:
        own = next(row for row in rows if row["image"] == name)
        kept.append(own | dict(zip(sides, box, strict=True)) | {"category": label, "id": "99"})
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(kept)


TOOLS = {
    "cvat": ("consensus.xml", in_cvat), "label-studio": ("consensus.json", in_studio),
    "csv": ("consensus.csv", of_csv), "coco": ("consensus.json", in_coco),
}  # fmt: skip


def test_what_is_sent_is_in_the_order_of_review_with_its_reason(tmp_path):
    found = sent(tmp_path, "cvat")
    assert "Next: bboxqa accept merged.json review -o NEW.json, when that is done" in found.stdout
    assert (
        "2 proposed boxes among them: delete what is no object; accept --add-proposed adds"
        in found.stderr
    )
    rows = csv_rows(tmp_path / "review/sent.csv")
    assert [(row["image"], row["category"], row["reason"]) for row in rows] == [
        ("c.jpg", "cat", "dropped: drawn by 1 of 3, 2 needed"),
        ("c.jpg", "dog", "dropped: drawn by 1 of 3, 2 needed"),
        ("d.jpg", "cat", "kept: drawn by 3 of 3, 2 needed; mean IoU 0.64"),
        ("b.jpg", "cat", "kept: drawn by 2 of 3, 2 needed; cat by ann; dog by bob"),
    ]


def decide(image, box, label):
    """Name the tie a dog, move what overlaps little, and delete one of two dropped objects."""
    if image == "b.jpg":
        return box, "dog"
    if image == "d.jpg":
        return [52, 52, 40, 40], label
    return None if label == "cat" else (box, label)


@pytest.mark.parametrize("to", TOOLS)
def test_decisions_come_back_from_each_tool(tmp_path, to):
    sent(tmp_path, to)
    file, edit = TOOLS[to]
    edit(tmp_path / "review" / file, lambda _image, box, label: (box, label))
    found = run("accept", "merged.json", "review", "-o", "same.json", cwd=tmp_path)
    assert "2 annotations proposed, as sent, and so not added" in found.stderr
    assert (tmp_path / "same.json").read_bytes() == (tmp_path / "merged.json").read_bytes()
    edit(tmp_path / "review" / file, decide, [("b.jpg", [150, 150, 20, 20], "cat")])
    accept = ("accept", "merged.json", "review", "-o", "new.json", "--add-proposed")
    found = run(*accept, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    before = json.loads((tmp_path / "merged.json").read_text())
    after = json.loads((tmp_path / "new.json").read_text())
    names = {each["id"]: each["file_name"] for each in after["images"]}
    drawn = sorted(
        (names[each["image_id"]], each["category_id"], *(round(side) for side in each["bbox"]))
        for each in after["annotations"]
    )
    assert drawn == [
        ("a.jpg", 1, 10, 10, 40, 40),
        ("b.jpg", 1, 150, 150, 20, 20),
        ("b.jpg", 2, 21, 20, 50, 50),
        ("c.jpg", 2, 120, 120, 50, 50),
        ("d.jpg", 1, 52, 52, 40, 40),
    ]
    # What nobody had to look at stays as it is, with its votes.
    assert after["annotations"][0] == before["annotations"][0]
    again = run("accept", "new.json", "review", "-o", "again.json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "new.json").read_bytes()


def test_options_that_do_not_fit_are_refused(tmp_path):
    export(tmp_path)
    found = run("consensus", "export.json", cwd=tmp_path)
    assert "try: bboxqa consensus export.json -o merged.json" in found.stderr
    found = run("consensus", "export.json", "-o", "m.xml", cwd=tmp_path)
    assert "m.xml: is no name of COCO JSON; expected .json, or --to FORMAT" in found.stderr
    found = run("consensus", "export.json", "-o", "m.json", "--send-back", "review", cwd=tmp_path)
    assert "--send-back goes with --to" in found.stderr
    sent(tmp_path, "cvat")
    command = ("consensus", "export.json", "-o", "m.json", "--send-back", "review", "--to", "cvat")
    again = run(*command, cwd=tmp_path)
    assert (again.returncode, "review: was sent before" in again.stderr) == (2, True)
    # The folder that is suggested is a new one; one that is as it was sent may be replaced.
    assert "--send-back review-2/ --to" in run(*command[:4], cwd=tmp_path).stdout
    assert run(*command, "--force", cwd=tmp_path).returncode == 0


def test_a_proposal_that_another_object_overlaps_is_added_once(tmp_path):
    boxes = [*((who, [0, 0, 100, 100]) for who in PEOPLE), ("ann", [0, 30, 100, 100])]
    rows = [(1, who, 1, box) for who, box in boxes]
    write(tmp_path / "a.json", document_of(rows, size=(200, 200)))
    command = ("consensus", "a.json", "-o", "merged.json", "--send-back", "review", "--to", "coco")
    assert run(*command, cwd=tmp_path).returncode == 0
    for before, after, n in (("merged", "new", 1), ("new", "again", 0)):
        accept = ("accept", f"{before}.json", "review", "-o", f"{after}.json", "--add-proposed")
        found = run(*accept, cwd=tmp_path)
        assert f"{n} added" in found.stdout, found.stderr


def test_key_points_of_other_joints_need_sigmas(tmp_path):
    content = document({who: [(10, 10, 20 + place, 20)] for place, who in enumerate(PEOPLE)})
    content["categories"] = [{"id": 1, "name": "cat", "keypoints": ["head", "tail"]}]
    for place, each in enumerate(content["annotations"]):
        each["keypoints"] = [10, 10, 2, 30 + place, 30, 2]
    options = ("--similarity", "keypoints")
    assert "--sigmas 0.05" in written(tmp_path, content, *options).stderr
    assert written(tmp_path, content, *options, "--sigmas", "0.05").returncode == 0
    [found] = json.loads((tmp_path / "merged.json").read_text())["annotations"]
    assert (found["votes"], found["keypoints"]) == (3, [10, 10, 2, 31, 30, 2])
