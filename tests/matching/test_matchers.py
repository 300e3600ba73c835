"""Matchers against slow twins and worked examples."""

import json
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support import brute
from support.datasets import annotation, dataset, document, image, random_rows, write
from support.reference import WORKED

from bboxqa.agreement.nominal import pooled_alpha
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.core import arrays as blocks
from bboxqa.core.errors import ConfigError
from bboxqa.geometry.box_similarities import given_sigmas
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.matching import assignment, linkage
from bboxqa.matching.matchers import MATCHERS, match, pair_weights
from bboxqa.pipelines.agree import agree
from bboxqa.pipelines.read import read_coco
from bboxqa.pipelines.simulate import simulate

seeds = st.integers(0, 2**32)
SIMILARITY_OF = {"bbox": 0.3, "giou": -0.2, "centroid": 0.5}


def made(seed, **more):
    return dataset(sorted(random_rows(np.random.default_rng(seed), **more)), n_annotators=5)


def units_of(data, pairs, matcher, threshold, **more):
    """Return the units as sets of annotation ids, which are the places of rows."""
    table = match(data.annotations, pairs, matcher, threshold, **more)
    units = [set() for _ in range(len(table))]
    for number, unit in zip(data.annotations.id.tolist(), table.unit.tolist(), strict=True):
        units[unit].add(number)
    return {frozenset(unit) for unit in units}


def run(data, matcher, threshold=0.3, similarity="bbox", **more):
    pairs, _ = candidate_pairs(data, similarity, threshold)
    return units_of(data, pairs, matcher, threshold, **more)


def weighted(data, pairs, weight):
    """Return nodes and weighted pairs of each image, as the slow twins take them."""
    columns = data.annotations
    for place in np.unique(columns.image):
        nodes = {int(n): int(columns.annotator[n]) for n in np.flatnonzero(columns.image == place)}
        edges = zip(weight.tolist(), pairs.left.tolist(), pairs.right.tolist(), strict=True)
        yield nodes, [edge for edge in edges if edge[1] in nodes]


def drawn(data):
    """Return what is drawn by each annotation: its box and its category."""
    columns = data.annotations
    return [
        (*box, category)
        for box, category in zip(columns.bbox.tolist(), columns.category.tolist(), strict=True)
    ]


def drawn_units(rows, order, matcher, similarity, **more):
    """Return the units as multisets of what each annotator drew, annotators being renamed."""
    renamed = [(i, order[a], *rest) for i, a, *rest in rows]
    data = dataset(renamed, n_annotators=len(order))
    units = run(data, matcher, SIMILARITY_OF[similarity], similarity, **more)
    # The id of an annotation is the place of its row.
    return sorted(sorted(rows[number] for number in unit) for unit in units)


def check_units(data, units):
    columns = data.annotations
    assert sorted(node for unit in units for node in unit) == list(range(len(columns)))
    for unit in units:
        nodes = sorted(unit)
        assert len(set(columns.annotator[nodes].tolist())) == len(nodes)
        assert len(set(columns.image[nodes].tolist())) == 1


@given(seeds, st.sampled_from(list(SIMILARITY_OF)), st.booleans())
def test_recursive_as_defined(seed, similarity, lenient):
    data = made(seed, n_annotators=4, n_boxes=3)
    threshold = SIMILARITY_OF[similarity]
    pairs, _ = candidate_pairs(data, similarity, threshold)
    more = {"category_lenient": lenient}
    weight = pair_weights(pairs, data.annotations.category, threshold, **more)
    expected, unique = set(), True
    for nodes, edges in weighted(data, pairs, weight):
        units, only = brute.recursive_units(nodes, edges)
        expected |= units
        unique &= only
    found = units_of(data, pairs, "recursive", threshold, **more)
    check_units(data, found)
    if unique:
        assert found == expected


