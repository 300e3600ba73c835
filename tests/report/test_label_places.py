"""Places of labels near their boxes."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from support.rectangles import inside, overlap

from bboxqa.report.drawing import place_labels

BOUNDS = (0, 0, 400, 300)

rectangles = st.tuples(
    st.integers(-20, 400), st.integers(-20, 300), st.integers(0, 300), st.integers(0, 300)
).map(lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3]))
sizes = st.tuples(st.integers(1, 30), st.integers(1, 16))


class TestPlaceLabels:
    @given(st.lists(st.tuples(rectangles, sizes), max_size=25))
    def test_no_label_covers_another_in_a_crowded_panel(self, labelled):
        bounds = (0, 0, 60, 40)
        places = place_labels([box for box, _ in labelled], [size for _, size in labelled], bounds)
        shown = [place for place in places if place is not None]
        assert all(inside(place, bounds) for place in shown)
        for place, (_, (width, height)) in zip(places, labelled, strict=True):
            assert place is None or (place[2] - place[0], place[3] - place[1]) == (width, height)
        assert not any(overlap(*pair) for pair in combinations(shown, 2))

    def test_a_panel_is_filled_to_the_last_free_place(self):
        places = place_labels([(0, 0, 20, 20)] * 5, [(10, 10)] * 5, (0, 0, 20, 20), gap=0)
        assert [place is None for place in places] == [False] * 4 + [True]

    def test_a_lone_label_stands_on_its_box(self):
        assert place_labels([(20, 20, 60, 60)], [(10, 8)], BOUNDS) == [(20, 12, 30, 20)]

    def test_no_label_hides_a_small_box_while_there_is_room_elsewhere(self):
        """Above the box is another one, which a label would hide, and outlines cross elsewhere."""
        boxes = [(50, 50, 54, 54), (50, 44, 53, 47), (56, 30, 300, 90), (0, 57, 300, 99)]
        sizes = [(20, 10), (1, 1), (1, 1), (1, 1)]
        place, *_ = place_labels(boxes, sizes, BOUNDS)
        assert not any(overlap(place, box) for box in boxes[:2])
