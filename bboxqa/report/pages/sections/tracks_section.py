"""Agreement of annotators on tracks in videos."""

from bboxqa.core.text import count
from bboxqa.report.pages.html_document import interval, number
from bboxqa.report.pages.sections.section import Data, Documents, Evidence, Section, table_rows


def tracks_section(documents: Documents) -> Section | None:
    """Return IDF1 and identity switches of each pair of annotators."""
    tables = documents.get("diagnosis", {}).get("tables", {})
    rows = table_rows(tables["tracks"]) if "tracks" in tables else []
    if not rows:
        return None
    lowest = min(rows, key=lambda row: row["idf1"])
    bounds = [lowest["idf1_low"], lowest["idf1_high"]]
    people = f"{lowest['annotator_1']} and {lowest['annotator_2']}"
    n_switches = count(
        len(tables["track_switches"]["rows"]), "identity switch", "identity switches"
    )
    said = number(lowest["idf1"])
    said += "" if None in bounds else f" {interval(bounds)}"
    middle = f"is lowest of {people}, {said}" if len(rows) > 1 else f"of {people} is {said}"
    shown = [
        Data(title, tables[name]["columns"], tables[name]["rows"])
        for name, title in (("tracks", "Tracks"), ("track_switches", "Identity switches"))
    ]
    return Section("tracks", "Tracks", [f"IDF1 {middle}; {n_switches} in all."], [Evidence(shown)])
