"""Annotations of tracks, frame by frame."""

from support.validation import codes, findings


def video(*records, **images):
    annotations = [
        {"image_id": image, "bbox": [10 + 9 * n, 10, 20, 30], **more}
        for n, (image, more) in enumerate(records)
    ]
    return {"images": [images, images, {}], "annotations": annotations}


def test_a_second_annotation_of_a_track_in_an_image_is_named():
    example = video((1, {"track_id": 7}), (1, {"track_id": 7}), (2, {"track_id": 7}))
    (found,) = findings(example, code="D004")
    assert found.message.startswith('track "7" has annotation 1 in this image already')
    assert found.pointer == "/annotations/1"


def test_tracks_of_annotators_and_of_attributes_are_their_own():
    own = [{"attributes": {"track_id": 7}, "annotator": who} for who in ("ann", "bob")]
    assert "D004" not in codes(video(*((1, each) for each in own)))
    assert "D004" in codes(video((1, own[0]), (1, own[0])))


def test_a_track_that_changes_its_category_is_found_once():
    example = video(*((n, {"track_id": 7, "category_id": 1 + (n == 3)}) for n in (1, 2, 3)))
    example["categories"] = [{}, {}]
    (found,) = findings(example, code="C010")
    assert found.pointer == "/annotations/2/category_id"
    assert 'category is "dog", but "cat" in most images of track "7"' in found.message


def test_tracks_of_other_videos_may_have_the_same_number():
    example = video((1, {"track_id": 7}), (2, {"track_id": 7, "category_id": 2}))
    example["categories"] = [{}, {}]
    example["images"] = [{"video_id": 1}, {"video_id": 2}]
    assert "C010" not in codes(example)
