#!/usr/bin/env python3
"""Imports all that ringside does, so that its bytecode is there when it is first called. `yes`: the same
for the tests."""

import importlib
import pkgutil
import sys

import ringside

WITH_PLOTS = ("vl_convert", "pygments.lexers.python", "pygments.lexers.go")
FOR_TESTS = ("altair", "hypothesis", "pytest")

names = [module.name for module in pkgutil.walk_packages(ringside.__path__, "ringside.")]
names += WITH_PLOTS + (FOR_TESTS if sys.argv[1:] == ["yes"] else ())
for name in names:
    try:
        importlib.import_module(name)
    except ImportError as error:
        # What needs it will say so, and what to do.
        print(f"warm_up: {name}: {error}", file=sys.stderr)
