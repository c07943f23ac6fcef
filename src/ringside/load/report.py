"""A load as one page without a script: latency and rates over time, a histogram, tables."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from ringside.load import summary
from ringside.load.result import LoadResult
from ringside.load.target import Target
from ringside.probe.protocol import LoadPlan
from ringside.render.html.templates import environment, policy, read_file
from ringside.render.plots import spec
from ringside.units import TimeUnit

_BARS_WIDTH = 42  # This many fit on a phone.
_TIMES = ("max", "p99", "p90", "p50")
_RATES = {"intended": "intended", "answered": "requests", "errors": "errors"}


def page(target: Target, plan: LoadPlan, result: LoadResult, unit: TimeUnit) -> str:
    """The page. Without the package that draws plots it says so and has all the rest."""
    template = environment().get_template("load.html.j2")
    return template.render(
        title=target.text,
        summary=summary,
        target=target,
        plan=plan,
        result=result,
        unit=unit,
        plots=_plots(result),
        bars=summary.bar_lines(result.counts.get(result.main_histogram, ()), _BARS_WIDTH),
        style=Markup(read_file("page.css")),
        policy=policy([]),
    )


def _plots(result: LoadResult) -> Iterator[tuple[str, spec.Json]]:
    # A partial second at the end has too few requests for a figure.
    longest_ns = max((each.interval_ns for each in result.intervals), default=0)
    whole = [each for each in result.intervals if each.interval_ns > longest_ns / 2]
    seconds = [(each, each.t_ns / 1e9, each.interval_ns / 1e9) for each in whole]
    times = [(name, t_s, getattr(each, f"{name}_ns")) for name in _TIMES for each, t_s, _ in seconds]
    if points := [(name, t_s, ns / 1e6) for name, t_s, ns in times if ns]:
        yield f"{result.main_histogram.capitalize()} over time", _lines(points, "milliseconds", log=True)
    kinds = [name for name in _RATES if result.is_open_loop or name != "intended"]
    rates = [(name, t_s, getattr(each, _RATES[name]) / s) for name in kinds for each, t_s, s in seconds if s]
    if rates:
        yield "Rates over time", _lines(rates, "per second", log=False)


def _lines(points: Sequence[tuple[str, float, float]], title: str, *, log: bool) -> spec.Json:
    """A line for each name through its points: name, seconds, value."""
    rows = [{"contender": name, "t": t_s, "value": value} for name, t_s, value in points]
    values = [value for _, _, value in points]
    low, high = min(values) / 1.15 if log else 0.0, max(values) * 1.15 or 1.0
    x = spec.x_axis("t", "seconds", [0.0, *(t_s for _, t_s, _ in points)])
    names = list(dict.fromkeys(name for name, _, _ in points))
    lines = spec.LineLayers(x, spec.numbers(title, low, high, log=log, grid=True), names)
    return lines.panel([lines.lines()], {"rows": rows})
