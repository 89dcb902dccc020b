"""Context stores: built file by file, resumed, merged, described."""

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unmask.corpus.harvest import Plan, cut, harvest
from unmask.corpus.sample import Sample
from unmask.errors import DataError
from unmask.models.ray.connect import started

ENOUGH_CONTEXTS = 8  # contexts that a stimulus should have
FORMAT = 2  # raised when the hash or the reading changes: older parts are not reused
STORE, DOUBLES, REPORT = "contexts.parquet", "doubles.parquet", "report.json"
POSITION = "position"  # bytes of a file read so far, for the progress bar


@dataclass(frozen=True, slots=True)
class Report:
    """What a build read and kept, and which files it could not read."""

    files: int
    bytes: int
    stimuli: int
    sentences: int
    broken: tuple[str, ...]


def build(
    files: Sequence[Path],
    plan: Plan,
    folder: Path,
    *,
    words: int | None = None,
    workers: int | None = None,
    engine: str = "local",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Harvest files into a store. A file done before, under the same plan, is not read again."""
    parts = folder / "parts" / _plan_id(plan)
    parts.mkdir(parents=True, exist_ok=True)
    total = sum(f.stat().st_size for f in files)
    run = _ray if engine == "ray" else _local
    run(
        files,
        plan,
        parts,
        workers or os.cpu_count() or 1,
        lambda: progress(_bytes_read(files, parts), total),
    )
    singles, doubles = Sample(plan.keep), Sample(plan.keep_doubles)
    unreadable = []
    for file in files:
        part = parts / _file_id(file)
        note = json.loads((part / REPORT).read_text())
        unreadable += [note["broken"]] if note["broken"] else []
        singles.merge(pq.read_table(part / STORE))
        doubles.merge(pq.read_table(part / DOUBLES))
    table = singles.table()
    _write(folder / STORE, table if words is None else cut(table, words))
    _write(folder / DOUBLES, doubles.table())
    stimuli = len(pc.unique(table["stimulus"]))
    report = Report(len(files), total, stimuli, table.num_rows, tuple(unreadable))
    facts = {k: getattr(report, k) for k in Report.__slots__}
    facts |= {
        "format": FORMAT,
        "seed": plan.seed,
        "keep": plan.keep,
        "window": words,
        "asked": list(plan.stimuli),
    }
    (folder / REPORT).write_text(json.dumps(facts, indent=1))
    return report


def merge(stores: Sequence[Path], folder: Path, keep: int) -> None:
    """The sample of the union of several stores (built with whole sentences)."""
    reports = [_report(store) for store in stores]
    if len({(r["format"], r["seed"]) for r in reports}) != 1 or any(r["window"] for r in reports):
        raise DataError(
            "the stores were built with different seeds, by different versions, or with a window; "
            "rebuild both with the same options, without --window, then merge."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in ((STORE, keep), (DOUBLES, max(1, keep // 100))):
        merged = Sample(size)
        for store in stores:
            merged.merge(pq.read_table(store / name))
        _write(folder / name, merged.table())
    words = sorted({w for r in reports for w in r["asked"]})
    facts = reports[0] | {"keep": keep, "asked": words}
    (folder / REPORT).write_text(json.dumps(facts, indent=1))


def _report(store: Path) -> dict[str, Any]:
    if not all((store / n).is_file() for n in (STORE, DOUBLES, REPORT)):
        raise DataError(f"{str(store)!r} holds no context store; give folders of stores.")
    record = json.loads((store / REPORT).read_text())
    return {"format": 1, "seed": 0, "window": None, "asked": []} | record


def counts(folder: Path) -> dict[str, int]:
    """Return the number of contexts of each stimulus; 0 for those that never occurred."""
    path = folder / STORE
    if not path.is_file():
        raise DataError(f"{str(folder)!r} holds no context store; run 'unmask contexts build'.")
    names = pq.read_table(path, columns=["stimulus"])["stimulus"].to_pylist()
    words = json.loads((folder / REPORT).read_text())["asked"] if (folder / REPORT).exists() else []
    totals = dict.fromkeys(words, 0)
    for name in names:
        totals[name] = totals.get(name, 0) + 1
    return totals


def _plan_id(plan: Plan) -> str:
    facts = (
        FORMAT,
        plan.stimuli,
        sorted(plan.exact),
        plan.keep,
        plan.longest,
        plan.seed,
        sorted((k, sorted(a), sorted(b)) for k, (a, b) in plan.doubles.items()),
    )
    return blake2b(repr(facts).encode(), digest_size=6).hexdigest()


def _file_id(file: Path) -> str:
    stat = file.stat()
    facts = (str(file.resolve()), stat.st_size, stat.st_mtime_ns)
    return f"{file.name}-{blake2b(repr(facts).encode(), digest_size=6).hexdigest()}"


def _harvest_file(
    file: Path, plan: Plan, part: Path, tick: Callable[[], None] = lambda: None
) -> None:
    """Harvest one file into its part; the report is written last and marks it as complete."""
    if (part / REPORT).exists():
        return
    part.mkdir(parents=True, exist_ok=True)

    def progress(at: int) -> None:
        (part / POSITION).write_text(str(at))
        tick()

    singles, doubles, unreadable = harvest(file, plan, progress)
    _write(part / STORE, singles.table())
    _write(part / DOUBLES, doubles.table())
    (part / REPORT).write_text(json.dumps({"broken": unreadable}))


def _bytes_read(files: Sequence[Path], parts: Path) -> int:
    """Return the bytes read so far, in this run and earlier ones, by any process."""
    done = 0
    for file in files:
        part = parts / _file_id(file)
        if (part / REPORT).exists():
            done += file.stat().st_size
        elif (part / POSITION).exists():
            text = (part / POSITION).read_text()
            done += int(text) if text.isdigit() else 0  # empty while it is being written
    return done


def _local(
    files: Sequence[Path], plan: Plan, parts: Path, workers: int, tick: Callable[[], None]
) -> None:
    if workers == 1 or len(files) == 1:
        for file in files:
            _harvest_file(file, plan, parts / _file_id(file), tick)
            tick()
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(_harvest_file, f, plan, parts / _file_id(f)) for f in files}
        while waiting:
            ended, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in ended:
                future.result()
            tick()


def _ray(
    files: Sequence[Path], plan: Plan, parts: Path, workers: int, tick: Callable[[], None]
) -> None:
    ray = started()
    remote = ray.remote(_harvest_file)
    waiting = [remote.remote(f, plan, parts / _file_id(f)) for f in files]
    while waiting:
        ended, waiting = ray.wait(waiting, timeout=0.5)
        ray.get(ended)
        tick()


def _write(path: Path, table: pa.Table) -> None:
    part = path.with_suffix(".part")
    pq.write_table(table, part, compression="zstd")
    part.replace(path)
