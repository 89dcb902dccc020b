"""How cost grows with the number of sentences: AUL on a tiny network.

    python benchmarks/growth.py [1000 10000 100000]

Each size runs in a process of its own. Printed: seconds, seconds for 1,000 sentences, the peak of
memory above what the process held with the model loaded, and how long the first progress took.
"""

import random
import resource
import subprocess
import sys
import time

from recorded import record
from sizes import SMALL

WORDS = 2000


def sentences(count):
    """Pairs of made sentences of about 20 tokens."""
    from unmask.types import Contrast, Dataset, Text

    rng = random.Random(0)
    items = []
    for number in range(count // 2):
        words = [f"w{rng.randrange(WORDS)}" for _ in range(rng.randint(15, 21))]
        other = list(words)
        other[rng.randrange(len(words))] = f"w{rng.randrange(WORDS)}"
        texts = {"stereotype": Text(" ".join(words)), "antistereotype": Text(" ".join(other))}
        items.append(Contrast(str(number), texts, str(number % 9), str(number)))
    return Dataset("made", "pairs", tuple(items))


def network():
    import tokenizers
    import torch
    import transformers

    from unmask.models.transformers.model import wrap

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(WORDS))]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: i for i, w in enumerate(names)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    named = {
        k: f"[{k[:-6].upper()}]" for k in ("pad_token", "cls_token", "sep_token", "mask_token")
    }
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", **named
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    return wrap(transformers.BertForMaskedLM(config), tokenizer, "masked", "tiny")


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one(count):
    from unmask.api import evaluate_specs
    from unmask.options import Options, Spec

    model, data = network(), sentences(40)
    evaluate_specs([Spec(model, "aul", data)])  # everything is loaded
    data, held, told = sentences(count), peak(), []
    start = time.perf_counter()
    options = Options(progress=lambda *_: told.append(time.perf_counter()))
    evaluate_specs([Spec(model, "aul", data)], options)
    took = time.perf_counter() - start
    facts = {"sentences": count, "seconds": round(took, 1)}
    facts |= {"for 1,000, s": round(1000 * took / count, 2), "memory, MiB": round(peak() - held)}
    record("growth", facts | {"first progress, s": round(told[0] - start, 2)})


def main():
    sizes = [int(a) for a in sys.argv[1:]] or ([100] if SMALL else [1_000, 10_000, 100_000])
    if len(sizes) == 1:
        one(sizes[0])
        return
    for size in sizes:
        subprocess.run([sys.executable, __file__, str(size)], check=True)


if __name__ == "__main__":
    main()
