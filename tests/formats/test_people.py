"""Who annotated what: by key, by records, by file or folder, and what is refused."""

import json
import re
from itertools import product
from math import isnan

import pytest
from support.datasets import annotation, document, image
from support.datasets import write as put
from support.tool_files import SUFFIXES, asked, text_of, write

from bboxqa import agree, convert, read_coco, validate
from bboxqa.core.errors import ConfigError, DatasetError, NothingToCompareError
from bboxqa.formats.dataset.reader import read_dataset
from bboxqa.formats.records import ReadSettings
from bboxqa.formats.sources import listed, sources_of
from bboxqa.model.annotations import Choices

FIRST, SECOND = [0, 1, 2, 3], [4, 5, 6, 7]


def authors(data):
    """Return who drew each annotation, by its id."""
    names = [data.annotator_names[place] for place in data.annotations.annotator.tolist()]
    return dict(zip(data.annotations.id.tolist(), names, strict=True))


def keyed(key, *values):
    """Return an annotation of each name, under a key that may be below others."""
    records = []
    for number, value in enumerate(values, 1):
        record = place = annotation(number)
        *parents, last = key.split(".")
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = number if key == "id" else value
        records.append(record)
    return records


def read(tmp_path, content, **more):
    return read_dataset(put(tmp_path / "export.json", content), ReadSettings(**more))


@pytest.mark.parametrize(
    "key", ["annotator", "annotator_id", "rater", "rater_id", "created_by", "attributes.annotator"]
)
@pytest.mark.parametrize("outlines", [True, False])
def test_known_keys_on_annotations(key, outlines, tmp_path):
    data = read(tmp_path, document(keyed(key, "ann", "bob")), outlines=outlines)
    assert authors(data) == {1: "ann", 2: "bob"}
    assert asked(data) == {"1.jpg": ["ann", "bob"]}
    assert data.attribution == f"the key {key!r} on annotations"


@pytest.mark.parametrize("key", ["who", "meta.who", "meta.deep.who", "area", "id", "strange-key"])
def test_a_key_of_the_users_own(key, tmp_path):
    data = read(tmp_path, document(keyed(key, "ann", "bob")), annotator_key=key)
    assert authors(data) == ({1: "1", 2: "2"} if key == "id" else {1: "ann", 2: "bob"})


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ((3, 20), ("3", "20")),
        ((3.0, 20.0), ("3", "20")),
        (("10", "9"), ("9", "10")),
        (("b", "a"), ("a", "b")),
        ((0, 1), ("0", "1")),
        ((True, False), ("false", "true")),
        (("Ærøskøbing", "日本"), ("Ærøskøbing", "日本")),
        (([1, 2], {"a": 1}), ("[1, 2]", '{"a": 1}')),
    ],
)
def test_names_of_any_kind(values, names, tmp_path):
    assert read(tmp_path, document(keyed("annotator", *values))).annotator_names == names


@pytest.mark.parametrize("key", ["rater_list", "annotators"])
@pytest.mark.parametrize(
    "value", [["ann", "bob", "cid"], {"ann": 1, "bob": ["s1", "s2"], "cid": None}]
)
def test_a_list_on_the_image_says_who_was_asked_and_else_whoever_drew(key, value, tmp_path):
    images = [image(1, **{key: value}), image(2, **{key: ["ann", "cid"]}), image(3), image(4)]
    records = [*keyed("annotator", "ann", "bob"), annotation(3, image_id=3, annotator="ann")]
    data = read(tmp_path, document(records, images))
    assert asked(data) == {
        "1.jpg": ["ann", "bob", "cid"], "2.jpg": ["ann", "cid"], "3.jpg": ["ann"], "4.jpg": [],
    }  # fmt: skip
    assert (
        "2 images with fewer than two annotators left out, of which 1 without annotations or a "
        "list of annotators"
    ) in data.notes


