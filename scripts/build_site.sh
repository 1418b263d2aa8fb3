#!/usr/bin/env bash
# Makes a site of docs/ with MkDocs, which lies in a virtual environment in the build folder. A broken
# link is an error.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/build_site.sh [BUILD_DIR]

The site is BUILD_DIR/site (default: build/site). The first run fetches MkDocs from PyPI.

example:
  scripts/build_site.sh build
TEXT
}

case ${1-} in
  -h | --help) usage; exit 0 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-$root/build}"
build=$(cd "${1:-$root/build}" && pwd)
venv=$build/site-venv

if ! cmp -s "$root/docs/requirements.txt" "$venv/installed.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r "$root/docs/requirements.txt"
  cp "$root/docs/requirements.txt" "$venv/installed.txt"
fi
# Not --quiet, which would keep warnings from being counted.
if ! "$venv/bin/mkdocs" build --strict --clean --config-file "$root/mkdocs.yml" \
  --site-dir "$build/site" > "$build/site.log" 2>&1; then
  grep -v '^INFO' "$build/site.log" >&2
  exit 1
fi
echo "$build/site/index.html"
