"""Pretrain the bundled masked language model: tokenizer, packing, training, export.

    python tools/pretrain/pretrain.py tokenizer --text part-*.txt.xz --out work/
    python tools/pretrain/pretrain.py pack      --text part-*.txt.xz --out work/
    python tools/pretrain/pretrain.py train     --out work/ --steps 40000
    python tools/pretrain/pretrain.py evaluate  --out work/

The text is English, one paragraph a line (plain or .xz). One paragraph in a hundred, chosen by
a keyed hash of its text, is held out: it reaches neither the tokenizer nor the training.

Rows are windows of 128 tokens into a stream of chunks, each chunk `[CLS] ... [SEP]`; a token
attends only within its chunk, with positions counted from the chunk's start. Half of the
paragraphs are cut into single sentences and half into runs of sentences, and the halves change
places every epoch, so that the model knows short inputs, which is what bias measures give it.

Of every row 20 % of the tokens are predicted: 80 % of these are hidden by [MASK], 10 % replaced
and 10 % shown unchanged (Devlin et al. 2019). The unchanged tenth matters here: AUL and AULA
ask for the probability of tokens that are in plain sight.
"""

import argparse
import hashlib
import json
import lzma
import math
import multiprocessing
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

from unmask.lab.nets import orthogonalise

WINDOW = 128
PREDICTED = 0.2
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, UNK, CLS, SEP, MASK = range(5)
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")


# ---------------------------------------------------------------- text


def paragraphs(files: Iterable[Path]) -> Iterator[str]:
    """The paragraphs of plain or xz-compressed files, in order."""
    for file in files:
        with lzma.open(file, "rt") if file.suffix == ".xz" else file.open() as handle:
            for line in handle:
                if line := line.strip():
                    yield line


def held_out(paragraph: str) -> bool:
    """Whether a paragraph belongs to the 1 % that is never trained on."""
    digest = hashlib.blake2b(paragraph.encode(), digest_size=8, key=b"held-out").digest()
    return int.from_bytes(digest, "big") % 100 == 0


def train_tokenizer(files: list[Path], folder: Path, size: int) -> None:
    """An uncased WordPiece vocabulary of `size` pieces from the training paragraphs."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(lowercase=True, strip_accents=True)
    tokenizer.train_from_iterator(
        (p for p in paragraphs(files) if not held_out(p)),
        vocab_size=size,
        min_frequency=5,
        special_tokens=SPECIALS,
        show_progress=False,
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "raw-tokenizer.json"))
    BertTokenizerFast(
        tokenizer_object=tokenizer._tokenizer, do_lower_case=True, model_max_length=WINDOW
    ).save_pretrained(folder / "model")
    print(f"tokenizer: {tokenizer.get_vocab_size()} pieces")


# ---------------------------------------------------------------- packing


def chunk(sentences: list[list[int]], single: bool) -> list[int]:
    """`[CLS] ... [SEP]` chunks of one paragraph: one sentence each, or as many as fit a window."""
    out: list[int] = []
    room: list[int] = []
    for ids in sentences:
        pieces = [ids[i : i + WINDOW - 2] for i in range(0, len(ids), WINDOW - 2)]
        for piece in pieces:
            if room and (single or len(room) + len(piece) > WINDOW - 2):
                out += [CLS, *room, SEP]
                room = []
            room = room + piece
    return out + [CLS, *room, SEP] if room else out


_TOKENIZER = None


def _start(path: str) -> None:
    global _TOKENIZER
    from tokenizers import Tokenizer

    _TOKENIZER = Tokenizer.from_file(path)


def _pack_block(lines: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two training streams and the held-out stream of a block of paragraphs."""
    streams: tuple[list[int], list[int], list[int]] = ([], [], [])
    for line in lines:
        encoded = _TOKENIZER.encode_batch(SENTENCE_END.split(line), add_special_tokens=False)
        sentences = [e.ids for e in encoded if e.ids]
        if held_out(line):
            streams[2].extend(chunk(sentences, single=False))
            continue
        first = len(line) % 2 == 0
        streams[0].extend(chunk(sentences, single=first))
        streams[1].extend(chunk(sentences, single=not first))
    return tuple(np.array(s, dtype=np.uint16) for s in streams)


def blocks(lines: Iterable[str], size: int = 2000) -> Iterator[list[str]]:
    """Lines in lists of `size`."""
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == size:
            yield block
            block = []
    if block:
        yield block


