"""From the records of all files to the content that is written."""

from collections.abc import Collection, Container, Mapping, Sequence
from itertools import count as counting
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.memory import gc_paused
from bboxqa.core.pseudonyms import hider
from bboxqa.core.text import clean
from bboxqa.formats.dataset.image_names import image_label
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.dataset.remarks import file_notes
from bboxqa.formats.dataset.sessions import drawn_again, notes_on
from bboxqa.formats.images import given_size
from bboxqa.formats.records import (
    ANNOTATOR_KEYS,
    ASKED_KEYS,
    LISTS,
    AnnotationFile,
    BoxForm,
    RotatedColumns,
    annotator_name,
    id_number,
    whole_number,
)
from bboxqa.formats.translation.collector import UNNAMED
from bboxqa.formats.writing.content import Content, image_name
from bboxqa.formats.writing.key_points import completed, more_joints, points_of
from bboxqa.formats.writing.outlines import Record
from bboxqa.model.annotations import Dataset
from bboxqa.model.shapes.rotated_boxes import bounds, corners

# Keys that are replaced, or follow from others.
_REPLACED = ("category_id", "annotator", "keypoints", "num_keypoints", "joints")


def with_points(
    records: Record, file: AnnotationFile, author: str, people: Collection[str]
) -> Sequence[Record]:
    """Return the annotations of a file without a box, with `points`, `label` and `annotator`.

    Those without points, and those by nobody among the annotators, keep their `shape` only.

    Parameters
    ----------
    records : dict
        The COCO lists of the file, and its annotations without a box as `apart`.
    file : AnnotationFile
        The same file, with the names of categories as interpreted by the reader.
    author : str
        The annotator of all of the file; "" if it names annotators, or there are none.
    people : collection of str
        The annotators of the data set; empty if none are named.
    """
    names = {each["id"]: each["name"] for each in records["categories"]}
    pairs = zip(names.values(), file.categories, strict=True)
    renamed = {name: clean(category.name) for name, category in pairs}
    found: list[Record] = []
    for record in records.get("apart", ()):
        name = (author or _annotator(record)) if people else ""
        if "points" not in record or (people and name not in people):
            found.append({"shape": record["shape"]})
            continue
        whole = {key: each for key, each in record.items() if key not in _REPLACED}
        label = record.get("label") or names[record["category_id"]]
        whole["label"] = renamed.get(label, clean(label))
        found.append(whole | ({"annotator": name} if name else {}))
    return found


def _annotator(record: Mapping[str, object]) -> str:
    """Return the annotator whom a record names; "" if it names nobody."""
    inside = record.get("attributes")
    given = record.get("annotator")
    if not given and isinstance(inside, dict):
        given = inside.get("annotator")
    return annotator_name(given) if given else ""


_PLAIN, _CORNERS = 4, 8


def turned_rows(columns: RotatedColumns | None, records: Sequence[Record]) -> dict[int, FloatArray]:
    """Return the rotated boxes of annotations without an outline, by row."""
    if columns is None:
        return {}
    rows = np.flatnonzero((columns.form == BoxForm.ANGLE) | _have_more(records))
    return {row: columns.box[row] for row in rows.tolist() if not records[row].get("segmentation")}


def _have_more(records: Sequence[Record]) -> BoolArray:
    """Return which boxes have more than four numbers, (N,) bool."""
    lengths = (
        isinstance(each.get("bbox"), list) and len(each["bbox"]) > _PLAIN for each in records
    )
    return np.fromiter(lengths, np.bool_, len(records))


def turned_keys(record: Record, box: FloatArray) -> Record:
    """Return the keys of a rotated box: its bounds, corners and angle."""
    given: Sequence[Any] = record["bbox"]
    points = np.array(given).reshape(-1, 2) if len(given) == _CORNERS else corners(box[None])[0]
    left, top, right, bottom = bounds(box[None])[0].tolist()
    inside = record.get("attributes")
    attributes = inside if isinstance(inside, dict) else {}
    return {
        "bbox": [left, top, right - left, bottom - top],
        "segmentation": [points.ravel().tolist()],
        "attributes": {**attributes, "rotation": float(box[4])},
    }


_KNOWN = (*LISTS, "apart", "repeats")