@pytest.mark.parametrize("matcher", ["greedy", "average", "complete"])
@settings(max_examples=20)
@given(seeds, st.sampled_from(list(SIMILARITY_OF)), st.booleans(), st.booleans())
# Two units are left that chains of their own have joined.
@example(1023, "centroid", True, True)
def test_linkage_as_defined(matcher, seed, similarity, tied, lenient):
    rng = np.random.default_rng(seed)
    data = dataset(sorted(tied_rows(rng, n_annotators=4))) if tied else made(seed, n_boxes=3)
    threshold = SIMILARITY_OF[similarity]
    pairs, _ = candidate_pairs(data, similarity, threshold)
    more = {"category_lenient": lenient}
    weight = pair_weights(pairs, data.annotations.category, threshold, **more)
    slow = brute.greedy_units
    if matcher != "greedy":
        slow = partial(brute.linkage_units, complete=matcher == "complete")
    expected = {
        unit for image in weighted(data, pairs, weight) for unit in slow(*image, drawn(data))
    }
    assert units_of(data, pairs, matcher, threshold, **more) == expected


@pytest.mark.parametrize("matcher", ["average", "complete"])
def test_linkage_looks_for_few_neighbours_where_each_join_waits_for_the_one_before(
    matcher, monkeypatch
):
    """A row of boxes that overlap less and less."""
    left = np.cumsum(6 + np.arange(2000) * 0.003)
    rows = [(0, n % 3, n % 2, (float(x), 10.0, 60.0, 60.0)) for n, x in enumerate(left)]
    data = dataset(sorted(rows))
    pairs, _ = candidate_pairs(data, "bbox", 0.3)
    calls = Counter()
    nearest = counted(linkage.LinkedUnits.nearest, "nearest", calls)
    monkeypatch.setattr(linkage.LinkedUnits, "nearest", nearest)
    match(data.annotations, pairs, matcher, 0.3)
    assert calls["nearest"] < 2 * len(rows)


def counted(function, name, calls):
    def called(*arguments):
        calls[name] += 1
        return function(*arguments)

    return called


@given(seeds, st.booleans())
def test_recursive_with_two_annotators_is_hungarian(seed, lenient):
    data = made(seed, n_annotators=2, n_boxes=7)
    more = {"category_lenient": lenient}
    assert run(data, "recursive", **more) == run(data, "hungarian", **more)


@given(seeds)
def test_hungarian_has_the_largest_total(seed):
    data = made(seed, n_annotators=2, n_boxes=4)
    pairs, _ = candidate_pairs(data, "bbox", 0.2)
    weight = pair_weights(pairs, data.annotations.category, 0.2)
    units = units_of(data, pairs, "hungarian", 0.2)
    edges = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    total = sum(w for edge, w in zip(edges, weight.tolist(), strict=True) if {*edge} in units)
    best = sum(
        brute.best_matchings([e[1:] for e in part], [e[0] for e in part])[0]
        for _, part in weighted(data, pairs, weight)
    )
    assert total == best


@pytest.mark.parametrize("matcher", ["auto", "greedy", "average", "complete"])
@given(seeds, st.sampled_from(list(SIMILARITY_OF)), st.booleans(), st.permutations(range(4)))
def test_the_order_of_annotators_changes_nothing(matcher, seed, similarity, lenient, order):
    """Boxes on a coarse grid: many pairs tie, and many boxes are drawn twice."""
    rng = np.random.default_rng(seed)
    rows = tied_rows(rng, n_annotators=int(rng.integers(2, 5)))
    expected, found = (
        drawn_units(rows, each, matcher, similarity, category_lenient=lenient)
        for each in (range(4), order)
    )
    assert found == expected


@given(seeds, st.booleans())
def test_auto_is_hungarian_where_two_annotate_and_greedy_where_more_do(seed, lenient):
    """Images of two to four annotators, of boxes on a coarse grid: the two matchers differ."""
    rng = np.random.default_rng(seed)
    rows, by_image = [], []
    for place, n in enumerate(rng.integers(2, 5, 3).tolist()):
        own = [(place, *row[1:]) for row in tied_rows(rng, n_annotators=n, n_boxes=5)]
        two = len({row[1] for row in own}) == 2
        by_image.append((len(rows), own, "hungarian" if two else "greedy"))
        rows += own
    expected = set()
    for start, own, matcher in by_image:
        data = dataset(own, n_images=3, n_annotators=4)
        units = run(data, matcher, category_lenient=lenient)
        expected |= {frozenset(start + node for node in unit) for unit in units}
    data = dataset(rows, n_images=3, n_annotators=4)
    assert run(data, "auto", category_lenient=lenient) == expected