@pytest.mark.parametrize(
    ("content", "problem", "advice"),
    [
        (document(keyed("rater", "ann", "bob", "cid"), [image(1, rater_list=["ann", "bob"])]),
         "annotation 3: is by 'cid', who is not in the list of annotators of its image", ""),
        (document([*keyed("rater", "ann", "bob", None), annotation(4)]),
         "2 of 4 annotations do not name their annotator (such as 3); expected a name on each",
         "Annotators are named by the key 'rater' on annotations: name who drew these"),
    ],
)  # fmt: skip
def test_names_that_contradict_or_are_missing_are_refused(content, problem, advice, tmp_path):
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, content)
    (found,) = caught.value.problems
    assert found.startswith(f"{tmp_path}/export.json: {problem}")
    assert (caught.value.advice or "").startswith(advice)


def test_repeated_records_that_name_their_annotator(tmp_path):
    pairs = [("a.jpg", "bob"), ("a.jpg", "ann"), ("b.jpg", "ann"), ("b.jpg", "cid")]
    images = [image(n, name, annotator=who) for n, (name, who) in enumerate(pairs, 1)]
    data = read(tmp_path, document([annotation(n, image_id=n) for n in (1, 2, 3)], images))
    assert data.image_names == ("a.jpg", "b.jpg")
    assert authors(data) == {1: "bob", 2: "ann", 3: "ann"}
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["ann", "cid"]}
    assert data.attribution == "repeated image records with one file_name"


# One file per annotator.


def files(tmp_path, **contents):
    return [put(tmp_path / f"{name}.json", content) for name, content in contents.items()]


ONE = document([annotation(1)])
OTHER = document([annotation(1, bbox=[1, 1, 5, 5])])


def test_images_join_by_name_and_categories_by_name(tmp_path):
    kinds = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    turned = [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]
    ann = [annotation(1, 1, 1), annotation(2, 2, 2)]
    bob = [annotation(1, 8, 2), annotation(2, 9, 1)]
    data = read_dataset(
        files(
            tmp_path,
            ann=document(ann, [image(1, "a.jpg"), image(2, "b.jpg"), image(3, "c.jpg")], kinds),
            bob=document(bob, [image(8, "a.jpg"), image(9, "b.jpg")], turned),
        )
    )
    # An image in one file only was not given to the other.
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["ann", "bob"], "c.jpg": ["ann"]}
    assert data.category_names == ("cat", "dog")
    assert data.annotations.image.tolist() == [0, 0, 1, 1]
    assert data.annotations.category.tolist() == [0, 0, 1, 1]
    assert data.annotations.annotator.tolist() == [0, 1, 0, 1]


def test_a_pattern_chooses_files_of_a_folder(tmp_path):
    paths = files(tmp_path, ann_v1=ONE, ann_v2=ONE, bob_v2=OTHER)
    data = read_dataset(tmp_path, ReadSettings(filter="*_v2.json"))
    assert data.annotator_names == ("ann_v2", "bob_v2")
    with pytest.raises(DatasetError, match=r"folder of labels that matches '\*_v3"):
        read_dataset(tmp_path, ReadSettings(filter="*_v3.json"))
    with pytest.raises(DatasetError, match=f"a file is given twice: {paths[0]}"):
        read_dataset([*paths, paths[0]])


WAYS = (
    "a key on annotations\n(annotator, ", "the key annotator of image records",
    "or by a file or folder for each: --annotator NAME=1.json --annotator NAME=2.json",
)  # fmt: skip


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (document([annotation(1), annotation(2)]), "no annotator is named in the files"),
        (document(keyed("rater", "ann", "ann")), "one annotator only, 'ann', by the key 'rater'"),
        (document([annotation(1)], [image(1, annotator="ann")]), "no annotator is named in the"),
    ],
)
def test_one_annotator_is_told_the_three_ways(content, problem, tmp_path):
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, content)
    assert f"export.json: {problem}" in str(caught.value)
    assert all(way in str(caught.value) for way in WAYS)


FILE_EACH = "\nor by a file or folder for each: --annotator NAME=1"
FOLDER_EACH = "named by a folder for each: --annotator NAME=FOLDER --annotator NAME=FOLDER"


