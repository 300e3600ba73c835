"""`bboxqa audit` beside other tools, on data whose truth is known; prints the tables of README.md.

    python benchmarks/audit.py --data ../shared/data [--kitti DIR] [--draws 1000]

A list of places is judged against the truth as TIDE sorts errors: labels and true objects are
matched greedily from an IoU of 0.5 on, the rest from 0.1 on as badly drawn. A place of kind
missing or badly drawn is right if the true object that it overlaps most has no matching label, and
an IoU of 0.1 or more with it: who looks there sees the object, however well the model draws it.
Each object counts once. Rows "to IoU 0.5" ask for a box that could be taken over as it is. The
others are right if the label has this error. Average precision is over all errors, also those that
no prediction shows. Where others are the model, each object that at least one of them drew is a
prediction, its box the medians, its score the share of votes; annotators are pooled. Votes are cut
off at the border of the image; a last row does so with labels and the truth as well, since of what
continues outside (23 of the 158 badly drawn cells) the part inside fits.

This reading gives the figures measured before `audit` was written, on all of KITTI: plain score
.101, score times 1 - IoU .088; on half of it .106 and .095 here, but .048 and .042 to IoU 0.5.
README.md has the other readings. hotcoco and cleanlab (ObjectLab, AGPL, an oracle only) are
compared where they are installed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import bboxqa

Array = NDArray[Any]
Record = dict[str, Any]
SAME, NEAR = 0.5, 0.1
LEAST = 0.5
MISSING, SPURIOUS, CLASS, PLACE = "missing", "spurious", "class", "place"
KINDS = (MISSING, SPURIOUS, CLASS, PLACE)


@dataclass(frozen=True, eq=False)
class Case:
    """Labels, predictions and the truth, as COCO documents; predictions may be results."""

    name: str
    labels: Record
    predictions: Any
    truth: Record

    @cached_property
    def errors(self) -> Truth:
        """The errors of the labels."""
        return Truth(self.labels, self.truth)


class Place(NamedTuple):
    """A place of a list: in an image, a box or a label."""

    score: float
    kind: str
    image: str
    box: tuple[float, ...]
    label: str = ""


def iou(one: Any, other: Any) -> Array:
    """Return the IoU of all pairs of boxes, (N, M)."""
    a, b = (np.asarray(each, float).reshape(-1, 4) for each in (one, other))
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum((a[:, :2] + a[:, 2:])[:, None], (b[:, :2] + b[:, 2:])[None])
    shared = np.clip(high - low, 0, None).prod(2)
    total = a[:, 2:].prod(1)[:, None] + b[:, 2:].prod(1)[None] - shared
    return np.divide(shared, total, out=np.zeros_like(shared), where=total > 0)


def by_image(document: Record, name: Any = None) -> dict[str, list[Record]]:
    """Return the annotations by the file name of their image; `name` are those of results."""
    names = name or {each["id"]: each["file_name"] for each in document["images"]}
    found: dict[str, list[Record]] = defaultdict(list)
    for each in document["annotations"]:
        found[names[each["image_id"]]].append(each)
    return found


def greedy(values: Array, least: float, free: tuple[set[int], set[int]]) -> dict[int, int]:
    """Match rows and columns that are free by falling IoU."""
    found = {}
    for place in np.argsort(-values, axis=None, kind="stable"):
        row, column = divmod(int(place), values.shape[1])
        if values[row, column] < least - 1e-9:
            break
        if row in free[0] and column in free[1]:
            found[row] = column
            free[0].discard(row)
            free[1].discard(column)
    return found


class Truth:
    """The errors of labels."""

    def __init__(self, labels: Record, truth: Record) -> None:
        self.objects: dict[str, list[Any]] = {}
        """The true boxes of each image."""
        self.unlabelled: dict[str, dict[int, bool]] = {}
        """The places in `objects` without a matching label, and whether none is near, either."""
        self.kind: dict[str, str] = {}
        names = [
            {each["id"]: each["name"] for each in one["categories"]} for one in (labels, truth)
        ]
        drawn, real = by_image(labels), by_image(truth)
        for image in {each["file_name"] for each in labels["images"]}:
            own, true = drawn[image], real[image]
            values = iou([each["bbox"] for each in own], [each["bbox"] for each in true])
            free = {*range(len(own))}, {*range(len(true))}
            same = greedy(values, SAME, free)
            lacking = sorted(free[1])
            near = greedy(values, NEAR, free)
            for row, label in enumerate(own):
                kind = SPURIOUS
                if row in same:
                    alike = (names[0][label["category_id"]]
                             == names[1][true[same[row]]["category_id"]])  # fmt: skip
                    kind = "" if alike else CLASS
                elif row in near:
                    kind = PLACE
                elif len(true) and values[row].max() >= SAME:
                    kind = "twice"
                self.kind[str(label["id"])] = kind
            self.objects[image] = [each["bbox"] for each in true]
            self.unlabelled[image] = {each: each in free[1] for each in lacking}

    def hits(
        self, places: list[Place], kinds: tuple[str, ...], *, only_missing: bool, least: float
    ) -> Array:
        """Return which places are right, in order; `least` is the IoU with an object."""
        used, hits = set(), []
        for each in places:
            right = each.kind not in (MISSING, PLACE) and self.kind.get(each.label) == each.kind
            if each.kind in (MISSING, PLACE) and MISSING in kinds:
                values = iou([each.box], self.objects[each.image])[0]
                known = self.unlabelled[each.image]
                found = int(values.argmax()) if len(values) else -1
                right = (found in known and values[found] >= least - 1e-9
                         and (known[found] or not only_missing)
                         and (each.image, found) not in used)  # fmt: skip
                if right:
                    used.add((each.image, found))
            elif each.kind == PLACE:
                right = self.kind.get(each.label) == PLACE
            hits.append(right)
        return np.array(hits, bool)

    def number(self, kind: str) -> int:
        """Return the number of errors of a kind; of "all", objects without a matching label."""
        if kind in ("all", MISSING):
            return sum(
                kind == "all" or each for own in self.unlabelled.values() for each in own.values()
            )
        return sum(each == kind for each in self.kind.values())


def average_precision(hits: Array, n: int) -> float:
    """Return the sum of the precision at each hit, by the number of errors."""
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float((precision * hits).sum() / n) if n else float("nan")


def written(folder: Path, case: Case) -> list[Path]:
    """Write the labels and the predictions, and return their paths."""
    paths = []
    for name in ("labels", "predictions"):
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(getattr(case, name)), "utf-8")
    return paths


def ours(case: Case) -> list[Place]:
    """Return the ranking of `bboxqa audit`."""
    with tempfile.TemporaryDirectory() as folder:
        rows = bboxqa.audit(*written(Path(folder), case)).suspects.records()
    sides = ("x", "y", "width", "height")
    return [Place(row["score"], row["kind"], row["image"], tuple(row[each] for each in sides),
                  row["label"]) for row in rows]  # fmt: skip


class Pair(NamedTuple):
    """The labels and the predictions of an image."""

    image: str
    labels: list[Record]
    predictions: list[Record]
    overlap: Array
    """(N, M). The IoU of each label with each prediction."""


def pairs(case: Case) -> list[Pair]:
    """Return the labels and the predictions of each image."""
    names = {each["id"]: each["file_name"] for each in case.labels["images"]}
    results = case.predictions
    if not isinstance(results, list):
        results = results["annotations"]
    drawn, model = by_image(case.labels), by_image({"annotations": results}, names)
    return [
        Pair(image, drawn[image], model[image],
             iou([each["bbox"] for each in drawn[image]], [each["bbox"] for each in model[image]]))
        for image in names.values()
    ]  # fmt: skip


def unlabelled(case: Case, how: str) -> list[Place]:
    """Return predictions by a plain score: alone, times 1 - IoU, or as FiftyOne lists them."""
    found = []
    for pair in pairs(case):
        nearest = pair.overlap.max(0, initial=0) if len(pair.labels) else np.zeros(
            len(pair.predictions))  # fmt: skip
        for each, near in zip(pair.predictions, nearest, strict=True):
            score = each["score"] * (1 - near if how == "1 - IoU" else 1)
            listed = near < SAME or how == "1 - IoU"
            # FiftyOne's mistakenness lists unmatched predictions of a confidence of 0.95 or more.
            if listed and (how != "FiftyOne" or each["score"] >= 0.95):
                found.append(Place(score, MISSING, pair.image, tuple(each["bbox"])))
    return sorted(found, key=lambda each: -each.score)


def objectlab(case: Case) -> dict[str, list[Place]]:
    """Return the lists of cleanlab's ObjectLab: overlooked, badly located and swapped."""
    from cleanlab.object_detection import rank

    classes = sorted(each["id"] for each in case.labels["categories"])
    labels, predictions, kept = [], [], []
    for pair in pairs(case):
        edges, model = ([[x, y, x + w, y + h] for x, y, w, h in (each["bbox"] for each in some)]
                        for some in (pair.labels, pair.predictions))  # fmt: skip
        number = np.array([classes.index(each["category_id"]) for each in pair.labels], int)
        labels.append({"bboxes": np.array(edges, float).reshape(-1, 4), "labels": number})
        order = [place for name in classes for place, each in enumerate(pair.predictions)
                 if each["category_id"] == name]  # fmt: skip
        rows = np.empty(len(classes), object)
        for place, name in enumerate(classes):
            both = zip(model, pair.predictions, strict=True)
            own = [[*edge, one["score"]] for edge, one in both if one["category_id"] == name]
            rows[place] = np.array(own, float).reshape(-1, 5)
        predictions.append(rows)
        kept.append([pair.predictions[place] for place in order])
    found: dict[str, list[Place]] = {kind: [] for kind in (MISSING, PLACE, CLASS)}
    given = {"labels": labels, "predictions": predictions}
    lists = {
        # Its default of 0.95 lists one prediction of KITTI; of 0, 0.3 and 0.5, this is best there.
        MISSING: rank.compute_overlooked_box_scores(**given, high_probability_threshold=LEAST),
        PLACE: rank.compute_badloc_box_scores(**given),
        CLASS: rank.compute_swap_box_scores(**given),
    }
    for kind, scores in lists.items():
        for pair, own, values in zip(pairs(case), kept, scores, strict=True):
            for each, value in zip(own if kind == MISSING else pair.labels, values, strict=True):
                if not np.isnan(value):
                    label = "" if kind == MISSING else str(each["id"])
                    found[kind].append(
                        Place(1 - value, kind, pair.image, tuple(each["bbox"]), label)
                    )
        found[kind].sort(key=lambda each: -each.score)
    # A badly located label is what ObjectLab has for a label without an object.
    found[SPURIOUS] = [each._replace(kind=SPURIOUS) for each in found[PLACE]]
    return found


