"""From the records of all files to the content that is written."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count as counting

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.machine import gc_paused
from bboxqa.core.pseudonyms import hider
from bboxqa.core.text import clean, count, first_few
from bboxqa.formats.dataset.join import file_notes
from bboxqa.formats.dataset.names import map_options, renamed_categories
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.dataset.rows import Rows
from bboxqa.formats.images import given_size
from bboxqa.formats.records import (
    ANNOTATOR_KEYS,
    ASKED_KEYS,
    LISTS,
    UNNAMED,
    AnnotationFile,
    annotator_name,
    id_number,
    whole_number,
)
from bboxqa.formats.translation.shapes import mapping
from bboxqa.formats.writing.content import Content, completed, image_name, joints_named
from bboxqa.formats.writing.outlines import Record
from bboxqa.model.annotations import Dataset
from bboxqa.model.rotated_boxes import bounds, corners

# Keys of annotations without a box that are replaced, or follow from others.
_REPLACED = ("category_id", "annotator", "keypoints", "num_keypoints", "joints")
_SHOWN = 5
_KNOWN = (*LISTS, "apart", "repeats")
# Keys of image records that belong to a file, or are joined.
_OWN = {"id", "own_id", "width", "height", "annotator", *ASKED_KEYS}


@gc_paused()
def content_of(
    data: Dataset,
    pseudonyms: Mapping[str, str],
    files: Sequence[AnnotationFile],
    attribution: Attribution,
    rows: Rows,
    again: str,
) -> tuple[Content, list[str]]:
    """Return the records of all files, joined as in their data set, and notes."""
    is_named = attribution.names != (UNNAMED,)
    found = _Joined(data, is_named=is_named, is_joint=len(files) > 1)
    names = np.array([*attribution.names, ""], object)
    by_file = attribution.author, attribution.asked, rows.by_file(len(files))
    for file, author, asked, used in zip(files, *by_file, strict=True):
        if file.lists is None:
            problem = f"{file.source.name}: is of a format whose records are not converted"
            raise DatasetError([problem])
        records: Record = {**file.lists}
        for name in ("images", "categories") if file.records == "results" else ():
            # Those of another file.
            tables = msgspec.to_builtins(getattr(file, name))
            records[name] = [{k: v for k, v in each.items() if v is not None} for each in tables]
        records = _without_people(records, pseudonyms) if pseudonyms else records
        of_all = asked[0][0] if attribution.of_files and asked and asked[0] else ""
        found.add(file, used, names[author].tolist(), of_all, records)
    content = found.done()
    end = "written as two categories; if they are one"
    renamed = [
        f"{file.source.name}: {problem}: {end}: {map_options({name: other})}"
        for file, name, other, problem in renamed_categories(files)
    ]
    of_files = file_notes(files, attribution, with_losses=False)
    return content, [*of_files, *filter(None, [again]), *renamed, *found.id_notes()]


class _Joined:
    """The records of all files added so far."""

    def __init__(self, data: Dataset, *, is_named: bool, is_joint: bool) -> None:
        self._data, self._is_named, self._is_joint = data, is_named, is_joint
        self._images, self._categories = dict[str, Record](), dict[str, Record]()
        self._own_names: dict[str, str] = {}
        # Annotations with the records of their image and category, or of their image only.
        self._annotations: list[tuple[Record, Record, Record]] = []
        self._apart: list[tuple[Record, Record]] = []
        self._repeats: list[str] = []
        # Keys of image records whose value differs from that of an earlier record of the image.
        self._left_out: Counter[str] = Counter()
        # Records of files that have ids: the kind, the joint record, its id in the file, the file.
        self._given: list[tuple[str, Record, int, str]] = []
        self._tops: list[Record] = []

    def add(
        self,
        file: AnnotationFile,
        used: IndexArray,
        authors: Sequence[str],
        of_all: str,
        records: Record,
    ) -> None:
        """Add the records of a file and its used annotations; `of_all` is who made all."""
        columns, source = file.columns, file.source.name
        images = self._add_images(file, records["images"])
        categories, reordered = self._add_categories(file, records["categories"])
        has_ids = self._is_joint and not file.numbers_categories
        for kind, of in (("image", images), ("category", categories)) if has_ids else ():
            self._given += [(kind, each, number, source) for number, each in of.items()]
        ids = (columns.id, columns.image_id, columns.category_id, columns.bbox, columns.iscrowd)
        rows = zip(used.tolist(), *(each[used].tolist() for each in ids), strict=True)
        for row, own, image_id, category_id, bbox, is_crowd in rows:
            record = records["annotations"][row]
            whole = _annotation(record, own, bbox, authors[row] if self._is_named else "")
            if not (is_crowd and whole.get("iscrowd")):
                whole.pop("iscrowd", None)
            points = columns.keypoints
            if "keypoints" in whole and points is not None and category_id in reordered:
                taken = slice(int(points.start[row]), int(points.stop[row]))
                triples = np.column_stack([points.xy[taken], points.visibility[taken]])
                whole["keypoints"] = triples.ravel().tolist()
            whole |= _turned(file, row, whole)
            if columns.text_ids is not None and whole_number(record["id"]) is None:
                whole["own_id"] = record["id"]
            self._annotations.append((whole, images[image_id], categories[category_id]))
            if has_ids:
                self._given.append(("annotation", whole, own, source))
        # Without a box; without points or a known annotator, only the shape is known.
        people = self._data.annotator_names if self._is_named else ()
        listed = zip(records["categories"], categories.values(), strict=True)
        renamed = {each["name"]: joint["name"] for each, joint in listed}
        for record in records.get("apart", ()):
            given = record.get("annotator") or mapping(record.get("attributes")).get("annotator")
            author = (of_all or (annotator_name(given) if given else "")) if people else ""
            if "points" not in record or (people and author not in people):
                self._apart.append(({"shape": record["shape"]}, {}))
                continue
            label = record.get("label")
            found = (renamed.get(label, clean(label)) if label
                     else categories[record["category_id"]]["name"])  # fmt: skip
            whole = {key: each for key, each in record.items() if key not in _REPLACED}
            whole |= {"label": found} | ({"annotator": author} if author else {})
            self._apart.append((whole, images[record["image_id"]]))
        self._repeats += records.get("repeats", ())
        self._tops.append({key: each for key, each in records.items() if key not in _KNOWN})

    def _add_images(self, file: AnnotationFile, records: Sequence[Record]) -> dict[int, Record]:
        """Add the images of a file, and return the joint record of each id."""
        found: dict[int, Record] = {}
        for image, record in zip(file.images, records, strict=True):
            number = id_number(image.id)
            known = {key: each for key, each in record.items() if each is not None}
            if image.file_name:
                known["file_name"] = image.file_name
            if number != image.id:
                known["own_id"] = image.id
            held = self._images.setdefault(image.label, {**known, "id": number})
            found[number] = held
            shared = known.keys() & held.keys() - _OWN
            self._left_out.update(key for key in shared if known[key] != held[key])
            held |= {key: each for key, each in known.items() if key not in held}
        return found

    def _add_categories(
        self, file: AnnotationFile, records: Sequence[Record]
    ) -> tuple[dict[int, Record], set[int]]:
        """Add the categories of a file; return records by id, and the ids with reordered joints."""
        found: dict[int, Record] = {}
        reordered: set[int] = set()
        for category, record in zip(file.categories, records, strict=True):
            name, given, number = clean(category.name), category.keypoints, id_number(category.id)
            if name != category.name:
                # Half of a pair of surrogates stays escaped, as no file can hold it.
                own = category.name.encode("utf-8", "backslashreplace").decode()
                self._own_names.setdefault(name, own)
            ids = {"id": number} | ({} if number == category.id else {"own_id": category.id})
            known = self._categories.setdefault(name, {**record, **ids, "name": name})
            found[number] = known
            if isinstance(given, list) and len(given) > len(joints_named(known)):
                known["keypoints"] = given
            if category.skeleton and not known.get("skeleton"):
                known["skeleton"] = category.skeleton
            if given != record.get("keypoints"):
                reordered.add(number)
        return found, reordered

    def done(self) -> Content:
        """Return the content, with unique ids and the annotators asked about each image."""
        data, asked = self._data, list[list[str]]()
        places = {name: place for place, name in enumerate(data.image_names)}
        for label, record in self._images.items():
            for key in (*ASKED_KEYS, "annotator"):
                record.pop(key, None)
            place = places[label]
            names = [data.annotator_names[each] for each in np.flatnonzero(data.assigned[place])]
            asked.append(names if self._is_named else [])
            if self._is_named and (data.unlisted is None or not data.unlisted[place]):
                record["annotators"] = names
            if not (record.get("width") and record.get("height")):
                given = given_size(data.reading, image_name(record))
                if given is not None:
                    record["width"], record["height"] = given
        images, categories = [*self._images.values()], [*self._categories.values()]
        for records in (images, categories):
            _number(records, anew=any("own_id" in each for each in records))
        for record, image, category in self._annotations:
            record["image_id"], record["category_id"] = image["id"], category["id"]
            if "keypoints" in record:
                record["keypoints"] = completed(record["keypoints"], len(joints_named(category)))
        annotations = [record for record, *_ in self._annotations]
        own = [whole_number(each.get("own_id")) for each in annotations]
        if None not in own and len({*own}) == len(own):
            # The ids that a tool shows are unique whole numbers.
            for each in annotations:
                each["id"] = whole_number(each.pop("own_id"))
        _number(annotations, anew=data.has_text_ids)
        numbers = counting(1 + max((each["id"] for each in annotations), default=0))
        apart = [
            {**record, "image_id": image["id"], "id": next(numbers)} if image else record
            for record, image in self._apart
        ]
        whole = {key: each for keys in self._tops for key, each in keys.items()}
        # One file may lack a key of the others.
        top = {k: v for k, v in whole.items() if all(each.get(k, v) == v for each in self._tops)}
        differing = [key for key in whole if key not in top]
        own_names = {self._categories[e]["id"]: own for e, own in self._own_names.items()}
        return Content(
            images, categories, annotations, apart, self._repeats, asked, top, differing, own_names
        )

    def id_notes(self) -> Iterator[str]:
        """Yield notes on ids of COCO files that other records have in the joint content."""
        new = [each for each in self._given if each[1]["id"] != each[2]]
        kinds = Counter(kind for kind, *_ in new)
        if some := [count(kinds[noun], noun) for noun in ("annotation", "image") if kinds[noun]]:
            yield f"new ids, since those of the files clash or differ: {' and '.join(some)}"
        moved = {
            f"{record['name']!r} is {number} in {source} and {record['id']} in the output"
            for kind, record, number, source in new
            if kind == "category"
        }
        if moved:
            yield f"ids of categories differ: {first_few(sorted(moved), _SHOWN, str)}"
        if self._left_out:
            keys = first_few(sorted(self._left_out), _SHOWN)
            n = count(max(self._left_out.values()), "further image record")
            yield f"left out: {keys} of {n}, in which records of an image differ"


def _annotation(record: Record, own: int, bbox: list[float], author: str) -> Record:
    """Return the record of an annotation with its values as interpreted by the reader."""
    whole = {key: each for key, each in record.items() if each is not None}
    whole["id"] = own
    if "bbox" not in whole:
        whole |= {"bbox": bbox, "shape": "skeleton"}
    if not all(type(each) in (int, float) for each in whole["bbox"]):
        whole["bbox"] = bbox
    # Formats that could name annotators call nobody so.
    named = author or UNNAMED
    for key in ANNOTATOR_KEYS if author else ("annotator",):
        if key in whole and annotator_name(whole[key]) == named:
            del whole[key]
    inside = mapping(whole.get("attributes"))
    if author and "annotator" in inside and annotator_name(inside["annotator"]) == author:
        whole["attributes"] = {key: each for key, each in inside.items() if key != "annotator"}
        if not whole["attributes"]:
            del whole["attributes"]
    return whole | ({"annotator": author} if author else {})


def _turned(file: AnnotationFile, row: int, record: Record) -> Record:
    """Return the bounds, corners and angle of a rotated box without an outline; else nothing."""
    rotated, given = file.columns.rotated, record["bbox"]
    if rotated is None or record.get("segmentation"):
        return {}
    if len(given) <= 4 and not rotated[row, 4]:
        return {}
    box = rotated[row : row + 1]
    points = np.array(given) if len(given) == 8 else corners(box)[0]
    left, top, right, bottom = bounds(box)[0].tolist()
    return {
        "bbox": [left, top, right - left, bottom - top],
        "segmentation": [points.ravel().tolist()],
        "attributes": {**mapping(record.get("attributes")), "rotation": float(box[0, 4])},
    }


def _number(records: Sequence[Record], *, anew: bool) -> None:
    """Renumber records if `anew`, or if two records share an id."""
    if anew or len({each["id"] for each in records}) < len(records):
        for each, number in zip(records, counting(1), strict=False):
            each["id"] = number


def _without_people(records: Record, pseudonyms: Mapping[str, str]) -> Record:
    """Return records without names, even if annotators are numbers."""
    found: Record = hider(pseudonyms)(records)
    for own, each in zip(records["images"], found["images"], strict=True):
        each["file_name"] = own.get("file_name")
    for each in found["annotations"]:
        for holder in (each, mapping(each.get("attributes"))):
            for key in holder.keys() & {*ANNOTATOR_KEYS}:
                name = annotator_name(holder[key])
                holder[key] = pseudonyms.get(name, name)
    return found
