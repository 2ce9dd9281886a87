"""What a model may ask of a sparse tensor, and conversions, which change nothing: a program's meaning is dense."""

from __future__ import annotations

from typing import Any

import torch

from .registry import op


def _layout(tensor: Any) -> torch.layout:
    return torch.strided if tensor.origin is None else tensor.origin.layout


ATTRIBUTES = {
    torch.Tensor.layout: _layout,
    torch.Tensor.is_sparse: lambda tensor: _layout(tensor) == torch.sparse_coo,
    torch.Tensor.is_sparse_csr: lambda tensor: _layout(tensor) == torch.sparse_csr,
    torch.Tensor.is_coalesced: lambda tensor: True,
}


@op("to_dense", "_to_dense", "coalesce", "_coalesce", "to_sparse", "_to_sparse", "to_sparse_csr", "_to_sparse_csr",
    "to_sparse_csc", "_to_sparse_csc", "to_sparse_bsr", "_to_sparse_bsr", no_meta=True,
    view=True)  # fmt: skip
def converted(trace, _, x, *__, **___):
    if trace.now in ("to_dense", "_to_dense", "coalesce", "_coalesce") or x.pattern is not None:
        return x
    raise trace.refuse(
        f"{trace.now} of a computed tensor: which entries it would store depends on values",
        "make the sparse tensor outside and pass it, or give the result a format with formats={'output': 'csr'}",
        "T0915",
    )


PARTS = "values _values indices _indices crow_indices col_indices ccol_indices row_indices _nnz".split()


@op(*PARTS, "sparse_mask", no_meta=True)
def parts(trace, shapes, x, *args, **__):
    if trace.now == "sparse_mask":
        from .masks import restricted

        mask = args[0]
        shapes = torch.empty(x.shape, dtype=x.dtype, device="meta")
        vars, (value, _) = trace.aligned([x, mask], x.shape)
        return restricted(trace, "sparse_mask", shapes, vars, value, mask)
    raise trace.refuse(
        f"the model takes a sparse tensor apart with {trace.now.lstrip('_')}()",
        "use the tensor whole: products, elementwise ops, torch.sparse.softmax and sampled_addmm know sparse operands",
    )