class JoinedRecords:
    """The records of all files added so far."""

    def __init__(self, data: Dataset, *, is_named: bool) -> None:
        self._data = data
        self._is_named = is_named
        self._places = {name: place for place, name in enumerate(data.image_names)}
        self._images: dict[str, Record] = {}
        self._categories: dict[str, Record] = {}
        self._own_names: dict[str, str] = {}
        self._annotations: list[tuple[Record, str, str]] = []
        self._apart: list[tuple[Record, str]] = []
        self._repeats: list[str] = []
        self._tops: list[Record] = []
        self._has_text_ids = False

    def add(
        self,
        file: AnnotationFile,
        records: Record,
        authors: Sequence[str],
        of_all: str,
        left_out: Container[int],
    ) -> None:
        """Add the records of a file, in the order of its columns, but not those of `left_out` rows.

        `of_all` is the annotator of the whole file, if each file has one.
        """
        label_of = self._add_images(file, records["images"])
        category_of, moved = self._add_categories(file, records["categories"])
        columns = file.columns
        rows = zip(
            records["annotations"],
            columns.id.tolist(),
            columns.image_id.tolist(),
            columns.category_id.tolist(),
            columns.bbox.tolist(),
            columns.iscrowd.tolist(),
            authors,
            strict=True,
        )
        turned = turned_rows(columns.rotated, records["annotations"])
        for row, (record, own, image_id, category_id, bbox, is_crowd, author) in enumerate(rows):
            if row in left_out:
                continue
            whole = _annotation(record, own, bbox, author if self._is_named else "")
            if not is_crowd:
                whole.pop("iscrowd", None)
            if "keypoints" in whole:
                whole |= points_of(columns.keypoints, row, whole, is_reordered=category_id in moved)
            if row in turned:
                whole |= turned_keys(whole, turned[row])
            if columns.text_ids is not None and whole_number(record["id"]) is None:
                whole["own_id"] = record["id"]
            self._annotations.append((whole, label_of[image_id], category_of[category_id]))
        people = self._data.annotator_names if self._is_named else ()
        for each in with_points(records, file, of_all, people):
            self._apart.append((each, label_of[each["image_id"]] if "points" in each else ""))
        self._repeats += records.get("repeats", ())
        self._tops.append({key: each for key, each in records.items() if key not in _KNOWN})

    def _add_images(self, file: AnnotationFile, records: Sequence[Record]) -> dict[int, str]:
        """Add the images of a file, and return the name of each id."""
        label_of: dict[int, str] = {}
        for image, record in zip(file.images, records, strict=True):
            label = image_label(image)
            number = id_number(image.id)
            label_of[number] = label
            known = {key: each for key, each in record.items() if each is not None}
            if image.file_name:
                known["file_name"] = image.file_name
            if number != image.id:
                known["own_id"] = image.id
            self._images[label] = {**known, **self._images.get(label, {"id": number})}
        return label_of

    def _add_categories(
        self, file: AnnotationFile, records: Sequence[Record]
    ) -> tuple[dict[int, str], set[int]]:
        """Add the categories of a file; return names by id, and the ids with reordered joints."""
        category_of: dict[int, str] = {}
        moved: set[int] = set()
        for category, record in zip(file.categories, records, strict=True):
            name = clean(category.name)
            if name != category.name:
                # Half of a pair of surrogates stays escaped, as no file can hold it.
                own = category.name.encode("utf-8", "backslashreplace").decode()
                self._own_names.setdefault(name, own)
            number = id_number(category.id)
            category_of[number] = name
            self._has_text_ids |= number != category.id
            ids = {"id": number} | ({} if number == category.id else {"own_id": category.id})
            known = self._categories.setdefault(name, {**record, **ids, "name": name})
            known |= more_joints(known, category)
            if category.keypoints != record.get("keypoints"):
                moved.add(number)
        return category_of, moved

    def done(self) -> Content:
        """Return the content, with unique ids."""
        images, asked = self._with_asked()
        _number(images, anew=any("own_id" in each for each in images))
        categories = list(self._categories.values())
        _number(categories, anew=self._has_text_ids)
        image_ids = {name: each["id"] for name, each in self._images.items()}
        category_ids = {name: each["id"] for name, each in self._categories.items()}
        annotations = []
        for record, label, category in self._annotations:
            record["image_id"], record["category_id"] = image_ids[label], category_ids[category]
            if "keypoints" in record:
                n_joints = len(self._categories[category].get("keypoints", ()))
                record["keypoints"] = completed(record["keypoints"], n_joints)
            annotations.append(record)
        _own_numbers(annotations)
        _number(annotations, anew=self._data.has_text_ids)
        apart: list[Record] = []
        numbers = counting(1 + max((each["id"] for each in annotations), default=0))
        for record, label in self._apart:
            own = {"image_id": image_ids[label], "id": next(numbers)} if label else {}
            apart.append({**record, **own})
        top = {key: each for keys in self._tops for key, each in keys.items()}
        # One file may lack a key of the others.
        differing = [
            key for key in top if any(each.get(key, top[key]) != top[key] for each in self._tops)
        ]
        for key in differing:
            del top[key]
        own_names = {category_ids[name]: own for name, own in self._own_names.items()}
        return Content(
            images, categories, annotations, apart, self._repeats, asked, top, differing, own_names
        )

    def _with_asked(self) -> tuple[list[Record], list[list[str]]]:
        """Return the images, and the annotators asked about each image."""
        data, asked = self._data, []
        for label, record in self._images.items():
            for key in (*ASKED_KEYS, "annotator"):
                record.pop(key, None)
            place = self._places[label]
            names = [data.annotator_names[each] for each in np.flatnonzero(data.assigned[place])]
            is_listed = data.unlisted is None or not data.unlisted[place]
            asked.append(names if self._is_named else [])
            if is_listed and self._is_named:
                record["annotators"] = names
            if not (record.get("width") and record.get("height")):
                given = given_size(data.reading, image_name(record))
                if given is not None:
                    record["width"], record["height"] = given
        return list(self._images.values()), asked