SHAPED = {"obb": 0.1, "polygon": 0.2, "keypoints": 0.2}


def shaped_records(rng, similarity, *, n_annotators):
    """Return records whose boxes are often equal while their other shapes differ."""
    records = []
    for annotator in range(n_annotators):
        for _ in range(rng.integers(1, 5)):
            x, y = (4.0 * rng.integers(0, 2, 2)).tolist()
            flip = bool(rng.integers(2))
            shape = {
                "obb": {"attributes": {"rotation": float(rng.choice([30, 90, 150]))}},
                "polygon": {
                    "segmentation": [[x, y + 8 * flip, x + 12, y + 8 * (not flip), x, y + 4]]
                },
                "keypoints": {
                    "keypoints": [x, y + 8 * flip, 2, x + 12, y + 8 * (not flip), 2],
                    "area": float(rng.choice([30, 90])),
                },
            }[similarity]
            drawn = {"category_id": int(rng.integers(1, 3)), "bbox": [x, y, 12.0, 8.0], **shape}
            records.append((annotator, drawn))
    return records


def shaped_units(records, order, matcher, similarity, **more):
    """Return the units as multisets of what was drawn; ids are the places of records."""
    every = [
        {"id": number, "image_id": 1, "iscrowd": 0, "rater": f"r{order[annotator]}", **drawn}
        for number, (annotator, drawn) in enumerate(records, 1)
    ]
    joints = {"keypoints": ["a", "b"]} if similarity == "keypoints" else {}
    categories = [{"id": number, "name": f"class {number}", **joints} for number in (1, 2)]
    content = document(every, [image(1)], categories)
    data = read_coco(content, keypoints=similarity == "keypoints", min_annotators=1)
    data = replace(data, joint_sigmas=given_sigmas(data, (0.5,)) if joints else ())
    pairs, _ = candidate_pairs(data, similarity, SHAPED[similarity])
    units = units_of(data, pairs, matcher, SHAPED[similarity], **more)
    return sorted(sorted(json.dumps(records[number - 1][1]) for number in unit) for unit in units)


@pytest.mark.parametrize("similarity", SHAPED)
@pytest.mark.parametrize("matcher", ["auto", "greedy", "average", "complete", "hungarian"])
@given(st.booleans(), seeds)
def test_neither_annotators_nor_records_in_another_order_change_units_of_shapes(
    matcher, similarity, lenient, seed
):
    """Boxes are often equal while rotations, outlines or key points differ."""
    rng = np.random.default_rng(seed)
    n_annotators = 2 if matcher == "hungarian" else int(rng.integers(2, 5))
    records = shaped_records(rng, similarity, n_annotators=n_annotators)
    shuffled = [records[place] for place in rng.permutation(len(records))]
    order = rng.permutation(n_annotators).tolist()
    more = {"category_lenient": lenient}
    expected = shaped_units(records, range(n_annotators), matcher, similarity, **more)
    assert shaped_units(shuffled, order, matcher, similarity, **more) == expected


def tied_rows(rng, *, n_annotators, n_boxes=4):
    """Return rows of boxes of one size on a grid, of two categories, in one image."""
    return [
        (0, annotator, int(rng.integers(2)), (*(2.0 * rng.integers(0, 4, 2)).tolist(), 6.0, 6.0))
        for annotator in range(n_annotators)
        for _ in range(rng.integers(1, n_boxes + 1))
    ]


@pytest.mark.parametrize("matcher", MATCHERS)
@settings(max_examples=20)
@given(seeds)
def test_images_do_not_touch_each_other(matcher, seed):
    rng = np.random.default_rng(seed)
    rows = sorted(random_rows(rng, n_images=3, n_annotators=2))
    apart = set()
    for place in range(3):
        own = [number for number, row in enumerate(rows) if row[0] == place]
        part = dataset([rows[number] for number in own], n_images=3, n_annotators=2)
        apart |= {frozenset(own[node] for node in unit) for unit in run(part, matcher)}
    assert run(dataset(rows, n_images=3, n_annotators=2), matcher) == apart


