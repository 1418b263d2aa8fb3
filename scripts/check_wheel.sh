#!/usr/bin/env bash
# Installs the Python package with pip into fresh virtual environments, as a user would, and tests it
# there, away from the source tree. Needs a registry that pip reaches, so it is not part of test.sh.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/check_wheel.sh [PYTHON...] [-- REQUIREMENTS...]

For each interpreter (default: python3) builds and installs the wheel; for each of the requirements
(default: what pip takes) installs them next to it, and runs the tests. Each ends in one line.

example:
  scripts/check_wheel.sh python3.9 python3.12 -- 'numpy<2 protobuf~=4.25' 'numpy protobuf'
TEXT
}

pythons=() requirements=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --) shift; requirements=("$@"); break ;;
    -*) usage >&2; exit 1 ;;
    *) pythons+=("$1"); shift ;;
  esac
done
[ ${#pythons[@]} -gt 0 ] || pythons=(python3)
[ ${#requirements[@]} -gt 0 ] || requirements=("numpy protobuf")

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The tests, what of the source tree they may need, and the data next to it: no package, no module.
mkdir -p "$work/tree/python"
cp -r "$root/python/tests" "$work/tree/python/"
cp "$root/README.md" "$work/tree/"
for shared in "$root/../shared" "$root/../../shared"; do
  if [ -d "$shared" ] && [ ! -e "$work/shared" ]; then ln -s "$(realpath "$shared")" "$work/shared"; fi
done

status=0
for python in "${pythons[@]}"; do
  "$python" -m venv "$work/venv"
  "$work/venv/bin/pip" install -q "$root" pytest pillow
  for requirement in "${requirements[@]}"; do
    read -ra words <<< "$requirement"
    "$work/venv/bin/pip" install -q --upgrade "${words[@]}"
    versions=$(cd "$work" && "$work/venv/bin/python" -c 'import platform, numpy, google.protobuf, caffe
print(f"python {platform.python_version()}, numpy {numpy.__version__}, protobuf "
      f"{google.protobuf.__version__}")')
    (cd "$work/tree" && OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive "$work/venv/bin/python" -m pytest \
      -q -p no:cacheprovider python/tests) > "$work/log" 2>&1 || { status=1; cat "$work/log"; }
    echo "$versions: $(tail -n 1 "$work/log")"
  done
  rm -rf "$work/venv"
done
exit $status
