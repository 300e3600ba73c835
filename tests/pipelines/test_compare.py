"""What two versions of a data set have in common, and by how much agreement differs."""

from collections import Counter

import numpy as np
import pytest
from msgspec.structs import replace
from support import brute
from support.datasets import (
    annotation,
    boxes_as_outlines,
    dataset,
    document,
    document_of,
    image,
    object_rows,
    random_rows,
    write,
)
from support.resampled import expanded

from bboxqa import agree, compare, read_coco, reading
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.compare import compare_files

PLAIN = {"bootstrap": 0}
CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]


def box(number, x=10, *, image_id=1, category_id=1, by="ann", size=20):
    return annotation(number, image_id, category_id, (x, 10, size, size), annotator=by)


def versions(before, after, **more):
    """Return both documents as data sets; lists are annotations."""
    return [
        read_coco(
            content if isinstance(content, dict) else document(content, categories=CATEGORIES),
            min_annotators=1,
            **more,
        )
        for content in (before, after)
    ]


def compared(before, after, **more):
    return compare(*versions(before, after, **more), **PLAIN)


def counts(result):
    return {name: number for name, number in result.counts.items() if number}


def renumbered(data, rng):
    """Return the same annotations with other ids."""
    ids = rng.permutation(len(data.annotations)) + 1000
    return replace(data, annotations=replace(data.annotations, id=ids))


def edited(rows, rng):
    """Return rows of which some are removed, moved, of another category, or new."""
    found = []
    for place, annotator, category, (x, y, width, height) in rows:
        chance = rng.random()
        if chance >= 0.1:
            moved = 1.5 if chance < 0.3 else 0
            other = (category + 1) % 3 if 0.3 < chance < 0.4 else category
            found.append((place, annotator, other, (x + moved, y, width, height)))
    return [*found, (0, 0, 0, (200.0, 200.0, 9.0, 9.0))]


def test_each_kind_of_change_by_id():
    before = [box(1), box(2, 50), box(3, 100), box(4, 150), box(5, 200), box(6, 250)]
    after = [
        box(1),
        box(2, 53),
        box(3, 100, category_id=2),
        box(4, 156, category_id=2),
        # An id that overlaps is the same annotation, however little.
        box(5, 218),
        box(7, 300),
    ]
    result = compared(before, after)
    assert result.by_id
    assert counts(result) == {
        "unchanged": 1, "moved": 2, "renamed": 1, "moved_and_renamed": 1, "removed": 1, "added": 1,
    }  # fmt: skip
    rows = {row["id_before"] or row["id_after"]: row for row in result.changes.records()}
    assert rows.keys() == {2, 3, 4, 5, 6, 7}
    assert rows[2]["change"] == "moved"
    assert rows[2]["shift_px"] == 3
    assert rows[2]["similarity"] == pytest.approx(17 / 23)
    assert (rows[3]["category_before"], rows[3]["category_after"]) == ("cat", "dog")
    assert rows[6] == {
        "change": "removed", "image": "1.jpg", "annotator": "ann", "id_before": 6, "id_after": None,
        "category_before": "cat", "category_after": "", "crowd_flag": "", "shift_px": None,
        "similarity": None,
    }  # fmt: skip
    assert result.moved_px == (6, 18)
    assert result.moved_similarity == (pytest.approx(14 / 26), pytest.approx(2 / 38))


def test_equal_annotations_are_paired_one_by_one():
    before = [box(1, 0), box(2, 50), box(3, 50), box(4, 50, category_id=2), box(5, 100)]
    after = [box(15, 0), box(14, 50), box(13, 52), box(12, 100), box(11, 100)]
    result = compared(before, after)
    assert not result.by_id
    assert counts(result) == {"unchanged": 3, "moved": 1, "removed": 1, "added": 1}


def test_a_category_with_another_name():
    before = [box(1), box(2, 50), box(3, 100, category_id=2)]
    after = [box(1), box(2, 50), box(3, 100)]
    renamed = document(after, categories=[{"id": 1, "name": "feline"}, CATEGORIES[1]])
    result = compared(document(before, categories=CATEGORIES), renamed)
    assert counts(result) == {"unchanged": 2, "renamed": 1}
    assert result.categories.records()[0] == {
        "category_before": "cat", "category_after": "feline", "status": "renamed", "n_before": 2,
        "n_after": 3, "n_unchanged": 2, "n_moved": 0, "n_renamed_from": 0, "n_renamed_to": 1,
        "n_crowd_flag_changed": 0, "n_removed": 0, "n_added": 0,
    }  # fmt: skip
    assert result.renames.records() == [
        {"category_before": "dog", "category_after": "feline", "n_annotations": 1}
    ]


