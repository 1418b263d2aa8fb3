#!/usr/bin/env bash
# The example of Net's callbacks builds and shows blobs by name, type and magnitude.
set -euo pipefail
root=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/installed" > /dev/null
cmake -S "$root/examples/watch_blobs" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" > /dev/null
cmake --build "$work/build" > /dev/null

cat > "$work/net.prototxt" <<'TEXT'
default_forward_type: FLOAT16
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "grow" type: "Power" bottom: "x" top: "y" power_param { scale: 40000 } }
layer { name: "burst" type: "Power" bottom: "y" top: "z" power_param { scale: 2 } }
TEXT
GLOG_minloglevel=2 "$work/build/watch_blobs" "$work/net.prototxt" | tr -s ' ' > "$work/out.txt"
grep -q "^grow Power y FLOAT16 40000 near FLOAT16's end" "$work/out.txt"
grep -q "^burst Power z FLOAT16 inf NaN or infinite" "$work/out.txt"
