#!/usr/bin/env bash
# The core on other platforms: its tests run on ARM64 (qemu-user) and as a Windows program (wine), and
# compile for macOS. What is missing is installed on Debian as root, and named otherwise; ziglang comes
# from PyPI with make.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHON=$PWD/.venv/bin/python
PATH=$PATH:/usr/lib/wine

missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }  # command, package of Debian
need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
need qemu-aarch64 qemu-user
need x86_64-w64-mingw32-g++-posix g++-mingw-w64-x86-64-posix
need wine64 wine64
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "cross-check needs packages that are missing; on Debian: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

build() {  # name, cmake arguments
  cmake -S . -B "build/cross-$1" -G Ninja -DDRIFTSIEVE_TESTS=ON "${@:2}" >/dev/null
  cmake --build "build/cross-$1" --target driftsieve_tests
}

build arm64 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++
# qemu-user aborts itself when a forked process starts threads.
qemu-aarch64 -L /usr/aarch64-linux-gnu build/cross-arm64/driftsieve_tests \
  --test-case-exclude="a process that was forked*"
echo "runs on ARM64 Linux"

build windows -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=AMD64 \
  -DCMAKE_CXX_COMPILER=x86_64-w64-mingw32-g++-posix -DCMAKE_EXE_LINKER_FLAGS=-static
# Outside of the checkout: it has a link to /, which building a source distribution would follow.
wine=$(mktemp -d)
trap 'rm -rf "$wine"' EXIT
WINEDEBUG=-all WINEPREFIX=$wine wine64 build/cross-windows/driftsieve_tests.exe
echo "runs as a Windows program"

for processor in arm64 x86_64; do
  ZIG_TARGET=${processor/arm64/aarch64}-macos build "macos-$processor" -DCMAKE_SYSTEM_NAME=Darwin \
    -DCMAKE_SYSTEM_PROCESSOR=$processor -DCMAKE_CXX_COMPILER="$PWD/tools/zig-c++" \
    -DCMAKE_AR="$PWD/tools/zig-ar" -DCMAKE_RANLIB=/bin/true
done
echo "compiles for macOS; not run"
