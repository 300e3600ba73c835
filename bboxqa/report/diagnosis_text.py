"""A story or a diagnosis as lines of text."""

from collections.abc import Iterator

from bboxqa.core.text import one_line
from bboxqa.model.diagnosis import Diagnosis, Story
from bboxqa.report.diagnosis_tables import diagnosis_table_lines


def story_lines(story: Story | None, width: int, *, diagnose: bool) -> Iterator[str]:
    """Yield a story, with `diagnose` after the tables of its diagnosis; without one, a hint."""
    if story is None:
        yield from ("", "To see who, what and where lowers agreement, add --diagnose")
        return
    if diagnose and isinstance(story, Diagnosis):
        yield from diagnosis_table_lines(story, width)
    yield from ("", f"What lowers agreement at {story.threshold_label}")
    yield from (f" - {one_line(line)}" for line in story.story)
    yield from (f" Warning: {one_line(line)}" for line in story.warnings)
