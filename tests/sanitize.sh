#!/usr/bin/env bash
# The C++ tests and the Python laws under ASan with UBSan, and under TSan: make sanitize.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
packages=$($python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
command -v g++ >/dev/null || { echo "The sanitizers need g++." >&2; exit 1; }
export CXX=g++

build() {  # sanitizers as -fsanitize= takes them; gcc warns of what it has made of the code itself
  local defines=(DRIFTSIEVE_SANITIZE="$1" DRIFTSIEVE_WERROR=OFF)
  cmake -S . -B "build/san-$1" -G Ninja -DDRIFTSIEVE_TESTS=ON "${defines[@]/#/-D}" >/dev/null
  cmake --build "build/san-$1"
  rm -rf "build/python-$1"
  $python -m pip install --quiet --no-build-isolation --no-deps --target "build/python-$1" \
    -C build-dir="build/san-python-$1" "${defines[@]/#/-Ccmake.define.}" .
}

laws() {  # sanitizers, the library that Python must load first, tests
  # -S keeps the editable package of .venv away; ASan must know libstdc++ before it is needed.
  PYTHONPATH="$PWD/build/python-$1:$packages" PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1 \
    LD_PRELOAD="$(g++ -print-file-name="lib$2.so") $(g++ -print-file-name=libstdc++.so)" \
    $python -S -m pytest -q -p no:cacheprovider "${@:3}"
}

export ASAN_OPTIONS=detect_leaks=0  # Python leaks on purpose when it ends
# A test forks after threads were there. Nothing is suppressed; pytest would swallow the reports.
reports=$PWD/build/tsan-report
rm -f "$reports".*
export TSAN_OPTIONS="die_after_fork=0 log_path=$reports"
for sanitizers in address,undefined thread; do
  build $sanitizers
  ASAN_OPTIONS=detect_leaks=1 build/san-$sanitizers/driftsieve_tests
done
laws address,undefined asan tests/laws tests/fuzz/test_hostile_bytes.py tests/hardening/test_concurrency.py \
  tests/hardening/test_shared_screener.py tests/hardening/test_numbers.py tests/hardening/test_weights.py \
  tests/hardening/test_strides.py
# The test that forks runs apart: a child has no threads, but TSan keeps those of its parent, of
# earlier tests or of pandas, and stops at a new thread that gets the number of one of them.
fork=test_a_fork_works_after_threads_were_used
laws thread tsan tests/hardening/test_concurrency.py -k $fork || failed=1
laws thread tsan tests/laws tests/hardening/test_concurrency.py \
  tests/hardening/test_shared_screener.py -k "not $fork" || failed=1
cat "$reports".* 2>/dev/null && exit 1
exit ${failed:-0}
