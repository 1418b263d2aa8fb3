#!/usr/bin/env bash
# The examples work from their first command to their last, on small data and for a few iterations.
set -euo pipefail
root=$1 build=$2
command -v python3 > /dev/null || exit 77
[ -x "$build/examples/ssd/ssd_detect" ] || exit 77  # built without OpenCV
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
export GLOG_minloglevel=1 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
caffe=$build/tools/caffe

# Programs say how they are used, and what is wrong in one line.
for program in mtcnn/detect_faces ssd/ssd_detect; do
  "$build/examples/$program" --help | grep usage > /dev/null
  status=0
  "$build/examples/$program" nowhere nothing none.txt > "$work/out.txt" 2> "$work/err.txt" || status=$?
  [ $status = 1 ] && [ "$(wc -l < "$work/err.txt")" = 1 ] || { cat "$work/err.txt"; exit 1; }
  grep -q nowhere "$work/err.txt"
done

# At most COUNT iterations of a solver whose paths are moved to $work; files of a net follow.
shortened() {
  local count=$1 solver=$2 folder=$3
  shift 3
  for file in "$solver" "$@"; do
    sed -e "s|$folder/|$work/|g" -e "s|^max_iter:.*|max_iter: $count|" \
      -e "s|^snapshot: .*|snapshot: $count|" -e "s|^test_iter:.*|test_iter: 2|" \
      -e "s|^test_interval:.*|test_interval: $count|" -e "s|batch_size: [0-9]*|batch_size: 20|" \
      "$file" > "$work/$(basename "$file")"
  done
  echo "$work/$(basename "$solver")"
}

# Digits as idx files: ten kinds of stripes will do.
python3 - "$work" <<'PYTHON'
import struct
import sys

for part, count in (("train", 200), ("t10k", 60)):
    labels = bytes(i % 10 for i in range(count))
    images = b"".join(bytes(255 * ((x * (1 + k % 5) + (k // 5) * y) // 7 % 2) for y in range(28)
                              for x in range(28)) for k in labels)
    with open("%s/%s-images-idx3-ubyte" % (sys.argv[1], part), "wb") as file:
        file.write(struct.pack(">4I", 2051, count, 28, 28) + images)
    with open("%s/%s-labels-idx1-ubyte" % (sys.argv[1], part), "wb") as file:
        file.write(struct.pack(">2I", 2049, count) + labels)
PYTHON

# siamese
BUILD=$build OUT=$work examples/siamese/create_mnist_siamese.sh "$work" > /dev/null
solver=$(shortened 20 examples/siamese/mnist_siamese_solver.prototxt examples/siamese \
  examples/siamese/mnist_siamese_train_test.prototxt)
"$caffe" train -solver "$solver"
GLOG_minloglevel=0 "$caffe" test -model "$work/mnist_siamese_train_test.prototxt" -iterations 2 \
  -weights "$work/mnist_siamese_iter_20.caffemodel" > "$work/test.txt" 2>&1
grep -q 'loss' "$work/test.txt"
"$caffe" time -model examples/siamese/mnist_siamese.prototxt -iterations 1

# finetuning: plain images, one shade for each class
python3 - "$work/images" "$root/examples/ssd" <<'PYTHON'
import os
import sys

sys.path.insert(0, sys.argv[2])
from make_images import png  # noqa: E402

names = "airplane automobile bird cat deer dog frog horse ship truck".split()
for part, count in (("train", 6), ("test", 8)):
    for k, name in enumerate(names):
        folder = os.path.join(sys.argv[1], part, name)
        os.makedirs(folder)
        for i in range(count):
            row = bytearray((20 * k + i + x) % 256 for x in range(96))
            with open("%s/%d.png" % (folder, i), "wb") as file:
                file.write(png([row] * 32))
PYTHON
BUILD=$build OUT=$work examples/finetuning/create_data.sh "$work/images" 4 > "$work/data.txt"
grep -q 'new_train_lmdb: 20 images' "$work/data.txt"
solver=$(shortened 5 examples/finetuning/base_solver.prototxt examples/finetuning \
  examples/finetuning/base_train_test.prototxt)
"$caffe" train -solver "$solver"
solver=$(shortened 5 examples/finetuning/finetune_solver.prototxt examples/finetuning \
  examples/finetuning/finetune_train_test.prototxt)
GLOG_minloglevel=0 "$caffe" train -solver "$solver" -weights "$work/base_iter_5.caffemodel" \
  > "$work/finetune.txt" 2>&1
grep -q 'Ignoring source layer ip2$' "$work/finetune.txt"
[ -e "$work/finetune_iter_5.caffemodel" ]

# ssd
examples/ssd/make_images.py "$work/shapes" --train 24 --test 6
BUILD=$build examples/ssd/prepare_data.sh "$work/shapes"
examples/ssd/make_net.py "$work/ssd" --data "$work/shapes" --iterations 6 --test-images 6
"$caffe" train -solver "$work/ssd/solver.prototxt"
GLOG_minloglevel=0 "$caffe" test_detection -model "$work/ssd/test.prototxt" -iterations 6 \
  -weights "$work/ssd/shapes_ssd_iter_6.caffemodel" -ap_version 11point > "$work/map.txt" 2>&1
grep -q 'detection_eval = ' "$work/map.txt"
ls "$work"/shapes/images/0000[0-3].png > "$work/list.txt"
"$build/examples/ssd/ssd_detect" -scale 0.0078125 -confidence_threshold 0.01 \
  "$work/ssd/deploy.prototxt" "$work/ssd/shapes_ssd_iter_6.caffemodel" "$work/list.txt" \
  > "$work/found.txt"
grep -Eq '^[^ ]+\.png [123] [0-9.e-]+ -?[0-9]+ -?[0-9]+ -?[0-9]+ -?[0-9]+$' "$work/found.txt"
echo "examples: all done"
