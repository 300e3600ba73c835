"""A001 to A004: who annotated what."""

import pytest
from support.validation import codes, document_of, findings, report_of

from bboxqa.model.findings import Severity
from bboxqa.rules.authorship import authorship


def boxes(rater, number=3, *, shift=0.0, side=10.0, image=1, category=1):
    return [
        {"bbox": [5 + 3 * place + shift, 5, side + place / 7, side], "rater": rater,
         "image_id": image, "category_id": category}
        for place in range(number)
    ]  # fmt: skip


def found(code, annotations, **more):
    return findings({"annotations": annotations, **more}, code=code)


def asked(*lists):
    return [{"rater_list": names} for names in lists]


# A001


def test_some_annotations_without_annotator_are_one_finding():
    (finding,) = found("A001", [{"rater": "ann"}, {}, {"rater": ""}, {"rater": None}])
    assert finding.message == (
        '3 of 4 annotations do not name their annotator under "rater"; expected it on all'
    )
    assert (finding.count, finding.severity) == (3, Severity.ERROR)
    assert finding.examples[0] == finding.pointer == "/annotations/1/rater"


def test_lists_and_objects_in_place_of_a_name_are_found():
    names = ["ann", ["x", {}], ["x", {}], '["x"]', {"id": 1}, 3]
    lists, objects = found("A001", [{"annotator": name} for name in names])
    assert lists.message == (
        '2 annotations with a list under "annotator", such as ["x", {}]; '
        "expected the name of one annotator"
    )
    assert (lists.count, lists.pointer) == (2, "/annotations/1/annotator")
    assert objects.message == (
        '1 annotation with an object under "annotator", such as {"id": 1}; '
        "expected the name of one annotator"
    )
    assert (objects.pointer, objects.severity) == ("/annotations/4/annotator", Severity.ERROR)


@pytest.mark.parametrize(
    "annotations",
    [
        [{"annotator": "ann", "rater": "bob"}],
        [{"annotator": "ann", "attributes": {"annotator": "bob"}}],
        [{"annotator_id": 1, "rater_id": 2}],
        [{"annotator": "ann", "rater_id": "ann"}, {"annotator": "ann", "rater_id": "bob"}],
    ],
)
def test_two_keys_that_name_different_people_are_found(annotations):
    (finding,) = found("A001", annotations)
    assert "expected the same" in finding.message
    assert finding.count == 1


@pytest.mark.parametrize(
    "annotations",
    [
        [{"annotator": "ann", "rater": "ann"}],
        [{"annotator": "ann", "annotator_id": 1}, {"annotator": "bob", "annotator_id": 2}],
        [{"annotator": "ann", "annotator_id": 1}, {"annotator": "ann", "annotator_id": 2}],
        [{"annotator": "ann", "created_by": "admin"}, {"annotator": "bob", "created_by": "admin"}],
        [{"rater": 1}, {"rater": 2}],
        [{"rater": "1"}, {"rater": "2"}],
        [{}, {}],
        [],
    ],
)
def test_consistent_names_are_left_alone(annotations):
    assert not found("A001", annotations)


@pytest.mark.parametrize("value", ["ann, bob", 2, [{"id": 1}], [["ann"]], True])
def test_a_list_of_annotators_that_is_none_is_found(value):
    (finding,) = found("A001", [{"rater": "ann"}], images=asked(value))
    assert finding.pointer == "/images/0/rater_list"
    assert finding.message.startswith('"rater_list" of 1 image is neither a list of names')


@pytest.mark.parametrize("other", ["Ann", " ann", "ann "])
def test_names_that_differ_in_case_or_blanks_are_a_warning(other):
    (finding,) = found("A001", [{"rater": "ann"}, {"rater": "ann"}, {"rater": other}])
    assert finding.severity is Severity.WARNING
    assert finding.pointer == "/annotations/2/rater"
    assert finding.found == ["ann", other]
    (finding,) = found("A001", [{"rater": "ann"}], images=asked([other, "bob"]))
    assert finding.severity is Severity.WARNING


# A002


def test_an_annotation_by_somebody_else_is_found():
    (finding,) = found("A002", [{"rater": "ann"}, {"rater": "eve"}], images=asked(["ann", "bob"]))
    assert finding.message == (
        'annotator "eve" is not in "rater_list" of the image: ["ann", "bob"]'
    )
    assert finding.pointer == "/annotations/1/rater"
    assert finding.ids["annotator"] == "eve"


@pytest.mark.parametrize("names", [["ann"], {"ann": []}, [], None, ["ANN "], "ann", ["bob", "ann"]])
def test_who_is_in_the_list_or_has_none_is_left_alone(names):
    assert not found("A002", [{"rater": "ann"}], images=asked(names))


# A003


def one_each(*images_of):
    return [
        {"rater": rater, "image_id": image}
        for image, raters in enumerate(images_of, 1)
        for rater in raters
    ]


