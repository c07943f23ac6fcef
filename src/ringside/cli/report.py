"""`ringside report`: one page from one or more runs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ringside.cli import params
from ringside.cli.options import option, takes
from ringside.errors import ReportError

if TYPE_CHECKING:
    from ringside.analysis.run import RunAnalysis


@click.command()
@click.argument("runs", nargs=-1)
@takes()
def report(
    runs: Sequence[str],
    *,
    output: Path | None = option("-o, --output PATH", "The page [default: report.html].", params.FILE),
    figures_to: Path | None = option(
        "--figures DIR", "Also write each plot as SVG, PNG and CSV.", params.FILE
    ),
    site_to: Path | None = option("--site DIR", "Write or extend a site of runs instead.", params.FILE),
    site_url: str | None = option("--site-url URL", "The address of the site, for its feed."),
    post_to: Path | None = option("--post DIR", "Write a post.md with plots and data instead.", params.FILE),
    badge_to: Path | None = option("--badge FILE", "Write a badge of the first run instead.", params.FILE),
    store: str | None = params.STORE,
) -> int:
    """Write one self-contained HTML page of RUNS (default: latest), or a folder to publish."""
    from ringside.analysis.run import analysis_of
    from ringside.cli import context
    from ringside.render.site import folder, post, site

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
        paths = site.write_site(site_to, analyses, site_url or "")
        print(f"{site_to / 'index.html'}, and {len(paths) - 1} files more", file=sys.stderr)
    if post_to is not None:
        paths = post.write_post(post_to, analyses)
        print(f"{post_to / 'post.md'}, and {len(paths) - 1} files more", file=sys.stderr)
    if badge_to is not None:
        folder.write_file(badge_to, site.badge(analyses[0]).decode(), "--badge")
        print(badge_to, file=sys.stderr)
    if output:
        write_page(analyses, output, "-o")
    return 0


def write_page(pages: Sequence[RunAnalysis], path: Path, option: str) -> None:
    """Write one page of runs, and print its path. Raises ReportError where it cannot be written."""
    from ringside.cli import context
    from ringside.render.site import folder, site

    folder.write_file(path, site.render_pages(pages, context.questions()), option)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)", file=sys.stderr)


def check_page(path: Path, option: str) -> None:
    """Raises ReportError where a page may not be written: the file there is none of Ringside's, or there is
    no such folder."""
    from ringside.render.site import folder

    if not path.parent.is_dir():
        raise ReportError(
            f"{path} cannot be written: {path.parent} is no folder; choose another with {option}"
        )
    folder.refuse_others(path, folder.PAGE_MARK, option)