def hotcoco_errors(case: Case) -> dict[str, list[Place]]:
    """Return the lists of hotcoco's label errors."""
    from hotcoco import COCO, COCOeval

    with tempfile.TemporaryDirectory() as folder:
        labels, predictions = written(Path(folder), case)
        truth = COCO(str(labels))
        evaluation = COCOeval(truth, truth.load_res(str(predictions)), "bbox")
        evaluation.evaluate()
        found = evaluation.image_diagnostics()["label_errors"]
    names = {each["id"]: each["file_name"] for each in case.labels["images"]}
    boxes = {each["id"]: tuple(each["bbox"]) for each in case.labels["annotations"]}
    lists: dict[str, list[Place]] = defaultdict(list)
    results = (
        case.predictions if isinstance(case.predictions, list) else case.predictions["annotations"]
    )
    for each in found:
        kind = {"missing_annotation": MISSING, "wrong_label": CLASS}.get(each["type"], each["type"])
        box = (
            tuple(results[each["dt_id"] - 1]["bbox"]) if each.get("dt_id") else boxes[each["gt_id"]]
        )
        lists[kind].append(Place(each["dt_score"], kind, names[each["image_id"]], box,
                                 str(each.get("gt_id") or "")))  # fmt: skip
    return {kind: sorted(own, key=lambda one: -one.score) for kind, own in lists.items()}


