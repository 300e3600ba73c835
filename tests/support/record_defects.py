"""Single defects of keypoints, images and categories, for the corpus of `one_defect`."""

EVERY, FOURTH = 1, 4


def persons(document, step):
    """Return the annotations of every `step`-th image."""
    chosen = {image["id"] for image in document["images"][::step]}
    return [each for each in document["annotations"] if each["image_id"] in chosen]


def third_visibility(document):
    """Give the first labelled point of a person the visibility 3."""
    points = document["annotations"][7]["keypoints"]
    place = next(at for at in range(2, len(points), 3) if points[at])
    points[place] = 3
    return 1


def visible_nowhere(document):
    """Mark a point as visible that has no place."""
    annotation = next(each for each in document["annotations"] if 0 in each["keypoints"][2::3])
    points = annotation["keypoints"]
    points[points[2::3].index(0) * 3 + 2] = 2
    annotation["num_keypoints"] += 1
    return 1


def beyond(document):
    """Move the keypoints of a person beyond the right edge of the image."""
    annotation = document["annotations"][9]
    points = annotation["keypoints"]
    points[::3] = [
        x + 3000 if seen else 0 for x, seen in zip(points[::3], points[2::3], strict=True)
    ]
    return 1


def of_other_objects(document):
    """Give each person the keypoints of the next one in the file."""
    annotations = document["annotations"]
    points = [annotation["keypoints"] for annotation in annotations]
    for annotation, other in zip(annotations, points[1:] + points[:1], strict=True):
        annotation["keypoints"] = other
        annotation["num_keypoints"] = sum(seen > 0 for seen in other[2::3])
    return


def skeleton(*edge):
    """Return what adds an edge to the skeleton."""

    def change(document):
        document["categories"][0]["skeleton"].append(list(edge))
        return 1

    return change


def copied_box(document):
    """Give one box of an image of each size the same numbers, as a track that goes on."""
    by_size = {(image["width"], image["height"]): image["id"] for image in document["images"]}
    for image in by_size.values():
        annotation = next(each for each in document["annotations"] if each["image_id"] == image)
        annotation.update(bbox=[50.1, 60.3, 111.7, 98.2], area=10968.94)
    return len(by_size) if len(by_size) > 2 else 0


# What is wrong, in which original: the change, the code, and the words of the message.
RECORD_DEFECTS = {
    "a visibility is 3": ("people", third_visibility, "K002", "is 3; expected"),
    "a visible keypoint is at (0, 0)": ("people", visible_nowhere, "K003", "is at (0, 0)"),
    "keypoints of a person are beyond the image": (
        "people", beyond, "K004", "beyond the right edge of its image",
    ),
    "keypoints belong to other persons": ("people", of_other_objects, "K004", "keypoint"),
    "the skeleton counts from 0": ("people", skeleton(0, 4), "K006", "joins keypoint 0"),
    "the skeleton joins a point that does not exist": (
        "people", skeleton(5, 17), "K006", "joins keypoint 17",
    ),
    "a box is copied to images of other sizes": ("boxes", copied_box, "B014", "sizes"),
}  # fmt: skip
