"""What annotators change of the objects that are sent back to them, in the files of their tools."""

import json
import re
import shlex
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cli import run
from support.datasets import annotation, document, image, write
from support.reference import data_file
from support.reviews import TOOLS, in_coco, in_cvat, in_studio

import bboxqa
from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.pipelines.send_back import recognised

# Three annotators: ann misplaced 11 and drew 14 alone, bob calls 22 a dog, cid missed an object.
RECORDS = """\
{"id": 11, "image_id": 1, "bbox": [18.50, 10, 20, 2e1], "category_id": 3, "who": "ann", "x": 1.0},
{"id": 21, "image_id": 1, "bbox": [10, 10, 20, 20], "category_id": 3, "who": "bob"},
{"id": 31, "image_id": 1, "bbox": [10, 10, 20, 20], "category_id": 3, "who": "cid"},
{"id": 12, "image_id": 2, "bbox": [10, 50, 30, 30], "category_id": 3, "who": "ann", "area": 900},
{"id": 22, "image_id": 2, "bbox": [10, 50, 30, 31], "category_id": 5, "who": "bob", "area": 930.0},
{"id": 32, "image_id": 2, "bbox": [11, 50, 30, 30], "category_id": 3, "who": "cid"},
{"id": 13, "image_id": 3, "bbox": [40, 40, 30, 30], "category_id": 5, "who": "ann"},
{"id": 23, "image_id": 3, "bbox": [40, 40, 30, 31], "category_id": 5, "who": "bob"},
{"id": 33, "image_id": 3, "bbox": [1, 1, 9, 9], "category_id": 5, "who": "cid", "note": "é\\u00e9"},
{"id": 14, "image_id": 4, "bbox": [70, 70, 12, 12], "category_id": 5, "who": "ann", "y": null},
{"id": 24, "image_id": 3, "bbox": [1, 1, 9, 9], "category_id": 5, "who": "bob"},
{"id": 15, "image_id": 3, "bbox": [1, 1, 9, 9], "category_id": 5, "who": "ann"}"""
PEOPLE = '"annotators": ["ann", "bob", "cid"]'
IMAGES = ",\n".join(
    f'{{"id": {n}, "file_name": "{n}.jpg", "width": 100, "height": 100, {PEOPLE}}}'
    for n in range(1, 5)
)
CATEGORIES = '[{"id": 3, "name": "cat"}, {"id": 5, "name": "dog"}]'


def original(folder, records=RECORDS, categories=CATEGORIES):
    """Write the file that is measured, in which no number is written as Python would."""
    text = f'{{"info":{{"v": 1.10}},\n"images": [\n{IMAGES}\n],\n"annotations": [\n{records}\n],\n'
    return write(folder / "export.json", f'{text} "categories": {categories}}}\n')


def sent(folder, to, **more):
    """Write the file, and send the objects of each annotator back."""
    path, review = original(folder, **more), folder / "review"
    send = ("--annotator-key", "who", "--bootstrap", 0, "--send-back", review, "--to", to, "-q")
    done = run("agree", path, *send)
    assert done.returncode == 0, done.output
    return path, review


def file_of(review, name):
    """Return the file that an annotator was sent."""
    return review / json.loads((review / "sent.json").read_text())["files"][name]


def with_lines(old_and_new, added=""):
    """Return the records with some of their lines replaced, or removed, and lines added."""
    lines = RECORDS.split("\n")
    for old, new in old_and_new.items():
        (place,) = (n for n, line in enumerate(lines) if line and f'"id": {old},' in line)
        lines[place] = None if new is None else lines[place].replace(*new)
    return "\n".join(line for line in lines if line is not None) + added


def keep(_image, box, label):
    return box, label


