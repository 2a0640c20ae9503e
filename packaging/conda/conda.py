"""Packages for conda: renders the recipe, makes a package of a built program, and asks the program in a new prefix.

conda.py render RECIPE
conda.py pack VERSION PLATFORM SECONDS FOLDER DIST LICENSE…
conda.py install PACKAGE FOLDER
"""

import asyncio
import shutil
import sys
from datetime import datetime, timezone
from pathlib import Path

from rattler import Channel, VirtualPackage, install, solve
from rattler.index import index_fs
from rattler_build import (
    Package,
    PlatformConfig,
    RenderConfig,
    Stage0Recipe,
    VariantConfig,
    assemble_package,
)

PLATFORMS = ["linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64"]

# What conda-forge sets for all recipes, as far as this one uses it.
CONDA_FORGE = """
python: ["3.10.* *_cpython", "3.11.* *_cpython"]
python_min: ["3.10"]
is_python_min: [true, false]
is_abi3: [true]
c_compiler: [c]
c_stdlib: [stdlib]
rust_compiler: [rust]
zip_keys: [[python, is_python_min]]
"""


def render(recipe: str) -> None:
    """Prints the packages of the recipe on each platform. Unknown keys and licences are errors, as are packages
    that say less than conda-forge asks for."""
    stage0 = Stage0Recipe.from_file(recipe)
    for platform in PLATFORMS:
        config = RenderConfig(platform=PlatformConfig(target_platform=platform))
        for variant in stage0.render(VariantConfig.from_yaml(CONDA_FORGE), config):
            package = variant.recipe.to_dict()
            about = package["about"]
            for key in ("homepage", "summary", "license", "license_file"):
                assert about.get(key), f"{package['package']['name']}: about has no {key}"
            assert package.get("tests"), f"{package['package']['name']} has no tests"
            assert package["extra"]["recipe-maintainers"], "no maintainers"
            print(platform, *package["package"].values(), package["build"]["string"])


def pack(version: str, platform: str, seconds: str, folder: str, dist: str, *licenses: str) -> None:
    """Makes the package `tagq-cli` of the files in `folder`, which were built for `platform`."""
    systems = {"linux": "__glibc >=2.28", "osx": "__osx >=11.0", "win": "__win"}
    package = assemble_package(
        "tagq-cli",
        version,
        platform,
        f"{platform.replace('-', '_')}_0",
        dist,
        files_dir=folder,
        license="MIT OR Apache-2.0",
        license_files=licenses,
        summary="Fast, exact queries over photon time tags, for a terminal",
        depends=[systems[platform.split("-")[0]]],
        timestamp=datetime.fromtimestamp(int(seconds), timezone.utc),
    )
    print(package.path)


async def install_alone(file: Path, folder: Path) -> None:
    """Makes a channel of this package alone in `folder`, and installs it from there into `folder`/prefix."""
    platform = Package.from_file(file).subdir
    channel = folder / "channel"
    (channel / platform).mkdir(parents=True)
    shutil.copy(file, channel / platform)
    await index_fs(channel)
    found = await solve(
        [Channel(channel.as_uri())],
        ["tagq-cli"],
        platforms=[platform, "noarch"],
        virtual_packages=VirtualPackage.detect(),
    )
    await install(found, folder / "prefix", cache_dir=folder / "cache", show_progress=False)


if __name__ == "__main__":
    task, *args = sys.argv[1:]
    if task == "render":
        render(*args)
    elif task == "pack":
        pack(*args)
    else:
        asyncio.run(install_alone(Path(args[0]), Path(args[1])))
