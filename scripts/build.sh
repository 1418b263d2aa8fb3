#!/usr/bin/env bash
# Configures and builds:  scripts/build.sh [BUILD_DIR [CMAKE_OPTION...]]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build}
shift || true
generator=()
[ -f "$build/CMakeCache.txt" ] || generator=(-G Ninja)
mkdir -p "$build"
if ! cmake -S "$root" -B "$build" "${generator[@]}" "$@" > "$build/configure.log" 2>&1; then
  tail -n 30 "$build/configure.log" >&2
  echo "build.sh: configuring failed; the whole log is $build/configure.log" >&2
  exit 1
fi
cmake --build "$build" -j "$(nproc)"
