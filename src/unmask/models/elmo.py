"""ELMo (Peters et al. 2018): options JSON and HDF5 weights of the AllenNLP release.

A character CNN with highway layers makes a vector for each token; two layers of LSTMs with
projection run over the sentence in both directions. The vector of a token is the sum over the
three layers, the two directions side by side.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from unmask.errors import DataError, ModelError, NotApplicable
from unmask.models.batches import Budget, Progress, budget_for
from unmask.models.protocol import Abilities
from unmask.text.contexts import VectorRequest
from unmask.types import Floats, Kind

BOS, EOS, START, END, PAD = 256, 257, 258, 259, 260
CHARACTERS = 261
TOKEN = re.compile(r"\w+(?:['\u2019-]\w+)*|[^\w\s]")


def characters(token: str, width: int) -> list[int]:
    """Return a token's ids: start, its UTF-8 bytes (cut to fit), end, padding; each plus one."""
    inner = list(token.encode("utf-8"))[: width - 2]
    ids = [START, *inner, END]
    return [i + 1 for i in ids + [PAD] * (width - len(ids))]


def marker(code: int, width: int) -> list[int]:
    """Return the ids of a sentence's start or end marker."""
    return [i + 1 for i in [START, code, END] + [PAD] * (width - 3)]


class Elmo(nn.Module):
    """The network: token lists to the states of every layer.

    `characters` is the size of the file's own table, without the row for padding. (The released
    options say 262, which is 261 and that row.)
    """

    def __init__(self, options: Mapping[str, Any], characters: int = CHARACTERS) -> None:
        super().__init__()
        cnn, lstm = options["char_cnn"], options["lstm"]
        self.width = int(cnn["max_characters_per_token"])
        activations: dict[str, Callable[[Tensor], Tensor]]
        activations = {"relu": functional.relu, "tanh": torch.tanh}
        self.activation = activations[cnn["activation"]]
        self.size = int(lstm["projection_dim"])
        self.skip = bool(lstm.get("use_skip_connections", False))
        embedding = int(cnn["embedding"]["dim"])
        filters = sum(n for _, n in cnn["filters"])
        self.embed = nn.Embedding(characters + 1, embedding, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(embedding, n, w) for w, n in cnn["filters"])
        self.highways = nn.ModuleList(Highway(filters) for _ in range(int(cnn["n_highway"])))
        self.project = nn.Linear(filters, self.size)
        cell, layers = int(lstm["dim"]), int(lstm["n_layers"])
        clips = float(lstm.get("cell_clip", 0) or 0), float(lstm.get("proj_clip", 0) or 0)
        self.forwards, self.backwards = (
            nn.ModuleList(ProjectedLstm(self.size, cell, *clips) for _ in range(layers))
            for _ in range(2)
        )

    def tokens(self, ids: Tensor) -> Tensor:
        """Character ids [n, t, width] to token vectors [n, t, size]."""
        n, t, width = ids.shape
        x = self.embed(ids.reshape(n * t, width)).transpose(1, 2)
        features = [self.activation(c(x).max(-1).values) for c in self.convolutions]
        vectors = torch.cat(features, -1)
        for highway in self.highways:
            vectors = highway(vectors)
        return self.project(vectors).reshape(n, t, self.size)

    def forward(self, ids: Tensor) -> Tensor:
        """Return states [layers + 1, n, t, 2 x size] for rows of equal length, markers included."""
        x = self.tokens(ids)
        layers = [torch.cat([x, x], -1)]
        forwards, back = x, x.flip(1)
        for number, (lstm, reverse) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            left, right = lstm(forwards), reverse(back)
            if number and self.skip:
                left, right = left + forwards, right + back
            forwards, back = left, right
            layers.append(torch.cat([forwards, back.flip(1)], -1))
        return torch.stack(layers)

    @torch.inference_mode()
    def states(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Return states [layers, n, tokens, 2 x size] of sentences with equally many tokens."""
        for sentence in sentences:
            if isinstance(sentence, str):
                raise DataError(
                    f"ELMo needs a list of tokens, and {sentence[:30]!r} is a string, which it "
                    "would read as characters; split it into tokens first."
                )
        first, last = marker(BOS, self.width), marker(EOS, self.width)
        rows = [[first, *(characters(t, self.width) for t in s), last] for s in sentences]
        return self(torch.tensor(rows))[:, :, 1:-1]


class Highway(nn.Module):
    """out = g relu(x W + b) + (1 - g) x, g = sigmoid(x C + c)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.transform, self.carry = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        """Mix the input with its transformation."""
        gate = torch.sigmoid(self.carry(x))
        return gate * functional.relu(self.transform(x)) + (1 - gate) * x


class ProjectedLstm(nn.Module):
    """An LSTM whose output is projected and clipped; 1 is added to the forget gate's bias."""

    def __init__(self, size: int, cell: int, cell_clip: float, clip: float) -> None:
        super().__init__()
        self.gates = nn.Linear(2 * size, 4 * cell)
        self.project = nn.Linear(cell, size, bias=False)
        self.cell, self.cell_clip, self.clip = cell, cell_clip, clip

    def forward(self, x: Tensor) -> Tensor:
        """Run over time: [n, t, size] to [n, t, size]."""
        state = x.new_zeros(len(x), x.shape[2])
        memory = x.new_zeros(len(x), self.cell)
        outputs = []
        for step in x.unbind(1):
            # The release orders the gates: input, new memory, forget, output.
            i, j, f, o = self.gates(torch.cat([step, state], -1)).chunk(4, -1)
            memory = torch.sigmoid(f + 1) * memory + torch.sigmoid(i) * torch.tanh(j)
            memory = memory.clamp(-self.cell_clip, self.cell_clip) if self.cell_clip else memory
            state = self.project(torch.sigmoid(o) * torch.tanh(memory))
            state = state.clamp(-self.clip, self.clip) if self.clip else state
            outputs.append(state)
        return torch.stack(outputs, 1)


def _weights(net: Elmo, file: Any) -> dict[str, Any]:
    """Map the network's parameter names to arrays from the HDF5 file, in the network's layout."""
    rows = np.asarray(file["char_embed"])
    arrays = {"embed.weight": np.vstack([np.zeros((1, rows.shape[1]), rows.dtype), rows])}
    for n in range(len(net.convolutions)):
        kernel = np.asarray(file[f"CNN/W_cnn_{n}"])[0]  # [width, channels, filters]
        arrays[f"convolutions.{n}.weight"] = kernel.transpose(2, 1, 0)
        arrays[f"convolutions.{n}.bias"] = np.asarray(file[f"CNN/b_cnn_{n}"])
    for n in range(len(net.highways)):
        for name in ("transform", "carry"):
            arrays[f"highways.{n}.{name}.weight"] = np.asarray(file[f"CNN_high_{n}/W_{name}"]).T
            arrays[f"highways.{n}.{name}.bias"] = np.asarray(file[f"CNN_high_{n}/b_{name}"])
    arrays["project.weight"] = np.asarray(file["CNN_proj/W_proj"]).T
    arrays["project.bias"] = np.asarray(file["CNN_proj/b_proj"])
    for direction, side in enumerate(("forwards", "backwards")):
        for n in range(len(net.forwards)):
            group = file[f"RNN_{direction}/RNN/MultiRNNCell/Cell{n}/LSTMCell"]
            arrays[f"{side}.{n}.gates.weight"] = np.asarray(group["W_0"]).T
            arrays[f"{side}.{n}.gates.bias"] = np.asarray(group["B"])
            arrays[f"{side}.{n}.project.weight"] = np.asarray(group["W_P_0"]).T
    return arrays


@dataclass(frozen=True, slots=True)
class ElmoModel:
    """A loaded ELMo. Sentences are split into words and punctuation.

    With `characters` each character is a token, including spaces. This reproduces a bug of
    published code, which passed sentences as strings (Husse and Spitz 2022, appendix D).
    """

    net: Elmo
    name: str
    provenance: Mapping[str, Any] = field(default_factory=dict)
    layer: int | Literal["sum"] = "sum"
    progress: Progress = lambda rows, total: None
    characters: bool = False

    kind: Kind = "elmo"
    family: str = "elmo"

    @property
    def abilities(self) -> Abilities:
        """Vectors of words and sentences; the sum of all layers by default."""
        return Abilities(
            pools=("mean", "last", "word-mean", "word-first", "word-last"),
            layers=tuple(range(len(self.net.forwards) + 1)),
        )

    @property
    def codec(self) -> NoReturn:
        """Refused: ELMo reads characters and has no tokenizer."""
        raise NotApplicable(f"{self.name!r} gives vectors only; use 'w-seat' or 'ceat'.")

    def finer(self) -> "list[ElmoModel]":
        """No finer precision: it runs in float32."""
        return []

    def close(self) -> None:
        """Do nothing: only memory is held."""

    def vectors(
        self,
        *,
        layer: int | None = None,
        progress: Progress = lambda rows, total: None,
        **_: Any,
    ) -> "ElmoModel":
        """Return the same network with another layer and progress callback."""
        return replace(self, layer="sum" if layer is None else layer, progress=progress)

    def budget(self, tokens: int | str) -> Budget:
        """Return the budget of a CPU, where it always runs."""
        return budget_for(tokens, None)

    def engine(self, stream: str = "own", **_: Any) -> NoReturn:
        """Refused: ELMo's own language models are not loaded."""
        raise NotApplicable(f"{self.name!r} gives vectors only; use 'w-seat' or 'ceat'.")

    def has(self, words: Iterable[str]) -> set[str]:
        """Return the words that the model can embed: all, from their characters."""
        return set(words)

    def embed(self, requests: Sequence[VectorRequest]) -> Floats:
        """Return one vector per request [n, 2 x size]."""
        texts = list(dict.fromkeys(_text_of(w) for w in requests))
        spans = {t: self._tokens(t) for t in texts}
        states: dict[str, Tensor] = {}
        by_length: dict[int, list[str]] = {}
        for t in texts:
            by_length.setdefault(len(spans[t]), []).append(t)
        for length, group in sorted(by_length.items()):
            size = max(1, 1024 // max(length, 1))
            for start in range(0, len(group), size):
                block = group[start : start + size]
                layers = self.net.states([[t[a:b] for a, b in spans[t]] for t in block])
                for n, text in enumerate(block):
                    states[text] = layers[:, n]
                self.progress(len(block), len(texts))
        rows = [
            self._pooled(w, self._layer(w, states[_text_of(w)]), spans[_text_of(w)])
            for w in requests
        ]
        return torch.stack(rows).double().numpy()

    def _tokens(self, text: str) -> list[tuple[int, int]]:
        if self.characters:
            return [(i, i + 1) for i in range(len(text))]
        return [(m.start(), m.end()) for m in TOKEN.finditer(text)]

    def _layer(self, want: VectorRequest, states: Tensor) -> Tensor:
        """Reduce [layers, tokens, size] to [tokens, size]: one layer, or the sum of all."""
        layer = self.layer if want.layer is None else want.layer
        return states.sum(0) if layer == "sum" else states[int(layer)]

    def _pooled(self, want: VectorRequest, states: Tensor, spans: list[tuple[int, int]]) -> Tensor:
        start, end = want.mention.span
        word = [i for i, (a, b) in enumerate(spans) if a < end and b > start]
        places = {
            "mean": list(range(len(spans))),
            "last": [len(spans) - 1],
            "word-mean": word,
            "word-first": word[:1],
            "word-last": word[-1:],
        }.get(want.pool)
        if not places:
            raise DataError(
                f"ELMo has no {want.pool!r} for {want.mention.text!r}; use mean, last or word-mean."
            )
        return states[places].mean(0)


def _text_of(want: VectorRequest) -> str:
    return want.mention.text


def _network(options: Path, weights: Path, rows: int) -> Elmo:
    if rows < CHARACTERS:
        raise ModelError(f"{weights} has {rows} characters; ELMo needs {CHARACTERS}.")
    try:
        return Elmo(json.loads(options.read_text()), rows)
    except (KeyError, ValueError, TypeError) as error:
        raise ModelError(f"{options} is not an options file of ELMo ({error}).") from error


def check_elmo(options: Path, weights: Path) -> None:
    """Refuse ELMo if a file is missing, or the package that reads it."""
    if find_spec("h5py") is None:
        raise ModelError("ELMo needs h5py; install it with: pip install 'unmask[elmo]'.")
    for path in (options, weights):
        if not path.is_file():
            raise ModelError(f"there is no file {str(path)!r}; give OPTIONS.json+WEIGHTS.hdf5.")


def load_elmo(options: Path, weights: Path, name: str) -> ElmoModel:
    """Load ELMo from its two files; refuse a file of another layout or shape, naming it."""
    check_elmo(options, weights)
    import h5py  # only ELMo needs it

    try:
        with h5py.File(weights, "r") as file:
            rows = len(file["char_embed"])
            net = _network(options, weights, rows)
            arrays = _weights(net, file)
    except (KeyError, OSError, ValueError, TypeError) as error:
        raise ModelError(f"{weights} does not have ELMo's layout ({error}).") from error
    for key, value in net.state_dict().items():
        if tuple(value.shape) != arrays[key].shape:
            raise ModelError(
                f"{weights} does not fit {options}: {key} should be of shape "
                f"{tuple(value.shape)} and is {arrays[key].shape}."
            )
    net.load_state_dict({k: torch.from_numpy(np.array(v, np.float32)) for k, v in arrays.items()})
    digest = hashlib.blake2b(weights.read_bytes(), digest_size=16).hexdigest()
    facts = {"kind": "elmo", "architecture": "ELMo", "weights": digest, "dtype": "float32"}
    return ElmoModel(net.eval(), name, facts)
