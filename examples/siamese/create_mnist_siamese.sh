#!/usr/bin/env sh
# Writes pairs of MNIST's images to the databases that mnist_siamese_train_test.prototxt reads.
#
#     examples/siamese/create_mnist_siamese.sh [DIR]
#
# DIR holds train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
# t10k-labels-idx1-ubyte, gzipped or not (default: data/mnist).
set -eu
cd "$(dirname "$0")/../.."
. scripts/idx_files.sh
idx=${1:-data/mnist}
convert=${BUILD:-build}/tools/convert_mnist_siamese_data
out=${OUT:-examples/siamese}

if [ ! -x "$convert" ]; then
  echo "create_mnist_siamese.sh: $convert is not there; scripts/build.sh makes it" >&2
  exit 1
fi

for phase in train test; do
  case $phase in
    train) part=train ;;
    test) part=t10k ;;
  esac
  images=$(idx_files "$idx" "$part-images*idx3-ubyte*")
  labels=$(idx_files "$idx" "$part-labels*idx1-ubyte*")
  if [ -z "$images" ] || [ -z "$labels" ]; then
    echo "create_mnist_siamese.sh: there is no $part-images-idx3-ubyte or $part-labels-idx1-ubyte" \
      "in $idx; the argument names their folder" >&2
    exit 1
  fi
  database=$out/mnist_siamese_${phase}_leveldb
  rm -rf "$database"
  "$convert" "$images" "$labels" "$database"
  echo "$database"
done
