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
        self.home = matched.objects.tolist()
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
        self.tied, self.whole, self.wholes = {}, {}, defaultdict(set)
        # Who drew an object with another one, and whose box around both is joined with it.
        self.merged, self.joined, self.odd = defaultdict(set), defaultdict(set), set()
        self.concerned = {kind: set() for kind in KINDS}
        self.again = self.find_again()
        self.enter_parts(self.find_parts())
        self.tie_second_boxes()
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
        units = self.matched.units.unit.tolist()
        for left, right in zip(own.left.tolist(), own.right.tolist(), strict=True):
            pair = sorted((self.home[left], self.home[right]), key=self.rank)
            if len(set(self.objects[pair[0]]) & set(self.objects[pair[1]])) == 1:
                again[pair[1]] = min(again.get(pair[1], pair[0]), pair[0], key=self.rank)
                who.add((pair[1], int(of.annotator[left])))
        for n, home in enumerate(self.home):
            rest = {self.home[m] for m, unit in enumerate(units) if unit == units[n]} - {home}
            rest = {each for each in rest if len(self.objects[each]) > 1}
            if rest and len(self.objects[home]) == 1:
                (again[home],) = rest
                self.tied[home] = again[home]
        self.twice = who
        return again

    def mean(self, home, without=None):
        boxes = [box for who, (*_, box) in self.objects[home].items() if who != without]
        return np.mean([corners(box) for box in boxes], axis=0) if boxes else None

    def find_parts(self):
        """Look at what each annotator drew beside each object that is odd."""
        found = []
        for part, drawn in self.objects.items():
            n, asked = 2 * len(drawn), len(self.asked[part])
            for who in self.asked[part]:
                if who in drawn and n <= asked:
                    odd = corners(drawn[who][2])
                elif who not in drawn and n >= asked:
                    odd = self.mean(part)
                else:
                    continue
                is_merge = who not in drawn
                for home, others in self.objects.items():
                    if home == part or self.image[home] != self.image[part] or who not in others:
                        continue
                    own, rest = corners(others[who][2]), self.mean(home, without=who)
                    large, other = (own, rest) if is_merge else (rest, own)
                    if large is None or area(odd) >= area(large) or inside(odd, large) < 0.5:
                        continue
                    if other is None or inside(other, large) < 0.5:
                        if not is_merge:
                            continue
                        other = None
                    elif max(inside(other, odd), inside(odd, other)) >= 0.5:
                        continue
                    found.append((part, who, is_merge, home, odd, large, other))
        best = {}
        for part, who, is_merge, home, _, large, other in found:
            same = [row for row in found if row[1:4] == (who, is_merge, home)]
            boxes = [row[4] for row in same] + [row[6] for row in same if row[6] is not None]
            joint = np.append(np.min(boxes, axis=0)[:2], np.max(boxes, axis=0)[2:])
            gain = overlap(joint, large)
            if len(same) + (other is not None) < 2 or gain < 0.5:
                continue
            if other is not None and gain <= overlap(other, large):
                continue
            row = -gain, home, other is not None
            best[part, who, is_merge] = min(best.get((part, who, is_merge), row), row)
        return best

    def tie_second_boxes(self):
        """Tie second boxes and parts in one unit to the object that one of them belongs to."""
        units = defaultdict(set)
        for n, unit in enumerate(self.matched.units.unit.tolist()):
            units[unit].add(self.home[n])
        for homes in units.values():
            alone = {each for each in homes if len(self.objects[each]) == 1} - set(self.tied)
            wholes = {self.counted(each) for each in alone if len(homes) > 1}
            wholes = {each for each in wholes if len(self.objects[each]) > 1}
            for each in alone if wholes else ():
                if self.counted(each) in {each, max(wholes)}:
                    self.tied[each] = max(wholes)

    def enter_parts(self, best):
        whose = self.concerned["split or merged"]
        joint = defaultdict(list)
        for (part, who, is_merge), (_, home, is_whole) in best.items():
            whose.add((part, who))
            self.odd.add((home, who))
            if not is_merge:
                self.odd.add((part, who))
                few = not self.is_common(part) and part not in self.again
                if few and len(self.objects[home]) > len(self.objects[part]):
                    self.wholes[part].add(home)
                continue
            self.merged[part].add(who)
            if is_whole and 2 * len(self.objects[part]) > len(self.asked[part]):
                whose.add((home, who))
            if not is_whole and len(self.objects[home]) == 1 and home not in self.again:
                joint[home].append(part)
                whose.add((home, who))
        for part, homes in self.wholes.items():
            self.whole[part] = min(homes, key=lambda home: (-len(self.objects[home]), home))
        for home, parts in joint.items():
            self.whole[home] = min(parts, key=lambda part: (-len(self.objects[part]), part))
            self.joined[self.whole[home]] |= set(self.objects[home])

    def missing(self, home):
        if home in self.again or home in self.whole:
            return set()
        return self.asked[home] - set(self.objects[home]) - self.merged[home]

    def strays(self, home):
        """Return why annotators are in another unit than most, None where nothing explains it."""
        drawn, main = self.objects[home], self.main_unit(home)
        why = {}
        for each, others in self.objects.items():
            for who, (unit, *_) in others.items():
                if (each, who) in self.odd:
                    why.setdefault(unit, "split or merged")
                if each in self.again:
                    why[unit] = "drawn twice by one"
        return {who: why.get(unit) for who, (unit, *_) in drawn.items() if unit != main}

    def find_rest(self):
        concerned = self.concerned
        concerned["drawn twice by one"] |= self.twice
        for home, drawn in self.objects.items():
            strays = self.strays(home)
            if None in strays.values():
                plain = [who for who in drawn if strays.get(who) is None]
                units = Counter(drawn[who][0] for who in plain)
                most = max(units.values())
                tied = list(units.values()).count(most) > 1
                concerned["badly placed"] |= {
                    (home, who) for who in plain if tied or drawn[who][0] != self.main_unit(home)
                }
            counts = Counter(category for _, category, _ in drawn.values())
            most = max(counts.values())
            tied = list(counts.values()).count(most) > 1
            usual = {who for who in drawn if (home, who) not in self.odd}
            if any(drawn[who][1] != self.top(home) for who in usual):
                concerned["class conflict"] |= {
                    (home, who) for who in usual if tied or drawn[who][1] != self.top(home)
                }
            if self.missing(home):
                those = self.missing(home) if self.is_common(home) else drawn
                concerned["missed by some"] |= {(home, who) for who in those}

    def homes(self, kind):
        return {home for home, _ in self.concerned[kind]}

    def counted(self, home):
        """Return the object that another one is counted as."""
        joined = self.whole | self.again
        while home in joined:
            home = joined[home]
        return home

    def root(self, home, kind):
        """Return the object that another one is repaired, or only counted, together with."""
        if kind == "drawn twice by one":
            joined = self.again
        elif kind == "split or merged":
            joined = self.whole | self.tied
        else:
            joined = self.tied
        while home in joined:
            home = joined[home]
        return home

    def is_joined(self, home, kind):
        if kind == "drawn twice by one":
            return home in self.again
        return kind == "split or merged" and home in self.whole and home not in self.again

    def repaired(self, kind, chosen):
        """Return lists of values by unit, of which as many are missing as lack."""
        units, size = defaultdict(dict), {}
        # What stays in its object is entered before what is joined with it.
        order = sorted(self.objects, key=lambda home: (self.is_joined(home, kind), self.rank(home)))
        for home in order:
            drawn, root = self.objects[home], self.root(home, kind)
            bad = kind in KINDS and root in {self.root(each, kind) for each in chosen}
            itself = home in self.homes(kind) if kind in KINDS else False
            if bad and itself and kind == "missed by some" and not self.is_common(home):
                continue
            moved = bad and self.is_joined(home, kind)
            for who, (own, category, _) in drawn.items():
                if moved and who in self.objects[root]:
                    continue
                unit = self.main_unit(root) if moved else own
                if bad and kind == "badly placed" and itself:
                    unit = self.main_unit(home)
                if bad and not moved and self.strays(home).get(who) == kind:
                    unit = self.main_unit(home)
                renamed = bad and itself and kind == "class conflict"
                units[unit].setdefault(who, self.top(home) if renamed else category)
                size[unit] = len(self.asked[home])
            if bad and itself and not moved:
                more = set()
                if kind == "missed by some":
                    more = self.missing(home)
                elif kind == "split or merged":
                    more = self.merged.get(home, set()) - self.joined.get(home, set())
                for who in more:
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


def corners(box):
    return np.append(box[:2], np.add(box[:2], box[2:]))


def area(edges):
    return np.prod(edges[2:] - edges[:2])


def shared(one, other):
    return np.prod(np.maximum(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]), 0))


def inside(part, whole):
    return shared(part, whole) / area(part)


def overlap(one, other):
    return shared(one, other) / (area(one) + area(other) - shared(one, other))
