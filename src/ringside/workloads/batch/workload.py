"""The workload `batch`: its factors, metrics, input, evidence and figures."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from ringside.arrays import np
from ringside.errors import UsageError
from ringside.model.design import Input, InputFile, Point
from ringside.model.results import Interval, Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.workloads.base import Figures, OwnShare, Workload, repeats
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import core_figures, repeat_figures
from ringside.workloads.tables import declared

MIN, MAX = -100_000, 100_000
# Text of a number and its separator: `-100000 `.
_WORD_BYTES = 8
# Numbers in a piece: some megabytes, which caches still hold in part.
_PIECE_NUMBERS = 400_000


def pieces(cases: int, size: int, seed: int) -> Iterator[tuple[bytes, bytes]]:
    """The input in pieces, each with the lines that answer its cases. Numbers are uniform from -100,000 to
    100,000: floor(b · 200,001 / 2^32) - 100,000 of 32 bits b of PCG64, whose stream numpy keeps for good;
    first those of a piece's first vectors, then of its second ones."""
    yield f"{cases}\n".encode(), b""
    source = np.random.PCG64(seed)
    # For each number its text and a space, with zero bytes up to the width of the longest.
    texts = (f"{value} ".encode().ljust(_WORD_BYTES, b"\0") for value in range(MIN, MAX + 1))
    words = np.frombuffer(b"".join(texts), dtype=np.uint8).reshape(-1, _WORD_BYTES)
    head = np.frombuffer(f"{size}\n".encode(), dtype=np.uint8)
    per_piece = max(1, _PIECE_NUMBERS // max(1, 2 * size))
    for first in range(0, cases, per_piece):
        count = min(per_piece, cases - first)
        if size == 0:
            answers = "".join(f"Case #{first + i + 1}: 0\n" for i in range(count))
            yield b"0\n\n\n" * count, answers.encode()
            continue
        bits = np.asarray(source.random_raw(count * size), dtype="<u8").view("<u4")
        values = ((bits.astype(np.uint64) * (MAX - MIN + 1)) >> 32).astype(np.int64) + MIN
        vectors = values.reshape(2, count, size)
        text = words[(vectors - MIN).transpose(1, 0, 2)]
        last = text[:, :, -1, :]
        last[last == ord(" ")] = ord("\n")
        heads = np.broadcast_to(head, (count, len(head)))
        lines = np.concatenate([heads, text.reshape(count, 2 * size * _WORD_BYTES)], axis=1)
        ordered = np.sort(vectors, axis=2)
        products = np.einsum("ij,ij->i", ordered[0], ordered[1, :, ::-1])
        answers = "".join(f"Case #{first + i + 1}: {y}\n" for i, y in enumerate(products.tolist()))
        yield lines.tobytes().translate(None, b"\0"), answers.encode()


@lru_cache(maxsize=64)
def answers_sha256(input: Input, repeats: int) -> str:
    """The hash of the right answers, written `repeats` times. Raises UsageError if their file is gone."""
    if repeats == 1:
        return input.answer_sha256
    digest = hashlib.sha256()
    try:
        for _ in range(repeats):
            digest.update(input.answers.read_bytes())
    except OSError as error:
        raise UsageError(f"{input.answers} cannot be read: {error.strerror}; run it again") from error
    return digest.hexdigest()


# `Case #200000: -2000000000000` and then some.
_LINE_BYTES = 64

# For these phases, the sum over all occurrences is a metric.
_PHASES = ("read", "compute", "write", "wait_ahead", "wait_full", "wait_empty")

# `Case #1: 0` with its newline; and how much text the widest instructions see in a cycle.
_SHORTEST_LINE_BYTES = 11
_BYTES_PER_CYCLE = 64

# A unit that is busy for this share of the wall time is called the bottleneck.
_BOTTLENECK = 0.8
_FULL = "its units wait for places in the queue of answers"
# Mean number of busy cores, where there are several, that a single unit at a time explains.
_ONE_CORE = (0.9, 1.1)


@dataclass(frozen=True, slots=True)
class _Shares:
    """Shares of the wall time: reading, writing, all cores; `full`: of computing, the waits for the queue."""

    read: float
    write: float
    busy: float
    full: float


def _conclusion(shares: _Shares, cores: int) -> str:
    if shares.read + shares.write >= _BOTTLENECK and shares.busy < _BOTTLENECK and cores > 1:
        part = "reading" if shares.read >= shares.write else "writing"
        return f"{part} is the bottleneck, and more cores cannot help"
    if shares.busy >= _BOTTLENECK:
        return "the cores are the bottleneck"
    if shares.full >= _BOTTLENECK:
        return _FULL
    if cores > 1 and _ONE_CORE[0] <= shares.busy * cores <= _ONE_CORE[1]:
        return (
            "one core is busy at a time: it has a single unit, or all its units share one lock, and more "
            "cores cannot help"
        )
    return "neither explains it: units wait for each other, the disk, or a host that gives no CPU"


def _shares(figures: Mapping[str, float]) -> _Shares | None:
    wall, read, write, busy = map(figures.get, ("wall_s", "read_s", "write_s", "busy_share"))
    if not wall or read is None or write is None or busy is None:
        return None
    waited, computed = figures.get("wait_full_s", 0.0), figures.get("compute_s", 0.0)
    full = waited / (waited + computed) if waited else 0.0
    return _Shares(read / wall, write / wall, busy, full)


@declared(__file__)
class Batch(Workload):
    def input(self, point: Point) -> InputFile:
        cases, size, seed = point.numbers("cases", "size", "seed")
        return InputFile(
            name=f"batch-{cases}x{size}-seed{seed}.txt",
            most_bytes=len(str(cases)) + 1 + cases * (len(str(size)) + 3 + 2 * size * _WORD_BYTES),
            pieces=partial(pieces, cases, size, seed),
            smaller="take fewer cases with --set cases=N",
        )

    def input_cached(self, point: Point) -> bool:
        return point["source"] == "cache"

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        times = repeats(point)
        cases = int(point["cases"]) * times
        sha256 = answers_sha256(input, times) if input else None
        return Evidence({"cases": str(cases)}, ExpectedLines(total=cases, sha256=sha256))

    def output_bytes(self, point: Point) -> int:
        return repeats(point) * int(point["cases"]) * _LINE_BYTES + super().output_bytes(point)

    def work(self, point: Point) -> int:
        return int(point["cases"]) * (int(point["size"]) + 10)

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        cases, size = point.numbers("cases", "size")
        read_ns = (input_bytes or 0) / _BYTES_PER_CYCLE * CYCLE_NS
        # Each number is parsed, put in order and multiplied: a cycle for all of that.
        compute_ns = 2 * cases * size * CYCLE_NS
        write_ns = cases * _SHORTEST_LINE_BYTES / _BYTES_PER_CYCLE * CYCLE_NS
        work_ns = max(read_ns, compute_ns / self.cores(point), write_ns)
        return {"read": read_ns, "compute": compute_ns, "write": write_ns, "work": work_ns}

    def figures(self, trial: Trial) -> dict[str, float]:
        point = trial.cell.point
        figures = repeat_figures(self, trial) | core_figures(trial.report, self.cores(point))
        times = len(self.repeats_of(trial)) or 1
        for phase in _PHASES:
            if phase in trial.phases:
                figures[f"{phase}_s"] = sum(trial.phases[phase]) / times / 1e9
        if (work_ns := trial.phase_ns("work")) is not None:
            figures["work_s"] = work_ns / 1e9
        if wall_s := figures.get("wall_s"):
            figures["cases_per_s"] = int(point["cases"]) / wall_s
            if "read_s" in figures:
                figures["read_share"] = figures["read_s"] / wall_s
        if (cpu_s := figures.get("cpu_s")) and trial.input_bytes is not None:
            figures["input_per_cpu_s"] = trial.input_bytes / cpu_s
        return figures

    def diagnosis(self, contender: str, point: Point, figures: Mapping[str, Interval]) -> str | None:
        shares, cores = _shares({name: each.estimate for name, each in figures.items()}), self.cores(point)
        if shares is None:
            return None
        core = f"its {cores} cores are" if cores > 1 else "its core is"
        read = f"reading by one unit takes {shares.read:.0%} of the wall time, writing {shares.write:.0%}"
        busy = f"{core} busy for {shares.busy:.0%} of it"
        return f"{contender}: {read}; {busy}: {_conclusion(shares, cores)}"

    def program_share(self, headline: str, point: Point, figures: Figures) -> OwnShare | None:
        """If a program's queue is full while cores are idle, the share of the time in which they are busy."""
        shares = _shares(figures)
        if shares is None or headline not in ("wall_s", "work_s"):
            return None
        return (shares.busy, _FULL) if shares.busy < _BOTTLENECK <= shares.full else None


BATCH = Batch()