def kitti(folder: Path) -> list[Case]:
    """Return the labels of KITTI, a detector, and objects that half of several people saw."""
    labels, predictions, truth = (
        json.loads((folder / f"kitti_{name}.json").read_text("utf-8"))
        for name in ("labels", "predictions", "truth")
    )
    truth["annotations"] = [each for each in truth["annotations"] if each["probability"] >= 0.5]
    return [Case("kitti", labels, predictions, truth)]


def cut_off(document: Record) -> Record:
    """Return a document with boxes cut off at the border of their images, as votes are."""
    size = {each["id"]: (each["width"], each["height"]) for each in document["images"]}
    cut = []
    for each in document["annotations"]:
        low = np.array(each["bbox"][:2])
        high = np.clip(low + each["bbox"][2:], 0, size[each["image_id"]])
        low = np.clip(low, 0, high)
        cut.append(each | {"bbox": [*low.tolist(), *(high - low).tolist()]})
    return document | {"annotations": cut}


def others_as_model(folder: Path, name: str, *, cut: bool = False) -> list[Case]:
    """Return a case for each annotator, with all others as the model."""
    whole, truth = (
        json.loads((folder / f"{name}{end}.json").read_text("utf-8")) for end in ("", "_truth")
    )
    if cut:
        whole, truth = cut_off(whole), cut_off(truth)
    cases = []
    for person in sorted({each for image in whole["images"] for each in image["annotators"]}):
        images = [each for each in whole["images"] if person in each["annotators"]]
        ids = {each["id"] for each in images}
        plain = [
            {key: value for key, value in each.items() if key != "annotators"} for each in images
        ]
        rest = [each | {"annotators": [one for one in each["annotators"] if one != person]}
                for each in images]  # fmt: skip
        own, other = (
            [each for each in whole["annotations"]
             if each["image_id"] in ids and (each["annotator"] == person) is is_own]
            for is_own in (True, False)
        )  # fmt: skip
        own = [{key: each[key] for key in each if key != "annotator"} for each in own]
        true = {**truth, "annotations": [e for e in truth["annotations"] if e["image_id"] in ids]}
        cases.append(Case(name, {**whole, "images": plain, "annotations": own},
                          {**whole, "images": rest, "annotations": other}, true))  # fmt: skip
    return cases


