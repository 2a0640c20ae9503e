"""Builds the package from its sources by maturin, and says first what is missing."""

import shutil

from maturin import *  # noqa: F403
from maturin import get_requires_for_build_wheel as _required

MISSING = """
tagq is installed from its sources here, because there is no wheel for this Python or system, or because it was asked for.
That needs Rust 1.95 or later (https://rustup.rs) and a C compiler: install both, open a new terminal, and try again.
Wheels are for Python 3.10 and later on Linux, macOS and Windows.
"""


def get_requires_for_build_wheel(config_settings=None):
    # Maturin would download Rust, and ends with an error of the network where it cannot.
    if shutil.which("cargo") is None:
        raise SystemExit(MISSING)
    return _required(config_settings)


get_requires_for_build_editable = get_requires_for_build_wheel
