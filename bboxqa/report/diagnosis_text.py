"""A story or a diagnosis as lines of text, with the most useful columns and rows of tables."""

from collections.abc import Callable, Collection, Iterator

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import one_line
from bboxqa.model.diagnosis import OF_KEYPOINTS, REPEATS, Diagnosis, Story
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.report.pages.cards import note_left_out
from bboxqa.report.table_excerpt import table_excerpt

_OF_GROUP = ("n_objects", "f1", "missed_share", "badly_placed_share", "class_share")

# The columns that are shown of wide tables; the last ones may not fit.
_COLUMNS = {
    "decomposition": ("kind", "n_any", "share_any", "alpha_gain", "f1_gain"),
    "annotators": ("annotator", "n", "f1", "miss_rate", "extra_rate", "class_share"),
    "boxes_per_object": ("annotator", "n", "twice_rate", "split_rate", "merge_rate"),
    "offsets": ("annotator", "edge", "n", "offset_px", "offset_percent", "systematic"),
    "rotated_offsets": ("annotator", "measure", "unit", "n", "offset", "spread", "systematic"),
    "category_use": ("annotator", "category", "n_used", "n_expected", "use", "systematic"),
    "copies": ("annotator_1", "annotator_2", "n", "n_identical", "identical_share", "copied"),
    "difficulty": ("category", "n", "alpha", "found_share", "class_share"),
    "agreement_by_size": ("size", *_OF_GROUP),
    "agreement_by_size_quarter": ("size", *_OF_GROUP),
    "agreement_by_crowding": ("crowding", *_OF_GROUP),
    "agreement_by_region": ("region", *_OF_GROUP),
    "work": ("annotator", "n_sessions", "per_minute", "drift", "fatigue"),
    "work_sessions": ("annotator", "session", "start", "f1", "per_minute"),
    "joints": ("joint", "n_both", "missing_share", "distance_percent", "swapped_share", "sigma"),
    "joint_annotators": (
        "annotator",
        "joint",
        "offset_x_px",
        "offset_y_px",
        "missing_share",
        "swapped_share",
    ),
    "tracks": ("annotator_1", "annotator_2", "n_boxes_1", "n_boxes_2", "idf1", "switches"),
    "sensitivity": ("threshold", "alpha", "f1", "f1_by_chance", "existence_alpha", "class_share"),
    "suggested_threshold": ("similarity", "threshold", "distance", "sigma", "n_images", "reason"),
    # The reason names the kind and the annotators.
    "review_images": ("image", "alpha_gain", "f1_gain", "reason", "n_objects"),
    "review": ("image", "alpha_gain", "f1_gain", "reason"),
}

# Further tables by which annotators are judged, apart from the rates.
_JUDGED = (
    "boxes_per_object",
    "offsets",
    "rotated_offsets",
    "quarter_turns",
    "category_use",
    "confusion_matrix",
)

# Tables of all thresholds, including that of the result.
_OF_ALL_THRESHOLDS = ("sensitivity", "suggested_threshold")
# A matrix of more annotators is hard to read, and too wide.
_MOST_COMPARED = 12


def story_lines(
    story: Story | None,
    width: int,
    *,
    diagnose: bool,
    said: Collection[str] = (),
    why_slow: str = "",
) -> Iterator[str]:
    """Yield a story, with `diagnose` after the tables of its diagnosis; without either, a hint.

    Warnings that were `said` before are left out. `why_slow` is why there is no story.
    """
    if story is None:
        if not diagnose:
            hint = "To see who, what and where lowers agreement, add --diagnose"
            yield from ("", hint + f"; left out, since {one_line(why_slow)}" * bool(why_slow))
        return
    if diagnose and isinstance(story, Diagnosis):
        yield from _table_lines(story, width)
    yield from ("", f"What lowers agreement at {story.threshold_label}")
    yield from (f" - {one_line(line)}" for line in story.story)
    yield from (f" Warning: {one_line(line)}" for line in story.warnings if line not in said)


