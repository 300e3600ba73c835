"""Objects of a consensus that are sent to a person, and what comes back from each tool."""

import csv
import json

import pytest
from support.cli import run
from support.reviews import in_coco, in_cvat, in_studio


def export(folder):
    """Write a file of three annotators: agreed, tied, outvoted and badly placed objects."""
    images = [{"id": n, "file_name": name, "width": 200, "height": 200,
               "annotators": ["ann", "bob", "cid"]}
              for n, name in enumerate(["a.jpg", "b.jpg", "c.jpg", "d.jpg"], 1)]  # fmt: skip
    rows = [
        # Agreed: nobody has to look.
        *((1, who, 1, [10, 10, 40, 40]) for who in ("ann", "bob", "cid")),
        # A tie of categories, with two of three votes.
        (2, "ann", 1, [20, 20, 50, 50]), (2, "bob", 2, [22, 20, 50, 50]),
        # Outvoted, one vote below the quorum.
        (3, "cid", 1, [30, 30, 60, 60]),
        (3, "ann", 2, [120, 120, 50, 50]),
        # Boxes overlap little.
        (4, "ann", 1, [50, 50, 40, 40]), (4, "bob", 1, [66, 50, 40, 40]),
        (4, "cid", 1, [50, 64, 40, 40]),
    ]  # fmt: skip
    content = {
        "images": images,
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [
            {"id": n, "image_id": image, "annotator": who, "category_id": category, "bbox": box}
            for n, (image, who, category, box) in enumerate(rows, 1)
        ],
    }
    (folder / "export.json").write_text(json.dumps(content))


def sent(folder, to):
    export(folder)
    found = run("consensus", "export.json", "-o", "merged.json", "--send-back", "review",
                "--to", to, cwd=folder)  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found


def of_csv(path, change, added=()):
    """Change a table of boxes."""
    rows = [*csv.DictReader(path.read_text().splitlines())]
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
    rows = [*csv.DictReader((tmp_path / "review/sent.csv").read_text().splitlines())]
    assert [(row["image"], row["category"], row["reason"]) for row in rows] == [
        ("c.jpg", "cat", "dropped: drawn by 1 of 3, 2 keep an object"),
        ("c.jpg", "dog", "dropped: drawn by 1 of 3, 2 keep an object"),
        ("d.jpg", "cat", "mean IoU 0.64"),
        ("b.jpg", "cat", "kept: drawn by 2 of 3, 2 keep an object; cat by ann; dog by bob"),
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


@pytest.mark.parametrize("to", ["cvat", "label-studio"])
def test_dropped_objects_that_are_deleted_stay_dropped(tmp_path, to):
    sent(tmp_path, to)
    file, edit = TOOLS[to]
    edit(
        tmp_path / "review" / file,
        lambda image, box, label: None if image == "c.jpg" else (box, label),
    )
    found = run("accept", "merged.json", "review", "-o", "new.json", cwd=tmp_path)
    assert "2 kept, 0 moved, 0 renamed, 0 deleted, 0 added" in found.stdout
    assert (tmp_path / "new.json").read_bytes() == (tmp_path / "merged.json").read_bytes()


def test_options_that_do_not_fit_are_refused(tmp_path):
    export(tmp_path)
    found = run("consensus", "export.json", cwd=tmp_path)
    assert "try: bboxqa consensus export.json -o merged.json" in found.stderr
    found = run("consensus", "export.json", "-o", "m.json", "--send-back", "review", cwd=tmp_path)
    assert "--send-back goes with --to" in found.stderr
    sent(tmp_path, "cvat")
    (tmp_path / "dropped.csv").unlink()
    again = run("consensus", "export.json", "-o", "m.json", "--send-back", "review",
                "--to", "cvat", cwd=tmp_path)  # fmt: skip
    assert (again.returncode, "review: was sent before" in again.stderr) == (2, True)


def test_a_proposal_that_another_object_overlaps_is_added_once(tmp_path):
    boxes = [(who, [0, 0, 100, 100]) for who in ("ann", "bob", "cid")] + [
        ("ann", [0, 30, 100, 100])
    ]
    content = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 200, "height": 200}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": number, "image_id": 1, "category_id": 1, "bbox": box, "iscrowd": 0,
             "area": box[2] * box[3], "annotator": who}
            for number, (who, box) in enumerate(boxes, 1)
        ],
    }  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(content))
    command = ("consensus", "a.json", "-o", "merged.json", "--send-back", "review", "--to", "coco")
    assert run(*command, cwd=tmp_path).returncode == 0
    for before, after, n in (("merged", "new", 1), ("new", "again", 0)):
        accept = ("accept", f"{before}.json", "review", "-o", f"{after}.json", "--add-proposed")
        found = run(*accept, cwd=tmp_path)
        assert f"{n} added" in found.stdout, found.stderr