@pytest.mark.parametrize(
    ("form", "way"),
    [
        ("cvat", f"by the assignee in the export,{FILE_EACH}"),
        (
            "datumaro",
            f"two annotators, named by an attribute (--annotator-key attributes.NAME),{FILE_EACH}",
        ),
        ("table", f"two annotators, named by a column (--columns annotator=NAME),{FILE_EACH}"),
        ("labelme", FOLDER_EACH),
        ("voc", FOLDER_EACH),
        ("yolo", FOLDER_EACH),
    ],
)
def test_a_format_names_its_own_ways(tmp_path, form, way):
    write(tmp_path, **{f"ann/1.{SUFFIXES.get(form, 'json')}": text_of(form, who="ann")})
    with pytest.raises(DatasetError) as caught:
        read_dataset(tmp_path / "ann", ReadSettings(choices=Choices(image_size=(100, 100))))
    assert way in str(caught.value)


def test_columns_that_no_file_can_have_are_refused(tmp_path):
    path = coco(tmp_path / "1.json", FIRST, annotator="ann")
    with pytest.raises(ConfigError, match="columns annotator=… has no effect: coco has no such"):
        read_dataset(path, ReadSettings(choices=Choices(columns={"annotator": "who"})))
    # Projects of several formats may share settings.
    paths = files(tmp_path, both=document(keyed("annotator", "ann", "bob")))
    read_dataset(paths, ReadSettings(choices=Choices(columns={"annotator": "who"})))


def test_files_whose_images_have_no_name(tmp_path):
    nameless = document([annotation(1)], [{"id": 1, "width": 9, "height": 9}])
    with pytest.raises(DatasetError, match="image 1 has no file_name; expected one, since images"):
        read_dataset(files(tmp_path, ann=nameless, bob=nameless))


def test_two_versions_of_one_file_are_refused(tmp_path):
    before = keyed("rater", "ann", "bob")
    after = [*before, annotation(3, rater="ann")]
    paths = files(tmp_path, before=document(before), after=document(after))
    with pytest.raises(DatasetError) as caught:
        read_dataset(paths)
    assert str(caught.value) == (
        f"{paths[0]} and {paths[1]}: both have annotations of image '1.jpg' by 'ann', and 1 more "
        "such case; expected those of an annotator of an image in one record of one file\n"
        "If annotators annotated the images again: --session-key KEY of annotations or images, or "
        "if each file is a session: --session-key file\n"
        f"Two versions of one data set are compared with: bboxqa compare {paths[0]} {paths[1]}\n"
        "If each file is by another person: --attribution files"
    )


# People who are named by files and folders: which are taken, and what is refused.


def coco(path, images, x=0, **keys):
    """Write COCO JSON with a box in each image."""
    boxes = [annotation(n, n, bbox=[x + n, 5, 20, 20], **keys) for n in images]
    return put(path, document(boxes, [image(n, width=100, height=100) for n in images]))


def cvat(path, images, x=0, who=""):
    """Write a job of CVAT with a box in each image."""
    whole = [text_of("cvat", f"{n}.jpg", (x + n, 5, 20, 20), size=(100, 100), who=who)
             for n in images]  # fmt: skip
    shown = "".join(text[text.index("<image") : text.index("</annotations>")] for text in whole)
    write(
        path.parent, **{path.name: whole[0][: whole[0].index("<image")] + shown + "</annotations>"}
    )
    return path


def labels(folder, form, images, x=0):
    """Write files of LabelMe or YOLO with a box each."""
    suffix = SUFFIXES.get(form, "json")
    texts = {n: text_of(form, f"{n}.jpg", (x, 5, 20, 20), size=(100, 100)) for n in images}
    return write(folder, **{f"{n}.{suffix}": text for n, text in texts.items()})


def lines(error):
    """Return the files in the lines of an error that name annotators."""
    return re.findall(r"--annotator NAME=(\S+)", error.value.advice)


