"""Sites, posts and badges, as `ringside report` writes them."""

import dataclasses
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ringside.analysis.run import analysis_of
from ringside.errors import ReportError
from ringside.model.results import Run
from ringside.render.plots import charts
from ringside.render.site import folder
from ringside.render.site.folder import MANIFEST, Folder, write_figures
from ringside.render.site.site import badge, write_post, write_site
from ringside.store import Store
from ringside.units import quantity
from tests.support.analyses import with_figures
from tests.support.command_line import in_process
from tests.support.errors import error_of
from tests.support.runs import HOSTILE, experiment, make_run

SMALL = experiment(contenders=("erlang", "go"), factors={"nodes": 100, "messages": 100}, blocks=7)
ATOM = "{http://www.w3.org/2005/Atom}"


class Links(HTMLParser):
    """The targets of a page's links, and the places in it that links can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.targets += [value for name, value in attrs if name in ("href", "src") and value]
        self.ids += [value for name, value in attrs if name == "id" and value]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("publish") / "runs.sqlite")


@pytest.fixture(scope="module")
def runs(store: Store) -> list[Run]:
    return [
        make_run(store, SMALL),
        make_run(store, SMALL, seed=2),
        make_run(store, SMALL, seed=3, hostile=True, crashed={"go": 7}),
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_site_grows_and_all_links_lead_somewhere(store: Store, runs: list[Run], tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / ".git").mkdir(parents=True)
    (site / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (site / "CNAME").write_text("example.org\n")
    write_site(site, [analysis_of(store, runs[0])], "https://example.org/bench")
    first = contents(site)
    write_site(site, [analysis_of(store, runs[1])])
    second = contents(site)
    for run in runs[:2]:
        assert {f"runs/{run.id}.html", f"data/{run.id}.json", f"data/{run.id}.csv"} <= second.keys()
    assert second[f"runs/{runs[0].id}.html"] == first[f"runs/{runs[0].id}.html"]
    pages = {name: data.decode() for name, data in second.items() if name.endswith(".html")}
    for name, text in pages.items():
        if name.startswith("runs/"):
            assert '<a href="../index.html">All runs</a>' in text
            continue
        assert "<script" not in text
        for target in Links(text).targets:
            assert ((site / name).parent / target).resolve().is_file(), f"{name}: {target}"
    # Both runs, the earlier one from the site's own data.
    history = pages["history/showdown-ring.html"]
    assert "2 runs of the experiment showdown-ring" in history
    assert all(f"../runs/{run.id}.html" in history for run in runs[:2])
    document = json.loads(second[f"data/{runs[0].id}.json"])
    assert (document["run"], document["headline"]["name"]) == (runs[0].id, "hop_ns")


@pytest.mark.parametrize("together", [True, False])
def test_the_history_of_the_newest_run(store: Store, runs: list[Run], tmp_path: Path, together: bool) -> None:
    """An older run, of another headline than the experiment has now, is written after a newer one."""
    old = dataclasses.replace(runs[0], started_at="2020-01-01T00:00:00+00:00")
    analysis = analysis_of(store, old)
    earlier = with_figures(
        analysis,
        experiment=dataclasses.replace(analysis.experiment, title="The title of then"),
        metrics=(analysis.measurement.metric("cpu_s"),),
    )
    pages = [analysis_of(store, runs[1]), earlier]
    for some in [pages] if together else [[each] for each in pages]:
        write_site(tmp_path / "site", some)
    text = contents(tmp_path / "site")["history/showdown-ring.html"].decode()
    assert "The title of then" not in text
    assert "time per hop" in text
    assert f"../runs/{runs[1].id}.html" in text


def test_the_feeds_have_the_latest_run_first(store: Store, runs: list[Run], tmp_path: Path) -> None:
    write_site(tmp_path / "site", [analysis_of(store, run) for run in runs[:2]], "https://example.org/bench")
    feed = ElementTree.parse(tmp_path / "site" / "feed.atom").getroot()
    links = [entry.find(f"{ATOM}link").get("href") for entry in feed.iter(f"{ATOM}entry")]
    assert links == [f"https://example.org/bench/runs/{run.id}.html" for run in (runs[1], runs[0])]
    ids = [entry.findtext(f"{ATOM}id") or "" for entry in feed.iter(f"{ATOM}entry")]
    assert len({*ids}) == 2
    assert all(each.startswith("urn:uuid:") for each in ids)
    values = json.loads((tmp_path / "site" / "feed.json").read_text())
    assert values["version"] == "https://jsonfeed.org/version/1.1"
    assert [item["url"] for item in values["items"]] == links
    assert "go takes 1." in values["items"][0]["content_text"]


def test_hostile_text_stays_text(store: Store, runs: list[Run], tmp_path: Path) -> None:
    write_site(tmp_path / "site", [analysis_of(store, runs[2])])
    write_post(tmp_path / "post", [analysis_of(store, runs[2])])
    for kind in ("site", "post"):
        for name, data in contents(tmp_path / kind).items():
            if name.endswith((".html", ".md", ".svg", ".atom")):
                assert HOSTILE.encode() not in data, name
                assert b"\x1b" not in data, name
                assert b"<img src=x" not in data, name
    ElementTree.parse(tmp_path / "site" / "feed.atom")
    ElementTree.parse(tmp_path / "site" / "badges" / "showdown-ring.svg")


def test_what_is_not_ours_is_refused_and_kept(store: Store, runs: list[Run], tmp_path: Path) -> None:
    """A file of others, one that was changed, and links that lead out of the folder."""
    site, other = tmp_path / "site", tmp_path / "other"
    other.mkdir()

    def refused(message: str) -> None:
        before = contents(tmp_path)
        with pytest.raises(ReportError, match=message):
            write_site(site, [analysis_of(store, runs[0])])
        assert contents(tmp_path) == before

    site.mkdir()
    (site / "index.html").write_text("mine")
    refused(r"holds index\.html, which is not Ringside's")
    (site / "index.html").unlink()
    (site / "data").symlink_to(other)
    refused("not Ringside's: nothing is written")
    (site / "data").unlink()
    (site / "index.html").symlink_to(other / "victim")
    refused("not Ringside's")
    (site / "index.html").unlink()
    write_site(site, [analysis_of(store, runs[0])])
    (site / "index.html").write_text("edited")
    refused(r"index\.html was changed or is not Ringside's: nothing is written")


@pytest.mark.parametrize(
    "manifest", ["", "[]", "{}", '{"ringside": "site", "format": 1, "files": [], "about": {}}', "[" * 100_000]
)
def test_a_list_that_is_none_is_refused(tmp_path: Path, manifest: str) -> None:
    (tmp_path / MANIFEST).write_text(manifest)
    assert "is no list of Ringside's" in error_of(ReportError, Folder, tmp_path, "site")


def test_a_site_is_no_post_and_an_interrupted_one_is_still_ours(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "site", "site")
    folder.write({"a/b.txt": b"one"})
    with pytest.raises(ReportError, match="is a site of format 1: name another folder for a post"):
        Folder(tmp_path / "site", "post")
    # Its writing ends between a file and the next one.
    again = Folder(tmp_path / "site", "site")
    (tmp_path / "site" / "c").touch()
    assert "cannot be written" in error_of(ReportError, again.write, {"a/b.txt": b"two", "c/d.txt": b"more"})
    (tmp_path / "site" / "c").unlink()
    third = Folder(tmp_path / "site", "site")
    assert third.read("a/b.txt") == b"two"
    third.write({"a/b.txt": b"three"})
    assert Folder(tmp_path / "site", "site").read("a/b.txt") == b"three"


def test_a_post_shows_what_is_in_its_folder(store: Store, runs: list[Run], tmp_path: Path) -> None:
    analyses = [analysis_of(store, run) for run in runs[:2]]
    written = write_post(tmp_path / "post", analyses)
    # Again, as its runs may have grown.
    assert write_post(tmp_path / "post", analyses) == written
    text = (tmp_path / "post" / "post.md").read_text()
    assert text.startswith("# The showdown: the ring, 2 runs\n")
    assert "| program | showdown-ring | showdown-ring |" in text
    assert re.search(r"time per hop [\d.]+ ns \(", text.split("## Times the best")[0])
    assert "go takes 1." in text
    assert "ringside run showdown-ring" in text
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    assert 3 < len(pictures) < 20
    assert all(picture.endswith(".svg") for picture in pictures)
    links = re.findall(r"[^!]\[[^]]*\]\(([^)]*)\)", text)
    assert links
    assert all((tmp_path / "post" / link).is_file() for link in links)
    assert all((tmp_path / "post" / picture).is_file() for picture in pictures)


def test_a_badge_has_the_first_and_its_figure(store: Store, runs: list[Run]) -> None:
    analysis = analysis_of(store, runs[0])
    [hop] = [cell.metrics["hop_ns"] for cell in analysis.cells.values() if cell.cell.contender == "erlang"]
    root = ElementTree.fromstring(badge(analysis))
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "time per hop"
    assert texts[1] == f"erlang {quantity(hop.estimate, 'ns')}"


def test_the_command_writes_them_and_no_report_beside(
    store: Store, runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["report", runs[0].id, "--store", store.where]
    done = in_process(*words, "--site", "site", "--badge", "badge.svg")
    assert "site/index.html" in done.stderr
    assert not (tmp_path / "report.html").exists()
    (tmp_path / "site" / "mine.txt").write_text("mine")
    refused = in_process(*words, "--site", "site", status=2)
    assert refused.stderr.count("\n") == 1
    assert "mine.txt" in refused.stderr


@pytest.mark.parametrize(("option", "name"), [("-o", "page.html"), ("--badge", "badge.svg")])
def test_anothers_file_is_kept(store: Store, runs: list[Run], tmp_path: Path, option: str, name: str) -> None:
    path = tmp_path / name
    words = ["report", runs[0].id, "--store", store.where, option, str(path)]
    mark = folder.PAGE_MARK if option == "-o" else folder.BADGE_MARK
    path.write_bytes(mark)
    in_process(*words)
    assert mark in path.read_bytes()[:2000]
    path.write_text("<p>mine</p>")
    refused = in_process(*words, status=2).stderr
    assert refused.count("\n") == 1
    assert f"{name} was not written by ringside" in refused
    assert path.read_text() == "<p>mine</p>"


@pytest.mark.skipif(charts.missing() is not None, reason="the `report` extra is not installed")
def test_figures_replace_no_files_of_others(store: Store, runs: list[Run], tmp_path: Path) -> None:
    analyses = [analysis_of(store, runs[0])]
    (tmp_path / "notes.txt").write_text("mine")
    names = write_figures(tmp_path, analyses)
    assert {Path(name).suffix for name in names} == {".svg", ".png", ".csv"}
    assert write_figures(tmp_path, analyses) == names
    (tmp_path / names[0]).write_text("edited")
    before = contents(tmp_path)
    with pytest.raises(ReportError, match=r"was changed or is not Ringside's: nothing is written"):
        write_figures(tmp_path, analyses)
    assert contents(tmp_path) == before
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ReportError, match="taken is a file: name a folder"):
        write_figures(tmp_path / "taken", analyses)
