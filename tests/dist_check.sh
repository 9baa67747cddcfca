#!/usr/bin/env bash
# The same commit gives the same bytes, and the wheel works in a bare environment of each Python:
# make dist-check PYTHONS="python3.11 python3.12 python3.13".
set -euo pipefail
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
out=$PWD/build/dist-check
rm -rf "$out"
pip=(-m pip install --quiet --disable-pip-version-check)

same() { cmp "$1" "$2" && echo "the same bytes twice: $(basename "$1")"; }

for n in 1 2; do
  .venv/bin/python -m build --no-isolation --sdist --outdir "$out/sdist-$n" >"$out.log" 2>&1
done
sdist=$(ls "$out"/sdist-1/*.tar.gz)
same "$sdist" "$out/sdist-2/$(basename "$sdist")"

for python in "$@"; do
  if ! version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); then
    echo "no $python here: not checked"
    continue
  fi
  "$python" -m venv "$out/build-$version"
  "$out/build-$version/bin/python" "${pip[@]}" 'scikit-build-core>=0.11' 'nanobind>=2.5'
  for n in 1 2; do  # each time in another temporary folder
    "$out/build-$version/bin/python" -m pip wheel --quiet --no-cache-dir --no-deps \
      --no-build-isolation --wheel-dir "$out/wheel-$version-$n" "$sdist"
  done
  wheel=$(ls "$out/wheel-$version-1"/*.whl)
  same "$wheel" "$out/wheel-$version-2/$(basename "$wheel")"
  "$python" -m venv "$out/bare-$version"
  bin=$out/bare-$version/bin
  "$bin/python" "${pip[@]}" "$wheel"
  (
    cd "$out"  # away from the sources
    "$bin/python" -m driftsieve.demo >demo.txt
    printf 'a,b,y\n1,2,0\n2,2,1\n3,1,0\n' | "$bin/driftsieve" screen - --format csv --target y >screen.txt
    test -s demo.txt && test -s screen.txt
  )
  echo "works in a bare Python $version: $(basename "$wheel")"
done