class Judged(NamedTuple):
    """Hits of the lists of several cases, in one ranking, with the image of each."""

    hits: Array
    image: Array
    n: int


def judged(
    cases: list[Case],
    lists: list[list[Place]],
    kinds: tuple[str, ...],
    errors: str,
    least: float = NEAR,
) -> Judged:
    """Judge the places of some kinds against errors: "all", or one kind."""
    scores, hits, images, total = [], [], [], 0
    for number, (case, places) in enumerate(zip(cases, lists, strict=True)):
        truth = case.errors
        own = [each for each in places if each.kind in kinds]
        counted = (MISSING,) if errors in ("all", MISSING) else kinds
        hits.append(truth.hits(own, counted, only_missing=errors == MISSING, least=least))
        scores += [each.score for each in own]
        images += [f"{number}/{each.image}" for each in own]
        total += truth.number(errors)
    order = np.argsort(-np.array(scores), kind="stable")
    return Judged(np.concatenate(hits)[order], np.array(images)[order], total)


def bootstrap(cases: list[Case], one: Judged, other: Judged, draws: int) -> tuple[Array, Array]:
    """Return 95 % intervals of the differences of AP and of P@100, images drawn in pairs."""
    rng = np.random.default_rng(0)
    names = [
        f"{n}/{image['file_name']}"
        for n, case in enumerate(cases)
        for image in case.labels["images"]
    ]
    place = {name: number for number, name in enumerate(names)}
    errors = np.zeros(len(names))
    for number, case in enumerate(cases):
        for image, own in case.errors.unlabelled.items():
            errors[place[f"{number}/{image}"]] = len(own)
    rows = [np.array([place[each] for each in judged_.image], int) for judged_ in (one, other)]
    found = []
    for _ in range(draws):
        weight = np.bincount(rng.integers(0, len(names), len(names)), minlength=len(names))
        figures = []
        for judged_, of in zip((one, other), rows, strict=True):
            hits = np.repeat(judged_.hits, weight[of])
            figures.append((average_precision(hits, errors @ weight), hits[:100].mean()))
        found.append(np.subtract(*figures))
    ends = np.quantile(found, (0.025, 0.975), axis=0)
    return ends[:, 0], ends[:, 1]


