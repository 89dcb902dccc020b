"""Screenshots of a report page with headless Chromium: its top, its items, and both on a phone.

    python tools/screenshots.py PAGE.html FOLDER

Writes run.png, items.png (1100 wide), run-phone.png and items-phone.png (500 wide, as narrow as
headless Chromium goes). Those in docs/images are of the default run.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = {"": (1100, 900), "-phone": (500, 1000)}
HIDE = "header, main > * { display: none !important }"
SHOW = "#items-behind, #items-behind ~ * { display: revert !important }"
FLEX = "main > #items-behind ~ .controls { display: flex !important }"
PARTS = {"run": "", "items": f"<style>{HIDE} {SHOW} {FLEX}</style>"}


def main() -> None:
    """Take them all."""
    page, folder = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("no Chromium found; install Debian's chromium.")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for part, style in PARTS.items():
            copy = Path(scratch) / f"{part}.html"
            copy.write_text(page.replace("</head>", style + "</head>", 1), encoding="utf-8")
            for ending, (width, height) in SIZES.items():
                target = (folder / f"{part}{ending}.png").resolve()
                options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
                options += [f"--window-size={width},{height}", f"--screenshot={target}"]
                subprocess.run([browser, *options, copy.as_uri()], check=True, capture_output=True)
                print(target)


if __name__ == "__main__":
    main()
