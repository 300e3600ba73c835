"""The rule of a consensus, by a slow twin; its outlines, masks, rotated boxes and key points."""

import json
from itertools import combinations
from statistics import median

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask
from support.brute import box_iou
from support.cli import run
from support.datasets import annotation, dataset, document, image, random_rows, write
from support.reference import data_file

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.model.consensus import EMPTY
from bboxqa.model.masks import decode_counts, spans_of_runs
from bboxqa.model.rotated_boxes import corner_moves, corners, turned_to
from bboxqa.pipelines.consensus import coco_document
from bboxqa.pipelines.fusion import (
    consensus_of,
    covered_region,
    covered_spans,
    median_rotated_box,
    quorums,
    votes_of,
    without_holes,
)


def found_of(data, link=0.3, quorum=None):
    return consensus_of(votes_of(data), link, quorum)[0]


def clipped(box, size):
    x, y, width, height = box
    left, top = (min(max(each, 0), most) for each, most in zip((x, y), size, strict=True))
    right = min(max(x + width, 0), size[0])
    return left, top, right - left, min(max(y + height, 0), size[1]) - top


def slow_votes(rows, size):
    """Return image, annotator and box of each vote, own boxes joined one by one."""
    votes = []
    for place, who in sorted({row[:2] for row in rows}):
        own = [[clipped(row[3], size)] for row in rows if row[:2] == (place, who)]
        own = [each for each in own if each[0][2] > 0 and each[0][3] > 0]
        while pair := next(
            (
                (a, b)
                for a, b in combinations(own, 2)
                if any(box_iou(one, other) >= 0.7 for one in a for other in b)
            ),
            None,
        ):
            own.remove(pair[0])
            own.remove(pair[1])
            own.append(pair[0] + pair[1])
        for part in own:
            sides = [(x, y, x + w, y + h) for x, y, w, h in part]
            left, top, right, bottom = (sum(each) / len(each) for each in zip(*sides, strict=True))
            votes.append((place, who, (left, top, right - left, bottom - top)))
    return votes


def slow_objects(rows, size, link):
    """Return image, votes and median box of each object, joined pair by pair."""
    votes = slow_votes(rows, size)
    home = [{place} for place in range(len(votes))]
    pairs = [
        (box_iou(votes[a][2], votes[b][2]), a, b)
        for a, b in combinations(range(len(votes)), 2)
        if votes[a][0] == votes[b][0] and votes[a][1] != votes[b][1]
    ]
    for iou, a, b in sorted(pairs, key=lambda each: -each[0]):
        both = home[a] | home[b]
        people = [votes[each][1] for each in both]
        if iou >= link and home[a] is not home[b] and len({*people}) == len(people):
            for each in both:
                home[each] = both
    found = []
    for group in {id(each): each for each in home}.values():
        sides = [(x, y, x + w, y + h) for x, y, w, h in (votes[each][2] for each in group)]
        left, top, right, bottom = (median(each) for each in zip(*sides, strict=True))
        image = votes[min(group)][0]
        found.append((image, len(group), (left, top, right - left, bottom - top)))
    return sorted(found)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_objects_are_those_of_a_slow_twin(seed, n_annotators):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, n_annotators=n_annotators, n_images=2, n_boxes=4)
    noise = rng.normal(0, 0.5, (len(rows), 4))
    rows = [
        (*row[:3], tuple((np.array(row[3]) + each).tolist()))
        for row, each in zip(rows, noise, strict=True)
    ]
    rows += [(*row[:3], tuple(np.add(row[3], 0.01))) for row in rows[:2]]
    found = found_of(dataset(rows, size=(32, 28), n_images=2, n_annotators=n_annotators))
    expected = slow_objects(rows, (32, 28), 0.3)
    boxes = zip(found.image.tolist(), found.votes.tolist(), found.bbox.tolist(), strict=True)
    for own, true in zip(sorted((a, b, tuple(c)) for a, b, c in boxes), expected, strict=True):
        assert own[:2] == true[:2]
        assert own[2] == pytest.approx(true[2])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_neither_order_nor_names_nor_ids_matter(seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, n_annotators=4, n_images=2, side=12.0)
    found = found_of(dataset(rows, size=(14, 14), n_images=2, n_annotators=4))
    new = rng.permutation(4)
    order = rng.permutation(len(rows))
    mixed = [(rows[n][0], int(new[rows[n][1]]), *rows[n][2:]) for n in order]
    again = found_of(dataset(mixed, size=(14, 14), n_images=2, n_annotators=4))
    for name in ("image", "bbox", "votes", "asked", "category", "is_tie", "overlap", "spread"):
        assert getattr(found, name).tolist() == getattr(again, name).tolist(), name


