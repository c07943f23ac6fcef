"""Reads the sentences of an answer, and holds each against the figures, rank intervals and verdicts of every
point. It shares nothing with what makes them: medians and ratios are computed again from the blocks."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Point

_TIMES = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
_SCALES: dict[str, dict[str, float]] = {
    "ns": _TIMES,
    "s": {unit: ns / 1e9 for unit, ns in _TIMES.items()},
    "B": {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30},
}
_NAME = r"[\w@+.-]+"
_NAMES = rf"{_NAME}(?:, {_NAME})*(?: (?:and|or) (?:{_NAME}|\d+ others?))?"
_NUMBER = r"[\d,]+(?:\.\d+)?"
_ONE, _SEVERAL = rf"(?P<name>{_NAME})", rf"(?P<names>{_NAMES})"
_AT = r"(?P<at> at [^,:]+?)?"
_FAILING = r"(?: of those that rarely failed)?"
_ALL = r"(?:both|all \d+) points"
_BLOCKS = r"(?P<done>[\d,]+)(?: of [\d,]+)? blocks?"
_AMOUNT = rf"(?P<value>{_NUMBER})(?: (?P<unit>[^\s(,;]+))?(?: \((?P<ends>{_NUMBER}–{_NUMBER})\))?"
_AMONG = (
    r"(?: of (?P<figures>\d+) with a figure|"
    r" of the (?P<count>\d+) (?P<kind>\w+) contenders(?: with a figure)?)?"
)
_RATIO = rf"(?P<size>{_NUMBER}) (?P<how>times|%)(?: \((?P<low>{_NUMBER})–(?P<high>{_NUMBER})(?: %)?\))?"
_MARKS = (
    r"(?P<inside>, less than the margin of \d+ %)?(?P<mark> \(stopped when decided: likely nearer to 1\))?"
)


class ContradictionError(AssertionError):
    """A sentence that a table contradicts, or that no rule reads."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What tables show of the headline."""

    of: RunAnalysis

    def by_block(self, name: str, point: Point) -> dict[int, float]:
        return dict(self.of.cell(name, point).by_block.get(self.of.headline.name, {}))

    def kind(self, point: Point) -> str:
        """The class that is ranked: the baseline's, the next where that is the floor or has no figures."""
        present = [name for name in self.of.names if self.by_block(name, point)]
        first = self.of.kind(self.of.experiment.baseline)
        order = [first, "idiomatic", "bare"] if first != "floor" else ["idiomatic", "bare"]
        return next((kind for kind in order if kind in map(self.of.kind, present)), "floor")

    def ranked(self, point: Point) -> list[str]:
        """Those of that class with figures, the best median first."""
        kind, sign = self.kind(point), 1 if self.of.headline.smaller_is_better else -1
        medians = {
            name: sign * median(values.values())
            for name in self.of.names
            if self.of.kind(name) == kind and (values := self.by_block(name, point))
        }
        return sorted(medians, key=lambda name: (self.is_failing(name, point), medians[name]))

    def is_failing(self, name: str, point: Point) -> bool:
        """Whether more than a tenth of its trials failed."""
        outcomes = self.of.outcomes(name, point)
        return (
            sum(count for outcome, count in outcomes.items() if outcome != "ok") > sum(outcomes.values()) / 10
        )

    def rank(self, name: str, point: Point) -> tuple[int, int]:
        ranking = self.of.rankings[self.of.headline.name, point]
        return ranking.ranks.get(name, (1, len(self.ranked(point))))

    def ratio(self, worse: str, better: str, point: Point) -> float:
        """How many times worse: the median of the averages of all pairs of log ratios."""
        one, other = self.by_block(worse, point), self.by_block(better, point)
        sign = 1 if self.of.headline.smaller_is_better else -1
        logs = [sign * math.log(one[block] / other[block]) for block in one.keys() & other.keys()]
        pairs = itertools.combinations_with_replacement(logs, 2)
        return math.exp(median((a + b) / 2 for a, b in pairs))

    def equivalent(self, one: str, other: str, point: Point) -> bool:
        pairs = ((one, other), (other, one))
        found = (self.of.comparison(self.of.headline, *pair, point) for pair in pairs)
        return any(each is not None and each.verdict == "equivalent" for each in found)

    def is_first(self, name: str, point: Point) -> bool:
        names = self.ranked(point)
        return len(names) > 1 and names[0] == name and self.rank(name, point) == (1, 1)

    def share(self, names: Sequence[str], point: Point) -> bool:
        return all(self.rank(name, point) == (1, len(names)) for name in names) and all(
            self.equivalent(*pair, point) for pair in itertools.combinations(names, 2)
        )

    def may_be_first(self, point: Point) -> set[str]:
        return {name for name in self.ranked(point) if self.rank(name, point)[0] == 1}

    def is_open(self, point: Point) -> bool:
        names, first = self.ranked(point), self.may_be_first(point)
        return len(names) > 1 and not self.is_first(names[0], point) and not self.share([*first], point)

    def is_doubtful(self, name: str, point: Point) -> bool:
        """Whether a floor that is no better, or what a diagnostic says of it, may have decided."""
        floor = self.of.floor
        codes = {"generator-bound", "below-a-cycle", "too-little-memory", "answered-unasked"}
        return any(each.code in codes and name in each.subjects for each in self.of.diagnostics) or (
            floor is not None
            and self.by_block(floor, point).keys() & self.by_block(name, point).keys() != set()
            and self.ratio(name, floor, point) <= 1
        )

    def order(self, point: Point) -> frozenset[tuple[str, tuple[int, int]]]:
        return frozenset((name, self.rank(name, point)) for name in self.ranked(point))

    def is_same_order(self) -> bool:
        """The whole order is decided at each point, and the same."""
        for point in self.of.points:
            groups: dict[tuple[int, int], list[str]] = {}
            for name in self.ranked(point):
                groups.setdefault(self.rank(name, point), []).append(name)
            for (low, high), names in groups.items():
                pairs = itertools.combinations(names, 2)
                if len(names) != high - low + 1 or not all(self.equivalent(*pair, point) for pair in pairs):
                    return False
        return len({self.order(point) for point in self.of.points}) == 1


