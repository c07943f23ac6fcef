"""`ringside new contender`: a bundled contender under another name, with the workloads asked for."""

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from ringside.catalogue.contenders import MANIFEST, NAME, NAME_RULE
from ringside.catalogue.decode import unknown
from ringside.catalogue.loader import Catalogue, own_folder
from ringside.errors import UsageError
from ringside.model.catalogue import Contender
from ringside.model.design import grouped
from ringside.workloads import WORKLOADS

# Other names that people use.
ALIASES = {
    **{"js": "javascript", "node": "javascript", "c++": "cpp"},
    **{"golang": "go", "py": "python", "rb": "ruby"},
}
# The text that follows a source's stem where another file names it, by suffix.
_SOURCES = dict.fromkeys((".js", ".ts", ".c", ".h", ".cpp", ".hpp", ".php", ".zig"), r"\.\w") | dict.fromkeys(
    (".py", ".java", ".erl", ".ex", ".rb", ".cr", ".clj", ".go", ".rs", ".hs", ".ml", ".scala"), r"\b"
)
_README = Path(__file__).with_name("new-README.md").read_text(encoding="utf-8")


def languages() -> dict[str, list[Contender]]:
    """The bundled contenders that can be copied, by language, those written to teach first."""
    catalogue = Catalogue([own_folder()])
    contenders = [catalogue.contender(folder) for folder in catalogue.contender_names()]
    contenders.sort(key=lambda each: (not each.teaches, -len(each.workloads)))
    named = ((each.language.lower(), each) for each in contenders if each.kind != "floor")
    return grouped((ALIASES.get(name, name), each) for name, each in named)


def copied_files(name: str, language: str, workloads: Sequence[str]) -> dict[PurePosixPath, str]:
    """A new contender's files by path; without `workloads` for those that the original teaches. Raises
    UsageError for an impossible name, an unknown language, and workloads that no original has."""
    if not NAME.fullmatch(name):
        raise UsageError(f"the name `{name}` {NAME_RULE}")
    there_are = languages()
    chosen = ALIASES.get(language.lower(), language.lower())
    if chosen not in there_are:
        way_out = (
            "CONTRIBUTING.md of Ringside shows how to write a contender in another one: begin with a copy"
        )
        raise unknown("language", language, there_are, way_out)
    origin = _origin(there_are[chosen], language, workloads)
    kept = tuple(dict.fromkeys(workloads)) or origin.teaches or tuple(origin.workloads)
    left_out = origin.workloads.keys() - set(kept)
    # Go's module and its packages have the folder's name in their path.
    own_path = re.compile(rf"(?m)contenders/{re.escape(origin.name)}(?=/|$)")
    sources = {}
    for path in sorted(origin.folder.rglob("*")):
        relative = PurePosixPath(path.relative_to(origin.folder))
        is_private = any(part.startswith((".", "__pycache__", "test_")) for part in relative.parts)
        if path.is_file() and not is_private:
            sources[relative] = own_path.sub(f"contenders/{name}", path.read_text(encoding="utf-8"))
    used = _used(sources, origin, kept, left_out)
    gone = {str(path) for path in sources if path not in used}
    # Zig's `main.zig` has a line for each program.
    imports = re.compile(rf'(?m)^.*@import\("({"|".join(map(re.escape, gone))})"\).*\n')
    files = {path: imports.sub("", sources[path]) for path in sources if path in used}
    manifest, readme = PurePosixPath(MANIFEST), PurePosixPath("README.md")
    files[manifest] = _manifest(files[manifest], name, origin, left_out, gone)
    files[readme] = _readme(files.get(readme, ""), name, origin, kept, left_out)
    return files


def write(folder: Path, files: dict[PurePosixPath, str]) -> None:
    """Write the files into a new folder. Raises UsageError if it exists, or cannot be written."""
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} exists, and nothing is overwritten: choose another name or remove it")
    try:
        for path, text in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror}") from error


def _origin(contenders: Sequence[Contender], language: str, workloads: Sequence[str]) -> Contender:
    for name in workloads:
        if name not in WORKLOADS:
            raise unknown("workload", name, WORKLOADS)
    for contender in contenders:
        if contender.workloads.keys() >= set(workloads):
            return contender
    has = "; ".join(f"`{each.name}` has {', '.join(each.workloads)}" for each in contenders)
    missing = " and ".join(dict.fromkeys(workloads))
    raise UsageError(
        f"no contender in {language} has `{missing}` to copy ({has}). Write its program by docs/PROTOCOL.md "
        "and add it to the manifest"
    )


