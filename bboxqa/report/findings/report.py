"""The report that `bboxqa.validate` returns: findings that can be shown in every format."""

import json
from html import escape
from typing import Any

from bboxqa.model.findings import FoundReport
from bboxqa.report.registry import FINDING_VIEWS, view


class Report(FoundReport):
    """All findings of a run, with their views."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.render('text'))}</pre>"

    def render(self, name: str) -> str:
        """Return the report in a format of `bboxqa validate --output-format`.

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
        >>> report = bboxqa.validate({"images": [{}], "annotations": [], "categories": []})
        >>> report.render("concise").splitlines()[0]
        'document:1:13: S002 error id is missing; expected a whole number'
        """
        return "".join(f"{line}\n" for line in view(FINDING_VIEWS, name)(self))

    def to_sarif(self) -> dict[str, Any]:
        """Return the report as SARIF 2.1.0, the format of code scanning services."""
        log: dict[str, Any] = json.loads(self.render("sarif"))
        return log