def test_crowd_flags_that_changed():
    before = [box(1), box(2, 50), box(3, 100), box(4, 150)]
    after = [box(1), box(2, 50), box(3, 103), box(4, 150)]
    for record, flag in ((before[0], 1), (after[1], 1), (after[2], 1)):
        record["iscrowd"] = flag
    result = compared(before, after)
    assert counts(result) == {"unchanged": 1, "moved": 1, "crowd_flag_changed": 2}
    rows = {
        row["id_before"]: (row["change"], row["crowd_flag"]) for row in result.changes.records()
    }
    assert rows == {
        1: ("crowd_flag_changed", "cleared"), 2: ("crowd_flag_changed", "set"), 3: ("moved", "set")
    }  # fmt: skip
    for table in (result.images, result.annotators, result.categories):
        assert table["n_crowd_flag_changed"].sum() == 2
        assert table["n_before"].sum() == table["n_after"].sum() == 4


def test_versions_without_a_common_image_are_doubted():
    before, other = (document([box(1)], [image(1, file_name=name)]) for name in ("a.jpg", "b.jpg"))
    same = document([box(1, 60)], [image(1, file_name="x/a.jpg")])
    with pytest.raises(DatasetError, match="no image is in both versions"):
        compared(before, other)
    with pytest.raises(DatasetError, match="--join name would join 1 more image"):
        compared(before, same)
    assert not any("--join" in note for note in compared(before, before).notes)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("b.jpg", "name two versions of one data set."),
        ("x/a.jpg", "--join name would join 1 more image, such as 'a.jpg' = 'x/a.jpg'."),
    ],
)
def test_files_of_which_nothing_is_compared_are_refused(name, advice, tmp_path):
    before = write(tmp_path / "before.json", document([box(1)], [image(1, "a.jpg")]))
    after = write(tmp_path / "after.json", document([box(1, 60)], [image(1, name)]))
    with pytest.raises(DatasetError) as refused:
        compare_files(before, after, AgreeSettings(bootstrap=0))
    found = f"no image is in both versions: the first is 'a.jpg' before and '{name}' after"
    assert found in str(refused.value)
    assert advice in str(refused.value)


@pytest.mark.parametrize("key", [None, "annotator"])
def test_versions_of_one_annotator_are_compared_and_not_measured(key):
    first = [annotation(1, **({key: "ann"} if key else {}))]
    second = [annotation(1, **({key: "bob"} if key else {})), annotation(2, bbox=(90, 9, 9, 9))]
    second[1] |= {key: "bob"} if key else {}
    result = compared(first, second)
    assert counts(result) == {"unchanged": 1, "added": 1}
    assert result.thresholds == ()
    assert result.before.agreement is None
    assert result.notes == ("no image has two annotators, so agreement is not compared",)


def test_a_version_without_annotations():
    result = compared(document([], [image(1)]), [box(1)])
    assert counts(result) == {"added": 1}
    result = compared(document([], []), document([], []))
    assert counts(result) == {}


def test_annotators_of_one_version_only_are_named():
    before = [box(1), box(2, by="bob")]
    after = [box(1), box(2, by="cid")]
    result = compared(before, after)
    assert result.annotators["status"].tolist() == ["both", "removed", "added"]


def test_alphas_of_other_numbers_of_annotators_are_said_to_differ():
    two, three = ([box(n, by=who) for n, who in enumerate("abc"[:k], 1)] for k in (2, 3))
    words = (
        "alpha is that of 2 and of 3 annotators, and may rise with their number alone: compare F1"
    )
    assert words in compared(two, three).notes
    assert words not in compared(two, two).notes


def test_an_outline_that_changes_in_its_box_has_moved():
    rows = [(0, 0, 0, (0.0, 0.0, 10.0, 10.0)), (0, 1, 0, (0.0, 0.0, 10.0, 10.0))]
    square = boxes_as_outlines(rows)
    corner = [square[0], [[0, 0, 10, 0, 10, 10, 5, 10, 0, 5]]]
    before, after = (dataset(rows, shapes, size=(20, 20)) for shapes in (square, corner))
    assert counts(compare(before, after, **PLAIN)) == {"unchanged": 2}
    for similarity in ("polygon", "mask"):
        result = compare(before, after, similarity=similarity, **PLAIN)
        assert counts(result) == {"unchanged": 1, "moved": 1}
        assert result.moved_similarity[0] == pytest.approx(0.875, abs=0.03)


def test_a_rotated_box_has_moved_as_far_as_its_corners():
    def version(*box):
        return document_of([(1, who, 1, box) for who in ("ann", "bob")])

    with reading(rotated="cxcywh-cw-degrees"):
        before = read_coco(version(50, 50, 30, 20, 0))
        # As wide as it was high, a quarter turn further, and 3 px lower.
        after = read_coco(version(50, 53, 20, 30, 90))
    found = compare(before, after, similarity="obb", **PLAIN)
    assert found.moved_px == pytest.approx((3, 3))