def test_jobs_of_which_some_name_their_assignee_are_refused_and_converted(tmp_path):
    paths = [cvat(tmp_path / "1.xml", FIRST[:1], who="ann"), cvat(tmp_path / "2.xml", FIRST[:1], 3)]
    for source in (paths, tmp_path):
        with pytest.raises(DatasetError, match="while the assignee names ann in") as error:
            read_dataset(source)
        assert lines(error) == [*map(str, paths)]
    convert(paths, tmp_path / "out.json", to="coco")
    records = json.loads((tmp_path / "out.json").read_text())["annotations"]
    assert sorted(each["annotator"] for each in records) == ["(not named)", "ann"]


@pytest.mark.parametrize("people", [("", "", ""), ("ann", "bob", "cid")])
def test_jobs_in_groups_of_images_are_taken_only_if_people_are_named(tmp_path, people):
    for n, who in enumerate(people):
        cvat(tmp_path / f"job{n}.xml", FIRST, n, who)
        cvat(tmp_path / f"job{n + 3}.xml", SECOND, n, who)
    if people[0]:
        assert read_dataset(tmp_path).annotator_names == people
        return
    with pytest.raises(NothingToCompareError, match="2 groups that share no image") as error:
        read_dataset(tmp_path)
    assert lines(error) == [str(tmp_path / f"job{n}.xml") for n in range(6)]
    assert "CVAT names the assignee of a job" in error.value.advice
    named = {f"p{n}": [tmp_path / f"job{n}.xml", tmp_path / f"job{n + 3}.xml"] for n in range(3)}
    assert read_dataset(named).annotator_names == ("p0", "p1", "p2")
    assert len(read_dataset(tmp_path, ReadSettings(attribution="files")).annotator_names) == 6


def test_splits_of_one_person_are_refused(tmp_path):
    coco(tmp_path / "train/ann.json", FIRST)
    apart = "no two of the files share an image: there is nothing"
    for images, why, n in ((FIRST[3:], "parts of one data set", 2), (SECOND, apart, 0)):
        coco(tmp_path / "val/ann.json", images, 1)
        with pytest.raises(NothingToCompareError, match=f"nobody is named .*{why}") as error:
            read_dataset(tmp_path)
        assert len(lines(error)) == n
    coco(tmp_path / "annotations.json", [*FIRST, *SECOND])
    with pytest.raises(NothingToCompareError, match="parts of one data set"):
        read_dataset(tmp_path)
    assert len(read_dataset(tmp_path, ReadSettings(min_annotators=1)).image_names) == 8


def test_files_that_repeat_each_other_are_refused_with_the_larger(tmp_path):
    coco(tmp_path / "instances_val2017.json", [*FIRST, *SECOND])
    coco(tmp_path / "person_keypoints_val2017.json", FIRST)
    say = (
        "4 annotations are in several of them; to read one only, name it, or --pattern instances_v"
    )
    with pytest.raises(NothingToCompareError, match=f"parts of one data set\n{say}"):
        read_dataset(tmp_path)
    with pytest.raises(DatasetError, match=say) as error:
        convert(tmp_path, tmp_path / "out.json", to="coco")
    assert "--join name" not in error.value.advice


def test_all_people_of_a_group_without_common_images_are_counted(tmp_path):
    coco(tmp_path / "ann.json", FIRST)
    for n, name in enumerate(("bob", "cid", "dan", "eve", "fay")):
        coco(tmp_path / f"{name}.json", SECOND, n)
    with pytest.raises(NothingToCompareError) as error:
        read_dataset(tmp_path)
    assert error.value.problems[0].endswith("no image: (ann), (bob, cid, dan and 2 more)")


def test_the_command_that_looks_for_a_cause_has_all_files(tmp_path):
    paths = [coco(tmp_path / f"{n}.json", ()) for n in range(5)]
    with pytest.raises(NothingToCompareError, match="nothing to measure") as error:
        read_dataset(tmp_path)
    assert error.value.command == f"bboxqa validate {' '.join(map(str, paths))}"