BOX = (10.0, 10.0, 10.0, 10.0)


def test_a_box_drawn_again_has_the_category_that_is_more_usual_in_the_file():
    elsewhere = (30.0, 30.0, 5.0, 5.0)
    for usual in (0, 1):
        data = dataset([(0, 0, 0, BOX), (0, 0, 1, BOX), (0, 1, usual, elsewhere)])
        assert votes_of(data).data.annotations.category.tolist() == [usual, usual]


def test_a_box_drawn_again_in_two_categories_counts_for_both():
    elsewhere = [(0, 2, 0, (30.0 + 9 * place, 30.0, 5.0, 5.0)) for place in range(3)]
    rows = [(0, 0, 0, BOX), (0, 0, 1, BOX), (0, 1, 1, BOX)]
    found = found_of(dataset([*rows, *elsewhere]))
    (place,) = np.flatnonzero(found.votes == 2).tolist()
    assert (found.category[place], found.is_tie[place]) == (1, False)


def test_who_drew_nothing_was_asked_as_well():
    data = dataset([(0, 0, 0, BOX), (0, 1, 0, BOX)], n_annotators=5)
    found = found_of(data)
    assert (found.votes[0], found.asked[0], found.quorum[0]) == (2, 5, 2)
    assert found.overlap[0] == pytest.approx(0.4)
    assert not found_of(dataset([(0, 0, 0, BOX)], n_annotators=5)).is_kept[0]
    assert found_of(dataset([(0, 0, 0, BOX)], n_annotators=2)).is_kept[0]
    assert found_of(dataset([(0, 0, 0, BOX)], n_annotators=1)).is_kept[0]


@pytest.mark.parametrize(
    ("quorum", "expected"),
    [
        (None, [1, 1, 2, 2, 2, 3, 3, 4]),
        (0.5, [1, 1, 2, 2, 3, 4, 4, 5]),
        (3, [1, 2, 3, 3, 3, 3, 3, 3]),
    ],
)
def test_quorums(quorum, expected):
    asked = np.array([1, 2, 3, 4, 6, 7, 8, 10])
    assert quorums(asked, quorum).tolist() == expected


def test_boxes_are_cut_off_at_the_border_and_at_0_where_the_size_is_unknown():
    rows = [(0, 0, 0, (-5.0, 2.0, 10.0, 30.0)), (0, 1, 0, (-20.0, 0.0, 10.0, 5.0))]
    assert found_of(dataset(rows, size=(20, 20))).bbox.tolist() == [[0, 2, 5, 18]]
    assert found_of(dataset(rows)).bbox.tolist() == [[0, 2, 5, 30]]
    assert votes_of(dataset(rows)).left_out.tolist() == [0, EMPTY]
    assert votes_of(dataset(rows)).n_clipped == 1


def test_a_tie_is_for_the_annotator_who_agrees_most_then_for_the_most_frequent_category():
    far = [(50.0 * place + 100, 10.0, 10.0, 10.0) for place in range(3)]
    # Annotator 2 names the other objects as 1 does; 0 does not.
    rows = [(0, 0, 0, BOX), (0, 2, 1, BOX)]
    rows += [(0, who, int(who > 0), box) for who in (0, 1, 2) for box in far]
    found = found_of(dataset(rows))
    assert found.category.tolist() == [1, 1, 1, 1]
    assert found.is_tie.tolist() == [True, False, False, False]
    # Nobody agrees with anybody: the most frequent category, then the first by name.
    rows = [(0, 0, 1, BOX), (0, 1, 0, BOX), (0, 0, 1, far[0])]
    assert found_of(dataset(rows)).category.tolist() == [1, 1]
    assert found_of(dataset(rows[:2])).category.tolist() == [0]