@pytest.mark.parametrize("matcher", MATCHERS)
@given(seeds, st.booleans())
def test_blocks_of_a_few_pairs_give_the_same(matcher, seed, lenient):
    """Boxes on a coarse grid: many pairs tie."""
    rng = np.random.default_rng(seed)
    n_annotators = 2 if matcher == "hungarian" else 4
    data = dataset(sorted(tied_rows(rng, n_annotators=n_annotators, n_boxes=6)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignment, "_FEW", 0)
        expected = run(data, matcher, category_lenient=lenient)
        patch.setattr(blocks, "_ROWS", 3)
        patch.setattr(linkage, "_LINKS", 3)
        assert run(data, matcher, category_lenient=lenient) == expected


def test_unknown_matcher():
    with pytest.raises(
        ConfigError, match="matcher is 'best'; expected one of auto, hungarian, rec"
    ):
        run(dataset([]), "best")


def test_hungarian_is_for_two():
    data = dataset([(0, a, 0, (0.0, 0.0, 5.0, 5.0)) for a in range(3)])
    with pytest.raises(ConfigError, match="'hungarian' is for two annotators and there are 3; cho"):
        run(data, "hungarian")


# The worked examples.


def document_of(records, size, categories=None):
    """Return a document of one image from id → annotator, category, bbox."""
    used = sorted({category for _, category, _ in records.values()})
    names = categories or {number: f"class {number}" for number in used}
    return document(
        [
            annotation(int(n), 1, what, box, annotator=who)
            for n, (who, what, box) in records.items()
        ],
        [image(1, "a.png", width=size[0], height=size[1])],
        [{"id": int(number), "name": name} for number, name in names.items()],
    )


def schematic(case, tmp_path):
    records = {str(n): WORKED["schematic"]["boxes"][str(n)] for n in case["boxes"]}
    content = document_of(records, (400, 400))
    content["images"][0]["annotators"] = case["annotators"]
    return read_coco(write(tmp_path / "case.json", content))


@pytest.mark.parametrize("matcher", ["recursive", "greedy"])
@pytest.mark.parametrize("case", WORKED["schematic"]["cases"], ids=lambda c: str(c["boxes"]))
def test_schematic_matchings(case, matcher, tmp_path):
    result = agree(schematic(case, tmp_path), matcher=matcher, bootstrap=0)
    # Some cases have one category, of which the result shows no alpha.
    alpha = pooled_alpha(coincidences(result.thresholds[0].reliability, "category")).value
    assert alpha == pytest.approx(case["alpha"], abs=5e-5)
    units = {}
    for row in result.units.records():
        drawn = [] if row["annotation"] is None else [row["annotation"]]
        units.setdefault(row["unit"], []).extend(drawn)
    assert sorted(map(sorted, units.values())) == sorted(map(sorted, case["units"]))


@pytest.fixture(params=WORKED["images"])
def scene(request, tmp_path):
    expected = WORKED["images"][request.param]
    content = document_of(expected["annotations"], expected["size"], expected["categories"])
    return read_coco(write(tmp_path / "scene.json", content)), expected


def test_units_and_alpha_of_the_images(scene):
    data, expected = scene
    assert sorted(map(sorted, run(data, "recursive", 0.5))) == sorted(expected["recursive"])
    result = agree(data, iou_threshold=0.5, bootstrap=0)
    assert result.alpha == pytest.approx(expected["alpha"], abs=5e-5)
    assert result.mean_image_alpha == result.alpha


def test_the_default_joins_more_true_pairs_than_recursive_matching():
    """A small case of the study in docs/matching_study.md: loose boxes in crowded images."""
    errors = {"p*": "miss=0.1 extra=0.05 jitter=15%"}
    more = {"images": 4, "objects": 40, "overlap": 0.5, "seed": 1}
    content = simulate(annotators=5, errors=errors, **more).document()
    data = read_coco(content)
    true = {each["id"]: each.get("true_id") for each in content["annotations"]}

    def right(matcher):
        units = [map(true.get, unit) for unit in run(data, matcher, 0.5)]
        sizes = [count for unit in units for place, count in Counter(unit).items() if place]
        return sum(n * (n - 1) // 2 for n in sizes)

    assert right("complete") < right("recursive") < 0.9 * right("auto")
    assert abs(right("average") / right("auto") - 1) < 0.03