def test_folders_of_images_with_one_label_file_of_each_person_are_refused(tmp_path):
    for n, (place, who) in enumerate(product(("image1", "image2"), ("ann", "bob"))):
        labels(tmp_path / place / who, "yolo", FIRST[:1], n)
    reading = ReadSettings(choices=Choices(image_size=(100, 100)))
    with pytest.raises(NothingToCompareError, match="are named '0'; either folder") as error:
        read_dataset(tmp_path, reading)
    assert f"bboxqa agree {tmp_path / 'image1'}\n" in error.value.advice
    assert read_dataset(tmp_path / "image1", reading).annotator_names == ("ann", "bob")
    # With other names, the folders inside are clips of a person.
    labels(tmp_path / "image1/ann", "yolo", SECOND)
    assert read_dataset(tmp_path, reading).annotator_names == ("image1", "image2")


def test_the_only_folder_with_annotations_is_entered(tmp_path):
    coco(tmp_path / "export/annotations/ann.json", FIRST)
    coco(tmp_path / "export/annotations/bob.json", FIRST, 1)
    (tmp_path / "images").mkdir()
    assert read_dataset(tmp_path).annotator_names == ("ann", "bob")


def test_whatever_is_deeper_in_a_folder_is_by_its_person(tmp_path):
    coco(tmp_path / "ann/day1/a.json", FIRST[:2])
    coco(tmp_path / "ann/b.json", FIRST[2:])
    coco(tmp_path / "bob/all.json", FIRST, 1)
    data = read_dataset(tmp_path)
    assert data.annotator_names == ("ann", "bob")
    assert data.attribution == "one folder per annotator"
    coco(tmp_path / "ann/again.json", FIRST[:1])
    with pytest.raises(NothingToCompareError, match=r"image '0\.jpg' is in ") as error:
        read_dataset(tmp_path)
    assert len(lines(error)) == 4


@pytest.mark.parametrize("form", ["labelme", "yolo"])
@pytest.mark.parametrize("place", ["", "labels/"])
def test_folders_of_labels_are_people(tmp_path, form, place):
    labels(tmp_path / f"{place}ann", form, FIRST)
    labels(tmp_path / f"{place}bob", form, FIRST, 4)
    (tmp_path / "classes.txt").write_text("cat\n")
    data = read_dataset(tmp_path, ReadSettings(choices=Choices(image_size=(100, 100))))
    assert data.annotator_names == ("ann", "bob")
    assert data.attribution == "one folder per annotator"
    assert len(data.image_names) == 4


def test_equal_annotations_in_a_folder_are_refused(tmp_path):
    paths = [coco(tmp_path / f"{name}.json", FIRST) for name in "ab"]
    for total, kept in ((4, 4), (12, 10)):
        for path, n in zip(paths, (total, kept), strict=True):
            coco(path, range(n))
        with pytest.raises(NothingToCompareError, match="has the same annotations as"):
            read_dataset(tmp_path)
    # Few boxes may be equal by chance.
    for path, n in zip(paths, (12, 9), strict=True):
        coco(path, range(n))
    assert read_dataset(tmp_path).annotator_names == ("a", "b")
    # Two files that are typed are people, and so are those with other outlines.
    for path in paths:
        coco(path, FIRST)
    assert read_dataset(paths).annotator_names == ("a", "b")
    coco(paths[0], FIRST, segmentation=[[1, 1, 9, 1, 9, 9]])
    assert read_dataset(tmp_path).annotator_names == ("a", "b")
    # Or with other key points in the same boxes.
    for path, x in zip(paths, (5, 6), strict=True):
        coco(path, FIRST, keypoints=[x, 5, 2], num_keypoints=1)
    assert read_dataset(tmp_path).annotator_names == ("a", "b")