def test_an_object_drawn_twice_by_one_annotator_is_one_vote_with_the_mean_of_the_edges():
    again = (11.0, 10.0, 10.0, 10.0)
    rows = [(0, 0, 0, BOX), (0, 0, 1, again), (0, 0, 1, again), (0, 1, 0, BOX)]
    found = found_of(dataset(rows, n_annotators=3))
    assert (len(found), found.votes[0]) == (1, 2)
    assert found.bbox[0].tolist() == pytest.approx([10 + 1 / 3, 10, 10, 10])
    assert found.spread[0].tolist() == pytest.approx([2 / 3, 0, 2 / 3, 0])
    # Boxes of one annotator that overlap less are two objects.
    rows = [(0, 0, 0, BOX), (0, 0, 0, (13.0, 10.0, 10.0, 10.0))]
    assert len(found_of(dataset(rows))) == 2


def test_ids_do_not_decide_which_of_repeated_outlines_with_one_box_is_compared():
    """Ann drew a square twice, without another corner; bob drew one of the two corners."""
    lower = [0, 0, 10, 0, 10, 7, 7, 7, 7, 10, 0, 10]
    upper = [0, 0, 7, 0, 7, 3, 10, 3, 10, 10, 0, 10]
    votes = []
    for outlines in ((lower, upper), (upper, lower)):
        rows = [annotation(n, 1, 1, (0, 0, 10, 10), annotator="ann", segmentation=[outline])
                for n, outline in enumerate(outlines, 1)]  # fmt: skip
        corner = [7, 7, 14, 7, 14, 10, 7, 10]
        rows.append(annotation(3, 1, 1, (7, 7, 7, 3), annotator="bob", segmentation=[corner]))
        data = bboxqa.read(document(rows))
        found = bboxqa.consensus(data, iou_threshold=0.05, similarity="polygon")
        votes.append(found.objects["votes"].tolist())
    assert votes[0] == votes[1]


def test_nothing_drawn_gives_no_objects():
    assert len(found_of(dataset([], n_images=3, n_annotators=2))) == 0


def test_too_many_boxes_in_one_place_are_refused_before_memory_is_taken():
    rows = [(0, 0, 0, (10 + n / 100, 10.0, 50.0, 50.0)) for n in range(3000)]
    with pytest.raises(DatasetError, match="too many boxes of one annotator overlap"):
        votes_of(dataset(rows))


SIZE = 40


def merged(annotations, *, people="abc", categories=None, **settings):
    """Return the annotations of the consensus of some, which have no ids and images."""
    drawn = [annotation(number, **each) for number, each in enumerate(annotations, 1)]
    of_all = image(1, width=SIZE, height=SIZE, annotators=[*people])
    content = document(drawn, [of_all], categories)
    data = bboxqa.read_coco(content, keypoints=True)
    return coco_document(bboxqa.consensus(data, **settings))["annotations"]


def box_ring(x, y, width, height):
    return [x, y, x + width, y, x + width, y + height, x, y + height]


def outlined(who, x, y, width, height):
    """Return an annotation whose outline is a box with a tip of 2 px below."""
    ring = [x, y, x + width, y, x + width, y + height, x + 5, y + height + 2, x, y + height]
    return {"annotator": who, "bbox": [x, y, width, height + 2], "segmentation": [ring]}


def test_outlines_that_are_boxes_are_boxes():
    drawn = [
        {"annotator": who, "bbox": [x, 0, 10, 9], "segmentation": [box_ring(x, 0, 10, 9)]}
        for who, x in (("a", 0), ("b", 2), ("c", 3))
    ]
    (found,) = merged(drawn)
    assert (found["bbox"], "segmentation" in found) == ([2, 0, 10, 9], False)


def test_the_outline_is_the_region_that_the_quorum_of_its_drawers_covers():
    drawn = [outlined("a", 0, 0, 10, 10), outlined("b", 2, 0, 10, 10), outlined("c", 4, 0, 10, 10)]
    (found,) = merged(drawn)
    # Two of three cover x from 2 to 12, and above the tips in the middle.
    regions = [shapely.Polygon(np.reshape(each["segmentation"][0], (-1, 2))) for each in drawn]
    pairs = [a & b for a, b in combinations(regions, 2)]
    expected = shapely.union_all(pairs)
    region = shapely.Polygon(np.reshape(found["segmentation"][0], (-1, 2)))
    assert region.symmetric_difference(expected).area == pytest.approx(0, abs=1e-5)
    assert found["area"] == pytest.approx(expected.area)
    assert found["bbox"][:3] == [2, 0, 10]
    (found,) = merged(drawn, quorum=3)
    assert found["area"] == pytest.approx(shapely.intersection_all(regions).area)
    # One who drew a box has no outline, and is no drawer of it.
    (found,) = merged([*drawn[:2], {"annotator": "c", "bbox": [4, 0, 10, 10]}])
    assert found["area"] == pytest.approx(shapely.union_all(regions[:2]).area)
    assert (found["bbox"], found["votes"]) == ([0, 0, 12, 12], 3)