def line(name: str, judged_: Judged, of: str = "") -> None:
    """Print a row of a table."""
    hits = judged_.hits
    reached = average_precision(hits, int(hits.sum())) if hits.any() else float("nan")
    print(f"| {name} | {of} | {average_precision(hits, judged_.n):.3f} | {reached:.3f} | "
          f"{hits[:100].mean():.2f} | {judged_.n:,} |")  # fmt: skip


def head(title: str) -> None:
    """Print the head of a table."""
    print(f"\n{title}\n")
    print("| list | kind | AP over all errors | over those in the list | P@100 | errors |")
    print("| --- | --- | --- | --- | --- | --- |")


def detector(cases: list[Case], title: str, draws: int) -> None:
    """Print a table for a model with scores, beside its peers."""
    lists = [ours(case) for case in cases]
    plain = [unlabelled(case, "") for case in cases]
    head(title)
    best = judged(cases, lists, (MISSING, PLACE), "all")
    line("bboxqa audit", best, "missing and place")
    line("bboxqa audit", judged(cases, lists, (MISSING,), "all"), "missing only")
    line("score of predictions without a label", judged(cases, plain, (MISSING,), "all"))
    exact = judged(cases, lists, (MISSING, PLACE), "all", SAME)
    line("bboxqa audit", exact, "missing and place, to IoU 0.5")
    exact = judged(cases, plain, (MISSING,), "all", SAME)
    line("score of predictions without a label", exact, "to IoU 0.5")
    for how in ("1 - IoU", "FiftyOne"):
        own = judged(cases, [unlabelled(case, how) for case in cases], (MISSING,), "all")
        line("score · (1 − IoU)" if how != "FiftyOne" else "FiftyOne's rule", own)
    peers = peer_lists(cases)
    for name, own in peers.items():
        line(name, judged(cases, [each[MISSING] for each in own], (MISSING,), "all"))
    for kind in (SPURIOUS, PLACE, CLASS):
        if any(case.errors.number(kind) for case in cases):
            line("bboxqa audit", judged(cases, lists, (kind,), kind), kind)
            for name, own in peers.items():
                if any(each.get(kind) for each in own):
                    line(name, judged(cases, [each[kind] for each in own], (kind,), kind), kind)
    if draws:
        other = judged(cases, plain, (MISSING,), "all")
        found = bootstrap(cases, best, other, draws)
        for what, ends in zip(("AP", "P@100"), found, strict=True):
            print(f"\nDifference of {what} to the plain score: [{ends[0]:.3f}, {ends[1]:.3f}]")


def peer_lists(cases: list[Case]) -> dict[str, list[dict[str, list[Place]]]]:
    """Return the lists of other tools, of each case by kind."""
    found = {}
    for name, of in (
        ("ObjectLab (cleanlab)", objectlab),
        ("hotcoco's label errors", hotcoco_errors),
    ):
        try:
            found[name] = [defaultdict(list, of(case)) for case in cases]
        except ImportError:
            print(f"\n{name} is not installed: left out")
    return found


