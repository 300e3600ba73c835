"""The report that `bboxqa.validate` returns: findings that can be shown in every format."""

import json
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from bboxqa.core.text import count, one_line
from bboxqa.model.findings import FoundReport
from bboxqa.model.table import Table, html_table
from bboxqa.report.findings.phrases import ID_NAMES, groups
from bboxqa.report.registry import FINDING_VIEWS, view

if TYPE_CHECKING:
    import pandas as pd

# Of files and rules in a notebook.
_MOST_FILES, _MOST_RULES = 5, 20


class Report(FoundReport):
    """All findings of a run, with their views."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        total = sum(self.severities.values())
        items = "".join(f"<li>{escape(one_line(each))}</li>" for each in self._contents())
        head = f"<p>{count(len(self.files), 'file')}: {count(total, 'finding')}</p><ul>{items}</ul>"
        if not total:
            return head
        return head + html_table(self._by_rule(), _MOST_RULES)

    def _contents(self) -> Iterator[str]:
        """Yield what the first files hold, and their parts that were not read."""
        for file in self.files[:_MOST_FILES]:
            held = (
                f"{file.name}: {count(file.n_images, 'image')}, "
                f"{count(file.n_annotations, 'annotation')}, categories: {file.n_categories:,}"
            )
            yield "; ".join(part for part in (held, file.kind, file.unread) if part)
        if more := len(self.files[_MOST_FILES:]):
            yield f"… and {count(more, 'more file')}"

    def _by_rule(self) -> Table:
        """Return a row for each rule that found something, the gravest first, with an example."""
        found = sorted(groups(self), key=lambda g: (-g.severity.rank, -g.total, g.rule.code))
        messages = [one_line(group.listed[0].message) if group.listed else "" for group in found]
        texts = {
            "rule": [group.rule.code for group in found],
            "severity": [group.severity.value for group in found],
            "title": [group.rule.title for group in found],
            "example": messages,
        }
        columns = {name: np.array(values, object) for name, values in texts.items()}
        numbers = np.array([group.total for group in found], np.int64)
        order = ("rule", "severity", "findings", "title", "example")
        return Table({name: columns.get(name, numbers) for name in order})

    def render(self, name: str) -> str:
        """Return the report in a format of `bboxqa validate --format`.

        Parameters
        ----------
        name : {"text", "concise", "json", "jsonl", "sarif", "github", "junit", "html"}

        Raises
        ------
        ConfigError
            If there is no such format.

        Examples
        --------
        >>> import bboxqa
        >>> report = bboxqa.validate({"images": [{"id": 1}], "annotations": [], "categories": []})
        >>> report.render("concise").splitlines()[0]
        'document:1:13: S007 error image 1: height is missing; expected a whole number above 0'
        """
        return "".join(f"{line}\n" for line in view(FINDING_VIEWS, name)(self))

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each finding as a pandas data frame; needs pandas.

        The columns are the keys of a finding in JSON, with those of `ids` in place of `ids`.
        """
        import pandas as pd

        from bboxqa.report.findings.formats import finding_keys

        rows = [json.loads(line) for line in self.render("jsonl").splitlines()]
        values = {name: [row[name] for row in rows] for name in finding_keys() if name != "ids"}
        ids = {name: [row["ids"].get(name) for row in rows] for name in ID_NAMES}
        return pd.DataFrame({**values, **ids})

    def to_sarif(self) -> dict[str, Any]:
        """Return the report as SARIF 2.1.0, the format of code scanning services."""
        log: dict[str, Any] = json.loads(self.render("sarif"))
        return log
