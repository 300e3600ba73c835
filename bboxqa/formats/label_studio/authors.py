"""Who made the annotations and predictions of tasks."""

from collections import Counter
from collections.abc import Iterator

from bboxqa.formats.label_studio.people import names_in, person
from bboxqa.formats.label_studio.studio_notes import GROUND_TRUTH
from bboxqa.formats.label_studio.tasks import Task, Work
from bboxqa.formats.label_studio.unnamed import Unnamed
from bboxqa.formats.translation.untrusted import plain_text

_PREDICTIONS = "predictions"


class Authors:
    """Names the annotators and models of a file, and counts what has no name."""

    def __init__(self, text: bytes) -> None:
        self._names = names_in(text)
        self._unnamed = Unnamed()
        self._is_anybody_named = False
        self._n_true = 0
        self.models: Counter[str] = Counter()
        """Numbers of predictions by model, without those of a review."""

    def author(self, task: Task, work: Work) -> str:
        """Return the annotator of an annotation, or the model of a prediction."""
        content = work.content
        if work.is_prediction:
            model = plain_text(content.get("model_version")) or _PREDICTIONS
            # A numeric version would look like an annotator.
            model = f"model {model}" if model.isdecimal() else model
            self.models[model] += not task.is_review
            return model
        name = person(content.get("completed_by"), self._names)
        self._is_anybody_named |= bool(name)
        if content.get("ground_truth") is True:
            self._n_true += 1
            return GROUND_TRUTH
        return name or self._unnamed.add(task.label, work.pointer)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield the problem and the place of each annotation that names nobody."""
        return self._unnamed.problems(others=self._is_anybody_named)

    def tally(self) -> Counter[str]:
        """Return the counts of annotations that are ground truth or name nobody."""
        return Counter(self._unnamed.tally()) + Counter(truth=self._n_true)
