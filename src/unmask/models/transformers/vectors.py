"""The states of a network's layers as vectors of words."""

from typing import Any

import torch

from unmask.models.batches import padded
from unmask.models.protocol import STREAMS, Abilities
from unmask.models.sentence_vectors import Request
from unmask.models.transformers.hooks import own_precision
from unmask.models.transformers.tokenizer import TokenizerCodec
from unmask.models.transformers.weights import device_of, running
from unmask.options import POOLS
from unmask.types import Floats, Kind


def network_abilities(
    kind: Kind,
    config: Any,
    limit: int,
    precision: str,
    pipelined: bool = False,
    remarks: tuple[str, ...] = (),
) -> Abilities:
    """What a network of transformers can do, from its config."""
    depth = int(config.num_hidden_layers)
    streams = tuple(s for s in STREAMS if s != "reply" or kind == "causal")
    return Abilities(
        streams=() if kind == "encoder" else streams,
        pools=tuple(POOLS),
        layers=tuple(range(-depth - 1, depth + 1)),
        limit=limit,
        precision=precision,
        pipelined=pipelined,
        remarks=remarks,
    )


@torch.inference_mode()
def pooled(
    net: Any, codec: TokenizerCodec, rows: list[tuple[int, ...]], unique: list[list[Request]]
) -> Floats:
    """Return one vector for each question about these rows, in order."""
    ids, real = map(torch.from_numpy, padded(rows, codec.pad_id))
    device = device_of(net)
    requests = {layer for questions in unique for _, _, layer in questions}
    with running(net), own_precision(net):
        output = net.base_model(
            input_ids=ids.to(device),
            attention_mask=real.to(device),
            **codec.segments(ids.to(device)),
            output_hidden_states=requests != {-1},
            return_dict=True,  # whatever the config says
        )
        states = {k: output[0] if k == -1 else output.hidden_states[k] for k in requests}
    vectors = [
        states[layer][i, list(places)].mean(0)
        for i, questions in enumerate(unique)
        for _, places, layer in questions
    ]
    return torch.stack(vectors).double().cpu().numpy()