def _annotation(record: Record, own: int, bbox: list[float], author: str) -> Record:
    """Return the record of an annotation with its values as interpreted by the reader."""
    whole = {key: each for key, each in record.items() if each is not None}
    whole["id"] = own
    if "bbox" not in whole:
        whole |= {"bbox": bbox, "shape": "skeleton"}
    if not all(type(each) in (int, float) for each in whole["bbox"]):
        whole["bbox"] = bbox
    if not author:
        # Formats that could name annotators call nobody so.
        if whole.get("annotator") == UNNAMED:
            del whole["annotator"]
        return whole
    for key in ANNOTATOR_KEYS:
        if key in whole and annotator_name(whole[key]) == author:
            del whole[key]
    inside = whole.get("attributes")
    if isinstance(inside, dict) and annotator_name(inside.get("annotator")) == author:
        whole["attributes"] = {key: each for key, each in inside.items() if key != "annotator"}
        if not whole["attributes"]:
            del whole["attributes"]
    whole["annotator"] = author
    return whole


def _own_numbers(annotations: Sequence[Record]) -> None:
    """Use the ids that a tool shows if they are unique whole numbers."""
    numbers = [whole_number(each.get("own_id")) for each in annotations]
    if None not in numbers and len(set(numbers)) == len(numbers):
        for each, number in zip(annotations, numbers, strict=True):
            each["id"] = number
            del each["own_id"]


def _number(records: Sequence[Record], *, anew: bool) -> None:
    """Renumber records if `anew`, or if two records share an id."""
    if anew or len({each["id"] for each in records}) < len(records):
        for each, number in zip(records, counting(1), strict=False):
            each["id"] = number


class Gathering:
    """Keeps the files that were read, to make a `Content` from their records.

    `keep` is passed to `read_dataset` as `check`.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._paths: Sequence[Path] = ()
        self._files: Sequence[AnnotationFile] = ()
        self._authors: Sequence[list[str]] = ()
        self._of_files: Sequence[str] = ()
        self._left_out: list[frozenset[int]] = []
        self._is_named = False

    def keep(
        self, paths: Sequence[Path], files: Sequence[AnnotationFile], attribution: Attribution
    ) -> tuple[str, ...]:
        """Keep the files and their attribution."""
        self._paths, self._files = paths, files
        names = np.array([*attribution.names, ""], object)
        self._authors = [names[author].tolist() for author in attribution.author]
        self._of_files = [
            asked[0][0] if attribution.of_files and asked and asked[0] else ""
            for asked in attribution.asked
        ]
        self._is_named = attribution.names != (UNNAMED,)
        self.notes = [*file_notes(files, attribution, with_losses=False)]
        # As in `join`, what somebody drew again in later records of an image counts once.
        parts = zip(files, attribution.author, strict=True)
        self._left_out = [frozenset()] * len(files)
        for place, (file, author) in enumerate(parts if attribution.way else ()):
            equal, different = drawn_again(file, author)
            self._left_out[place] = frozenset(equal.tolist())
            of_file = f"{file.source.name}: " if len(files) > 1 else ""
            self.notes += [f"{of_file}{note}" for note in notes_on(file, equal, different)]
        return ()

    @gc_paused()
    def content(self, data: Dataset, pseudonyms: Mapping[str, str]) -> Content:
        """Return the records of all files, joined as in their data set.

        Names in the records are replaced by pseudonyms.
        """
        joined = JoinedRecords(data, is_named=self._is_named)
        sources = zip(
            self._paths, self._files, self._authors, self._of_files, self._left_out, strict=True
        )
        for path, file, authors, author, left_out in sources:
            if file.lists is None:
                raise DatasetError([f"{path}: is of a format whose records cannot be converted"])
            records: Record = {**_tables(file), **file.lists}
            if pseudonyms:
                records = _without_people(records, pseudonyms)
            joined.add(file, records, authors, author, left_out)
        return joined.done()


def _tables(file: AnnotationFile) -> Record:
    """Return the images and categories of a file of results, which are those of another file."""
    if file.records != "results":
        return {}
    return {
        name: [
            {key: value for key, value in msgspec.structs.asdict(each).items() if value is not None}
            for each in records
        ]
        for name, records in (("images", file.images), ("categories", file.categories))
    }


def _without_people(records: Record, pseudonyms: Mapping[str, str]) -> Record:
    """Return records without names, even if annotators are numbers."""
    found: Record = hider(pseudonyms)(records)
    for own, each in zip(records["images"], found["images"], strict=True):
        each["file_name"] = own.get("file_name")
    for each in found["annotations"]:
        inside = each.get("attributes")
        for holder in (each, inside if isinstance(inside, dict) else {}):
            for key in holder.keys() & {*ANNOTATOR_KEYS}:
                name = annotator_name(holder[key])
                holder[key] = pseudonyms.get(name, name)
    return found
