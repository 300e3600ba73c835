"""The report that `bboxqa.validate` returns: findings that can be shown in every format."""

import json
from typing import TYPE_CHECKING, Any

from bboxqa.model.findings import FoundReport
from bboxqa.report.findings.as_json import finding_keys
from bboxqa.report.findings.phrases import ID_NAMES
from bboxqa.report.registry import FINDING_VIEWS, view

if TYPE_CHECKING:
    import pandas as pd


class Report(FoundReport):
    """All findings of a run, with their views."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from bboxqa.report.findings.notebook import notebook_html

        return notebook_html(self)

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

        rows = [json.loads(line) for line in self.render("jsonl").splitlines()]
        values = {name: [row[name] for row in rows] for name in finding_keys() if name != "ids"}
        ids = {name: [row["ids"].get(name) for row in rows] for name in ID_NAMES}
        return pd.DataFrame({**values, **ids})

    def to_sarif(self) -> dict[str, Any]:
        """Return the report as SARIF 2.1.0, the format of code scanning services."""
        log: dict[str, Any] = json.loads(self.render("sarif"))
        return log
