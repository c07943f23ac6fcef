"""Reads the arguments of a program, `key=value` each, and reports its figures. The same in each folder of
a Python contender."""

import os
import sys


def read():
    """The arguments by their keys, as text. Keys that the program does not know are left alone."""
    return dict(argument.partition("=")[::2] for argument in sys.argv[1:])


def whole_number(given, key, default, least, most=1_000_000_000):
    text = given.get(key, default)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not digits or not least <= int(text) <= most:
        refuse(key, f"a whole number from {least} to {most}", text)
    return int(text)


def one_of(given, key, default, choices):
    text = given.get(key, default)
    if text not in choices:
        refuse(key, " or ".join(choices), text)
    return text


def refuse(key, wanted, text):
    complain(f"{key} must be {wanted}, not {text!a}")
    sys.exit(2)


def complain(why):
    program = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    print(f"{program}: {why}", file=sys.stderr, flush=True)


def report(line):
    print(line, flush=True)