def test_an_outline_that_returns_on_itself_covers_its_area_alone():
    # The last edges run down the left side, and up again: valid, that is an area and a line.
    ring = [0, 20, 0, 20, 15, 17, 30, 12, 17, 13, 4, 16, 0, 17, 0, 9, 0, 20]
    drawn = [{"annotator": name, "bbox": [0, 9, 30, 11], "segmentation": [ring]} for name in "abc"]
    region = shapely.make_valid(shapely.Polygon(np.reshape(ring, (-1, 2))))
    assert region.geom_type == "GeometryCollection"
    (found,) = merged(drawn)
    assert found["area"] == pytest.approx(region.area)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 3))
def test_regions_and_spans_are_those_of_pixels_that_are_counted(seed, n, least):
    rng = np.random.default_rng(seed)
    pixels = rng.random((n, 12, 9)) < 0.6
    expected = pixels.sum(0) >= min(least, n)
    regions = [
        shapely.union_all([shapely.box(x, y, x + 1, y + 1) for y, x in np.argwhere(each)])
        for each in pixels
    ]
    region = covered_region(regions, min(least, n))
    centres = shapely.points(*(np.mgrid[:9, :12].reshape(2, -1) + 0.5))
    inside = shapely.contains(region, centres).reshape(9, 12).T
    assert (inside == expected).all()
    assert region.area == pytest.approx(expected.sum())
    spans = [spans_of_runs(_runs(each)) for each in pixels]
    covered = np.zeros(expected.size, bool)
    for start, stop in covered_spans(spans, min(least, n)).tolist():
        covered[start:stop] = True
    assert (expected == covered.reshape(9, 12).T).all()
    parts = without_holes(region)
    assert not any(part.interiors for part in parts)
    assert shapely.union_all(parts).symmetric_difference(region).area == pytest.approx(0)


def decoded(rle):
    """Return the pixels of a mask; pycocotools warns of numpy 2."""
    height, width = rle["size"]
    counts = rle["counts"]
    runs = decode_counts(counts if isinstance(counts, bytes) else counts.encode())
    filled = np.repeat(np.arange(len(runs)) % 2, runs).astype(bool)
    return np.append(filled, np.zeros(height * width - len(filled), bool)).reshape(width, -1).T


def _runs(pixels):
    return decode_counts(mask.encode(np.asfortranarray(pixels.astype(np.uint8)))["counts"])


def test_masks_are_voted_pixel_by_pixel_also_beside_polygons():
    pixels = np.zeros((3, SIZE, SIZE), np.uint8)
    for each, left in zip(pixels, (5, 7, 10), strict=True):
        each[4:14, left : left + 12] = 1
    drawn = []
    for who, each in zip("abc", pixels, strict=True):
        rle = mask.encode(np.asfortranarray(each))
        x, y, width, height = mask.toBbox(rle).tolist()
        rle["counts"] = rle["counts"].decode()
        drawn.append({"annotator": who, "bbox": [x, y, width, height], "segmentation": rle})
    (found,) = merged(drawn)
    assert (decoded(found["segmentation"]) == (pixels.sum(0) >= 2)).all()
    assert found["bbox"] == [7, 4, 12, 10]
    ring = [box_ring(5, 4, 12, 10)]
    (found,) = merged([{**drawn[0], "segmentation": ring}, *drawn[1:]])
    assert (decoded(found["segmentation"]) == (pixels.sum(0) >= 2)).all()


def voted(annotations):
    """Return the pixels that at least half of the masks have, straight from the definition."""
    return np.mean([decoded(each) for each in annotations], axis=0) >= 0.5