def test_an_undefined_alpha_says_in_which_version_and_why():
    before = [box(1), box(2, by="bob"), box(3, image_id=2), box(4, image_id=2, by="bob")]
    after = [*before[:3], {**before[3], "category_id": 2}]
    images = [image(1), image(2)]
    result = compared(
        document(before, images, categories=CATEGORIES),
        document(after, images, categories=CATEGORIES),
    )
    change = result.thresholds[0].pooled
    assert np.isnan([change.before, change.difference]).all()
    assert change.status == (
        "before: undefined: only one value occurs, so no disagreement is possible"
    )
    assert not np.isnan(change.after)


def made(seed, **more):
    rng = np.random.default_rng(seed)
    rows = object_rows(rng, **more)
    before, after = dataset(rows, n_images=12), dataset(edited(rows, rng), n_images=12)
    return before, renumbered(after, rng), rng


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("similarity", ["bbox", "giou", "centroid", "polygon"])
def test_a_version_is_equal_to_itself(seed, similarity):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    data = dataset(rows, boxes_as_outlines(rows), size=(60, 60))
    result = compare(data, data, similarity=similarity, iou_threshold=(0.3, 0.7), bootstrap=100)
    assert counts(result) == ({"unchanged": len(rows)} if rows else {})
    assert len(result.changes) == 0
    for part in result.thresholds:
        for change in (part.pooled, part.mean):
            assert change.difference == 0
            assert change.interval == (0, 0)
            assert change.before_interval == change.after_interval
        assert set(part.categories["difference"]) <= {0}
    other = compare(data, renumbered(data, rng), similarity=similarity, bootstrap=0)
    assert len(other.changes) == 0


@pytest.mark.parametrize("seed", range(3))
def test_comparing_backwards_mirrors(seed):
    before, after, _ = made(seed)
    there, back = (
        compare(*pair, bootstrap=60, iou_threshold=0.4)
        for pair in ((before, after), (after, before))
    )
    assert there.moved_px == back.moved_px
    for kind in ("pooled", "mean"):
        ours, theirs = (getattr(part.thresholds[0], kind) for part in (there, back))
        assert (ours.before, ours.after) == (theirs.after, theirs.before)
        assert ours.difference == -theirs.difference
        assert ours.interval == pytest.approx([-end for end in reversed(theirs.interval)])
        assert ours.before_interval == theirs.after_interval
    assert there.images["n_before"].tolist() == back.images["n_after"].tolist()


def renamed_images(data, prefix):
    return replace(data, image_names=tuple(f"{prefix} {name}" for name in data.image_names))


def units_of(data):
    """Return the values of the units of each image, as `agree` joins them."""
    result = agree(data, bootstrap=0)
    units = {}
    for row in result.units.records():
        said = row["category"] if row["state"] == "drawn" else brute.MISSING
        units.setdefault(row["image"], {}).setdefault(row["unit"], []).append(said)
    return {name: list(own.values()) for name, own in units.items()}


