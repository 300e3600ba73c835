"""Disagreements about objects, found object by object with sets and dicts."""

from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from support.brute import MISSING, alpha

KINDS = (
    "missed by some",
    "class conflict",
    "badly placed",
    "split or merged",
    "drawn twice by one",
)


class BruteObjects:
    """Objects as dicts of annotator to unit, category and box."""

    def __init__(self, matched):
        self.matched, of = matched, matched.data.annotations
        self.home = matched.objects[matched.units.unit].tolist()
        self.objects = defaultdict(dict)
        self.image = {}
        for n, home in enumerate(self.home):
            self.objects[home][int(of.annotator[n])] = (
                int(matched.units.unit[n]), int(of.category[n]), tuple(of.bbox[n].tolist()),
            )  # fmt: skip
            self.image[home] = int(of.image[n])
        self.everywhere = Counter(of.category.tolist())
        self.asked = {
            home: set(np.flatnonzero(matched.data.assigned[image]).tolist())
            for home, image in self.image.items()
        }
        self.again, self.merged = self.find_again(), defaultdict(set)
        self.whole, self.concerned = {}, {kind: set() for kind in KINDS}
        self.find_parts()
        self.find_rest()

    @cache  # noqa: B019
    def rank(self, home):
        drawn = self.objects[home].values()
        means = [sum(box[side] for *_, box in drawn) / len(drawn) for side in range(4)]
        return -len(drawn), means[3], means[2], means[1], means[0], self.top(home)

    @cache  # noqa: B019
    def top(self, home):
        counts = Counter(category for _, category, _ in self.objects[home].values())
        return min(counts, key=lambda c: (-counts[c], -self.everywhere[c], c))

    @cache  # noqa: B019
    def main_unit(self, home):
        units = defaultdict(list)
        for unit, _, box in self.objects[home].values():
            units[unit].append(box)

        def place(unit):
            return -len(units[unit]), *np.mean(units[unit], axis=0)[::-1]

        return min(units, key=place)

    def is_common(self, home):
        return 2 * len(self.objects[home]) >= len(self.asked[home])

    def find_again(self):
        again, who = {}, set()
        of, own = self.matched.data.annotations, self.matched.own
        for left, right in zip(own.left.tolist(), own.right.tolist(), strict=True):
            pair = sorted((self.home[left], self.home[right]), key=self.rank)
            if len(set(self.objects[pair[0]]) & set(self.objects[pair[1]])) == 1:
                again[pair[1]] = min(again.get(pair[1], pair[0]), pair[0], key=self.rank)
                who.add((pair[1], int(of.annotator[left])))
        self.twice = who
        return again

    def find_parts(self):
        near = self.matched.near
        of = self.matched.data.annotations
        for ends in zip(near.left.tolist(), near.right.tolist(), strict=True):
            for large, small in (ends, ends[::-1]):
                whole, part = self.home[large], self.home[small]
                merger, splitter = int(of.annotator[large]), int(of.annotator[small])
                if whole == part or part in self.again or merger in self.objects[part]:
                    continue
                if splitter not in self.objects[whole]:
                    continue
                box, half = of.bbox[large], of.bbox[small]
                other = self.objects[whole][splitter][2]
                if half[2] * half[3] >= box[2] * box[3]:
                    continue
                if min(inside(half, box), inside(other, box)) < 0.5:
                    continue
                if max(inside(half, other), inside(other, half)) >= 0.5:
                    continue
                self.merged[part].add(merger)
                drawn, asked = 2 * len(self.objects[part]), len(self.asked[part])
                if drawn <= asked:
                    self.concerned["split or merged"].add((part, splitter))
                if drawn >= asked:
                    self.concerned["split or merged"].add((part, merger))
                if not self.is_common(part) and self.rank(whole) < self.rank(part):
                    self.whole[part] = min(self.whole.get(part, whole), whole, key=self.rank)

    def missing(self, home):
        if home in self.again:
            return set()
        return self.asked[home] - set(self.objects[home]) - self.merged[home]

    def find_rest(self):
        concerned = self.concerned
        concerned["drawn twice by one"] |= self.twice
        for home, drawn in self.objects.items():
            units = Counter(unit for unit, *_ in drawn.values())
            if len(units) > 1:
                most = max(units.values())
                tied = list(units.values()).count(most) > 1
                concerned["badly placed"] |= {
                    (home, who) for who, (unit, *_) in drawn.items() if tied or units[unit] < most
                }
            counts = Counter(category for _, category, _ in drawn.values())
            most = max(counts.values())
            tied = list(counts.values()).count(most) > 1
            if len(counts) > 1:
                concerned["class conflict"] |= {
                    (home, who) for who, (_, c, _) in drawn.items() if tied or counts[c] < most
                }
            if self.missing(home):
                those = self.missing(home) if self.is_common(home) else drawn
                concerned["missed by some"] |= {(home, who) for who in those}

    def homes(self, kind):
        return {home for home, _ in self.concerned[kind]}

    def root(self, home, kind):
        joined = {"drawn twice by one": self.again, "split or merged": self.whole}.get(kind, {})
        while home in joined:
            home = joined[home]
        return home

    def repaired(self, kind, chosen):
        """Return lists of values by unit, of which as many are missing as lack."""
        units, size = defaultdict(dict), {}
        for home in sorted(self.objects, key=self.rank):
            drawn, root = self.objects[home], self.root(home, kind)
            bad = kind in KINDS and root in {self.root(each, kind) for each in chosen}
            if bad and kind == "missed by some" and self.missing(home) and not self.is_common(home):
                continue
            for who, (own, category, _) in drawn.items():
                if bad and home != root and who in self.objects[root]:
                    continue
                moved = bad and (home != root or kind == "badly placed")
                unit = self.main_unit(root) if moved else own
                renamed = bad and kind == "class conflict"
                units[unit].setdefault(who, self.top(home) if renamed else category)
                size[unit] = len(self.asked[home])
            if bad and home == root:
                fill = {"missed by some": self.missing, "split or merged": self.merged.get}
                for who in fill.get(kind, lambda _: ())(home) or ():
                    units[self.main_unit(home)][who] = self.top(home)
        return [
            [*unit.values(), *[MISSING] * (size[number] - len(unit))]
            for number, unit in units.items()
        ]

    def agreement(self, kind=None, chosen=()):
        units = self.repaired(kind, set(chosen))
        drawn = [(sum(v != MISSING for v in unit), len(unit)) for unit in units]
        f1 = Fraction(sum(m * (m - 1) for m, _ in drawn), sum((k - 1) * m for m, k in drawn))
        return float(alpha(units)), float(f1)

    def gains(self, kind, chosen):
        before, after = self.agreement(), self.agreement(kind, chosen)
        return [pytest.approx(a - b, abs=1e-9) for a, b in zip(after, before, strict=True)]


def inside(part, whole):
    low = np.maximum(part[:2], whole[:2])
    high = np.minimum(np.add(part[:2], part[2:]), np.add(whole[:2], whole[2:]))
    return np.prod(np.maximum(high - low, 0)) / (part[2] * part[3])