def pack(files: list[Path], folder: Path) -> None:
    """Tokenise each file into `NAME.{a,b,held}.npy`; a file packed before is left alone."""
    for file in files:
        name = file.name.split(".")[0]
        if (folder / f"{name}.held.npy").exists():
            continue
        with multiprocessing.Pool(
            initializer=_start, initargs=(str(folder / "raw-tokenizer.json"),)
        ) as pool:
            parts = list(pool.imap(_pack_block, blocks(paragraphs([file]))))
        for key, stream in zip(("a", "b", "held"), zip(*parts, strict=True), strict=True):
            joined = np.concatenate(stream)
            np.save(folder / f"{name}.{key}.npy", joined)
            print(f"packed {name}.{key}: {len(joined):,} tokens", flush=True)


def stream(folder: Path, key: str) -> np.ndarray:
    """All packed tokens of one kind (`a`, `b` or `held`)."""
    return np.concatenate([np.load(f) for f in sorted(folder.glob(f"*.{key}.npy"))])


# ---------------------------------------------------------------- model and optimiser


def build(vocabulary: int, layers: int, width: int, heads: int) -> BertForMaskedLM:
    """A BERT whose matrices fill the size limit of the package and nothing more."""
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=WINDOW,
        type_vocab_size=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=PAD,
    )
    return BertForMaskedLM(config)


class Muon(torch.optim.Optimizer):
    """Momentum with orthogonalised updates for matrices (Jordan et al. 2024).

    Matrices of one shape are stacked, so that a step costs a few batched products instead of
    hundreds of small ones, which is why torch's own Muon is not used here.
    """

    def __init__(self, matrices: list[torch.nn.Parameter], lr: float, decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "decay": decay, "momentum": 0.95})

    @torch.no_grad()
    def step(self) -> None:
        """Move every stack of matrices by its orthogonalised momentum."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[torch.nn.Parameter]] = {}
            for p in group["params"]:
                shapes.setdefault(p.shape, []).append(p)
            for shape, members in shapes.items():
                grads = torch.stack([p.grad for p in members])
                state = self.state[members[0]]
                if "buffer" not in state:
                    state["buffer"] = torch.zeros_like(grads)
                buffer = state["buffer"].lerp_(grads, 1 - group["momentum"])
                moved = grads.lerp(buffer, group["momentum"])
                update = orthogonalise(moved.bfloat16() if moved.is_cuda else moved).to(moved.dtype)
                # 0.2 sqrt(max side) gives the update the root mean square of an Adam step.
                rate = group["lr"] * 0.2 * math.sqrt(max(shape))
                for p, u in zip(members, update.unbind(0), strict=True):
                    p.mul_(1 - group["lr"] * group["decay"]).add_(u, alpha=-rate)


def optimisers(model: BertForMaskedLM, kind: str, lr: float) -> list[torch.optim.Optimizer]:
    """Muon for the layers' matrices and AdamW for the rest, or AdamW for everything."""
    named = dict(model.named_parameters())
    inner = [p for n, p in named.items() if p.ndim == 2 and ".layer." in n and kind == "muon"]
    taken = {id(p) for p in inner}
    matrices = [p for p in named.values() if p.ndim == 2 and id(p) not in taken]
    vectors = [p for p in named.values() if p.ndim < 2]
    adam = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}],
        lr=min(lr, 1e-3),
        betas=(0.9, 0.98),
        eps=1e-7,
        fused=torch.cuda.is_available(),
    )
    return [adam, Muon(inner, lr, 0.05)] if inner else [adam]


# ---------------------------------------------------------------- training


def hide(rows: torch.Tensor, vocabulary: int, generator: torch.Generator, plain: bool = False):
    """Shown rows, places [n, k] to predict, and the gold tokens there.

    `plain` hides every chosen token with [MASK], as the evaluation does.
    """
    chance = torch.rand(rows.shape, device=rows.device, generator=generator)
    chance[(rows == CLS) | (rows == SEP) | (rows == PAD)] = -1.0
    places = chance.topk(round(PREDICTED * rows.shape[1]), dim=1).indices
    gold = rows.gather(1, places)
    way = torch.rand(places.shape, device=rows.device, generator=generator)
    other = torch.randint(
        len(SPECIALS), vocabulary, places.shape, device=rows.device, generator=generator
    )
    put = torch.where(way < 0.8, MASK, torch.where(way < 0.9, other, gold))
    return rows.scatter(1, places, torch.full_like(gold, MASK) if plain else put), places, gold


