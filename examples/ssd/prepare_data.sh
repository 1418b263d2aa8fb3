#!/usr/bin/env sh
# Turns annotated images into what the detector's nets read.
#
#     examples/ssd/prepare_data.sh DIR
#
# DIR (relative to the repository's root) has what make_images.py writes, or the same of images
# of your own: train.txt and test.txt (lines "image annotation", paths below DIR) and labels.txt
# (lines "name number name"). It gets labelmap.prototxt, train_lmdb, test_lmdb and
# test_name_size.txt.
set -eu
cd "$(dirname "$0")/../.."
tools=${BUILD:-build}/tools
if [ $# != 1 ] || [ ! -e "$1/train.txt" ]; then
  echo "usage: prepare_data.sh DIR, which has train.txt, test.txt and labels.txt" >&2
  exit 1
fi
data=${1%/}
"$tools/create_label_map" -include_background "$data/labels.txt" "$data/labelmap.prototxt"
for part in train test; do
  rm -rf "$data/${part}_lmdb"
  "$tools/convert_annoset" -anno_type detection -label_type xml -check_label -encoded \
    -encode_type png -label_map_file "$data/labelmap.prototxt" "$data/" "$data/$part.txt" \
    "$data/${part}_lmdb"
done
"$tools/get_image_size" "$data/" "$data/test.txt" "$data/test_name_size.txt"
