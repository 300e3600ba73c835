"""A sentence about tracks: IDF1 of annotators, and identity switches."""

from collections.abc import Iterator, Mapping
from math import isnan

import numpy as np

from bboxqa.core.text import count
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences.sentence import Sentence


def track_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield how well annotators agree on tracks; nothing without tracks."""
    table = tables.get("tracks")
    if table is None or not len(table):
        return
    lowest = int(np.argmin(table["idf1"]))
    text = f"tracks: IDF1 of {_people(table, lowest)} is {_figure(table, lowest)}"
    if len(table) > 1:
        highest = int(np.argmax(table["idf1"]))
        text = (
            f"tracks: IDF1 is lowest of {_people(table, lowest)}, {_figure(table, lowest)}, and "
            f"highest of {_people(table, highest)}, {_figure(table, highest)}"
        )
    yield Sentence(1 - float(table["idf1"][lowest]), f"{text}; {_switches(tables)}")


def _switches(tables: Mapping[str, Table]) -> str:
    """Return the number of identity switches, and the first as an example."""
    found = tables["track_switches"]
    if not len(found):
        return "no identity switches"
    first = next(iter(found.head(1).records()))
    return (
        f"{count(len(found), 'identity switch', 'identity switches')}, such as track "
        f"{first['track']} of {first['annotator_1']}, which is {first['before']} of "
        f"{first['annotator_2']} until {first['until']}, and {first['after']} from "
        f"{first['since']} on"
    )


def _people(table: Table, place: int) -> str:
    return f"{table['annotator_1'][place]} and {table['annotator_2'][place]}"


def _figure(table: Table, place: int) -> str:
    """Return IDF1 of two annotators with its interval."""
    value, low, high = (table[f"idf1{end}"][place] for end in ("", "_low", "_high"))
    return f"{value:.2f}" if isnan(low) else f"{value:.2f} [{low:.2f}, {high:.2f}]"
