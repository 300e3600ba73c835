"""A story or a diagnosis as lines of text."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.text import one_line
from bboxqa.model.diagnosis import Diagnosis, Story
from bboxqa.report.table_excerpt import table_excerpt


def story_lines(story: Story | None, width: int | None, *, diagnose: bool) -> Iterator[str]:
    """Yield a story, with `diagnose` after the tables of its diagnosis; without one, a hint."""
    if story is None:
        yield from ("", "To see who, what and where lowers agreement, add --diagnose")
        return
    if diagnose and isinstance(story, Diagnosis):
        for name, table in {**story.tables, "review": story.review}.items():
            title = f"{name.replace('_', ' ').capitalize()} at {story.threshold_label}"
            yield from table_excerpt(title, table, np.arange(len(table)), width)
    yield from ("", f"What lowers agreement at {story.threshold_label}")
    yield from (f" - {one_line(line)}" for line in story.story)
    yield from (f" Warning: {one_line(line)}" for line in story.warnings)