def _belongs(path: PurePosixPath, workloads: Collection[str]) -> bool:
    """Whether a source is of one of these workloads alone: `ring.py`, `ring/main.go`, `RingBooks.java`."""
    return any(re.split(r"[._-]|(?<=[a-z])(?=[A-Z])", part)[0].lower() in workloads for part in path.parts)


def _used(
    sources: Mapping[PurePosixPath, str], origin: Contender, kept: Collection[str], left_out: Collection[str]
) -> set[PurePosixPath]:
    """The sources of the programs of these workloads, and what those or their commands name."""
    other_runtime = re.compile(rf"runtimes/(?!{re.escape(origin.runtime.name)}/)")
    rest = {path for path in sources if not (_belongs(path, left_out) or other_runtime.match(str(path)))}
    code = {path for path in rest if path.suffix in _SOURCES}
    # Some languages name a file; OCaml and Elixir a module, with a capital letter.
    patterns = {
        path: rf"(?<![\w-])({re.escape(path.stem)}|{path.stem.capitalize()}){_SOURCES[path.suffix]}"
        for path in code
    }
    # Rust's `lib.rs` names modules of its own.
    named = {path for path in code if _belongs(path, kept) or path.stem in ("lib", "main")}
    text = " ".join(word for workload in kept for word in origin.workloads[workload].command)
    while named:
        code -= named
        text += "".join(sources[path] for path in named)
        named = {path for path in code if re.search(patterns[path], text)}
    return rest - code


def _manifest(
    text: str, name: str, origin: Contender, left_out: Collection[str], gone: Collection[str]
) -> str:
    """The manifest with its first runtime only, and without what is about programs that are left out."""
    # A table begins with its header, and with the comment above it.
    head, *tables = re.split(r"\n\n(?=(?:#.*\n)*\[)", text)
    title = json.dumps(f"{name[:40]}, a copy of {origin.name}")
    head = re.sub(r"(?m)^title( *)=.*$", rf"title\1= {title}", head)
    head = re.sub(r"(?m)^teaches *=.*\n?", "", head)
    for key in ("tuning", "unequal"):
        told = filter(None, (_without(each, left_out) for each in getattr(origin, key)))
        lines = "".join(f"    {json.dumps(each, ensure_ascii=False)},\n" for each in told)
        value = f"\n{key:9} = [\n{lines}]" if lines else ""
        head = re.sub(rf"(?ms)\n{key} *= \[.*?\]$", value.replace("\\", r"\\"), head)
    kept = [f"# What Ringside knows of this contender. docs/KEYS.md of Ringside lists all keys.\n{head}"]
    for table in tables:
        data = tomllib.loads(table)
        ((kind, value),) = data.items()
        if kind == "build":
            table = _build(table, value[0]["command"], left_out, gone)
        elif (
            kind in ("without", "variant")
            or (kind == "workload" and not value.keys().isdisjoint(left_out))
            or (kind == "runtime" and origin.runtime.name not in value)
        ):
            continue
        kept.append(table)
    return "\n\n".join(table.rstrip("\n") for table in kept if table) + "\n"


def _without(text: str, left_out: Collection[str]) -> str:
    """A sentence of a manifest, which may begin with `W, W: `, without what is about these workloads."""
    parts = []
    for part in re.split(r"; (?=[a-z]+(?:, [a-z]+)*: )", text):
        names, colon, rest = part.partition(": ")
        about = names.split(", ")
        kept = [each for each in about if each not in left_out]
        if kept == about or not WORKLOADS.keys().isdisjoint(kept):
            parts.append(f"{', '.join(kept)}{colon}{rest}")
    return "; ".join(parts)


def _build(table: str, command: Sequence[str], left_out: Collection[str], gone: Collection[str]) -> str:
    """A build step without the sources that are left out; nothing if it makes one of their programs."""
    products = [PurePosixPath(word) for word in command if word.startswith("{build}/")]
    if any(product.name in left_out for product in products):
        return ""
    kept = [word for word in command if word not in gone]
    if kept == list(command):
        return table
    words = ", ".join(json.dumps(word, ensure_ascii=False) for word in kept)
    return f"{table[: table.index('command')]}command = [{words}]"


def _readme(text: str, name: str, origin: Contender, kept: Sequence[str], left_out: Collection[str]) -> str:
    """The page of the copy: what to do first, then the sections about what was copied."""
    runs = " or ".join(f"`ringside run {workload} --with .`" for workload in kept)
    sections = re.split(r"(?m)^(?=## )", text)[1:]
    copied = [each for each in sections if each.splitlines()[0].removeprefix("## ") not in left_out]
    head = _README.format(name=name, origin=origin.name, title=origin.title, runs=runs)
    if copied:
        head += f"What follows is what `{origin.name}` says of its programs.\n\n"
    return (head + "".join(copied)).rstrip() + "\n"
