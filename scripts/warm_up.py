#!/usr/bin/env python3
"""Imports all modules that ringside uses, so that their bytecode exists before its first call. `yes`: also
the modules of the tests."""

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
        # The command that needs this module reports the error and says what to do.
        print(f"warm_up: {name}: {error}", file=sys.stderr)
