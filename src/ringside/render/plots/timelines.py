"""A trial over time as a picture: the CPU of its threads as stacked areas, its memory as lines above them."""

from __future__ import annotations

from typing import Any

from ringside import units as numbers
from ringside.render.plots.drawing import COLOURS, altair, chart, log_ticks, scale_of, spec
from ringside.workloads.timeline import FIRST_S, OTHERS, Series, Timeline

_HEIGHT = 230
_MEMORY, _KERNEL = "memory (PSS)", "kernel, grown"


def picture(line: Timeline) -> dict[str, Any] | None:
    """The Vega-Lite specification; None where there is nothing to be seen."""
    alt = altair()
    last = line.edges[-1]
    if not line.cpu or not line.pss_bytes.values:
        return None
    x_axis = alt.Axis(grid=False, format="~g", values=log_ticks(FIRST_S, last), labelFlush=False)
    x_scale = alt.Scale(type="log", domain=[FIRST_S, last], nice=False, clamp=True)
    x = alt.X("t:Q", title="seconds since the first connection (logarithmic)", scale=x_scale, axis=x_axis)

    names = list(line.cpu)
    colours = scale_of(
        names, lambda one: "var(--grid)" if one == OTHERS else f"var(--c{names.index(one) % COLOURS})"
    )
    areas = (
        chart("cpu")
        .mark_area(interpolate="step-after", opacity=0.75, line=False)
        .encode(
            x=x,
            y=alt.Y(
                "cores:Q",
                stack="zero",
                title="CPU (cores)",
                axis=alt.Axis(format=",~r", tickCount=5, minExtent=30),
            ),
            color=alt.Color(
                "thread:N",
                scale=colours,
                legend=alt.Legend(
                    orient="bottom", title=None, columns=4, labelColor="var(--quiet)", symbolStrokeWidth=0
                ),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("thread:N", title="thread"),
                alt.Tooltip("cores:Q", title="cores", format=".3~r"),
                alt.Tooltip("t:Q", title="from", format=".3~r"),
            ],
        )
    )
    # The last span ends where the picture does: a step needs a row there, too.
    cpu = [
        {"t": t, "thread": name, "cores": value, "place": place}
        for place, name in enumerate(names)
        for t, value in zip(line.edges[1:], (*line.cpu[name][1:], line.cpu[name][-1]), strict=True)
    ]

    kernel = _grown(line)
    highest = max([*line.pss_bytes.values, *kernel.values]) * 1.08
    unit, unit_name = numbers.scale(highest, "B")
    memory = [
        {"t": max(t, FIRST_S), "what": what, "bytes": value / unit}
        for what, series in ((_MEMORY, line.pss_bytes), (_KERNEL, kernel))
        for t, value in zip(series.times, series.values, strict=True)
    ]
    y_memory = alt.Y(
        "bytes:Q",
        title=f"memory ({unit_name})",
        scale=alt.Scale(domain=[0, highest / unit], nice=False),
        axis=alt.Axis(orient="right", format=",~r", tickCount=5, grid=False, minExtent=30),
    )
    lines = (
        chart("memory")
        .mark_line(interpolate="step-after", strokeWidth=2, color="var(--ink)")
        .encode(
            x=x,
            y=y_memory,
            strokeDash=alt.StrokeDash(
                "what:N",
                scale=alt.Scale(domain=[_MEMORY, _KERNEL], range=[[1, 0], [2, 2]]),
                legend=alt.Legend(
                    orient="bottom", title=None, labelColor="var(--quiet)", symbolStrokeColor="var(--ink)"
                ),
            ),
        )
    )
    ramp = chart("ramp").mark_rule(color="var(--quiet)", strokeDash=[5, 4]).encode(x=x)
    data = {"cpu": cpu, "memory": memory, "ramp": [{"t": max(FIRST_S, line.ramped_s)}]}
    return spec([areas, ramp, lines], _HEIGHT, data, apart=("y",))


def _grown(line: Timeline) -> Series:
    """What the kernel holds above what it held at the first look."""
    both = [
        kernel + tcp for kernel, tcp in zip(line.kernel_bytes.values, line.tcp_bytes.values, strict=False)
    ]
    return Series(line.kernel_bytes.times[: len(both)], tuple(max(0.0, one - both[0]) for one in both))