def several(folder: Path, name: str) -> None:
    """Print a table of annotators, each with the others as the model."""
    cases = others_as_model(folder, name)
    lists = [ours(case) for case in cases]
    head(f"{name}, the others as the model")
    line("bboxqa audit", judged(cases, lists, (MISSING, PLACE), "all"), "missing and place")
    for kind in KINDS:
        if any(case.errors.number(kind) for case in cases):
            line("bboxqa audit", judged(cases, lists, (kind,), kind), kind)
    exact = judged(cases, lists, (MISSING,), MISSING, SAME)
    line("bboxqa audit", exact, "missing, to IoU 0.5")
    cases = others_as_model(folder, name, cut=True)
    inside = judged(cases, [ours(case) for case in cases], (PLACE,), PLACE)
    line("bboxqa audit", inside, "place, all boxes cut off at the border")


def planted(truth: Record, seed: int, quality: tuple[float, float, float]) -> Case:
    """Return labels with 10 % of each error, and a detector of known recall, precision, spread."""
    rng = np.random.default_rng(seed)
    recall, precision, spread = quality
    ids = [each["id"] for each in truth["categories"]]
    labels, results, number = [], [], 0
    for each in truth["annotations"]:
        x, y, w, h = each["bbox"]
        found = rng.random()
        if rng.random() < recall:
            box = np.array([x, y, w, h]) + rng.normal(0, spread, 4) * [w, h, w, h]
            box[2:] = box[2:].clip(1)
            category = each["category_id"] if rng.random() < 0.95 else int(rng.choice(ids))
            results.append((each["image_id"], category, box, rng.beta(6, 2)))
        if found < 0.1:
            continue
        category, box = each["category_id"], [x, y, w, h]
        if found < 0.2 and len(ids) > 1:
            category = int(rng.choice([one for one in ids if one != category]))
        elif found < 0.3:
            box = [x + rng.choice((-1, 1)) * 0.4 * w, y, w, h]
        number += 1
        labels.append(
            {"id": number, "image_id": each["image_id"], "category_id": category, "bbox": box}
        )
    images = {each["id"]: each for each in truth["images"]}
    for of, n in (
        (labels, len(labels) // 10),
        (results, round(len(results) * (1 / precision - 1))),
    ):
        for _ in range(n):
            model = truth["annotations"][rng.integers(len(truth["annotations"]))]
            image = images[int(rng.choice([*images]))]
            w, h = model["bbox"][2:]
            x, y = (rng.uniform(0, max(1, image[side] - own)) for side, own in
                    (("width", w), ("height", h)))  # fmt: skip
            if of is labels:
                number += 1
                plain = {"image_id": image["id"], "category_id": model["category_id"]}
                labels.append(plain | {"id": number, "bbox": [x, y, w, h]})
            else:
                results.append(
                    (image["id"], model["category_id"], np.array([x, y, w, h]), rng.beta(2, 4))
                )
    predictions = [{"image_id": i, "category_id": c, "bbox": box.tolist(), "score": float(s)}
                   for i, c, box, s in results]  # fmt: skip
    return Case("planted", {**truth, "annotations": labels}, predictions, truth)


DETECTORS = {"poor": (0.6, 0.5, 0.1), "fair": (0.8, 0.7, 0.06), "good": (0.95, 0.9, 0.03)}
"""Recall, precision, and spread of edges as a share of the sides."""


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--kitti", type=Path, help="the folder with kitti_*.json; default DATA/audit"
    )
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--only", choices=("kitti", "several", "planted"))
    given = parser.parse_args()
    if given.only in (None, "kitti"):
        detector(kitti(given.kitti or given.data / "audit"), "KITTI pedestrians", given.draws)
    for name in ("asthma_round1", "pedestrians") if given.only in (None, "several") else ():
        several(given.data / "several", name)
    for name, quality in DETECTORS.items() if given.only in (None, "planted") else ():
        truth = json.loads((given.data / "several/asthma_round1_truth.json").read_text("utf-8"))
        cases = [planted(truth, seed, quality) for seed in range(5)]
        detector(cases, f"Planted errors, a {name} detector", 0)


if __name__ == "__main__":
    main()
