#!/usr/bin/env python3
"""Derives the coefficients in src/codegen/llvm/math.

    python scripts/minimax.py            # every fit, as C++ initialisers with interval and error
    python scripts/minimax.py tanh erf   # those whose name contains one of the words

Each fit approximates f on an interval by P(x) or P(x) / Q(x), Q(0) = 1, making the largest relative error smallest.
The method is Lawson's: least squares on Chebyshev points whose weights grow where the error is large; a denominator
enters linearised by the previous one. Coefficients are then rounded to the working precision one at a time, lowest
power first, and the rest fitted again, so that later ones make up for the rounding of earlier ones.

Needs mpmath and numpy; gmpy2 makes it faster.
"""

import sys
from dataclasses import dataclass, field
from typing import Callable

import mpmath as mp
import numpy as np

mp.mp.dps = 50


@dataclass
class Fit:
    name: str
    f: Callable  # what P (or P / Q) approximates
    low: mp.mpf
    high: mp.mpf
    p: int  # coefficients of P
    q: int = 0  # coefficients of Q beyond the constant 1
    bits: int = 24  # precision of the coefficients
    scale: Callable = lambda x: 1  # error is weighted by this: 1 / final function for its relative error
    fixed: list = field(default_factory=list)  # leading coefficients of P that are given
    rounds: int = 60


def round_to(value, bits):
    if value == 0:
        return mp.mpf(0)
    with mp.workprec(bits):
        return +value


