"""`ringside report`: one page from one or more runs."""

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.cli import context, streams
from ringside.render.site import folder, site


def report(
    runs: Sequence[str],
    output: Path | None = None,
    figures_to: Path | None = None,
    site_to: Path | None = None,
    site_url: str = "",
    post_to: Path | None = None,
    badge_to: Path | None = None,
    store: str | None = None,
) -> int:
    """Write a page of runs, or the other files that are named."""
    if not (site_to or post_to or badge_to):
        output = output or Path("report.html")
    if output:
        check_page(output, "-o")
    if badge_to:
        folder.refuse_others(badge_to, folder.BADGE_MARK, "--badge")
    # Nearly everything lives until the end: looking for garbage takes a tenth of the time.
    gc.disable()
    storage = context.open_store(store, create=False)
    analyses = [analysis_of(storage, run) for run in context.named_runs(storage, runs)]
    if figures_to is not None:
        print(f"{figures_to}: {len(folder.write_figures(figures_to, analyses))} files", file=sys.stderr)
    if site_to is not None:
        paths = site.write_site(site_to, analyses, site_url)
        print(f"{site_to / 'index.html'}, and {len(paths) - 1} files more", file=sys.stderr)
    if post_to is not None:
        paths = site.write_post(post_to, analyses)
        print(f"{post_to / 'post.md'}, and {len(paths) - 1} files more", file=sys.stderr)
    if badge_to is not None:
        streams.write_output("--badge", badge_to, site.badge(analyses[0]).decode())
        print(badge_to, file=sys.stderr)
    if output:
        write_page(analyses, output, "-o")
    return 0


def write_page(pages: Sequence[RunAnalysis], path: Path, option: str) -> None:
    """Write one page of runs, and print its path. Raises UsageError if it cannot be written."""
    text = site.render_page(pages, context.questions())
    streams.write_output(option, path, text)
    print(f"{path} ({len(text.encode()) / 1e6:.1f} MB)", file=sys.stderr)


def check_page(path: Path, option: str) -> None:
    """Raises UsageError if the page cannot be written, ReportError if the file there is not Ringside's."""
    streams.check_outputs({option: path})
    folder.refuse_others(path, folder.PAGE_MARK, option)
