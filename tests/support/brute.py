"""Slow twins: straight from the definitions, with nothing in common with the package."""

from fractions import Fraction
from itertools import combinations, pairwise, permutations, product

from support import brute_statistics

MISSING = "missing"


def box_iou(a, b):
    """Return the IoU of two boxes x, y, width, height as an exact fraction."""
    ax, ay, aw, ah = map(Fraction, a)
    bx, by, bw, bh = map(Fraction, b)
    width = min(ax + aw, bx + bw) - max(ax, bx)
    height = min(ay + ah, by + bh) - max(ay, by)
    shared = max(width, 0) * max(height, 0)
    union = aw * ah + bw * bh - shared
    return shared / union if union else Fraction(0)


def _cross(origin, a, b):
    return (a[0] - origin[0]) * (b[1] - origin[1]) - (a[1] - origin[1]) * (b[0] - origin[0])


def _area(ring):
    return abs(sum(_cross(ring[0], *side) for side in pairwise(ring))) / 2


def convex_iou(left, right):
    """Return the IoU of two convex rings, lists of (x, y) clockwise on a screen, as a fraction."""
    left, right = ([(Fraction(x), Fraction(y)) for x, y in ring] for ring in (left, right))
    rest = left
    for start, stop in zip(right, right[1:] + right[:1], strict=True):
        kept = []
        for a, b in zip(rest, rest[1:] + rest[:1], strict=True):
            sides = _cross(start, stop, a), _cross(start, stop, b)
            if sides[0] >= 0:
                kept.append(a)
            if sides[0] * sides[1] < 0:
                part = sides[0] / (sides[0] - sides[1])
                kept.append(tuple(p + part * (q - p) for p, q in zip(a, b, strict=True)))
        rest = kept
    both = _area(rest) if rest else 0
    union = _area(left) + _area(right) - both
    return both / union if union else union


def matchings(pairs):
    """Yield every matching of a list of (left, right) pairs, as tuples of places."""
    if not pairs:
        yield ()
        return

    def extend(place, used):
        if place == len(pairs):
            yield ()
            return
        yield from extend(place + 1, used)
        left, right = ("l", pairs[place][0]), ("r", pairs[place][1])
        if left not in used and right not in used:
            for rest in extend(place + 1, used | {left, right}):
                yield (place, *rest)

    yield from extend(0, frozenset())


def best_matchings(pairs, weights):
    """Return the largest total weight and every matching that has it."""
    totals = [(sum(weights[place] for place in chosen), chosen) for chosen in matchings(pairs)]
    best = max(total for total, _ in totals)
    return best, [chosen for total, chosen in totals if total == best]


def alpha(units):
    """Return nominal alpha from its definition: 1 − mean disagreement within units over all.

    Units are lists of values; only those with two values or more count. None where undefined.
    """
    found = brute_statistics.alpha(units)
    return found and found[0]


def matrix(units):
    """Return the coincidence matrix from its definition, as a dict of pairs of values."""
    result = {}
    for unit in units:
        for a, b in permutations(unit, 2):
            result[a, b] = result.get((a, b), 0) + Fraction(1, len(unit) - 1)
    return result


def unit_values(table, assigned, missing):
    """Return the values of each unit of a dense table, (A, U), -1 where missing."""
    units = []
    for unit in range(table.shape[1]):
        said = [table[a, unit] for a in range(len(table)) if assigned[a, unit]]
        if missing == "ignore":
            units.append([int(value) for value in said if value >= 0])
        else:
            units.append([int(value) if value >= 0 else MISSING for value in said])
    return units


def drawn_ranks(nodes, content):
    """Return the rank of each node by what is drawn; copies by one annotator are numbered."""
    keys, copies = {}, {}
    for node in sorted(nodes):
        copy = copies[nodes[node], content[node]] = copies.get((nodes[node], content[node]), -1) + 1
        keys[node] = (content[node], copy)
    order = sorted(set(keys.values()))
    return {node: order.index(key) for node, key in keys.items()}


def greedy_units(nodes, pairs, content):
    """Join pairs (weight, left, right) by falling weight; nodes map to their annotators.

    Equal content comes first; of other pairs of one weight, the one with the least content.
    """
    units = {node: {node} for node in nodes}
    rank = drawn_ranks(nodes, content)

    def place(pair):
        weight, *ends = pair
        ranks = sorted(rank[node] for node in ends)
        return ranks[0] != ranks[1], -weight, ranks

    for _, left, right in sorted(pairs, key=place):
        a, b = units[left], units[right]
        if a is b or {nodes[n] for n in a} & {nodes[n] for n in b}:
            continue
        for node in a | b:
            units[node] = a | b
    return {frozenset(unit) for unit in units.values()}


