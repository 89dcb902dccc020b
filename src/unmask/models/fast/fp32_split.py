"""Float32 matrix products on a GPU, each computed as the sum of three products in half precision.

After its row is scaled by a power of two, a float32 number is the sum of two halves: each has 11
bits, and the sign of the second is one more. Then x w = first first + first rest + rest first; the
omitted term is as small as float32's own rounding. Tensor cores multiply halves so much faster that
three products take a third of the time of one in float32 (Ootomo and Yokota 2022). They round sums
towards zero, so long sums are computed in chunks. Without it a whole run of BERT-large in float32
takes 2.6 times as long (H200).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from unmask.models.transformers.weights import device_of

TOP_EXPONENT = 14  # the largest number of a row becomes 2**14 to 2**15; a half holds up to 2**16
CHUNK_TERMS = 1024  # terms that tensor cores sum at once
ALIGNED = 8  # a product runs at full speed if its columns are a multiple of this
MIN_ROWS = 64  # below this number of rows it does not pay


def split(x: torch.Tensor, chunks: int, weight: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Split a matrix [rows, columns] into halves [rows, 3 columns] and a factor for each row.

    Each chunk of columns becomes three blocks: first, rest, first for a weight, and rest, first,
    first for its input. The small products come first, while the sum is still small.
    """
    if x.is_cuda:
        from unmask.models.fast import fp32_split_triton  # Triton is installed with CUDA

        halves: tuple[torch.Tensor, torch.Tensor] = fp32_split_triton.split(
            x, chunks, TOP_EXPONENT, weight
        )
        return halves
    exponent = torch.frexp(x.abs().amax(1)).exponent.clamp(min=TOP_EXPONENT - 125) - 1
    ones = torch.ones(len(x))
    value = x * torch.ldexp(ones, TOP_EXPONENT - exponent)[:, None]
    first = value.half()
    remainder = (value - first).half()
    blocks = (first, remainder, first) if weight else (remainder, first, first)
    parts = torch.stack([b.view(len(x), chunks, -1) for b in blocks], 2)
    return parts.flatten(1), torch.ldexp(ones, exponent - TOP_EXPONENT)


def multiply(left: torch.Tensor, right: torch.Tensor, chunks: int) -> torch.Tensor:
    """Multiply halves [rows, n] and [columns, n], summed chunk by chunk: [rows, columns]."""
    pairs = zip(left.chunk(chunks, 1), right.chunk(chunks, 1), strict=True)
    products = (_product(a, b.t()) for a, b in pairs)
    total = next(products)
    for product in products:
        total += product
    return total


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.mm(a, b, out_dtype=torch.float32) if a.is_cuda else a.float() @ b.float()


def join(
    raw: torch.Tensor, left: torch.Tensor, right: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """Scale products [rows, columns] back by row and column, and add the bias."""
    if raw.is_cuda:
        from unmask.models.fast import fp32_split_triton

        joined: torch.Tensor = fp32_split_triton.join(raw, left, right, bias)
        return joined
    product = raw * left[:, None] * right
    return product if bias is None else product + bias


@dataclass(frozen=True, slots=True)
class Weight:
    """A layer's weight as halves, padded to aligned columns; `count` of them are real."""

    halves: torch.Tensor
    back: torch.Tensor
    bias: torch.Tensor | None
    chunks: int
    count: int

    @classmethod
    def of(cls, layer: Any) -> "Weight":
        """Split the weight of a `Linear`, or of GPT-2's `Conv1D`, whose weight is transposed."""
        weight = layer.weight.detach()
        weight = weight.t().contiguous() if isinstance(layer, Conv1D) else weight.contiguous()
        bias, count, chunks = layer.bias, len(weight), chunks_of(weight.shape[1])
        if missing := -count % ALIGNED:
            weight = torch.nn.functional.pad(weight, (0, 0, 0, missing))
            bias = None if bias is None else torch.nn.functional.pad(bias.detach(), (0, missing))
        return cls(*split(weight, chunks, weight=True), bias, chunks, count)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the layer's output."""
        rows = x.reshape(-1, x.shape[-1]).contiguous()
        halves, back = split(rows, self.chunks, weight=False)
        product = join(multiply(halves, self.halves, self.chunks), back, self.back, self.bias)
        return product[:, : self.count].unflatten(0, x.shape[:-1])


def chunks_of(columns: int) -> int:
    """Return the number of equal chunks that a sum is divided into."""
    least = -(-columns // CHUNK_TERMS)
    fitting = (c for c in range(least, 4 * least) if columns % (c * ALIGNED) == 0)
    return next(fitting, 1)


@dataclass(frozen=True, slots=True)
class SplitProducts:
    """The layers of a network that use split products, and their weights, split at first use."""

    layers: tuple[Any, ...]
    weights: dict[int, Weight] = field(default_factory=dict)

    @property
    def record(self) -> str:
        """The description that a result records."""
        text = f"in layers with {MIN_ROWS} rows or more: each of three half-precision products"
        return text if self.layers else ""

    @contextmanager
    def used(self) -> Iterator[None]:
        """Inside, the layers use split products."""
        if not self.layers:
            yield
            return
        matmul = torch.backends.cuda.matmul
        before = matmul.allow_fp16_reduced_precision_reduction
        try:
            matmul.allow_fp16_reduced_precision_reduction = False  # sums are float32's
            for layer in self.layers:  # `setattr` would ask of each whether it is a weight
                vars(layer)["forward"] = partial(self.forward, layer)
            yield
        finally:
            matmul.allow_fp16_reduced_precision_reduction = before
            for layer in self.layers:
                vars(layer).pop("forward", None)

    def forward(self, layer: Any, x: torch.Tensor) -> torch.Tensor:
        """Compute a layer's output, with split products if there are enough rows."""
        if x.dtype != torch.float32 or x.numel() < MIN_ROWS * x.shape[-1]:
            output: torch.Tensor = type(layer).forward(layer, x)
            return output
        if id(layer) not in self.weights:
            self.weights[id(layer)] = Weight.of(layer)
        return self.weights[id(layer)](x)


def layers_of(net: Any) -> tuple[Any, ...]:
    """Return the layers that can use split products: float32 Linear and Conv1D, unmodified."""
    plain = (torch.nn.Linear, Conv1D)
    layers = (m for m in net.modules() if type(m) in plain and "forward" not in vars(m))
    return tuple(m for m in layers if m.weight.dtype == torch.float32)


def split_products(net: Any, precision: str) -> SplitProducts:
    """Return the layers to split: none unless float32 on an NVIDIA GPU with enough memory."""
    device = device_of(net)
    able = (
        precision == "float32"
        and device.type == "cuda"
        and torch.version.hip is None
        and tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 8)  # halves summed in float32
        and torch.cuda.get_device_capability(device) >= (8, 0)
        and not hasattr(net, "hf_device_map")
        and find_spec("triton") is not None
    )
    layers = layers_of(net) if able else ()
    needed = 6 * sum(m.weight.numel() for m in layers)
    if able and needed > torch.cuda.mem_get_info(device)[0] // 2:
        layers = ()
    return SplitProducts(layers)