def test_several_formats_in_one_folder_are_refused_with_lines(tmp_path):
    sources = [
        coco(tmp_path / "ann/a.json", FIRST),
        labels(tmp_path / "cid", "labelme", FIRST),
        cvat(tmp_path / "dan/export/b.xml", FIRST, 1),
    ]
    with pytest.raises(NothingToCompareError, match="in several formats: coco ") as error:
        read_dataset(tmp_path)
    assert lines(error) == [*map(str, sources)]
    # What is read by itself is not left out, and its folder alone has several formats as well.
    coco(tmp_path / "cid/all.json", FIRST)
    with pytest.raises(NothingToCompareError, match="in several formats: coco ") as error:
        read_dataset(tmp_path)
    assert ("T012" in validate(tmp_path).counts, lines(error)) == (False, [])
    assert "--from coco or --from labelme or --from cvat" in error.value.advice
    with pytest.raises(NothingToCompareError, match="in several formats: coco "):
        convert(tmp_path, tmp_path / "out.json", to="coco")
    for name, of in (("r", "image_id"), ("kili", "jsonResponse")):
        (tmp_path / f"cid/{name}.json").write_text(f'[{{"{of}": 1, "category_id": 1, "score": 1}}]')
    assert len((found := validate(tmp_path)).files) == 4
    assert found.notes[0].split("(")[-1] == "cid/kili.json, cid/r.json)"
    assert listed(tmp_path, choices=Choices(from_format="cvat"))[0] == [sources[2]]


def test_files_of_different_tools_name_people_each_by_its_key(tmp_path):
    paths = [
        cvat(tmp_path / "eve.xml", FIRST[:2], who="eve"),
        coco(tmp_path / "b.json", FIRST[:2], rater="bob"),
        coco(tmp_path / "c.json", SECOND[:2], annotator="cid"),
    ]
    assert read_dataset(paths).annotator_names == ("bob", "cid", "eve")
    for given in (paths, paths[:2], paths[1:]):
        found = convert(given, tmp_path / "all.json", to="coco", force=True)
        assert len(found.annotators) == len(given)
        assert not any("nobody" in note for note in found.notes)


def test_annotators_who_are_named_in_part_are_refused(tmp_path):
    coco(tmp_path / "a.json", FIRST[:2], annotator="ann")
    coco(tmp_path / "b.json", FIRST[:2], 1, annotator="bob")
    coco(tmp_path / "c.json", FIRST)
    for use in (read_dataset, lambda path: convert(path, tmp_path / "out", to="coco")):
        with pytest.raises(DatasetError, match=r"c\.json: nobody is named, while the key"):
            use(tmp_path)
    assert read_dataset(tmp_path, ReadSettings(attribution="files")).annotator_names == (
        "a",
        "b",
        "c",
    )


@pytest.mark.parametrize("deep", ["", "a/b/c"])
def test_labels_of_nobody_are_converted_from_any_depth(tmp_path, deep):
    labels(tmp_path / "in" / deep, "labelme", FIRST)
    found = convert(tmp_path / "in", tmp_path / "out.json", to="coco")
    assert (found.n_images, found.n_annotations, found.annotators) == (4, 4, ())


def test_equal_names_of_images_of_nobody_are_converted_only_as_the_user_says(tmp_path):
    paths = [coco(tmp_path / f"{name}.json", FIRST, x) for name, x in (("a", 0), ("b", 40))]
    with pytest.raises(DatasetError, match=r"both have an image '0\.jpg'") as error:
        convert(paths, tmp_path / "merged.json", to="coco")
    assert re.findall(r"--\w+ \w+", error.value.advice) == [
        "--attribution files", "--join name", "--join none"
    ]  # fmt: skip
    for n, (choice, n_images, people) in enumerate(
        (({"join": "name"}, 4, ()), ({"join": "none"}, 8, ()), ({"attribution": "files"}, 4, "ab"))
    ):
        found = convert(paths, tmp_path / f"{n}.json", to="coco", **choice)
        assert (found.n_images, found.n_annotations) == (n_images, 8)
        assert found.annotators == (*people,)
    names = [each["file_name"] for each in json.loads((tmp_path / "1.json").read_text())["images"]]
    assert [min(names), max(names)] == ["a/0.jpg", "b/3.jpg"]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["in/ann.json", "in/bob.json"], ["ann", "bob"]),
        (["ann/annotations/instances.json", "bob/annotations/instances.json"], ["ann", "bob"]),
        (["day1/ann.json", "day2/ann.json", "day2/bob.json"],
         ["day1/ann", "day2/ann", "day2/bob"]),
    ],
)  # fmt: skip
def test_people_are_called_by_the_part_that_differs(tmp_path, paths, names):
    given = [coco(tmp_path / each, FIRST) for each in paths]
    assert sources_of(given).names == names


