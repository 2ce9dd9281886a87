"""Computes a tensor only where it is read: what stands under a pattern in every statement that reads it is given that
pattern itself. Scores of attention, written as a product and a mask, become a sampled product:

    scores[i, j] = sum(k: q[i, k] * v[j, k])                     scores[i, j] = sum(k: q[i, k] * v[j, k]) where M[i, j]
    e[i, j] = exp(scores[i, j]) where M[i, j]             =>     e[i, j] = exp(scores[i, j]) where M[i, j]
"""

from __future__ import annotations

from . import formats
from .index import Apply, Base, Expr, Fold, Get, Index, Statement, Where

Guard = list[Get]


def restrict(statements: list[Statement], outputs: list[Base]) -> None:
    """Readers first, so that a pattern travels up a chain."""
    for n in range(len(statements) - 1, -1, -1):
        made = statements[n]
        if isinstance(made.value, Where) or any(made.base is out for out in outputs):
            continue
        reads = [read for later in statements[n + 1 :] for read in reads_of(later.value, [], made.base)]
        found = [patterns(get, guards, made) for get, guards in reads]
        if not found or not found[0]:
            continue
        for key, pattern in found[0].items():
            if all(key in other for other in found[1:]):
                made.value = Where(pattern, made.value)
                break


def reads_of(expr: Expr, guards: Guard, base: Base) -> list[tuple[Get, Guard]]:
    """Every access of a base with the patterns that it stands under."""
    if isinstance(expr, Get):
        return [(expr, guards)] if expr.base is base else []
    if isinstance(expr, Where):
        return reads_of(expr.body, [*guards, expr.pattern], base)
    if isinstance(expr, Fold):
        return reads_of(expr.body, guards + expr.patterns, base)
    if isinstance(expr, Apply):
        guards = guards + [guard for arg in factors(expr) if (guard := zero_outside(arg)) is not None]
        return [read for arg in expr.args for read in reads_of(arg, guards, base)]
    return []


def zero_outside(factor: Expr) -> Get | None:
    """The pattern of a factor: where it stores nothing, the product is 0 whatever the others are."""
    if isinstance(factor, Where):
        return factor.pattern
    return factor if isinstance(factor, Get) and factor.base.is_input and formats.is_sparse(factor.base) else None


def factors(expr: Expr) -> list[Expr]:
    return (
        [part for arg in expr.args for part in factors(arg)] if isinstance(expr, Apply) and expr.fn == "mul" else [expr]
    )


def patterns(get: Get, guards: Guard, made: Statement) -> dict[tuple, Get]:
    """The guards of an access, in the variables of the statement that made the tensor; others do not count."""
    own = dict(zip((id(v) for v in get.variables()), (leaf for v in made.vars for leaf in v.leaves()), strict=True))
    out: dict[tuple, Get] = {}
    for guard in guards:
        variables = guard.variables()
        if all(id(var) in own for var in variables):
            slots = [leaf for slot in guard.base.slots for leaf in slot.leaves()]
            moved: list[Index] = [own[id(var)] for var in variables]
            key = (id(guard.base), *(id(var) for var in moved))
            out[key] = Get(guard.base, list(zip(slots, moved, strict=True)))
    return out
