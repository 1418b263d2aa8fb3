#!/usr/bin/env bash
# The install tree can be moved, and find_package(Caffe) works from it. Its headers are those that
# cmake/PublicHeaders.cmake lists; they compile, and need none that is not installed.
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
# By the folder where Caffe's own build installs its configuration, and from the build tree itself.
for folder in "$work/moved/share/Caffe" "$build"; do
  rm -rf "$work/by_folder"
  cmake -S "$root/src/caffe/test/consumer" -B "$work/by_folder" -DCaffe_DIR="$folder" \
    -DCMAKE_BUILD_TYPE=Debug
  cmake --build "$work/by_folder"
  GLOG_minloglevel=2 "$work/by_folder/consumer"
done
# An older standard than the headers are written in is what the first error is about.
if "${CXX:-c++}" -std=c++14 -fsyntax-only -I "$work/moved/include" \
    "$root/src/caffe/test/consumer/consumer.cpp" 2> "$work/errors"; then
  echo "C++14 compiles the headers"
  exit 1
fi
grep -m 1 'error:' "$work/errors" | grep 'need C++17'
# By hand, as an old Makefile does it.
library=$(find "$work/moved" -name libcaffe.so)
if [ -n "$library" ]; then
  folder=$(dirname "$library")
  "${CXX:-c++}" -std=c++17 "$root/src/caffe/test/consumer/consumer.cpp" -I "$work/moved/include" \
    -L "$folder" "-Wl,-rpath,$folder" -lcaffe -lglog -lprotobuf -o "$work/by_hand"
  GLOG_minloglevel=2 "$work/by_hand"
fi
"$work/moved/bin/caffe" --help | grep usage > /dev/null

# Nothing of src/, nor anything that is not there.
cd "$work/moved/include"
grep -rhoE '^ *# *include ["<]caffe/[^">]+' caffe | sed 's/.*["<]//' | sort -u | while read -r header; do
  [ -e "$header" ] || { echo "installed headers include $header, which is not"; exit 1; }
done
# As the consumer is compiled: all headers in one file, in either order of their names; but for those of
# NVCaffe's namespace, which old_programs.sh compiles. Each alone takes minutes: a slow test.
flags=$(sed -n 's/^ *"command": "[^ ]* \(.*\) -o [^"]*",*$/\1/p' "$work/build/compile_commands.json" |
  head -n 1)
compile() {
  "${CXX:-c++}" $flags -x "$@"
}
headers=$(find caffe -name '*.hpp' -o -name '*.h' | sort)
for order in "" -r; do
  sort $order <<< "$headers" | sed -e '/nvcaffe/d' -e 's/.*/#include <&>/' |
    compile c++ -fsyntax-only -
done
if [ "${CAFFE_SLOW_TESTS:-}" != 1 ]; then
  echo "note: left out: each header alone, since CAFFE_SLOW_TESTS is not 1"
  exit 0
fi

# layer.hpp, which most include, is compiled once.
with_layer=caffe/layer.hpp before=
while [ "$with_layer" != "$before" ]; do
  before=$with_layer
  with_layer=$({ tr '|' '\n' <<< "$before"; grep -rlE "include [\"<]($before)[\">]" caffe; } |
    sort -u | paste -sd '|')
done
alone() {
  local precompiled=()
  if grep -qxE "$with_layer" <<< "$1"; then precompiled=(-include "$work/layer.hpp"); fi
  compile c++ -fsyntax-only "${precompiled[@]}" - <<< "#include <$1>" || echo "$1" >> "$work/failed"
}
export -f compile alone
export flags with_layer work
compile c++-header caffe/layer.hpp -o "$work/layer.hpp.gch"
xargs -P "$(nproc)" -I{} bash -c 'alone {}' <<< "$headers"
if [ -e "$work/failed" ]; then
  echo "installed headers that do not compile alone:"
  cat "$work/failed"
  exit 1
fi
