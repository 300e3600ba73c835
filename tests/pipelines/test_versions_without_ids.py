"""Changes of annotations whose ids, if any, are assigned anew by each export."""

from collections import Counter

import numpy as np
import pytest
from msgspec.structs import replace
from support.datasets import annotation, dataset, document, image, write

from bboxqa import compare, read_coco

NAMES = ("cat", "cow", "dog")
WIDTH = HEIGHT = 400
PLAIN = {"bootstrap": 0}


def counts(result):
    return {name: number for name, number in result.counts.items() if number}


def scene(rng, n_images=4):
    """Return lists of boxes, each of which overlaps its neighbours, by image; and free places."""
    images, free = {}, {}
    for number in range(n_images):
        places = rng.permutation(64)
        cut = rng.integers(2, 50)
        boxes = [
            (int(rng.integers(3)), 40 * int(at % 8), 40 * int(at // 8), 60, 50)
            for at in places[:cut]
        ]
        images[f"{number}.jpg"] = boxes
        free[f"{number}.jpg"] = [(40 * int(at % 8), 40 * int(at // 8)) for at in places[cut:]]
    return images, free


def edited(images, free, rng):
    """Return the boxes after some changes, and the number of each kind of change.

    The order of boxes stays, and new ones come last or first, as in tools.
    """
    after, kinds = {}, Counter()
    share = rng.choice([0.02, 0.3])
    for name, boxes in images.items():
        kept = []
        for category, x, y, width, height in boxes:
            if rng.random() < share:
                kinds["removed"] += 1
                continue
            moved, renamed = rng.random(2) < share
            shift = 3 * moved
            other = (category + renamed) % 3
            kept.append((int(other), x + int(shift), y, width, height))
            kind = "_and_".join(["moved"] * bool(moved) + ["renamed"] * bool(renamed))
            kinds[kind or "unchanged"] += 1
        for x, y in free[name][: rng.integers(3)]:
            kept.insert(0 if rng.random() < 0.3 else len(kept), (0, x, y, 60, 50))
            kinds["added"] += 1
        after[name] = kept
    return after, {kind: number for kind, number in kinds.items() if number}


def as_coco(folder, images):
    records, listed = [], []
    for number, (name, boxes) in enumerate(images.items(), 1):
        listed.append(image(number, name, width=WIDTH, height=HEIGHT))
        for category, *box in boxes:
            place = 1 + len(records)
            records.append(annotation(place, number, category + 1, box, annotator="ann"))
    categories = [{"id": code, "name": name} for code, name in enumerate(NAMES, 1)]
    return write(folder / "a.json", document(records, listed, categories=categories))


def read(folder, images):
    folder.mkdir()
    return read_coco(as_coco(folder, images), min_annotators=1)


@pytest.mark.parametrize("seed", range(6))
def test_changes_are_those_that_were_made(seed, tmp_path):
    rng = np.random.default_rng(seed)
    images, free = scene(rng)
    after, kinds = edited(images, free, rng)
    old, new = read(tmp_path / "old", images), read(tmp_path / "new", after)
    assert counts(compare(old, new, **PLAIN)) == kinds
    back = {"removed": "added", "added": "removed"}
    turned = {back.get(kind, kind): number for kind, number in kinds.items()}
    assert counts(compare(new, old, **PLAIN)) == turned


def test_one_box_removed_is_one_removed(tmp_path):
    rng = np.random.default_rng(7)
    images, _ = scene(rng)
    n_boxes = sum(map(len, images.values()))
    before = read(tmp_path / "old", images)
    last = [*images][-1]
    for place in range(len(images[last])):
        boxes = images[last][:place] + images[last][place + 1 :]
        after = read(tmp_path / f"new{place}", {**images, last: boxes})
        result = compare(before, after, **PLAIN)
        assert counts(result) == {"unchanged": n_boxes - 1, "removed": 1}


def with_ids(data, ids):
    return replace(data, annotations=replace(data.annotations, id=np.asarray(ids, np.int64)))


def row(*lefts, width=20.0):
    return dataset([(0, 0, 0, (float(x), 0.0, width, 20.0)) for x in lefts])


def test_ids_of_a_tool_come_before_similar_boxes():
    # All boxes move by half the distance to the next: its former place is more similar.
    before = with_ids(row(0, 12, 24, width=20), [11, 12, 13])
    after = with_ids(row(10, 22, 34, width=20), [11, 12, 13])
    result = compare(before, after, **PLAIN)
    assert result.by_id
    assert counts(result) == {"moved": 3}
    assert result.moved_px == (10, 10)


def test_ids_that_moved_on_in_one_image_are_not_used_from_there_on():
    lefts = [float(x) for x in range(0, 3000, 15)]
    ids = [*range(100, 100 + len(lefts))]
    before = with_ids(row(*lefts), ids)
    # Without the sixth from last, the later ids move on; the first box moves beyond itself.
    kept = [lefts[0] - 28, *lefts[1:-6], *lefts[-5:-1], lefts[-1] + 2]
    after = with_ids(row(*kept), ids[: len(kept)])
    result = compare(before, after, **PLAIN)
    assert result.by_id
    assert counts(result) == {"unchanged": len(lefts) - 3, "moved": 2, "removed": 1}
    assert result.moved_px == (15, 28)
