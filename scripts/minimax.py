#!/usr/bin/env python3
"""Derives the coefficients of the polynomials in src/codegen/llvm/math.

    python scripts/minimax.py            # every fit: what, interval, error, coefficients (lowest power first)
    python scripts/minimax.py tanh erf   # those whose name contains one of the words

Each fit makes the largest weighted error of a polynomial on an interval smallest, by Lawson's method: least squares on
Chebyshev points, whose weights grow where the error is large. The coefficients are then rounded to the working
precision one at a time, lowest power first, and the rest fitted again, so that later ones make up for the rounding of
earlier ones.

Needs mpmath and numpy; gmpy2 makes it faster.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np

mp.mp.dps = 50

POINTS = 120
ROUNDS = 40


@dataclass
class Fit:
    """A polynomial P of `count` coefficients near f on [low, high]; its error is weight(x) (P(x) - f(x))."""

    name: str
    f: Callable
    low: mp.mpf
    high: mp.mpf
    count: int
    weight: Callable
    bits: int = 24


def horner(coefficients, x):
    total = x * 0
    for c in reversed(coefficients):
        total = total * x + c
    return total


class Solver:
    def __init__(self, fit):
        nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * POINTS)) for i in range(POINTS)]
        self.x = np.array([(fit.low + fit.high) / 2 + (fit.high - fit.low) / 2 * t for t in nodes], dtype=object)
        self.f = np.array([fit.f(x) for x in self.x], dtype=object)
        self.weight = np.array([mp.mpf(1) * fit.weight(x) for x in self.x], dtype=object)
        self.columns = [self.weight * self.x**k for k in range(fit.count)]

    def error(self, p):
        return max(abs(self.weight * (horner(p, self.x) - self.f)))

    def solve(self, known):
        """The best coefficients that begin with `known`."""
        columns = self.columns[len(known) :]
        if not columns:
            return known
        target = self.weight * (self.f - horner(known, self.x))
        lawson = np.array([mp.mpf(1)] * POINTS, dtype=object)
        best, best_error = known, mp.inf
        for _ in range(ROUNDS):
            weighted = [column * lawson for column in columns]
            matrix = mp.matrix([[(a * b).sum() for b in columns] for a in weighted])
            right = mp.matrix([(a * target).sum() for a in weighted])
            p = known + list(mp.lu_solve(matrix, right))
            error = abs(self.weight * (horner(p, self.x) - self.f))
            if max(error) < best_error:
                best, best_error = p, max(error)
            lawson = lawson * error
            lawson = lawson / lawson.sum()
        return best


def rounded(value, bits):
    with mp.workprec(bits):
        return +value


def run(fit):
    solver = Solver(fit)
    p = solver.solve([])
    ideal = solver.error(p)
    for k in range(fit.count):
        p = solver.solve([*p[:k], rounded(p[k], fit.bits)])
    after, before = (mp.nstr(mp.log(e, 2), 4) for e in (solver.error(p), ideal))
    interval = f"[{mp.nstr(fit.low, 6)}, {mp.nstr(fit.high, 6)}]"
    print(f"{fit.name} on {interval}: error 2^{after}, before rounding 2^{before}")
    print("  {" + ", ".join(mp.nstr(c, 9 if fit.bits == 24 else 17) for c in p) + "}", flush=True)


def odd(function):
    """function(x) = x + x^3 P(x^2), by the argument y = x^2."""
    root = mp.sqrt
    return {
        "f": lambda y: (function(root(y)) - root(y)) / root(y) ** 3,
        "weight": lambda y: root(y) ** 3 / function(root(y)),
    }


def erf_point(k, step):
    """erf a / a around a = k step, by the distance from there."""
    centre = k * step

    def f(t):
        return mp.erf(centre + t) / (centre + t) if centre + t else 2 / mp.sqrt(mp.pi)

    reach = step / 2 + mp.mpf("0.001")
    return Fit(f"erf table, point {k}", f, -reach, reach, 6, lambda t: 1 / f(t))


def erfc_scaled(t):
    """exp(x^2) erfc(x) (x + 2) by t = (x - 2) / (x + 2)."""
    x = 2 * (1 + t) / (1 - t)
    return (x + 2) * mp.erfc(x) * mp.exp(x * x)


def log_by_quotient(z):
    """(log(1 + f) - 2 s) / s^3 by z = s^2, s = f / (2 + f)."""
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / s**3


def fits():
    tiny = mp.mpf("1e-12")
    one = mp.mpf(1)
    half_ln2 = mp.log(2) / 2 * (1 + mp.mpf(2) ** -10)
    quarter_pi = (mp.pi / 4 + mp.mpf("0.01")) ** 2
    expm1_tail = {"f": lambda r: (mp.expm1(r) - r) / r**2, "weight": lambda r: r**2 / mp.expm1(r)}
    erf_tail = {
        "f": lambda y: mp.erf(mp.sqrt(y)) / mp.sqrt(y) - 1,
        "weight": lambda y: mp.sqrt(y) / mp.erf(mp.sqrt(y)),
    }
    log_erfc = {"f": lambda x: -mp.log(mp.erfc(x)), "weight": mp.erfc}

    # exp.cpp
    yield Fit("expm1(r) = r + r^2 P(r), f32", low=-half_ln2, high=half_ln2, count=5, **expm1_tail)
    yield Fit("expm1(r) = r + r^2 P(r), f64", low=-half_ln2, high=half_ln2, count=11, bits=53, **expm1_tail)
    yield Fit("exp2(r) = 1 + r P(r)", lambda r: (2**r - 1) / r, -0.501 * one, 0.501 * one, 6, lambda r: r / 2**r)
    # log.cpp
    yield Fit(
        "log1p(f) = f + f^2 P(f)",
        lambda f: (mp.log1p(f) - f) / f**2,
        -0.25 * one,
        0.5 * one,
        9,
        lambda f: f**2 / mp.log1p(f),
    )
    yield Fit(
        "log(1 + f) = 2 s + s^3 P(s^2), f64",
        log_by_quotient,
        tiny,
        mp.mpf("0.04"),
        7,
        lambda z: mp.sqrt(z) ** 3 / (2 * mp.atanh(mp.sqrt(z))),
        bits=53,
    )
    # trig.cpp, inverse_trig.cpp
    yield Fit("sin(r) = r + r^3 P(r^2)", low=tiny, high=quarter_pi, count=3, **odd(mp.sin))
    yield Fit(
        "cos(r) = 1 - r^2 / 2 + r^4 P(r^2)",
        lambda y: (mp.cos(mp.sqrt(y)) - 1 + y / 2) / y**2,
        tiny,
        quarter_pi,
        3,
        lambda y: y**2 / mp.cos(mp.sqrt(y)),
    )
    yield Fit("tan(r) = r + r^3 P(r^2)", low=tiny, high=quarter_pi, count=6, **odd(mp.tan))
    yield Fit("asin(x) = x + x^3 P(x^2)", low=tiny, high=one / 4, count=5, **odd(mp.asin))
    yield Fit("atan(x) = x + x^3 P(x^2)", low=tiny, high=one, count=8, **odd(mp.atan))
    # hyperbolic.cpp
    yield Fit("sinh(x) = x + x^3 P(x^2)", low=tiny, high=one, count=3, **odd(mp.sinh))
    # error_function.cpp
    yield Fit("erf(x) = x + x P(x^2), f32", low=tiny, high=one, count=7, **erf_tail)
    yield Fit("erf(x) = x + x P(x^2), f64", low=tiny, high=one, count=12, bits=53, **erf_tail)
    yield Fit("erfc(x) = exp(-P(x)), f32", low=one, high=mp.mpf("3.95"), count=7, **log_erfc)
    yield Fit("erfc(x) = exp(-P(x)), f64", low=one, high=mp.mpf(6), count=19, bits=53, **log_erfc)
    yield Fit(
        "erfc(x) = exp(-x^2) P(t) / (x + 2)",
        erfc_scaled,
        -one,
        mp.mpf("8.2") / mp.mpf("12.2"),
        11,
        lambda t: 1 / erfc_scaled(t),
        bits=53,
    )
    for k in range(16):
        yield erf_point(k, mp.mpf(17) / 64)


if __name__ == "__main__":
    words = sys.argv[1:]
    for fit in fits():
        if not words or any(word in fit.name for word in words):
            run(fit)