@pytest.mark.parametrize("tool", TOOLS)
def test_each_is_sent_the_own_objects_that_differ(tool, tmp_path):
    _, review = sent(tmp_path, tool)
    assert {each.name for each in review.iterdir()} > {"sent.json", "sent.csv"}
    listed = json.loads((review / "sent.json").read_text())["objects"]
    found = {(each["annotator"], each["image"], each.get("id")) for each in listed}
    assert found == {
        ("ann", "1.jpg", 11), ("ann", "4.jpg", 14), ("bob", "2.jpg", 22), ("cid", "3.jpg", None),
    }  # fmt: skip
    gains = [each["gain"] for each in listed]
    assert gains == sorted(gains, reverse=True)
    shown = bboxqa.read_coco(file_of(review, "ann"), min_annotators=1)
    assert len(shown.annotations) == 2
    assert "3.jpg,not drawn by cid,dog" in (review / "sent.csv").read_text()


@pytest.mark.parametrize("tool", TOOLS)
def test_what_people_change_is_taken_over_and_nothing_else(tool, tmp_path):
    path, review = sent(tmp_path, tool)

    def changed_by_ann(name, box, label):
        return ([12, 10, box[2], box[3]], label) if name == "1.jpg" else None

    change = TOOLS[tool]
    change(file_of(review, "ann"), changed_by_ann)
    change(file_of(review, "bob"), lambda _image, box, _label: (box, "cat"))
    # The second is in the file already, as another box, and was not sent.
    added = [("3.jpg", [40, 41, 30, 30], "dog"), ("3.jpg", [1, 2, 9, 8], "dog")]
    change(file_of(review, "cid"), keep, added)
    out = tmp_path / "out.json"
    found = bboxqa.accept(path, review, out)
    assert "1 annotation changed, but not sent, and so not taken over" in found.notes
    expected = with_lines(
        {11: ("18.50, 10, 20, 2e1", "12, 10, 20, 20.0"), 14: None, 22: (': 5, "who"', ': 3, "who"')}
    )
    before, _, after = out.read_text().partition(',\n{"id": 34')
    assert json.loads('{"id": 34' + after.partition("}")[0] + "}") == {
        "id": 34, "image_id": 3, "category_id": 5, "bbox": [40, 41, 30, 30], "area": 900,
        "iscrowd": 0, "who": "cid",
    }  # fmt: skip
    assert before + after.partition("}")[2] == original(tmp_path / "e", expected).read_text()
    assert sorted(str(each) for each in found.changes) == [
        "1.jpg: ann: annotation 11 moved from 18.5 10 20 20 to 12 10 20 20",
        "2.jpg: bob: annotation 22 renamed from dog to cat",
        "3.jpg: cid: annotation 34 added: dog 40 41 30 30",
        "4.jpg: ann: annotation 14 deleted: dog 70 70 12 12",
    ]
    # The same again, and over the output.
    bboxqa.accept(path, review, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == out.read_bytes()
    more = bboxqa.accept(out, review, tmp_path / "more.json")
    assert (more.changes, (tmp_path / "more.json").read_bytes()) == ((), out.read_bytes())


@settings(max_examples=3, deadline=None)
@given(tool=st.sampled_from([*TOOLS]), seed=st.integers(0, 3), people=st.sets(st.integers(1, 3)))
def test_an_unchanged_review_changes_no_byte(tmp_path_factory, tool, seed, people):
    folder = tmp_path_factory.mktemp("review")
    made = ["--annotator", "*: miss=0.2 confuse=0.2 jitter=8% extra=0.3"]
    run("simulate", "--images", 8, "--seed", seed, *made, "--out", folder / "a.json")
    review, out = folder / "review", folder / "out.json"
    send = ("--bootstrap", 0, "--send-back", review, "--to", tool, "-q")
    done = run("agree", folder / "a.json", *send)
    assert done.returncode == 0, done.output
    for number in people:
        if (review / f"p0{number}.xml").exists():
            in_cvat(review / f"p0{number}.xml", keep)
    found = bboxqa.accept(folder / "a.json", review, out)
    assert (found.changes, out.read_bytes()) == ((), (folder / "a.json").read_bytes())
    assert found.n_kept == found.n_sent > 0
    assert any(each.startswith("nothing changed; are the exports in place") for each in found.notes)


def test_images_that_did_not_come_back_are_not_reviewed_yet(tmp_path):
    path, review = sent(tmp_path, "coco")
    place = file_of(review, "ann")
    in_coco(place, lambda *_: None)
    content = json.loads(place.read_text())
    content["images"] = [each for each in content["images"] if each["file_name"] == "4.jpg"]
    place.write_text(json.dumps(content))
    found = bboxqa.accept(path, place, tmp_path / "out.json")
    assert [each.id for each in found.changes] == [14]
    assert not any("nothing changed" in each for each in found.notes)
    assert "not reviewed yet: 1 image of ann, 1 image of bob, 1 image of cid" in found.notes


def test_predictions_without_a_submitted_annotation_are_kept(tmp_path):
    path, review = sent(tmp_path, "label-studio")
    in_studio(file_of(review, "ann"), lambda *_: None, submitted=False)
    found = bboxqa.accept(path, review, tmp_path / "out.json")
    assert (found.changes, found.n_kept) == ((), 3)


def test_ids_that_a_tool_gave_anew_are_not_those_that_were_sent(tmp_path):
    records = [annotation(n, 1, 1, (10 * n, 10, 9, 9), annotator="ann") for n in range(1, 7)]
    records += [annotation(n, 1, 2, (10 * n - 60, 10, 9, 9), annotator="bob") for n in range(7, 13)]
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    path = write(tmp_path / "a.json", document(records, [image(1)], categories))
    review = tmp_path / "review"
    run("agree", path, "--bootstrap", 0, "--send-back", review, "--to", "coco")
    content = json.loads((review / "ann.json").read_text())
    content["annotations"] = sorted(content["annotations"], key=lambda each: each["id"])[1:]
    for number, each in enumerate(content["annotations"], start=1):
        each["id"] = number
    write(review / "ann.json", content)
    found = bboxqa.accept(path, review / "ann.json", tmp_path / "out.json")
    assert [(each.id, each.what) for each in found.changes] == [(1, "deleted")]
    # Nor is the id of one that now lies where none was.
    content["annotations"][0]["bbox"] = [10, 60, 9, 9]
    write(review / "ann.json", content)
    found = bboxqa.accept(path, review / "ann.json", tmp_path / "again.json")
    assert [each.what for each in found.changes] == ["deleted", "deleted", "added"]


def test_changes_of_a_whole_job_that_were_not_sent_are_told(tmp_path):
    boxes = [[10 * n, 10, 9, 9] for n in range(1, 6)]
    records = [annotation(n, 1, 1, box, annotator="ann") for n, box in enumerate(boxes, 1)]
    records += [annotation(n, 1, 1, box, annotator="bob") for n, box in enumerate(boxes[:4], 6)]
    path, review = write(tmp_path / "a.json", document(records)), tmp_path / "review"
    run("agree", path, "--bootstrap", 0, "--send-back", review, "--to", "coco")
    whole = [("1.jpg", box, "cat") for box in (boxes[0], boxes[1], [30, 15, 9, 9])]
    in_coco(review / "ann.json", keep, [*whole, ("1.jpg", boxes[3], "wolf")])
    found = bboxqa.accept(path, review, tmp_path / "out.json")
    assert (found.changes, found.n_kept) == ((), 1)
    assert (
        "2 annotations drawn or proposed, and in the file already: not added again" in found.notes
    )
    assert "2 annotations changed, but not sent, and so not taken over" in found.notes


def test_a_new_category_is_added(tmp_path):
    path, review = sent(tmp_path, "cvat")
    in_cvat(file_of(review, "bob"), lambda _image, box, _label: (box, "wolf"))
    bboxqa.accept(path, review, tmp_path / "out.json")
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["categories"][-1] == {"id": 6, "name": "wolf"}
    assert [each["category_id"] for each in content["annotations"] if each["id"] == 22] == [6]


def test_a_moved_outline_is_taken_over_with_its_area(tmp_path):
    ring = [10.5, 10, 30.5, 10, 30.5, 30]
    other = [10, 10, 60, 10, 60, 60, 10, 60]
    records = [
        annotation(1, bbox=(10.5, 10, 20, 20), segmentation=[ring], area=200, annotator="ann"),
        annotation(2, bbox=(10, 10, 50, 50), segmentation=[other], area=2500, annotator="bob"),
    ]
    path = write(tmp_path / "a.json", document(records))
    review = tmp_path / "review"
    run("agree", path, "--bootstrap", 0, "--send-back", review, "--to", "cvat")
    assert bboxqa.accept(path, review, tmp_path / "same.json").changes == ()
    text = (review / "ann.xml").read_text()
    write(review / "ann.xml", text.replace("30.5,30", "35.25,35"))
    bboxqa.accept(path, review, tmp_path / "out.json")
    first, second = json.loads((tmp_path / "out.json").read_text())["annotations"]
    assert first["segmentation"] == [[10.5, 10, 30.5, 10, 35.25, 35]]
    assert (first["bbox"], first["area"]) == ([10.5, 10, 24.75, 25], 250)
    assert second == records[1]
    write(review / "ann.xml", text.replace("30.5,10;", "30.5,11;"))
    (change,) = bboxqa.accept(path, review, tmp_path / "third.json").changes
    assert str(change).endswith("annotation 1 moved within its box, which is as before")


def test_pseudonyms_hold_and_the_file_keeps_its_names(tmp_path):
    path, review, key = original(tmp_path), tmp_path / "review", tmp_path / "key.json"
    more = ["--send-back", review, "--to", "cvat", "--pseudonyms", key]
    done = run("agree", path, "--annotator-key", "who", *more)
    assert f"bboxqa accept ORIGINAL {review} -o NEW.json --pseudonyms {key}" in done.stderr
    sent_texts = [each.read_text() for each in review.iterdir()]
    assert not any(name in text for text in sent_texts for name in ('"ann"', "bob", "cid"))
    names = json.loads(key.read_text())
    in_cvat(file_of(review, names["bob"]), lambda _image, box, _label: (box, "cat"))
    added = [("3.jpg", [40, 41, 30, 30], "dog")]
    in_cvat(file_of(review, names["cid"]), keep, added)
    out = tmp_path / "out.json"
    with pytest.raises(DatasetError, match=r"has no annotator person-.*\n.*--pseudonyms KEY"):
        bboxqa.accept(path, review, out)
    done = run("accept", path, review, "-o", out, "--pseudonyms", key)
    assert f"2.jpg: {names['bob']}: annotation 22 renamed" in done.stdout
    assert '"who": "cid"' in out.read_text().partition('"id": 34')[2]
    assert "person-" not in out.read_text()


def test_the_first_changes_are_printed(tmp_path):
    path, review = sent(tmp_path, "coco")
    added = [("3.jpg", [x, 1, 9, 8], "dog") for x in range(5, 85, 10)]
    in_coco(file_of(review, "cid"), keep, added)
    done = run("accept", path, review, "-o", tmp_path / "out.json")
    assert done.stdout.count(" added: dog ") == 5
    assert "\n… and 3 more\nWritten: " in done.stdout
    assert done.stdout.endswith("0 deleted, 8 added\n")


def test_one_file_for_each_annotator(tmp_path):
    paths = []
    for name, x in (("ann", 10), ("bob", 40)):
        own = [annotation(1, bbox=(x, 10, 20, 20)), annotation(2, bbox=(70, 70, 20, 20))]
        paths.append(write(tmp_path / f"{name}.json", document(own)))
    review = tmp_path / "review"
    run("agree", *paths, "--bootstrap", 0, "--send-back", review, "--to", "cvat")
    in_cvat(review / "bob.xml", lambda _image, box, label: ([45, *box[1:]], label))
    found = bboxqa.accept(paths[1], review / "bob.xml", tmp_path / "out.json")
    moved = "moved from 40 10 20 20 to 45 10 20 20"
    assert [str(each) for each in found.changes] == [f"1.jpg: bob: annotation 1 {moved}"]
    with pytest.raises(DatasetError, match=r"(?s)no annotator, while.*such as review/ann.xml"):
        bboxqa.accept(paths[1], review, tmp_path / "out.json")
    with pytest.raises(DatasetError, match="has none of the objects that were sent"):
        bboxqa.accept(paths[0], review / "bob.xml", tmp_path / "out.json")
    # Together they have other ids, of which some are those of other people's objects.
    whole = tmp_path / "all.json"
    bboxqa.convert(paths, whole, to="coco", attribution="files")
    found = bboxqa.accept(whole, review, tmp_path / "whole-new.json")
    assert [str(each) for each in found.changes] == [f"1.jpg: bob: annotation 3 {moved}"]


def test_files_of_tools_are_converted_to_accept_what_came_back(tmp_path):
    cvat = tmp_path / "cvat"
    bboxqa.convert(original(tmp_path), cvat, to="cvat", annotator_key="who", lossy=True)
    review, whole = tmp_path / "review", tmp_path / "all.json"
    # COCO has no place for tags of images; the command is printed so that it works.
    tagged = min(cvat.rglob("*.xml"))
    tagged.write_text(tagged.read_text().replace("</image>", '<tag label="cat" /></image>', 1))
    done = run("agree", ".", "--send-back", review, "--to", "cvat", cwd=cvat)
    assert "bboxqa convert . ../original.json --to coco" in done.stderr
    typed = re.search(r"bboxqa (convert .*?);", done.stderr)[1].replace(" . ", f" {cvat} ")
    words = [each.replace("../original.json", str(whole)) for each in shlex.split(typed)]
    assert run(*words).returncode == 0
    in_cvat(file_of(review, "ann"), lambda name, *box: box if name == "1.jpg" else None)
    in_cvat(file_of(review, "bob"), lambda _image, box, _label: (box, "cat"))
    found = bboxqa.accept(whole, review, tmp_path / "out.json")
    assert {(each.image, each.annotator, each.what) for each in found.changes} == {
        ("2.jpg", "bob", "renamed"), ("4.jpg", "ann", "deleted"),
    }  # fmt: skip
    more = bboxqa.accept(tmp_path / "out.json", review, tmp_path / "more.json")
    assert more.changes == ()


def test_what_a_user_may_get_wrong(tmp_path):
    path, review = sent(tmp_path, "cvat")
    out = tmp_path / "out.json"
    other = write(tmp_path / "b" / "other.json", document([annotation(1, who="zoe")]))
    strange = write(tmp_path / "s.json", document([annotation(1, who="ann")], [image(1, "z.jpg")]))
    cases = {
        (path, tmp_path / "gone.xml", None): "no such file",
        (path, other, None): "sent.json, which says what was sent",
        (path, review / "sent.csv", None): "sent.csv: has objects that .* sent",
        (path, other, review): "is nothing that was sent to one annotator",
        (other, review, None): "has no annotator ann",
        (strange, review, None): "no image that was reviewed: the first is 1.jpg, here z.jpg",
        (file_of(review, "ann"), review, None): "is not COCO JSON",
    }
    for (*paths, folder), message in cases.items():
        with pytest.raises(DatasetError, match=message):
            bboxqa.accept(*paths, out, sent=folder)
    assert not out.exists()
    write(out, "{}")
    with pytest.raises(OutputError, match="already exists"):
        bboxqa.accept(path, review, out)
    with pytest.raises(OutputError, match="is one of the files to read"):
        bboxqa.accept(path, review, path, force=True)
    bboxqa.accept(path, review, out, force=True)
    bboxqa.accept(path, review, out)
    shutil.copy(file_of(review, "ann"), review / "z.xml")
    with pytest.raises(DatasetError, match="keep what came back, once"):
        bboxqa.accept(path, review, out)
    # An archive among files, as CVAT exports one.
    shutil.make_archive(review / "bob", "zip", review, "bob.xml")
    (review / "z.xml").unlink()
    with pytest.raises(DatasetError, match=r"bob.zip: has images of bob that .*bob.xml "):
        bboxqa.accept(path, review, out)
    file_of(review, "bob").unlink()
    (review / "sent.csv").unlink()
    assert not any("not reviewed yet" in each for each in bboxqa.accept(path, review, out).notes)
    text = (review / "sent.json").read_text()
    for old, new in (('"to": "cvat"', '"to": 1'), ('"join"', '"jo"'), ('"bbox": [', '"bbox": [""')):
        assert old in text
        write(review / "sent.json", text.replace(old, new))
        with pytest.raises(DatasetError, match="is no list of what was sent"):
            bboxqa.accept(path, review, out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--send-back", "new"], "goes with --to"),
        (["--to", "cvat"], "goes with --to"),
        (["--send-back", "new", "--to", "cvatt"], "did you mean 'cvat'"),
        (["--send-back", "full", "--to", "cvat"], "has other files"),
        (["--send-back", "review", "--to", "cvat"], "was sent before"),
        (["--send-back", "review", "--to", "cvat", "--force"], "b.zip: is not as it was sent"),
        (["--send-back", "export.json", "--to", "cvat"], "is a file"),
    ],
)
def test_a_folder_or_format_that_cannot_be_sent(options, message, tmp_path):
    sent(tmp_path, "cvat")
    write(tmp_path / "full" / "a.txt", "a")
    write(tmp_path / "review" / "b.zip", "b")
    done = run("agree", "export.json", "--annotator-key", "who", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_real_annotations_of_ten_people(tmp_path):
    path = data_file("several/asthma_round2.json")
    review = tmp_path / "review"
    send = ("--bootstrap", 0, "--send-back", review, "--to", "cvat", "-q")
    assert run("agree", path, *send).returncode == 0
    shutil.copytree(review, tmp_path / "back")
    found = bboxqa.accept(path, tmp_path / "back", tmp_path / "out.json")
    assert (tmp_path / "out.json").read_bytes() == path.read_bytes()
    assert found.n_kept == found.n_sent > 100


def test_boxes_that_nearly_coincide_are_moved_and_not_renamed():
    def records(shift):
        boxes = {"cat": [10 + shift, 10, 40, 40], "dog": [16 + shift, 10, 40, 40]}
        return [{"category": name, "bbox": box} for name, box in boxes.items()]

    assert recognised(records(0), records(5), by_id=False) == [0, 1]
    assert recognised(records(0), records(5)[::-1], by_id=False) == [1, 0]


@pytest.mark.parametrize("deleted", [14, 41])
def test_the_twin_of_a_deleted_box_stays_when_a_review_is_accepted_again(deleted, tmp_path):
    records = RECORDS + (
        ',\n{"id": 41, "image_id": 4, "bbox": [70, 70, 12, 12], "category_id": 3, "who": "ann"}'
    )
    path, review = sent(tmp_path, "coco", records=records)
    place = file_of(review, "ann")
    content = json.loads(place.read_text())
    content["annotations"] = [each for each in content["annotations"] if each["id"] != deleted]
    write(place, content)
    bboxqa.accept(path, review, tmp_path / "out.json")
    again = bboxqa.accept(tmp_path / "out.json", review, tmp_path / "again.json")
    assert again.changes == ()


def test_an_added_object_belongs_to_its_annotator_where_each_has_a_record_of_the_image(tmp_path):
    images = [image(n, f"{1 + n % 2}.jpg", annotator="ab"[n // 3]) for n in range(1, 5)]
    records = [
        annotation(1, 1, 1, (10, 10, 30, 30)), annotation(2, 2, 1, (10, 10, 30, 30)),
        annotation(3, 3, 1, (10, 10, 30, 30)),
    ]  # fmt: skip
    path, review = write(tmp_path / "a.json", document(records, images)), tmp_path / "review"
    run("agree", path, "--bootstrap", 0, "--send-back", review, "--to", "coco")
    in_coco(file_of(review, "b"), keep, [("1.jpg", [10, 10, 30, 31], "cat")])
    bboxqa.accept(path, review, tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["annotations"][-1]["image_id"] == 4


def test_objects_with_key_points_are_recognised_without_their_boxes():
    """Key points of CVAT have no box of their own; that of the file may be much larger."""
    points = [40, 40, 2, 60, 60, 2, 0, 0, 0]
    sent = {"category": "person", "bbox": [0, 0, 200, 200], "keypoints": points}
    found = sent | {"bbox": [40, 40, 20, 20]}
    assert recognised([sent], [found], by_id=False) == [0]
    assert recognised([sent | {"keypoints": None}], [found], by_id=False) == [-1]