def test_pixel_votes_of_two_annotators_are_those_of_their_definition():
    content = json.loads(data_file("lvis_double_100.json").read_text("utf-8"))
    sizes = {each["id"]: (each["height"], each["width"]) for each in content["images"]}
    rles = {}
    for each in content["annotations"]:
        parts = mask.frPyObjects(each["segmentation"], *sizes[each["image_id"]])
        rle = mask.merge(parts)
        rles[each["id"]] = rle
        each["segmentation"] = {"size": rle["size"], "counts": rle["counts"].decode()}
    data = bboxqa.read_coco(content)
    found = coco_document(bboxqa.consensus(data))["annotations"]
    several = [each for each in found if len(each["members"]) == 2 and each["votes"] == 2][:250]
    assert len(several) == 250
    for each in several:
        expected = voted([rles[member] for member in each["members"]])
        assert (decoded(each["segmentation"]) == expected).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(*(st.integers(5, 20) for _ in range(4)), st.integers(0, 359)),
        min_size=1, max_size=5,
    ),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_the_median_box_does_not_depend_on_how_sides_and_angles_are_named(rows, random):
    boxes = np.array(rows, float)
    boxes[:, 2] += 3
    found = median_rotated_box(boxes)
    turns = np.array([random.choice([0, 90, 180, 270]) for _ in rows])
    renamed = turned_to(boxes, (boxes[:, 4] + turns) % 360)
    random.shuffle(order := [*range(len(rows))])
    again = median_rotated_box(renamed[order])
    assert corner_moves(corners(found[None]), corners(again[None]))[0] < 1e-5


def test_rotated_boxes_have_the_median_centre_sides_and_angle():
    def turned(who, angle, width=12.0):
        box = np.array([[20.0, 20.0, width, 6.0, angle]])
        from bboxqa.model.rotated_boxes import bounds, corners

        left, top, right, bottom = bounds(box)[0]
        ring = corners(box)[0].ravel().tolist()
        return {"annotator": who, "bbox": [left, top, right - left, bottom - top],
                "segmentation": [ring]}  # fmt: skip

    drawn = [turned("a", 28), turned("b", 30, 14), turned("c", 211)]
    (found,) = merged(drawn)
    assert found["attributes"] == {"rotation": pytest.approx(30)}
    assert found["area"] == pytest.approx(72)
    assert len(found["segmentation"][0]) == 8
    assert merged(drawn, similarity="obb")[0]["segmentation"] == found["segmentation"]


JOINTS = ["nose", "left_eye", "right_eye"]
POSE = {"id": 1, "name": "person", "keypoints": JOINTS, "skeleton": [[1, 2]]}


def posed(who, *points):
    flat = [side for point in points for side in point]
    return {"annotator": who, "bbox": [5, 5, 20, 20], "keypoints": flat}


def test_key_points_are_medians_and_a_mirrored_pose_is_turned_back():
    drawn = [
        posed("a", (10, 10, 2), (8, 8, 2), (14, 8, 2)),
        posed("b", (11, 10, 2), (9, 8, 1), (15, 8, 0)),
        # Left and right are exchanged.
        posed("c", (12, 10, 2), (13, 8, 1), (7, 8, 2)),
    ]
    (found,) = merged(drawn, categories=[POSE])
    assert found["keypoints"] == [11, 10, 2, 8, 8, 2, 13.5, 8, 2]
    assert found["num_keypoints"] == 3
    # Of two annotators, one is enough for a joint.
    (found,) = merged(drawn[:2], people="ab", categories=[POSE])
    assert found["keypoints"] == [10.5, 10, 2, 8.5, 8, 2, 14, 8, 2]
    (found,) = merged(drawn[:2], people="ab", categories=[POSE], quorum=2)
    assert found["keypoints"][6:] == [0, 0, 0]


def test_outlines_reach_other_formats_and_masks_need_lossy_where_there_are_none(tmp_path):
    drawn = [annotation(n, **outlined(who, 5, 5, 10, 10)) for n, who in enumerate("abc")]
    write(tmp_path / "in.json", document(drawn))
    found = run("consensus", "in.json", "-o", "labels", "--to", "yolo-segment", cwd=tmp_path)
    assert found.returncode == 0
    found = run("consensus", "in.json", "-o", "boxes", "--to", "yolo", "--force", cwd=tmp_path)
    assert (found.returncode, "holds no polygon" in found.stderr) == (2, True)
    more = ["--to", "yolo", "--force", "--lossy"]
    assert run("consensus", "in.json", "-o", "boxes", *more, cwd=tmp_path).returncode == 0
