#!/usr/bin/env bash
# Writes seeds for the fuzz targets to OUT/TARGET/: nets and solvers of models/, and small files that
# the library makes.
set -euo pipefail
usage() {
  cat <<'TEXT'
usage: fuzz/make_corpus.sh BUILD OUT

example:
  fuzz/make_corpus.sh build-fuzz build-fuzz/corpus
TEXT
}
case ${1:-} in
  -h | --help) usage; exit 0 ;;
esac
[ $# = 2 ] || { usage >&2; exit 1; }
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1 out=$2

mkdir -p "$out"/{net_prototxt,solver_prototxt,migration_prototxt}
"$build/fuzz/make_seeds" "$out"
for file in "$root"/models/*/*.prototxt; do
  name=$(basename "$(dirname "$file")")_$(basename "$file")
  [ "$(wc -c < "$file")" -lt 8000 ] || continue # larger ones are slow to set up, and say no more
  case $file in
    */solver*) cp "$file" "$out/solver_prototxt/$name" ;;
    *) cp "$file" "$out/net_prototxt/$name"; cp "$file" "$out/migration_prototxt/$name" ;;
  esac
done
