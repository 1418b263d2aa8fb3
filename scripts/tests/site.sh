#!/usr/bin/env bash
# docs/ becomes a site, and a broken link in it does not.
set -euo pipefail
root=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! "$root/scripts/build_site.sh" "$build" 2> "$work/err.txt"; then
  cat "$work/err.txt"
  [ -x "$build/site-venv/bin/mkdocs" ] && exit 1
  echo "skipped: MkDocs cannot be fetched from PyPI here"
  exit 77
fi
test -s "$build/site/migration/bvlc/index.html"
# Sources that documents link to come along.
test -s "$build/site/source/src/caffe/fp16/inner_ranges.hpp.txt"

cp -r "$root/docs" "$root/mkdocs.yml" "$work"
echo '[nowhere](../src/nowhere.cpp)' >> "$work/docs/faq.md"
if "$build/site-venv/bin/mkdocs" build --strict --config-file "$work/mkdocs.yml" \
  --site-dir "$work/site" > "$work/out.txt" 2>&1; then
  echo "a broken link was not noticed"
  exit 1
fi
grep -q 'nowhere.cpp' "$work/out.txt"
