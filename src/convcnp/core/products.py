"""Large products of matrices by the library that is quick on every processor.

Torch brings two. It multiplies by MKL, which on processors of other makers than its own leaves half
of a register unused; oneDNN, which it convolves by, uses all of it, but takes ten microseconds to
begin, and some hundred more for a size that it has not met.
"""

from __future__ import annotations

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

MANY = 2**20  # multiplications, beside which those ten microseconds are few


def product(
    a: Float[Tensor, "n k"], b: Float[Tensor, "k m"], bias: Float[Tensor, " m"] | None = None
) -> Float[Tensor, "n m"]:
    """Return `a @ b`, and a bias added to every row, without a gradient, for sizes that come again.

    Example:
        >>> product(torch.ones(2, 3), torch.ones(3, 4), torch.zeros(4)).tolist()
        [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
    """
    is_plain = a.dtype == b.dtype == torch.float32 and a.device.type == "cpu"
    if is_plain and a.numel() * b.shape[1] >= MANY and _has_onednn():
        # What compiled graphs of torch call; there is no public name for it.
        found: Tensor = torch.ops.mkldnn._linear_pointwise(a, b.mT, bias, "none", [], "")
        return found
    return torch.mm(a, b) if bias is None else torch.addmm(bias, a, b)


@cache
def _has_onednn() -> bool:
    """Whether this build of torch has such products."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
