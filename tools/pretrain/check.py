"""Run the whole path of `pretrain.py` on about 1 MB of text on the CPU, and check what comes out.

    python tools/pretrain/check.py [TEXT]

Without a text it makes one from the package's own sentences, so that nothing is needed but the
checkout.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from transformers import AutoModelForMaskedLM, AutoTokenizer

from unmask.data.packaged import bundled_pairs

SIZE = 1_000_000


def made_text() -> str:
    """Paragraphs of the package's sentences in changing company, up to 1 MB."""
    sentences = [t.string for i in bundled_pairs().items for t in i.texts.values()]
    lines, size = [], 0
    for number in itertools.count():
        step = number // len(sentences) + 1
        line = " ".join(sentences[(number + k * step) % len(sentences)] for k in range(4))
        size += len(line) + 1
        if size > SIZE:
            return "\n".join(lines)
        lines.append(line)
    raise AssertionError("unreachable")


def main() -> None:
    """Train a tiny model through the real script and see that it beats the unigram."""
    text = Path(sys.argv[1]).read_text()[:SIZE] if len(sys.argv) > 1 else made_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "text.txt").write_text(text)
        script = Path(__file__).with_name("pretrain.py")
        shape = ["--vocabulary", "600", "--layers", "2", "--width", "64", "--heads", "2"]
        plan = ["--batch", "32", "--steps", "150", "--lr", "5e-3", "--log", "50"]
        command = [sys.executable, str(script), "all", "--text", str(folder / "text.txt")]
        subprocess.run([*command, "--out", name, *shape, *plan], check=True)
        figures = json.loads((folder / "held-out.json").read_text())
        model = AutoModelForMaskedLM.from_pretrained(folder / "model")
        tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    if figures["accuracy"] <= figures["unigram accuracy"]:
        raise SystemExit(f"the model did not learn: {figures}")
    if model.config.vocab_size != len(tokenizer):
        raise SystemExit("the tokenizer and the model do not fit each other")
    print("pretraining works from text to folder")


if __name__ == "__main__":
    main()
