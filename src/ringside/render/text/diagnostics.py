"""The sentence and the remedy of each diagnostic, from the texts in diagnostics.toml."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ringside.analysis.cells import MAX_FAILED_SHARE
from ringside.analysis.plausibility import POINTER_BYTES
from ringside.files import tables_beside
from ringside.model.results import Diagnostic
from ringside.render.text.command import with_store
from ringside.render.text.words import NOISE
from ringside.text import capitalised
from ringside.units import count, percent, quantity, significant
from ringside.workloads.phases import CYCLE_NS

# More contenders than this are counted, not named.
_MAX_NAMED = 3
_TEXTS = tables_beside(__file__, "diagnostics.toml")
CODES = tuple(_TEXTS)


def words(diagnostic: Diagnostic) -> tuple[str, str]:
    """A diagnostic's text and remedy without full stops. Raises KeyError for an unknown code."""
    text, remedy = diagnostic.text, diagnostic.remedy
    if not text:
        fields = _fields(diagnostic)
        text, remedy = (_TEXTS[diagnostic.code][part].format(**fields) for part in ("text", "remedy"))
    return text.strip().rstrip("."), remedy.strip().rstrip(".")


def sentences(diagnostic: Diagnostic) -> str:
    """Text and remedy as sentences."""
    return " ".join(f"{_capital(part, diagnostic)}." for part in words(diagnostic) if part)


def rows(diagnostics: Iterable[Diagnostic]) -> list[dict[str, str]]:
    """Diagnostics as they stand in every JSON document."""
    told = ((each.code, *words(each)) for each in diagnostics)
    return [{"code": code, "text": text, "remedy": remedy} for code, text, remedy in told]


def for_pages(diagnostics: Iterable[Diagnostic]) -> list[dict[str, str]]:
    """Diagnostics as they stand in pages: the text as a sentence without its full stop."""
    return [row | {"text": _capital(row["text"], each)} for each in diagnostics for row in rows([each])]


def _capital(text: str, diagnostic: Diagnostic) -> str:
    """A text as the beginning of a sentence; names stay as they are written."""
    is_name = any(text.startswith(name) for name in diagnostic.subjects if name)
    return text if is_name else capitalised(text)


def _fields(diagnostic: Diagnostic) -> dict[str, str]:
    """The values as texts: shares as percentages, several names in a row."""
    fields = {name: _text(value) for name, value in diagnostic.values.items()}
    by_contender = {
        field: _named([write(name, value) for name, value in diagnostic.values.get(field, {}).items()])
        for field, write in _BY_CONTENDER.items()
    }
    subjects = ", ".join(diagnostic.subjects)
    return {
        **fields,
        **by_contender,
        "subjects": subjects,
        "pairs": _named(diagnostic.subjects),
        "resume": with_store("run", "--resume", fields.get("run", "")),
        "reasons": "; ".join(text.format(fields[name]) for name, text in NOISE.items() if name in fields),
        "engines": count(diagnostic.values.get("engines", 0), "engine"),
        "within": quantity(diagnostic.values.get("within_ns", 0), "ns"),
        "cycle": f"{CYCLE_NS:g}",
        "pointer": str(POINTER_BYTES),
        "parallel": f", and {subjects} used several CPUs, so lost most" * bool(subjects),
        "why": diagnostic.values.get("why") or "it may do other work",
        "most_failed": percent(MAX_FAILED_SHARE),
    }


def _text(value: object) -> str:
    if isinstance(value, float):
        return percent(value)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _plain(value: float, digits: int = 3) -> str:
    """A number without an exponent, and without zeros at its end."""
    return f"{value:.{digits}g}" if 1e-4 <= value < 10**digits - 0.5 else significant(value, digits)


# The form of a contender's value, for values that each contender has its own of.
_BY_CONTENDER: Mapping[str, Callable[[str, float], str]] = {
    "times": lambda name, times: f"{name} ({_plain(times)}×)",
    "amounts": lambda name, ns: f"{name} ({_plain(ns, 2)} ns)",
    "memory": lambda name, size: f"{name} ({_plain(size)} B)",
    "counts": lambda name, number: f"{name} ({number:,})",
    "sizes": lambda name, size: f"{name} ({quantity(size, 'B')})",
    "ratios": lambda name, ratio: f"{name} ({ratio:.2f}× apart)",
    "effects": lambda name, share: f"{name} has {abs(share):.1%} {'more' if share > 0 else 'less'}",
}


def _named(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return ", ".join(texts[:_MAX_NAMED]) + more