class Reader:
    """Checks the sentences of a run's answer one after the other."""

    def __init__(self, of: RunAnalysis) -> None:
        self.of, self.facts = of, Facts(of)
        self.labels = {of.label(point): point for point in of.points}
        self.here = of.points[0]
        amount = rf"{re.escape(of.headline.noun)} {_AMOUNT}"
        rules: dict[str, Callable[[re.Match[str]], None]] = {
            rf"{_ONE} is first{_AMONG}{_AT}: {amount}": self.first,
            rf"{_ONE} has the best .+?{_AMONG}{_AT}, {_AMOUNT}; it may not be .+": self.best,
            rf"{_SEVERAL} share the first place{_AMONG}{_AT}, equivalent within .+": self.shared,
            rf"Who is first{_AMONG}{_AT} is not decided after {_BLOCKS}: {_SEVERAL} may be; "
            rf"the best median{_FAILING} is {_ONE}'s?, {amount}": self.open,
            rf"Not decided yet: {_BLOCKS}": self.unfinished,
            rf"So far {_ONE} has the best median{_FAILING}{_AT}, {amount}(?:; (?P<behind>.+))?": self.so_far,
            rf"{_ONE}(?: is the only(?: (?P<kind>\w+))? contender with a figure)?{_AT}: {amount}": self.alone,
            r"(?:Not ranked among them|Beside it): (?P<others>.+)": self.others,
            rf"The same (?:holds|order was measured) at {_ALL}": self.same,
            rf"(?P<led>.+) at {_ALL}; behind, the order differs or is not decided": self.everywhere,
            rf"Over (?:{_ALL}|\d+ of \d+ points): from .+ at (?P<low>\S.*) "
            r"to .+ at (?P<high>\S.*)": self.range,
            r"It has no figure at the (?:other point|(?P<count>\d+) other points)": self.missing,
            rf"{_ONE}, the baseline, has no figure{_AT}: nothing is compared with it": self.baseline,
            r"No contender has a figure \(.+\): the table of failures says why": self.nothing,
            r"No trial of this run has ended yet": self.nothing,
            r"(?P<behind>That is .+|.+ (?:takes|needs) .+)": self.behind,
            r"(?P<parts>.+ at .+)": self.elsewhere,
        }
        self.rules = rules

    def check(self, sentences: Sequence[str]) -> None:
        for text in sentences:
            self.text = text
            found = [
                (match, rule) for form, rule in self.rules.items() if (match := re.fullmatch(form, text))
            ]
            self.require(bool(found), "no rule reads it")
            match, rule = found[0]
            rule(match)

    def require(self, is_true: bool, why: str) -> None:
        if not is_true:
            raise ContradictionError(f"{self.of.experiment.name}: {self.text!r}: {why}")

    def go_to(self, match: re.Match[str]) -> None:
        """The point of the answer, and how many are ranked there."""
        if at := match["at"]:
            self.require(at.removeprefix(" at ") in self.labels, "no such point")
            self.here = self.labels[at.removeprefix(" at ")]
        groups: dict[str, str | None] = match.groupdict()
        names = self.facts.ranked(self.here)
        for count in filter(None, (groups.get("figures"), groups.get("count"))):
            self.require(int(count) == len(names), f"{len(names)} have a figure")
        if groups.get("kind"):
            self.require(groups["kind"] == self.facts.kind(self.here), "another class is ranked")

    def amount(self, match: re.Match[str], name: str, point: Point) -> None:
        """A median, and an interval whose ends are values of blocks."""
        values = self.facts.by_block(name, point).values()
        self.near(match["value"], match["unit"], [median(values)])
        # The ends have the decimals of the middle: a lower one that is much less may be left with one digit.
        last_digit = 10.0 ** -len(match["value"].partition(".")[2])
        for end in (match["ends"] or "").split("–"):
            if end:
                self.near(end, match["unit"], [*values], half=0.5 * last_digit)

    def near(self, number: str, unit: str | None, values: Sequence[float], half: float = 0) -> None:
        scale = _SCALES.get(self.of.headline.unit, {}).get(unit or "", 1)
        value = float(number.replace(",", "")) * scale
        self.require(
            any(math.isclose(value, each, rel_tol=0.006, abs_tol=half * scale) for each in values),
            f"{number} is none of {values}",
        )

    def first(self, match: re.Match[str]) -> None:
        self.go_to(match)
        self.require(self.facts.is_first(match["name"], self.here), "the rank is another")
        self.require(not self.facts.is_doubtful(match["name"], self.here), "something else may have decided")
        self.amount(match, match["name"], self.here)

    def best(self, match: re.Match[str]) -> None:
        self.go_to(match)
        self.require(self.facts.is_first(match["name"], self.here), "the rank is another")
        self.amount(match, match["name"], self.here)

    def shared(self, match: re.Match[str]) -> None:
        self.go_to(match)
        self.require(self.facts.share(_names(match["names"])[0], self.here), "they are not equivalent")

    def open(self, match: re.Match[str]) -> None:
        self.go_to(match)
        names, count = _names(match["names"])
        first = self.facts.may_be_first(self.here)
        self.require({*names} <= first and count == len(first), f"{sorted(first)} may be first")
        self.require(self.facts.is_open(self.here), "it is decided")
        self.require(self.facts.ranked(self.here)[0] == match["name"], "another has the best median")
        self.blocks(match)
        self.amount(match, match["name"], self.here)

    def blocks(self, match: re.Match[str]) -> None:
        done = self.of.blocks_done
        self.require(int(match["done"].replace(",", "")) == done, f"{done} blocks were made")

    def unfinished(self, match: re.Match[str]) -> None:
        self.blocks(match)
        self.require(self.of.run.ended_at is None, "the run has ended")

    def so_far(self, match: re.Match[str]) -> None:
        self.go_to(match)
        self.require(self.facts.ranked(self.here)[0] == match["name"], "another has the best median")
        self.amount(match, match["name"], self.here)
        if match["behind"]:
            self.behind(match)

    def alone(self, match: re.Match[str]) -> None:
        self.go_to(match)
        self.require(self.facts.ranked(self.here) == [match["name"]], "there are others")
        self.amount(match, match["name"], self.here)

    def others(self, match: re.Match[str]) -> None:
        for name, kind in re.findall(rf"({_NAME}) \((idiomatic|bare|floor)\)", match["others"]):
            self.require(self.of.kind(name) == kind != self.facts.kind(self.here), "the class is another")

    def behind(self, match: re.Match[str]) -> None:
        best, *ranked = self.facts.ranked(self.here)
        for part in match["behind"].split("; "):
            found = re.fullmatch(
                rf"(?:{_ONE} (?:takes|needs) {_RATIO} (?:longer|more|as (?:long|much))"
                rf"(?: (?:as|than) (?P<best>{_NAME}))?|(?:[Tt]hat is )?{_without_groups(_RATIO)}"
                rf"(?: more than)? (?P<rival>{_NAME})'s?){_MARKS}(?:, the last of (?P<last>\d+))?",
                part,
            )
            self.require(found is not None, f"no rule reads {part!r}")
            assert found
            name = found["name"] or found["rival"].removesuffix("'")
            size = re.search(_RATIO, part)
            assert size
            self.require(name in ranked and found["best"] in (None, best), f"{best} has the best median")
            is_over = self.of.run.ended_at is not None
            self.require(not is_over or self.facts.rank(name, self.here)[0] > 1, f"{name} may be first")
            self.ratio(size, self.facts.ratio(name, best, self.here))
            ranks = self.facts.rank(name, self.here)
            if found["last"]:
                self.require(
                    ranks == (len(ranked) + 1,) * 2 == (int(found["last"]),) * 2, f"{name} is not last"
                )
            if found["mark"]:
                # The one who leads may have ended before the one behind.
                blocks = min(len(self.facts.by_block(each, self.here)) for each in (name, best))
                self.require(blocks < self.of.experiment.blocks, "all blocks were made")

    def ratio(self, match: re.Match[str] | None, ratio: float) -> None:
        assert match
        ratio = max(ratio, 1 / ratio)
        value = (ratio - 1) * 100 if match["how"] == "%" else ratio
        size = match["size"].replace(",", "")
        zeros = -len(size.partition(".")[2]) if "." in size else len(size) - len(size.rstrip("0"))
        self.require(abs(float(size) - value) <= 0.51 * 10.0**zeros, f"the ratio is {ratio:.4g}")
        if match["low"]:
            low, high = (float(match[end].replace(",", "")) for end in ("low", "high"))
            self.require(low <= float(size) <= high, "the interval is beside the ratio")

    def same(self, match: re.Match[str]) -> None:
        self.require(self.facts.is_same_order(), "the order is not decided, or not the same")
        self.require("holds" not in match[0] or not any(self.doubts()), "something else may have decided")

    def doubts(self) -> Iterator[bool]:
        for point in self.of.points:
            yield self.facts.is_doubtful(self.facts.ranked(point)[0], point)

    def everywhere(self, match: re.Match[str]) -> None:
        self.require(all(self.leads(match["led"], point) for point in self.of.points), "not at all points")
        self.require(not self.facts.is_same_order(), "the order is the same")

    def leads(self, text: str, point: Point) -> bool:
        """Whether what a sentence says of the first place is so at a point."""
        facts, names = self.facts, self.facts.ranked(point)
        if text.lower() == "the first place is not decided":
            return facts.is_open(point)
        if text == "no contender has a figure":
            return not names
        if found := re.fullmatch(rf"only ({_NAME}) of its class has a figure", text):
            return names == [found[1]]
        if found := re.fullmatch(rf"({_NAMES}) share the first place", text):
            return facts.share(_names(found[1])[0], point)
        if found := re.fullmatch(rf"({_NAME}) (is first|has the best figure)", text):
            is_certain = found[2] == "has the best figure" or not facts.is_doubtful(found[1], point)
            return facts.is_first(found[1], point) and is_certain
        raise ContradictionError(f"{self.text!r}: no rule reads {text!r}")

    def elsewhere(self, match: re.Match[str]) -> None:
        count = 0
        for part in match["parts"].split("; "):
            led, _, where = part.partition(" at ")
            held = [point for point in self.of.points if self.leads(led, point)]
            if number := re.fullmatch(r"(\d+) of (\d+) points|both points|all (\d+) points", where):
                named = int(number[1] or len(self.of.points))
                self.require(len(held) >= named, f"{led} at {len(held)}")
                count += named
            else:
                points = [
                    self.labels[label] for label in re.split(r", | and ", where) if label in self.labels
                ]
                self.require(bool(points) and {*points} <= {*held}, f"not {led} at {where}")
                count += len(points)
        self.require(count == len(self.of.points), "points are missing")

    def range(self, match: re.Match[str]) -> None:
        name = self.facts.ranked(self.here)[0]
        medians = {
            point: median(values.values())
            for point in self.of.points
            if (values := self.facts.by_block(name, point))
        }
        names = {each for point in self.of.points for each in self.facts.ranked(point)}
        self.require(names == {name}, "others have figures")
        ends = (min(medians.values()), max(medians.values()))
        for end, label in zip(ends, (match["low"], match["high"]), strict=True):
            self.require(medians[self.labels[label]] == end, f"{label} has another figure")

    def missing(self, match: re.Match[str]) -> None:
        name = self.facts.ranked(self.here)[0]
        count = sum(not self.facts.by_block(name, point) for point in self.of.points)
        self.require(count == int(match["count"] or 1), f"there are {count}")

    def baseline(self, match: re.Match[str]) -> None:
        self.require(match["name"] == self.of.experiment.baseline, "the baseline is another")
        self.require(not self.facts.by_block(match["name"], self.here), "it has")

    def nothing(self, _: re.Match[str]) -> None:
        self.require(not any(map(self.facts.ranked, self.of.points)), "some have")


