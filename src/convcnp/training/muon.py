"""An optimiser that turns the steps of matrices orthogonal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import Parameter

# Of a quintic that takes singular values between 0 and 1 to about 1, published with the method.
_QUINTIC = (3.4445, -4.7750, 2.0315)
_ROUNDS = 5
_MOMENTUM = 0.95
_SMALLEST = 8  # rows and columns of a matrix that is worth turning
_ADAM_SIZE = 0.2  # of the root mean square of Adam's steps, so that one learning rate serves both


class Muon(torch.optim.Adam):
    r"""Adam, but matrices take steps in which all directions are equally long.

    Of the momentum :math:`M = U S V^T` of a matrix only :math:`U V^T` is taken (Jordan et al.,
    2024), so that directions which are rarely asked for are learned as fast as the others. Kernels
    of convolutions are matrices with a row for each output, and so are long filters with a row for
    each channel. Left to Adam are biases, length scales, other kernels of one channel, and maps
    from or to less than 8.

    Example:
        >>> layer = torch.nn.Linear(16, 8)
        >>> optimizer = Muon(layer.parameters(), lr=1e-3)
        >>> layer(torch.ones(1, 16)).sum().backward()
        >>> optimizer.step()
    """

    def __init__(
        self, parameters: Iterable[Parameter], lr: float, weight_decay: float = 0.0
    ) -> None:
        super().__init__(parameters, lr=lr, weight_decay=weight_decay, fused=True)
        self._alike: dict[tuple[int, int], list[Parameter]] = defaultdict(list)
        for parameter in self.param_groups[0]["params"]:
            if _is_matrix(parameter):
                self._alike[len(parameter), parameter[0].numel()].append(parameter)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:  # noqa: ANN401 - torch's signature
        """Move all parameters by their gradients."""
        result = None
        if closure is not None:
            with torch.enable_grad():
                result = closure()
        for shape, parameters in self._alike.items():
            self._turned_step(shape, [p for p in parameters if p.grad is not None])
        super().step()
        return result

    def _turned_step(self, shape: tuple[int, int], parameters: list[Parameter]) -> None:
        """Move matrices of one shape, and take their gradients away from Adam."""
        if not parameters:
            return
        ahead = []
        for parameter in parameters:
            gradient, state = parameter.grad, self.state[parameter]
            assert gradient is not None
            if not state:  # under Adam's names, which it looks for when a state is loaded
                state["step"] = torch.zeros((), device=parameter.device)
                state["exp_avg"] = torch.zeros_like(parameter)
            momentum = state["exp_avg"].lerp_(gradient, 1 - _MOMENTUM)
            ahead.append(gradient.lerp(momentum, _MOMENTUM).reshape(shape))
            parameter.grad = None
        turned = orthogonal(torch.stack(ahead))
        group = self.param_groups[0]
        turned *= -group["lr"] * _ADAM_SIZE * max(shape) ** 0.5
        for parameter, change in zip(parameters, turned, strict=True):
            parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(change.view_as(parameter))


def _is_matrix(parameter: Parameter) -> bool:
    """Whether a parameter maps at least 8 channels to at least 8."""
    return parameter.ndim > 1 and min(parameter.shape[:2]) >= _SMALLEST


def orthogonal(matrices: Float[Tensor, "K P Q"]) -> Float[Tensor, "K P Q"]:
    """Return nearly the nearest orthogonal matrices, with singular values from 0.7 to 1.2.

    Products alone, and of all matrices at once: a decomposition would take a hundred times as long.

    Example:
        >>> turned = orthogonal(torch.eye(8)[None] * torch.tensor([0.2, 5.0] * 4))
        >>> bool(((turned.diagonal(dim1=1, dim2=2) - 1).abs() < 0.4).all())
        True
    """
    linear, cubic, quintic = _QUINTIC
    wide = matrices.shape[-2] <= matrices.shape[-1]
    x = matrices if wide else matrices.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_ROUNDS):
        square = x @ x.mT
        factor = torch.baddbmm(square, square, square, beta=cubic, alpha=quintic)
        x = torch.baddbmm(x, factor, x, beta=linear)
    return x if wide else x.mT
