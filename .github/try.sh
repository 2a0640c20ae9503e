#!/bin/sh
# Tries the release files in dist/ for one target: the program of the archive and the wheel count the pairs of the fixture.
# .github/try.sh TARGET PYTHON
set -eu
target=$1
python=$2
tried=$(mktemp -d)
case $target in
*windows*) unzip -q dist/tagq-*-"$target".zip -d "$tried" ;;
*) tar -xzf dist/tagq-*-"$target".tar.gz -C "$tried" ;;
esac
cp -R data/fixtures/pairs "$tried/run"
"$tried"/tagq-*/tagq coincidences 1,2 --window 2ns --format csv "$tried/run" | tee "$tried/pairs.csv"
grep -q '^1,2,1976,' "$tried/pairs.csv"
"$python" -m pip install --no-index --find-links dist --only-binary tagq tagq
"$python" crates/python/tests/smoke.py data/fixtures/pairs
# The program that is in the wheel.
"$("$python" -c 'import sysconfig; print(sysconfig.get_path("scripts"))')"/tagq --version
