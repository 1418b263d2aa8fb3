#!/usr/bin/env bash
# The install tree can be moved, and find_package(Caffe) works from it.
set -euo pipefail
root=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" > /dev/null
mv "$work/first" "$work/moved"
cmake -S "$root/src/caffe/test/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" \
  -DCMAKE_BUILD_TYPE=Debug
cmake --build "$work/build"
GLOG_minloglevel=2 "$work/build/consumer"
GLOG_minloglevel=2 "$work/build/consumer_by_variables"
"$work/moved/bin/caffe" --help | grep -q usage