# Tables and label files of one person each: images in which a person drew nothing.
HEADER = "image,category,x,y,width,height\n"
CATEGORIES = {"a": "cat", "b": "dog", "c": "cat", "d": "dog"}
DRAWN = {"ann": "abc", "bob": "abd", "cid": "ab"}


def tables(folder, *, empty=""):
    """Write a table by each person, and one of all; with a row without a box for image `empty`."""
    rows = {
        who: [f"{name}.jpg,{CATEGORIES[name]},1,1,20,20\n" for name in names]
        for who, names in DRAWN.items()
    }
    rows["cid"] += [f"{each}.jpg,,,,,\n" for each in empty]
    own = {f"own/{who}.csv": HEADER + "".join(lines) for who, lines in rows.items()}
    both = [f"{who},{line}" for who, lines in rows.items() for line in lines]
    write(folder, **own, **{"all.csv": "annotator," + HEADER + "".join(both)})
    return folder / "own", folder / "all.csv"


@pytest.mark.parametrize("choice", ["authors", "all"])
@pytest.mark.parametrize("empty", ["", "d"])
def test_a_table_for_each_person_is_measured_as_one_of_all(tmp_path, empty, choice):
    own, whole = (
        agree(read_coco(path, asked=choice), bootstrap=0) for path in tables(tmp_path, empty=empty)
    )
    figures = []
    for each in (own, whole):
        part = each.thresholds[0]
        values = each.alpha, part.existence.f1, part.all_asked_alpha, part.all_asked_f1
        figures.append([value for value in values if not isnan(value)])
    assert figures[0] == figures[1]
    assert own.n_images == whole.n_images
    note = "without a list of who was asked"
    is_noted = choice == "authors" and not empty
    assert [any(note in e for e in each.notes) for each in (own, whole)] == [is_noted] * 2
    if choice == "all" and not empty:
        # Two of three drew the same box in a and b, and one of three in c and d.
        assert own.n_images == 4


def test_a_coco_file_beside_tables_says_which_images_its_author_saw(tmp_path):
    own, _ = tables(tmp_path)
    (own / "ann.csv").unlink()
    images = [image(n, f"{name}.jpg") for n, name in enumerate("abc", 1)]
    put(own / "ann.json", document([annotation(1, 1, 1)], images, [{"id": 1, "name": "cat"}]))
    data = read_coco(sorted(own.iterdir()), asked="all")
    # ann saw c and drew nothing; she did not see d.
    assert {name: asked(data)[name] for name in ("c.jpg", "d.jpg")} == {
        "c.jpg": ["ann"], "d.jpg": ["bob"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "marks", [{"machine": True}, {"machine": "true"}, {"source": "Semi-auto"}, {"model": "yolo"}]
)
def test_annotations_that_a_machine_began_are_said_above_the_numbers(marks):
    by_hand = {"machine": False, "source": "manual"}
    records = [annotation(n, annotator="aabb"[n - 1], bbox=[60 * (n % 2), 9, 20, 20])
               for n in (1, 2, 3, 4)]  # fmt: skip
    records[0] |= marks
    records[3] |= by_hand
    (line,) = read_coco(document(records, [image(1, annotators=["a", "b"])])).headlines
    assert line.startswith(f"a machine began 1 of 4 annotations ({next(iter(marks))}):")