def losses(model: BertForMaskedLM, shown, places, gold):
    """Cross-entropy at each place [n * k] and whether the gold token is the arg-max there."""
    starts = shown == CLS
    segment = starts.cumsum(1)
    index = torch.arange(shown.shape[1], device=shown.device).expand_as(shown)
    position = index - torch.where(starts, index, 0).cummax(1).values
    within = segment[:, None, :, None] == segment[:, None, None, :]
    states = model.bert(shown, position_ids=position, attention_mask=within).last_hidden_state
    at = places.unsqueeze(-1).expand(-1, -1, states.shape[-1])
    logits = model.cls(states.gather(1, at)).flatten(0, 1).float()
    loss = torch.nn.functional.cross_entropy(logits, gold.flatten(), reduction="none")
    return loss, logits.argmax(-1) == gold.flatten()


def batch_of(streams: list[torch.Tensor], step: int, batch: int, seed: int) -> torch.Tensor:
    """The rows of a step: a function of the step alone, so that a resumed run goes on unchanged."""
    per_epoch = (min(map(len, streams)) - WINDOW) // WINDOW // batch
    epoch, within = divmod(step, per_epoch)
    rng = np.random.default_rng((seed, epoch))
    shift = int(rng.integers(WINDOW))
    if (key := (epoch, seed)) not in _ORDER:
        _ORDER.clear()
        _ORDER[key] = torch.from_numpy(rng.permutation(per_epoch * batch))
    chosen = _ORDER[key][within * batch : (within + 1) * batch]
    source = streams[epoch % len(streams)]
    places = (chosen * WINDOW + shift).to(source.device)
    return source[places[:, None] + torch.arange(WINDOW, device=source.device)].long()


_ORDER: dict[tuple[int, int], torch.Tensor] = {}


