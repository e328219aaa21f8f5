"""Least squares without a library: fits of a few coefficients that cannot be negative."""
import math


def solve(matrix, vector):
    """Gauss, with the greatest pivot."""
    n = len(vector)
    rows = [list(map(float, row)) + [float(v)] for row, v in zip(matrix, vector)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [row[n] / row[i] for i, row in enumerate(rows)]


def fit(features, values):
    """Coefficients, so that the squares of the relative errors are least; one that would be negative is 0."""
    used = list(range(len(features[0])))
    while True:
        weighted = [([row[i] / v for i in used], 1.0) for row, v in zip(features, values)]
        normal = [[sum(row[i] * row[j] for row, _ in weighted) for j in range(len(used))] for i in range(len(used))]
        right = [sum(row[i] * one for row, one in weighted) for i in range(len(used))]
        found = solve(normal, right)
        if min(found) >= 0 or len(used) == 1:
            return [dict(zip(used, found)).get(i, 0.0) for i in range(len(features[0]))]
        used.remove(used[found.index(min(found))])


def exponent(xs, ys):
    """b of y = a x^b, by the logarithms."""
    lx, ly = [math.log(x) for x in xs], [math.log(y) for y in ys]
    mx, my = sum(lx) / len(lx), sum(ly) / len(ly)
    return sum((x - mx) * (y - my) for x, y in zip(lx, ly)) / sum((x - mx) ** 2 for x in lx)