def drawn_alphas(units, names, n_draws, seed):
    """Return the pooled alpha of each resample of the images."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(n_draws):
        places = generator.integers(0, len(names), len(names))
        drawn = [unit for place in places for unit in units.get(names[place], [])]
        found.append(float(brute.alpha(drawn)))
    return np.array(found)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_is_that_of_drawing_the_same_images_of_both(seed):
    before, after, _ = made(seed)
    change = compare(before, after, bootstrap=80, seed=seed).thresholds[0].pooled
    names = before.image_names
    old, new = (drawn_alphas(units_of(data), names, 80, seed) for data in (before, after))
    n_old, n_new = n_drawn_in(before), n_drawn_in(after)
    for found, drawn, n_images in (
        (change.before_interval, old, n_old),
        (change.after_interval, new, n_new),
        (change.interval, new - old, min(n_old, n_new)),
    ):
        assert found == pytest.approx(expanded(drawn, n_images), abs=1e-12)
    # Without pairing, what images have in common would make the interval wider.
    apart = drawn_alphas(units_of(after), names, 80, seed + 99) - old
    assert np.ptp(change.interval) < np.ptp(np.quantile(apart, [0.025, 0.975]))


def n_drawn_in(data):
    """Return in how many images anything was drawn."""
    return sum(bool(units) for units in units_of(data).values())


def only_images(data, first, last):
    """Return the data set of some of the images."""
    place = data.annotations.image
    rows = np.flatnonzero((place >= first) & (place < last))
    taken = data.annotations.take(rows)
    return replace(
        data,
        image_names=data.image_names[first:last],
        image_size=data.image_size[first:last],
        assigned=data.assigned[first:last],
        annotations=replace(taken, image=taken.image - np.int32(first)),
    )


def test_agreement_is_compared_in_the_images_of_both():
    before, after, _ = made(4)
    result = compare(only_images(before, 0, 9), only_images(after, 3, 12), bootstrap=60)
    shared = compare(only_images(before, 3, 9), only_images(after, 3, 9), bootstrap=60)
    assert result.paired
    assert result.n_measured_images == (6, 6)
    assert result.thresholds[0].pooled == shared.thresholds[0].pooled
    assert result.thresholds[0].mean == shared.thresholds[0].mean
    alone = agree(only_images(before, 0, 9), **PLAIN).alpha
    assert result.before.agreement.alpha == alone != result.thresholds[0].pooled.before


@pytest.mark.parametrize(
    ("empty_images", "missing"),
    [(empty, "category") for empty in ("agree", "unit", "skip")]
    + [(empty, "ignore") for empty in ("agree", "skip")],
)
def test_alphas_are_those_of_agree(empty_images, missing):
    before, after, _ = made(6)
    how = {"empty_images": empty_images, "missing": missing, "iou_threshold": (0.3, 0.6)}
    result = compare(before, after, bootstrap=60, **how)
    for data, when in ((before, "before"), (after, "after")):
        measured = agree(data, bootstrap=60, **how)
        for part, change in zip(measured.thresholds, result.thresholds, strict=True):
            for found, value, interval in (
                (change.pooled, part.alpha, part.interval),
                (change.mean, part.mean_image_alpha, part.mean_image_interval),
                (change.f1, part.existence.f1, part.existence.interval),
            ):
                assert getattr(found, when) == pytest.approx(value)
                assert getattr(found, f"{when}_interval") == pytest.approx(interval)
            alphas = dict(zip(part.categories["category"], part.categories["alpha"], strict=True))
            found = change.categories.records()
            assert {row["category"]: row[f"alpha_{when}"] for row in found} == pytest.approx(alphas)


def test_counts_by_image_category_and_annotator_add_up():
    before, after, _ = made(3)
    result = compare(before, after, **PLAIN)
    for table in (result.images, result.annotators, result.categories):
        assert table["n_before"].sum() == len(before.annotations)
        assert table["n_after"].sum() == len(after.annotations)
        assert table["n_unchanged"].sum() == result.counts["unchanged"]
    changed = sum(number for name, number in result.counts.items() if name != "unchanged")
    assert len(result.changes) == changed
    n_renamed = result.counts["renamed"] + result.counts["moved_and_renamed"]
    assert result.renames["n_annotations"].sum() == n_renamed
    assert result.categories["n_renamed_from"].sum() == n_renamed
    assert result.categories["n_renamed_to"].sum() == n_renamed


def test_settings_and_data_are_checked():
    before, after = versions([box(1)], [box(1)])
    with pytest.raises(TypeError, match="source is of type int; expected one"):
        compare(before, 7)
    with pytest.raises(ConfigError, match="unknown setting 'iou'"):
        compare(before, after, iou=0.5)
    with pytest.raises(ConfigError, match="join is for"):
        compare(before, after, join="name")
    with pytest.raises(DatasetError, match="has no segmentation"):
        compare(before, after, similarity="polygon")


NAMES = ("cat", "cow", "dog")


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


def with_changes(images, free, rng):
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


def read(images):
    rows = [
        (place, "ann", category + 1, box)
        for place, boxes in enumerate(images.values(), 1)
        for category, *box in boxes
    ]
    return read_coco(document_of(rows, [*images], NAMES, size=(400, 400)), min_annotators=1)


@pytest.mark.parametrize("seed", range(6))
def test_changes_are_those_that_were_made(seed):
    rng = np.random.default_rng(seed)
    images, free = scene(rng)
    after, kinds = with_changes(images, free, rng)
    old, new = read(images), read(after)
    assert counts(compare(old, new, **PLAIN)) == kinds
    back = {"removed": "added", "added": "removed"}
    turned = {back.get(kind, kind): number for kind, number in kinds.items()}
    assert counts(compare(new, old, **PLAIN)) == turned


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
    # Without the sixth from last, the later ids move on; the first box leaves its place.
    kept = [lefts[0] - 28, *lefts[1:-6], *lefts[-5:-1], lefts[-1] + 2]
    after = with_ids(row(*kept), ids[: len(kept)])
    result = compare(before, after, **PLAIN)
    assert result.by_id
    assert counts(result) == {"unchanged": len(lefts) - 3, "moved": 1, "removed": 2, "added": 1}
    assert result.moved_px == (2, 2)


def test_an_id_whose_boxes_still_overlap_is_not_taken_over_by_a_nearer_box():
    before = [box(1), box(2, 60)]
    result = compared(before, [box(1, 20), box(2, 60), box(3, 11)])
    rows = {(row["change"], row["id_before"], row["id_after"]) for row in result.changes.records()}
    assert rows == {("moved", 1, 1), ("added", None, 3)}
