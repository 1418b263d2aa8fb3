#!/usr/bin/env bash
# Runs clang-tidy, with the checks of .clang-tidy, on the sources that have changed.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/tidy.sh [--build-dir DIR] [COMMIT | FILE...]

  COMMIT             what changed since this commit is checked (default: HEAD~1), changes that are
                     not committed included
  FILE...            these files
  --build-dir DIR    a configured build, for its compile_commands.json (default: build); generated
                     headers have to be there

example:
  scripts/tidy.sh origin/main
TEXT
}

die() {
  echo "tidy.sh: $*" >&2
  exit 1
}

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
while [ $# -gt 0 ]; do
  case $1 in
    --build-dir)
      [ $# -ge 2 ] || die "--build-dir needs a folder"
      build=$2
      shift 2 ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 1 ;;
    *) break ;;
  esac
done
program=$(command -v clang-tidy || command -v clang-tidy-14) ||
  die "clang-tidy is not here: apt-get install clang-tidy"
[ -f "$build/compile_commands.json" ] ||
  die "there is no $build/compile_commands.json: scripts/build.sh makes it, --build-dir names another folder"
! grep -q '/Unity/unity_' "$build/compile_commands.json" ||
  die "$build compiles files together: configure another folder with -DCAFFE_UNITY=OFF -DCAFFE_PCH=OFF"

if [ $# -gt 0 ] && [ -f "$1" ]; then
  files=("$@")
else
  commit=${1:-HEAD~1}
  git -C "$root" rev-parse --quiet --verify "$commit^{commit}" > /dev/null ||
    die "$commit is neither a commit nor a file"
  mapfile -t files < <(git -C "$root" diff --name-only --diff-filter=d "$commit" -- '*.cpp' |
    sed "s#^#$root/#")
fi
[ ${#files[@]} -gt 0 ] || { echo "no source has changed"; exit 0; }
printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -n 1 "$program" -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option