def test_an_image_with_one_annotator_among_images_with_two_is_found():
    (finding,) = found("A003", one_each("ab", "ab", "a"), images=[{}] * 3)
    assert finding.severity is Severity.WARNING
    assert finding.pointer == "/images/2"
    assert finding.message == (
        "only one annotator on 1 of 3 annotated images; expected two or more, as on the others"
    )


def test_somebody_who_drew_nothing_on_one_image_is_an_info():
    (finding,) = found("A003", one_each("ab", "a"), images=asked(["a", "b"], ["a", "b"]))
    assert finding.severity is Severity.INFO
    assert (finding.pointer, finding.found, finding.count) == ("/images/1", "b", 1)
    assert not found("A003", one_each("ab", ""), images=asked(["a", "b"], ["a", "b"]))


def test_somebody_who_drew_nothing_at_all_is_a_warning():
    names = ["a", "b", "eve"]
    (finding,) = found("A003", one_each("ab", "ab"), images=asked(names, names))
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        'no annotations by 1 annotator ("eve") listed on 2 images; expected some'
    )


def test_truncated_files_are_not_said_to_miss_annotators():
    example = {"annotations": one_each("ab", "ab"), "images": asked(*[["a", "b", "eve"]] * 2)}
    text = document_of(example).reading.text.decode()
    assert findings(text, code="A003")
    cut = text[: text.rindex('"id"')]
    assert not findings(cut, code="A003")


def test_image_records_of_annotators_are_images_of_each():
    images = [{"annotator": "ann"}, {"annotator": "bob", "file_name": "a.jpg"}]
    known = authorship(document_of({"images": images, "annotations": [{}, {"image_id": 2}]}))
    assert known.by_records
    assert known.picture.tolist() == [0, 0]
    assert known.author.tolist() == [0, 1]


# A004


def test_copies_of_all_boxes_are_found():
    (finding,) = found("A004", boxes("ann") + boxes("bob"))
    assert finding.message == (
        'annotators "ann" and "bob" have exactly the same boxes and categories on 1 of 1 image '
        "with at least 3 annotations of each; expected small differences"
    )
    assert finding.pointer == "/images/0"


@pytest.mark.parametrize(
    "others",
    [
        boxes("bob", shift=1e-6),
        boxes("bob", 2),
        boxes("bob", 4),
        boxes("bob")[:2] * 2,
        boxes("bob", category=2),
        boxes("bob", image=2),
        boxes("ann"),
    ],
)
def test_sets_that_differ_anywhere_are_no_copies(others):
    more = {"images": [{}] * 2, "categories": [{}, {"name": "dog"}]}
    assert not found("A004", boxes("ann") + others, **more)


@pytest.mark.parametrize("more", [[30], [15, 80, 70, 45]])
def test_rotated_boxes_are_compared_by_all_their_numbers(more):
    def drawn(rater, by):
        return [
            {
                "image_id": n,
                "rater": rater,
                "bbox": [20 + 9 * k, 20, 18, 9, *more[:-1], more[-1] + by],
            }
            for n in (1, 2, 3)
            for k in range(3)
        ]

    images = [{}, {}, {}]
    assert found("A004", drawn("ann", 0) + drawn("bob", 0), images=images)
    assert not found("A004", drawn("ann", 0) + drawn("bob", 1), images=images)


# All of them


ODD = [
    "{}",
    "[]",
    "",
    '{"annotations": [1, null, [], {}], "images": [1, null, {"rater_list": 1}]}',
    '{"annotations": [{"rater": {"a": 1}}, {"rater": [1]}, {"rater": true}, {"rater": NaN}]}',
    '{"annotations": [{"rater": 1e400, "image_id": []}], "images": [{"annotators": [null]}]}',
    '{"images": [{"id": {}, "annotator": {}, "rater_list": {"a": 1}}], "annotations": {}}',
    '{"annotations": [{"rater": "a", "rater": "b", "image_id": 1}], "images": [{"id": 1',
    '{"annotations": [{"rater": "\\ud800"}, {"rater": "\\u0000"}], "images": []}',
]


@pytest.mark.parametrize("text", ODD)
def test_odd_files_are_left_to_the_rules_about_structure(text):
    report = report_of(text)
    assert any(code[0] in "FS" for code in report.counts)
    assert report.severities[Severity.ERROR]
    assert codes(text, select=("A",)) <= {"A001"}


def test_invisible_characters_of_a_name_are_escaped_once():
    name = "bob\u202e"
    images = [{"id": 1, "annotators": ["ann", name]}]
    records = [{"image_id": 1, "annotator": "ann"}, {"image_id": 1, "annotator": "eve"}]
    messages = [found.message for found in findings({"images": images, "annotations": records})]
    named = [message for message in messages if "bob" in message]
    assert named
    assert all('"bob\\u202e"' in message for message in named)