def train(folder: Path, args: argparse.Namespace) -> None:
    """Train for `--steps`, or as many as fit in `--seconds`; resumes from its last checkpoint."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    streams = [torch.from_numpy(stream(folder, k).astype(np.int32)).to(device) for k in "ab"]
    vocabulary = json.loads((folder / "raw-tokenizer.json").read_text())["model"]["vocab"]
    model = build(len(vocabulary), args.layers, args.width, args.heads).to(device)
    steppers = optimisers(model, args.optimiser, args.lr)
    forward = torch.compile(losses) if device == "cuda" else losses
    checkpoint = folder / "checkpoint.pt"
    first, total = 0, args.steps
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        for stepper, state in zip(steppers, saved["steppers"], strict=True):
            stepper.load_state_dict(state)
        first, total = saved["step"], saved["total"]
    peaks = [[g["lr"] for g in s.param_groups] for s in steppers]
    generator = torch.Generator(device)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {device}", flush=True)
    begun = saved_at = time.monotonic()
    for step in range(first, 10**9):
        if step == first + 20:
            if device == "cuda":
                torch.cuda.synchronize()
            begun = time.monotonic()
        if step == first + 60 and total is None:
            if device == "cuda":
                torch.cuda.synchronize()
            rate = (time.monotonic() - begun) / 40
            total = step + int(args.seconds / rate)
            print(f"{rate * 1000:.1f} ms a step, so {total:,} steps", flush=True)
        if total is not None and step >= total:
            break
        done = step / (total or 10**5)
        scale = min(done / args.warmup, (1 - done) / (1 - args.warmup)) if step else 0.0
        for stepper, lrs in zip(steppers, peaks, strict=True):
            for group, lr in zip(stepper.param_groups, lrs, strict=True):
                group["lr"] = lr * scale
        generator.manual_seed(args.seed * 10**9 + step)
        rows = batch_of(streams, step, args.batch, args.seed)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = forward(model, *hide(rows, len(vocabulary), generator))[0].mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for stepper in steppers:
            stepper.step()
        model.zero_grad(set_to_none=True)
        if step % args.log == 0:
            seconds = time.monotonic() - begun
            print(f"step {step:6d}  loss {loss.item():.3f}  {seconds:6.1f} s", flush=True)
        if time.monotonic() - saved_at > 120:
            save(checkpoint, model, steppers, step + 1, total, peaks)
            saved_at = time.monotonic()
    if not all(torch.isfinite(p).all() for p in model.parameters()):
        raise SystemExit("training diverged: a parameter is not finite")
    model.half().save_pretrained(folder / "model")
    tokens = (total or 0) * args.batch * WINDOW
    facts = vars(args) | {"steps": total, "tokens": tokens, "training": len(streams[0])}
    facts = {k: v for k, v in facts.items() if k not in {"out", "text", "command"}}
    (folder / "training.json").write_text(json.dumps(facts, indent=1, default=str))


def save(path: Path, model, steppers, step: int, total: int | None, peaks: list) -> None:
    """A checkpoint, written beside its place and moved there, so that it is whole or absent."""
    for stepper, lrs in zip(steppers, peaks, strict=True):
        for group, lr in zip(stepper.param_groups, lrs, strict=True):
            group["lr"] = lr
    state = {
        "model": model.state_dict(),
        "steppers": [s.state_dict() for s in steppers],
        "step": step,
        "total": total,
    }
    torch.save(state, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


# ---------------------------------------------------------------- held-out figures


@torch.no_grad()
def evaluate(folder: Path, args: argparse.Namespace) -> dict[str, float]:
    """Held-out accuracy and pseudo-perplexity, beside unigram and bigram baselines.

    All see the same 20 % of places. The baselines are counted on the training stream with add-one
    (unigram) and with the unigram as 1 % back-off (bigram: the token given its left neighbour).
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    held = stream(folder, "held").astype(np.int64)
    rows = torch.from_numpy(held[: len(held) // WINDOW * WINDOW].reshape(-1, WINDOW)).to(device)
    model = BertForMaskedLM.from_pretrained(folder / "model", dtype=torch.float32).to(device)
    model.eval()
    generator = torch.Generator(device).manual_seed(0)
    shown, places, gold = hide(rows, model.config.vocab_size, generator, plain=True)
    nll, hits = [], []
    for i in range(0, len(rows), 64):
        loss, hit = losses(model, shown[i : i + 64], places[i : i + 64], gold[i : i + 64])
        nll.append(loss)
        hits.append(hit.float())
    figures = {
        "places": gold.numel(),
        "accuracy": torch.cat(hits).mean().item(),
        "nll": torch.cat(nll).mean().item(),
    }
    figures["pseudo-perplexity"] = math.exp(figures["nll"])
    left = rows.gather(1, (places - 1).clamp(min=0))
    train_ids = stream(folder, "a")
    figures |= baselines(train_ids, gold.cpu().numpy(), left.cpu().numpy(), model.config.vocab_size)
    (folder / "held-out.json").write_text(json.dumps(figures, indent=1))
    print(json.dumps(figures, indent=1))
    return figures


def baselines(train_ids: np.ndarray, gold: np.ndarray, left: np.ndarray, size: int) -> dict:
    """Accuracy and perplexity of the unigram and bigram models at the same places."""
    count = np.bincount(train_ids, minlength=size).astype(float)
    count[: len(SPECIALS)] = 0
    unigram = (count + 1) / (count + 1).sum()
    pairs, counts = np.unique(
        train_ids[:-1].astype(np.int64) * size + train_ids[1:], return_counts=True
    )
    keep = pairs % size >= len(SPECIALS)
    pairs, counts = pairs[keep], counts[keep]
    before = np.bincount(pairs // size, weights=counts, minlength=size)
    order = np.lexsort((counts, pairs // size))
    best = np.full(size, count.argmax())
    best[(pairs // size)[order]] = (pairs % size)[order]
    gold, left = gold.ravel(), left.ravel()
    key = left * size + gold
    found = np.searchsorted(pairs, key).clip(max=len(pairs) - 1)
    seen = np.where(pairs[found] == key, counts[found], 0) / np.maximum(before[left], 1)
    bigram = 0.99 * seen + 0.01 * unigram[gold]
    return {
        "unigram accuracy": float((gold == count.argmax()).mean()),
        "unigram perplexity": float(np.exp(-np.log(unigram[gold]).mean())),
        "bigram accuracy": float((best[left] == gold).mean()),
        "bigram perplexity": float(np.exp(-np.log(bigram).mean())),
    }


# ---------------------------------------------------------------- command line


def main() -> None:
    """Run one stage."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("command", choices=["tokenizer", "pack", "train", "evaluate", "all"])
    parser.add_argument("--text", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--vocabulary", type=int, default=12032)
    parser.add_argument("--layers", type=int, default=10)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--optimiser", choices=["muon", "adamw"], default="muon")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=float, default=0.08)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seconds", type=float, default=600.0, help="used where --steps is not")
    parser.add_argument("--log", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.command in ("tokenizer", "all"):
        train_tokenizer(args.text, args.out, args.vocabulary)
    if args.command in ("pack", "all"):
        pack(args.text, args.out)
    if args.command in ("train", "all"):
        train(args.out, args)
    if args.command in ("evaluate", "all"):
        evaluate(args.out, args)


if __name__ == "__main__":
    main()