def chebyshev_points(fit, count):
    k = [mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    return np.array([(fit.low + fit.high) / 2 + (fit.high - fit.low) / 2 * t for t in k], dtype=object)


def horner(coefficients, x):
    total = x * 0
    for c in reversed(coefficients):
        total = total * x + c
    return total


class Solver:
    def __init__(self, fit, count=240):
        self.fit = fit
        self.x = chebyshev_points(fit, count)
        self.f = np.array([fit.f(x) for x in self.x], dtype=object)
        self.s = np.array([mp.mpf(1) * fit.scale(x) for x in self.x], dtype=object)
        powers = max(fit.p, fit.q + 1)
        self.powers = [np.array([x**k for x in self.x], dtype=object) for k in range(powers)]

    def error(self, p, q):
        denominator = horner(q, self.x)
        return self.s * (horner(p, self.x) / denominator - self.f)

    def solve(self, known_p, known_q, rounds):
        """Best P and Q given the leading coefficients of each."""
        fit = self.fit
        free_p, free_q = range(len(known_p), fit.p), range(len(known_q), fit.q + 1)
        weight = np.array([mp.mpf(1)] * len(self.x), dtype=object)
        old_q = np.array([mp.mpf(1)] * len(self.x), dtype=object)
        best = None
        for _ in range(rounds if len(free_p) + len(free_q) > 0 else 0):
            factor = self.s / old_q
            columns = [factor * self.powers[k] for k in free_p] + [-factor * self.f * self.powers[k] for k in free_q]
            target = factor * (self.f * horner(known_q, self.x) - horner(known_p, self.x))
            matrix, right = mp.matrix(len(columns)), mp.matrix(len(columns), 1)
            for i, a in enumerate(columns):
                aw = a * weight
                right[i] = (aw * target).sum()
                for j in range(i, len(columns)):
                    matrix[i, j] = matrix[j, i] = (aw * columns[j]).sum()
            solution = list(mp.lu_solve(matrix, right))
            p = known_p + solution[: len(free_p)]
            q = known_q + solution[len(free_p) :]
            error = abs(self.error(p, q))
            worst = max(error)
            if best is None or worst < best[0]:
                best = (worst, p, q)
            old_q = horner(q, self.x)
            weight = weight * error
            weight = weight / weight.sum()
        if best is None:
            return max(abs(self.error(known_p, known_q))), known_p, known_q
        return best


def run(fit):
    solver = Solver(fit)
    ideal, p, q = solver.solve([mp.mpf(c) for c in fit.fixed], [mp.mpf(1)], fit.rounds)
    known_p, known_q = [mp.mpf(c) for c in fit.fixed], [mp.mpf(1)]
    while len(known_q) <= fit.q:  # the denominator first: P can then absorb its rounding linearly
        known_q.append(round_to(q[len(known_q)], fit.bits))
        _, p, q = solver.solve(known_p, known_q, fit.rounds // 3)
    while len(known_p) < fit.p:
        known_p.append(round_to(p[len(known_p)], fit.bits))
        worst, p, q = solver.solve(known_p, known_q, fit.rounds // 3)
    worst = max(abs(solver.error(known_p, known_q)))
    digits = 9 if fit.bits == 24 else 17
    show = lambda c: ", ".join(mp.nstr(v, digits) for v in c)
    print(f"// {fit.name} on [{mp.nstr(fit.low, 6)}, {mp.nstr(fit.high, 6)}]: "
          f"relative error 2^{mp.nstr(mp.log(worst, 2), 4)} (before rounding 2^{mp.nstr(mp.log(ideal, 2), 4)})")
    print(f"P = {{{show(known_p)}}}")
    if fit.q:
        print(f"Q = {{{show(known_q)}}}")
    sys.stdout.flush()


def odd(function):
    """P with function(x) = x + x^3 P(x^2); the argument is y = x^2."""
    return dict(f=lambda y: (function(mp.sqrt(y)) - mp.sqrt(y)) / mp.sqrt(y) ** 3,
                scale=lambda y: mp.sqrt(y) ** 3 / function(mp.sqrt(y)))


def ratio(function):
    """P / Q with function(x) = x P(x^2) / Q(x^2)."""
    return dict(f=lambda y: function(mp.sqrt(y)) / mp.sqrt(y), scale=lambda y: mp.sqrt(y) / function(mp.sqrt(y)))


TINY = mp.mpf("1e-12")
HALF_LN2 = mp.log(2) / 2 * (1 + mp.mpf(2) ** -10)
QUARTER_PI = mp.pi / 4 + mp.mpf("0.01")

FITS = [
    Fit("expm1(r) = r + r^2 P(r), degree 5", lambda r: (mp.expm1(r) - r) / r**2, -HALF_LN2, HALF_LN2, 4,
        scale=lambda r: r**2 / mp.expm1(r)),
    Fit("expm1(r) = r + r^2 P(r)", lambda r: (mp.expm1(r) - r) / r**2, -HALF_LN2, HALF_LN2, 5,
        scale=lambda r: r**2 / mp.expm1(r)),
    Fit("exp2(r) = 1 + r P(r)", lambda r: (mp.mpf(2) ** r - 1) / r, mp.mpf("-0.501"), mp.mpf("0.501"), 6,
        scale=lambda r: r / mp.mpf(2) ** r),
    Fit("log1p(f) = f + f^2 P(f)", lambda f: (mp.log1p(f) - f) / f**2, mp.mpf("-0.25"), mp.mpf("0.5"), 9,
        scale=lambda f: f**2 / mp.log1p(f)),
    Fit("sin(r) = r + r^3 P(r^2)", low=TINY, high=QUARTER_PI**2, p=3, **odd(mp.sin)),
    Fit("cos(r) = 1 - r^2 / 2 + r^4 P(r^2)", lambda y: (mp.cos(mp.sqrt(y)) - 1 + y / 2) / y**2, TINY, QUARTER_PI**2, 3,
        scale=lambda y: y**2 / mp.cos(mp.sqrt(y))),
    Fit("tan(r) = r + r^3 P(r^2)", low=TINY, high=QUARTER_PI**2, p=6, **odd(mp.tan)),
    Fit("asin(x) = x + x^3 P(x^2)", low=TINY, high=mp.mpf("0.25"), p=5, **odd(mp.asin)),
    Fit("atan(x) = x + x^3 P(x^2)", low=TINY, high=mp.mpf(1), p=8, **odd(mp.atan)),
    Fit("sinh(x) = x + x^3 P(x^2)", low=TINY, high=mp.mpf(1), p=3, **odd(mp.sinh)),
]
if __name__ == "__main__":
    words = sys.argv[1:]
    for fit in FITS:
        if not words or any(word in fit.name for word in words):
            run(fit)