def _table_lines(diagnosis: Diagnosis, width: int) -> Iterator[str]:
    """Yield the first rows of each table of a diagnosis, the review queue last."""
    left_out = []
    note = note_left_out(diagnosis.tables["annotators"].records())
    for name, table in {**diagnosis.tables, "review": diagnosis.review}.items():
        if name == REPEATS:
            # It is shown above.
            continue
        rows = _rows(name, table)
        if len(table) and not len(rows):
            left_out.append(f"{name}.csv")
        title = name.replace("_", " ").capitalize()
        if name not in _OF_ALL_THRESHOLDS:
            title += f" at {diagnosis.threshold_label}"
        yield from table_excerpt(
            title,
            table,
            rows,
            width,
            file=name,
            columns=_columns(name, table),
            folded="reason",
        )
        if note and len(rows) and name == "annotators":
            yield f" {note}"
        elif note and len(rows) and name in _JUDGED:
            yield " without shared boxes, as the rates of annotators"
    if left_out:
        yield from ("", f"More tables of --out DIR: {', '.join(left_out)}")


def _columns(name: str, table: Table) -> Collection[str] | None:
    """Return the columns to show, without empty texts; joints have their category if several."""
    columns = _COLUMNS.get(name)
    if columns is None:
        return None
    columns = tuple(each for each in columns if not _is_empty(table.columns.get(each)))
    if name not in OF_KEYPOINTS or len(np.unique(table["category"])) < 2:
        return columns
    place = columns.index("joint")
    return (*columns[:place], "category", *columns[place:])


def _is_empty(column: Column | None) -> bool:
    return isinstance(column, Categorical) and not any(column.names)


def _rows(name: str, table: Table) -> IndexArray:
    """Return the rows to show, the most important first, without rows that show nothing."""
    order = _ORDERS.get(name)
    return np.arange(len(table)) if order is None else order(table)


def _lowest(name: str) -> Callable[[Table], IndexArray]:
    return lambda table: np.argsort(table[name], kind="stable")


def _lowest_vitality(table: Table) -> IndexArray:
    # Without one of two annotators, nothing can be compared.
    known = np.flatnonzero(~np.isnan(table["vitality"]))
    return known[np.argsort(table["vitality"][known], kind="stable")]


def _largest_gain(table: Table) -> IndexArray:
    gain = table["alpha_gain"]
    return np.argsort(-(table["f1_gain"] if np.isnan(gain).all() else gain), kind="stable")


def _largest_share(name: str) -> Callable[[Table], IndexArray]:
    return lambda table: np.argsort(-table[name], kind="stable")


def _significantly_moved(table: Table) -> IndexArray:
    return np.lexsort((-table["offset_percent"], ~table["systematic"]))


def _largest_offset(table: Table) -> IndexArray:
    return np.lexsort((-np.abs(table["offset_percent"]), ~table["systematic"]))


def _surest_offset(table: Table) -> IndexArray:
    return np.lexsort((table["p_value"], ~table["systematic"]))


def _surest_use(table: Table) -> IndexArray:
    known = np.flatnonzero(~np.isnan(table["p_value"]))
    p_value, systematic = table["p_value"][known], table["systematic"][known]
    return known[np.lexsort((p_value, ~systematic))]


def _most_confused(table: Table) -> IndexArray:
    rows = np.flatnonzero(table["category"] != table["others"])
    return rows[np.argsort(-table["n"][rows], kind="stable")]


def _small_matrix(table: Table) -> IndexArray:
    # That of two annotators would only repeat their F1.
    return np.arange(len(table) if 2 < len(table) <= _MOST_COMPARED else 0)


def _several_groups(table: Table) -> IndexArray:
    return np.arange(len(table) if (table["group"] > 1).any() else 0)


_ORDERS: dict[str, Callable[[Table], IndexArray]] = {
    "pair_similarity": _lowest("mean_similarity"),
    "decomposition_by_category": _largest_gain,
    "decomposition_by_annotator": _largest_gain,
    "annotators": _lowest("f1"),
    "offsets": _largest_offset,
    "rotated_offsets": _surest_offset,
    "quarter_turns": lambda table: np.flatnonzero(table["share"] > 0),
    "category_use": _surest_use,
    "confusion_matrix": _most_confused,
    "agreement_matrix": _small_matrix,
    "agreement_groups": _several_groups,
    "copies": lambda table: np.flatnonzero(table["n_identical"] > 0),
    "category_vitality": _lowest_vitality,
    "joints": _largest_share("distance_percent"),
    "joint_annotators": _significantly_moved,
    "tracks": _lowest("idf1"),
    # Every other threshold of 0.05 to 0.95.
    "sensitivity": lambda table: np.arange(1, len(table), 2),
}