def linkage_units(nodes, pairs, content, *, complete):
    """Join the two units of the best mean, or least, weight of all of their pairs, one by one.

    A pair that is not there weighs 0. Equal content comes first, and of units with one value those
    with the least content.
    """
    weights = {frozenset(ends): weight for weight, *ends in pairs}
    rank = drawn_ranks(nodes, content)
    units = [frozenset([node]) for node in nodes]

    def place(two):
        values = [weights.get(frozenset(pair), 0) for pair in product(*two)]
        ranks = sorted(min(rank[node] for node in unit) for unit in two)
        value = min(values) if complete else Fraction(sum(values), len(values))
        return ranks[0] != ranks[1], -value, ranks

    def can_join(two):
        values = [weights.get(frozenset(pair), 0) for pair in product(*two)]
        authors = [nodes[node] for unit in two for node in unit]
        return len({*authors}) == len(authors) and (all if complete else any)(values)

    while possible := [two for two in combinations(units, 2) if can_join(two)]:
        a, b = min(possible, key=place)
        units = [unit for unit in units if unit not in (a, b)] + [a | b]
    return {*units}


def recursive_units(nodes, pairs):
    """Match recursively, by enumeration; also say whether every optimum was the only one.

    Parameters
    ----------
    nodes : dict of annotation to annotator
    pairs : list of (weight, left, right), where the annotator of left is the smaller one
    """
    units, unique = [], True
    annotators = sorted(set(nodes.values()))
    for later in annotators:
        open_nodes = [node for node in nodes if nodes[node] == later]
        for earlier in annotators[: annotators.index(later)]:
            possible = [
                (weight, left, right)
                for weight, left, right in pairs
                if nodes[left] == earlier
                and right in open_nodes
                and not any(left in unit and later in map(nodes.get, unit) for unit in units)
            ]
            ends = [(left, right) for _, left, right in possible]
            _, best = best_matchings(ends, [weight for weight, *_ in possible])
            unique &= len(best) == 1
            for place in best[0]:
                left, right = ends[place]
                next(unit for unit in units if left in unit).append(right)
                open_nodes.remove(right)
        units += [[node] for node in open_nodes]
    return {frozenset(unit) for unit in units}, unique


def units_of_images(rows, n_asked, similarity, threshold, *, bonus=None):
    """Return what the annotators said of each unit of each image that is not empty.

    Also say whether every matching was the only best one.

    Parameters
    ----------
    rows : list of (image, annotator, category, shape)
    n_asked : function of an image to the number of its annotators
    similarity : function of two shapes
    bonus : what equal categories add; by default so little that it decides between equals only
    """
    found, all_unique = {}, True
    bonus = Fraction(1, 10**9) if bonus is None else bonus
    for place in sorted({row[0] for row in rows}):
        nodes = {n: row[1] for n, row in enumerate(rows) if row[0] == place}
        pairs = []
        for left, right in combinations(sorted(nodes, key=nodes.get), 2):
            if nodes[left] == nodes[right]:
                continue
            value = similarity(rows[left][3], rows[right][3])
            if value >= threshold:
                same = rows[left][2] == rows[right][2]
                pairs.append((value + same * bonus, left, right))
        units, unique = recursive_units(nodes, pairs)
        all_unique &= unique
        found[place] = [
            [rows[n][2] for n in unit] + [MISSING] * (n_asked(place) - len(unit)) for unit in units
        ]
    return found, all_unique


def alphas(units, empty, *, missing="category", empty_images="agree"):
    """Return the pooled alpha, and the mean of those of the images.

    `empty` has the number of annotators of each image on which nobody drew.
    """
    if missing == "ignore":
        units = {
            place: [[value for value in unit if value != MISSING] for unit in own]
            for place, own in units.items()
        }
    pooled = [unit for own in units.values() for unit in own]
    if empty_images == "unit":
        pooled += [[MISSING] * n_asked for n_asked in empty]
    each = [] if empty_images == "skip" else [1] * len(empty)
    for own in units.values():
        if any(len(unit) > 1 for unit in own):
            value = alpha(own)
            each.append(1 if value is None else value)
    return alpha(pooled), sum(each) / Fraction(len(each))


def neighbours(rows, boxes=None):
    """Return the pairs of one image and two annotators, and of overlapping boxes if given."""
    result = []
    for a, b in combinations(range(len(rows)), 2):
        if rows[a][0] != rows[b][0] or rows[a][1] == rows[b][1]:
            continue
        if boxes is None or (
            boxes[a][0] < boxes[b][2]
            and boxes[b][0] < boxes[a][2]
            and boxes[a][1] < boxes[b][3]
            and boxes[b][1] < boxes[a][3]
        ):
            result.append((a, b))
    return result
