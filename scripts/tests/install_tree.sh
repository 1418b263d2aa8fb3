#!/usr/bin/env bash
# The install tree can be moved, and find_package(Caffe) works from it. Its headers are those that
# cmake/PublicHeaders.cmake lists; each compiles alone, and needs none that is not installed.
set -euo pipefail
root=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" > /dev/null
mv "$work/first" "$work/moved"
cmake -S "$root/src/caffe/test/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
cmake --build "$work/build"
GLOG_minloglevel=2 "$work/build/consumer"
GLOG_minloglevel=2 "$work/build/consumer_by_variables"
"$work/moved/bin/caffe" --help | grep -q usage

# Nothing of src/, nor anything that is not there.
cd "$work/moved/include"
grep -rhoE '^ *# *include ["<]caffe/[^">]+' caffe | sed 's/.*["<]//' | sort -u | while read -r header; do
  [ -e "$header" ] || { echo "installed headers include $header, which is not"; exit 1; }
done
# Each header alone, as the consumer is compiled. common.hpp, where most of the time goes, is compiled
# once for those that include it anyway.
flags=$(sed -n 's/^ *"command": "[^ ]* \(.*\) -o [^"]*",*$/\1/p' "$work/build/compile_commands.json" |
  head -n 1)
using=caffe/common.hpp
while true; do
  more=$(grep -rlE "include [\"<]($using)[\">]" caffe | cat - <(tr '|' '\n' <<< "$using") | sort -u |
    tr '\n' '|')
  [ "${more%|}" != "$using" ] || break
  using=${more%|}
done
mkdir "$work/pch"
compile() {
  "${CXX:-c++}" $flags -Wall -Wextra -Werror -Wno-sign-compare -Wno-unused-parameter -x c++ "$@"
}
export -f compile
export flags using work
compile -x c++-header caffe/common.hpp -o "$work/pch/common.hpp.gch"
alone() {
  local pch=()
  if grep -qxE "$using" <<< "$1"; then pch=(-include "$work/pch/common.hpp"); fi
  compile -fsyntax-only "${pch[@]}" - <<< "#include <$1>"$'\n'"#include <$1>" || echo "$1 does not compile alone"
}
export -f alone
find caffe -name '*.hpp' -o -name '*.h' | sort |
  xargs -P "$(nproc)" -I{} bash -c 'alone {}' > "$work/alone.txt"
if [ -s "$work/alone.txt" ]; then
  cat "$work/alone.txt"
  exit 1
fi
