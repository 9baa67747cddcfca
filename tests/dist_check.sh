#!/usr/bin/env bash
# The same commit gives the same bytes, the wheel works in a bare environment of each Python, and in
# Python 3.11 with the lowest versions of all dependencies that pyproject.toml allows:
# make dist-check PYTHONS="python3.11 python3.12 python3.13".
set -euo pipefail
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
out=$PWD/build/dist-check
rm -rf "$out"
mkdir -p build
pip=(-m pip install --quiet --disable-pip-version-check)

# pyenv shows only the versions that are in use: take all of them into use.
if command -v pyenv >/dev/null; then PYENV_VERSION=$(pyenv versions --bare | paste -sd:); export PYENV_VERSION; fi

same() { cmp "$1" "$2" && echo "the same bytes twice: $(basename "$1")"; }

# Tests of what depends on the versions: frames, scipy, scikit-learn, the terminal and each extra.
tests_of_dependencies=(
  tests/bank/test_bank.py tests/batch tests/_rows tests/scores/test_scores.py tests/history
  tests/package/test_imports.py
  tests/river/test_river.py tests/river/test_river_frames.py
  tests/cli tests/learners tests/report tests/screener tests/sources
  tests/distributed/test_dask.py tests/distributed/test_spark.py tests/distributed/test_spark_ml.py
  tests/reproduce/test_command.py
)

lowest_versions() {  # python, wheel
  "$1" -m venv "$out/lowest"
  .venv/bin/python tests/package/lower_bounds.py river spark dask files report >"$out/lowest.txt"
  # polars is no dependency: the lowest version that the tests allow
  "$out/lowest/bin/python" "${pip[@]}" -r "$out/lowest.txt" "$2" pytest hypothesis 'polars==1.18'
  # Old packages may warn of new versions of what they depend on.
  PATH=$out/lowest/bin:$PATH "$out/lowest/bin/python" -m pytest -q -p no:cacheprovider \
    -o filterwarnings=default --disable-warnings "${tests_of_dependencies[@]}"
  echo "works with the lowest versions: $(tr '\n' ' ' <"$out/lowest.txt")"
}

for n in 1 2; do
  .venv/bin/python -m build --no-isolation --sdist --outdir "$out/sdist-$n" >"$out.log" 2>&1
done
sdist=$(ls "$out"/sdist-1/*.tar.gz)
same "$sdist" "$out/sdist-2/$(basename "$sdist")"

build_twice() {  # python, version; sets wheel, and stable if the wheel serves later versions too
  "$1" -m venv "$out/build-$2"
  "$out/build-$2/bin/python" "${pip[@]}" 'scikit-build-core>=0.11' 'nanobind>=2.5'
  for n in 1 2; do  # each time in another temporary folder
    "$out/build-$2/bin/python" -m pip wheel --quiet --no-cache-dir --no-deps \
      --no-build-isolation --wheel-dir "$out/wheel-$2-$n" "$sdist"
  done
  wheel=$(ls "$out/wheel-$2-1"/*.whl)
  same "$wheel" "$out/wheel-$2-2/$(basename "$wheel")"
  size=$(stat -c %s "$wheel")
  test "$size" -lt 5000000 || { echo "$wheel has 5 MB or more" >&2; exit 1; }
  tag=$(.venv/bin/auditwheel show "$wheel" 2>/dev/null)
  echo "$size bytes, auditwheel: $(grep -om1 'manylinux[a-z0-9_]*' <<<"$tag")"
  case $wheel in *-abi3-*) stable=$wheel ;; esac
}

stable=
for python in "$@"; do
  if ! version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); then
    echo "no $python here: not checked"
    continue
  fi
  if [ -z "$stable" ] || [ "$version" = 3.11 ]; then build_twice "$python" "$version"; else wheel=$stable; fi
  "$python" -m venv "$out/bare-$version"
  bin=$out/bare-$version/bin
  "$bin/python" "${pip[@]}" "$wheel"
  (
    cd "$out"  # away from the sources
    "$bin/python" -m driftsieve.cli.demo_stream >demo.txt
    printf 'a,b,y\n1,2,0\n2,2,1\n3,1,0\n' | "$bin/driftsieve" screen - --format csv --target y >screen.txt
    test -s demo.txt && test -s screen.txt
  )
  echo "works in a bare Python $version: $(basename "$wheel")"
  if [ "$version" = 3.11 ]; then lowest_versions "$python" "$wheel"; fi
done