# Whether a word says that the ratio is below 1, or above.
_SIGNS = {"faster": -1, "less": -1, "lower": -1, "slower": 1, "more": 1, "higher": 1}
_WORD = rf"(?:{'|'.join([*_SIGNS, 'equivalent', 'inconclusive'])})"


class PairReader(Reader):
    """Checks the sentences that compare contenders with the baseline, at a point and over all."""

    def __init__(self, of: RunAnalysis) -> None:
        super().__init__(of)
        noun = re.escape(of.headline.noun)
        base = rf"(?P<base>{_NAME})'s?"
        self.rules = {
            rf"{_ONE} (?:took|has) (?P<size>{_NUMBER})× {base} {noun}"
            rf"(?: \((?P<low>{_NUMBER})–(?P<high>{_NUMBER})\))?: (?P<said>.+)": self.pair,
            rf"{_ONE}, the baseline: {noun} {_AMOUNT}": self.own,
            rf"{_ONE}: {noun} {_AMOUNT}; .+": self.own,
            rf"{_ONE} has no {noun}: .+": self.absent,
            rf"{_ONE} cannot be compared with {_NAME}: .+": self.never,
            rf"{_ONE}(?:'s? {noun})? (?P<counts>is .+|against .+)"
            rf"(?: at (?:{_ALL}|\d+ points?)| of \d+ points): "
            rf"(?P<least>{_NUMBER})×(?: to (?P<most>{_NUMBER})×)? {base} {noun}(?:; .+)?": self.points,
        }

    def at(self, point: Point, sentences: Sequence[str]) -> None:
        self.here = point
        self.check(sentences)

    def quotient(self, name: str, base: str, point: Point) -> float:
        ratio = self.facts.ratio(name, base, point)
        return ratio if self.of.headline.smaller_is_better else 1 / ratio

    def verdict(self, name: str, point: Point) -> str:
        """What a sentence may say of a pair: a verdict of tables, `stalls`, or nothing."""
        comparison = self.of.comparison(self.of.headline, name, self.of.experiment.baseline, point)
        return "" if comparison is None else "stalls" if comparison.stalls else str(comparison.verdict)

    def pair(self, match: re.Match[str]) -> None:
        name, base = match["name"], match["base"]
        ratio, verdict = self.quotient(name, base, self.here), self.verdict(name, self.here)
        size = float(match["size"].replace(",", ""))
        self.require(math.isclose(size, ratio, rel_tol=0.006), f"the ratio is {ratio:.4g}")
        low, high = (float((match[end] or "1").replace(",", "")) for end in ("low", "high"))
        found = re.match(rf"(?:(?P<times>{_NUMBER}) (?:times|%) )?(?P<word>{_WORD})\b", match["said"])
        if not found:
            self.require("stalled in" in match["said"] and verdict == "stalls", f"it is {verdict}")
            return
        self.word(found["word"], verdict, ratio)
        if found["word"] in _SIGNS:
            self.require(high < 1 or low > 1, "the interval includes 1")
        if found["times"]:
            self.ratio(re.search(_RATIO, match["said"].replace(found["word"], "").replace("  ", " ")), ratio)

    def word(self, word: str, verdict: str, ratio: float) -> None:
        sign = _SIGNS.get(word, 0)
        if not sign:
            self.require(word == verdict or (word, verdict) == ("inconclusive", "stalls"), f"it is {verdict}")
            return
        is_worse = (sign > 0) == self.of.headline.smaller_is_better
        self.require(verdict == ("slower" if is_worse else "faster"), f"it is {verdict}")
        self.require((ratio > 1) == (sign > 0), f"the ratio is {ratio:.4g}")

    def own(self, match: re.Match[str]) -> None:
        self.amount(match, match["name"], self.here)

    def absent(self, match: re.Match[str]) -> None:
        self.require(not self.facts.by_block(match["name"], self.here), "it has")

    def never(self, match: re.Match[str]) -> None:
        self.require(not any(self.verdict(match["name"], point) for point in self.of.points), "it can")

    def points(self, match: re.Match[str]) -> None:
        name, base = match["name"], match["base"]
        points = [point for point in self.of.points if self.verdict(name, point)]
        ratios = {point: self.quotient(name, base, point) for point in points}
        for end, text in ((min(ratios.values()), match["least"]), (max(ratios.values()), match["most"])):
            size = float((text or match["least"]).replace(",", ""))
            self.require(math.isclose(size, end, rel_tol=0.006), f"one end is {end:.4g}")
        counts = re.findall(rf"({_WORD}) at (\d+)", match["counts"]) or [
            (*re.findall(_WORD, match["counts"]), str(len(points)))
        ]
        self.require(sum(int(count) for _, count in counts) == len(points), "points are missing")
        for word, count in counts:
            self.require(self.count(word, ratios, name) == int(count), f"not {word} at {count}")

    def count(self, word: str, ratios: Mapping[Point, float], name: str) -> int:
        count = 0
        for point, ratio in ratios.items():
            with contextlib.suppress(ContradictionError):
                self.word(word, self.verdict(name, point), ratio)
                count += 1
        return count


def _names(text: str) -> tuple[list[str], int]:
    """The names of a list, and how many it stands for."""
    words = re.split(r", | and | or ", text)
    others = sum(int(word.split()[0]) for word in words if word.endswith((" other", " others")))
    names = [word for word in words if not word.endswith((" other", " others"))]
    return names, len(names) + others


def _without_groups(form: str) -> str:
    return re.sub(r"\?P<\w+>", "?:", form)
