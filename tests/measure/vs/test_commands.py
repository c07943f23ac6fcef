"""The commands of `vs`: how they are split, named and refused."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from ringside.errors import UsageError
from ringside.measure.vs.commands import (
    MAX_COMMANDS,
    Command,
    check_parameter,
    listed_levels,
    notes,
    parse_commands,
    scan_points,
    scanned_levels,
    split_shell,
)
from ringside.model.design import Level, Point, is_number
from ringside.text import one_line
from tests.support.cases import cases
from tests.support.command_line import in_process
from tests.support.errors import error_of

POINT = Point(())


@pytest.mark.parametrize(("text", "syntax"), cases(__file__, "what_only_a_shell_understands"))
def test_what_only_a_shell_understands_gets_one_unless_it_is_meant(text: str, syntax: str) -> None:
    commands = parse_commands([text])
    assert (commands[0].shell, commands[0].argv(POINT)) == (None, ("sh", "-c", text))
    assert f"A: executed through sh, since {syntax} needs a shell" in notes(commands, [POINT])[0]
    assert parse_commands([text], shell=("sh",))[0].argv(POINT) == ("sh", "-c", text)
    assert parse_commands([text], is_literal=True)[0].argv(POINT) == tuple(shlex.split(text))


@pytest.mark.parametrize("text", ["# x", "! true", "command true", "hash -r", ". ./x", "if true", "A=1 env"])
def test_what_is_no_program_but_known_to_a_shell_gets_one(text: str) -> None:
    commands = parse_commands([text])
    assert commands[0].argv(POINT) == ("sh", "-c", text)
    assert f"A: executed through sh, since `{text.split()[0]}` needs" in notes(commands, [POINT])[0]
    assert "there is no program" in refusal(text, is_literal=True)


@pytest.mark.parametrize("text", cases(__file__, "what_no_shell_would_change_is_no_operator"))
def test_what_no_shell_would_change_is_no_operator(text: str) -> None:
    assert parse_commands([text])[0].argv(POINT) == tuple(shlex.split(text))


def test_names_of_shells() -> None:
    assert split_shell("none") is None
    assert split_shell("default") == split_shell("") == ("sh",)
    assert split_shell("bash --norc") == ("bash", "--norc")
    assert Command("A", "", is_literal=True).words("a 'b c' $d") == ("a", "b c", "$d")
    assert Command("A", "", ("bash", "-e")).words("a | b") == ("bash", "-e", "-c", "a | b")
    for shell in (None, ("sh",)):
        assert "a command is empty" in error_of(UsageError, Command("A", "", shell).words, " ")


# --- the fields of commands ---


def test_every_hook_and_output_is_where_it_belongs() -> None:
    hooks = {"setup": ("true setup",), "conclude": ("true a", ""), "cleanup": (" ",), "prepare": ()}
    first, second = parse_commands(["true 1", "true 2"], ["one"], hooks, outputs=("null", None))
    both = {"setup": "true setup", "cleanup": " "}
    assert first == Command("one", "true 1", None, {**both, "conclude": "true a"}, "null")
    assert second == Command("B", "true 2", None, both)
    (shelled,) = parse_commands(["a | b"], shell=["sh", "-e"], outputs=("./x",))
    assert shelled == Command("A", "a | b", ("sh", "-e"), output="./x")


def test_names_are_letters_after_those_that_are_given() -> None:
    commands = parse_commands(["true"] * MAX_COMMANDS, ["first", "a" * 80])
    names = [command.name for command in commands]
    assert names == ["first", one_line("a" * 80, 60), *"CDEFGHIJKLMNOPQRSTUVWXYZ"]


def test_parameters_are_filled_in_at_each_point() -> None:
    points = [Point((("n", 1), ("p", "true"))), Point((("n", 2), ("p", "cat")))]
    (command,) = parse_commands(["{p} {n} {other}"], hooks={"prepare": ("{p}",)}, points=points)
    assert [command.line(point) for point in points] == ["true 1 {other}", "cat 2 {other}"]
    assert [command.argv(point) for point in points] == [("true", "1", "{other}"), ("cat", "2", "{other}")]
    (command,) = parse_commands(["{p} {n}"], shell=("sh",), points=points)
    assert command.argv(points[1]) == ("sh", "-c", "cat 2")
    with pytest.raises(UsageError, match="there is no program no-such-program"):
        parse_commands(["{p}"], points=[points[0], Point((("p", "no-such-program"),))])
    # One of the points is enough to need a shell there.
    points = [points[0], Point((("p", "| cat"),))]
    (command,) = parse_commands(["true {p}"], points=points)
    assert [command.argv(point) for point in points] == [("true", "true"), ("sh", "-c", "true | cat")]


# --- what is refused, word by word ---


def refusal(
    *texts: str, names: tuple[str, ...] = (), hooks: Mapping[str, Sequence[str]] = {}, **options: object
) -> str:
    return error_of(UsageError, parse_commands, texts, names, hooks, **options)


LONG = "true " + "x" * 200


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ((), "name a command, or up to 26, each quoted as one argument: ringside vs 'sleep 0.1' 'sleep 0.2'"),
        (("true", " "), "a command is empty: quote it as one argument, 'sleep 0.1'"),
        (("'' x",), "a command is empty: quote it as one argument, 'sleep 0.1'"),
        (("tr\0ue",), "a command cannot hold a NUL character"),
        (("echo 'x",), "echo 'x: no closing quotation; quote it as for a shell"),
        ((f"{LONG} 'x",), f"{one_line(LONG, 80)}: no closing quotation; quote it as for a shell"),
        (("1A=1 env",), "there is no program 1A=1"),
        (
            ("sort", "pyproject.toml"),
            "pyproject.toml is a file and no program: quote each command as one argument",
        ),
        (("x" * 200,), f"there is no program {one_line('x' * 200, 80)}"),
        (
            ("/etc/passwd",),
            "/etc/passwd has no permission to be executed: chmod +x it, or name its interpreter",
        ),
        (("/no/such/thing",), "there is no program /no/such/thing"),
    ],
)
def test_messages(texts: tuple[str, ...], message: str) -> None:
    assert refusal(*texts) == message


def test_messages_about_names_and_options() -> None:
    assert refusal(*["true"] * 27).startswith("name a command, or up to 26")
    assert refusal("true", "true", names=("B",)) == "names must differ: B, B"
    assert refusal("true", "true", names=("x", "x")) == "names must differ: x, x"
    long = ("a" * 80 + "1", "a" * 80 + "2")
    assert "names must differ, in their first 60 characters: aaa" in refusal("true", "false", names=long)
    for empty in ("", " "):
        assert refusal("true", "true", names=(empty,)) == "a name is empty: give each -n a word"


@pytest.mark.parametrize("name", ["setup", "prepare", "conclude", "cleanup"])
def test_hooks_are_checked_as_commands_are(name: str) -> None:
    def hooks(text: str) -> dict[str, tuple[str, ...]]:
        return {name: (text,)}

    for text in ("true | cat", "cd x", "A=1 env"):
        (command,) = parse_commands(["true"], hooks=hooks(text))
        assert (command.argv(POINT), command.words(text)) == (("true",), ("sh", "-c", text))
    parse_commands(["true"], hooks=hooks("true | cat"), shell=("sh",))
    parse_commands(["true"], hooks=hooks("true | cat"), is_literal=True)
    assert "no closing quotation" in refusal("true", hooks=hooks("true 'x"), is_literal=True)
    assert "NUL" in refusal("true", hooks=hooks("tr\0ue"), shell=("sh",))
    # It may be made by what comes before it.
    parse_commands(["true"], hooks=hooks("no-such-program"))


@pytest.mark.parametrize("hooks", [{"setup": ("make",)}, {"prepare": ("make",)}])
def test_a_shell_must_be_there_whatever_is_made(hooks: dict[str, tuple[str, ...]]) -> None:
    (command,) = parse_commands(["./not-yet"], hooks=hooks)
    assert command.text == "./not-yet"
    message = "there is no program no-such-shell"
    assert refusal("./not-yet", hooks=hooks, shell=("no-such-shell",)) == message


def test_what_concludes_or_cleans_up_makes_no_program() -> None:
    hooks = {"conclude": ("true",), "cleanup": ("true",)}
    assert refusal("./not-yet", hooks=hooks) == "there is no program ./not-yet"


# --- parameters ---


@pytest.mark.parametrize(("least", "most", "step", "levels"), cases(__file__, "levels_of_a_scan"))
def test_levels_of_a_scan(least: str, most: str, step: str, levels: tuple[Level, ...]) -> None:
    assert scanned_levels(least, most, step or None) == levels
    assert all(map(is_number, levels))


def test_a_scan_has_up_to_a_thousand_levels() -> None:
    assert scanned_levels("1", "1000", None) == tuple(range(1, 1001))


HINT = "write it as -P threads 1 8, or -P delay 0.1 0.5 -D 0.1"


@pytest.mark.parametrize(("least", "most", "step", "message"), cases(__file__, "why_a_scan_is_not_possible"))
def test_why_a_scan_is_not_possible(least: str, most: str, step: str, message: str) -> None:
    assert error_of(UsageError, scanned_levels, least, most, step or None) == message.format(HINT=HINT)


@pytest.mark.parametrize(("text", "levels"), cases(__file__, "levels_of_a_list"))
def test_levels_of_a_list(text: str, levels: tuple[Level, ...]) -> None:
    assert listed_levels(text) == levels


@pytest.mark.parametrize(("text", "shown"), [("a,b,a", "a,b,a"), (f"a,a,{'b' * 100}", f"a,a,{'b' * 55}…")])
def test_each_value_of_a_list_is_named_once(text: str, shown: str) -> None:
    assert error_of(UsageError, listed_levels, text) == f"-L {shown}: name each value once"


@pytest.mark.parametrize(
    ("level", "yes"), [(3, True), ("0.25", True), ("-1", True), ("1e3", False), ("own", False)]
)
def test_what_has_a_place_on_an_axis(level: Level, yes: bool) -> None:
    assert is_number(level) is yes


def test_every_combination_is_a_point() -> None:
    points = scan_points({"a": ("x", "y"), "b": (1, 2)})
    levels = [tuple(point.as_dict().items()) for point in points]
    assert levels == [(("a", a), ("b", b)) for a in ("x", "y") for b in (1, 2)]
    assert scan_points({}) == (Point(()),)
    assert len(scan_points(dict.fromkeys("abc", tuple(range(10))))) == 1000
    message = "the parameters have 1,001 combinations: up to 1,000 are possible"
    assert error_of(UsageError, scan_points, {"a": tuple(range(1001))}) == message


def test_placeholders_are_filled_in_once() -> None:
    point = Point((("foo", "a,{bar}"), ("bar", "baz"), ("n", 3)))
    assert point.filled_in("echo {foo} {bar} {n} {other} ${n} {{n}}") == "echo a,{bar} baz 3 {other} $3 {3}"
    assert point.filled_in("awk '{print $1}' {}") == "awk '{print $1}' {}"


def test_why_a_name_is_no_parameter() -> None:
    for name in ("x", "a b", "größe", "x" * 40):
        check_parameter(name, {"y": (1,)})
    names = {"": "", "a{b": "a{b", "a\nb": "a b", "a}b": "a}b", "x" * 41: "x" * 39 + "…", "a\x1b": "a·"}
    for name, shown in names.items():
        message = f"{shown!r} is no name of a parameter: {HINT}"
        assert error_of(UsageError, check_parameter, name, {}) == message
    message = f"the parameter {'y' * 39}… is given twice"
    assert error_of(UsageError, check_parameter, "y" * 50, {"y" * 50: (1,)}) == message


@pytest.mark.parametrize(("start", "cause"), cases(__file__, "why_a_script_cannot_be_started"))
def test_why_a_script_cannot_be_started(start: str, cause: str, complaint: Callable[..., str]) -> None:
    script = Path("script")
    script.write_text(start, encoding="utf-8", newline="")
    assert "no permission to be executed: chmod +x" in complaint("vs", "./script")
    script.chmod(0o755)
    assert f"./script {cause}" in complaint("vs", "./script")
    Path("folder").mkdir()
    assert "./folder is a folder" in complaint("vs", "./folder")
    # A shell executes it.
    if not start.startswith("#!"):
        assert in_process("vs", "-r1", "-S", "./script").status == 0


def test_a_program_whose_loader_is_missing_says_so(complaint: Callable[..., str]) -> None:
    program = Path("program")
    program.write_bytes(Path("/bin/true").read_bytes().replace(b"/ld-", b"/no-"))
    program.chmod(0o755)
    assert "it is there, but its loader is not" in complaint("vs", "./program")


def test_prepares_that_differ_are_named() -> None:
    both = parse_commands(["true", "true"], hooks={"prepare": ("sleep 1", "")})
    (note,) = notes(both, [POINT])
    assert note.startswith("A after sleep 1, B after nothing: what --prepare does differs")
    assert notes(parse_commands(["true", "true"], hooks={"prepare": ("sleep 1",)}), [POINT]) == []
