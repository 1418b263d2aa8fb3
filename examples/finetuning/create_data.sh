#!/usr/bin/env sh
# Writes the databases that base_train_test.prototxt and finetune_train_test.prototxt read.
#
#     examples/finetuning/create_data.sh DIR [NEW_PICTURES]
#
# DIR holds CIFAR-10 as image files: DIR/train/CLASS/... and DIR/test/CLASS/..., or an archive
# CLASS*.tar.gz of them in place of each folder. Five classes are for the base net, all their
# images; the other five are new, with NEW_PICTURES (default: 100) of each to train with.
set -eu
cd "$(dirname "$0")/../.."
if [ $# -lt 1 ] || [ ! -d "$1/train" ] || [ ! -d "$1/test" ]; then
  echo "usage: create_data.sh DIR [NEW_PICTURES], DIR with folders train and test" >&2
  exit 1
fi
images=$(cd "$1" && pwd)
new_images=${2:-100}
convert=${BUILD:-build}/tools/convert_imageset
out=${OUT:-examples/finetuning}
base="airplane automobile bird cat deer"
new="dog frog horse ship truck"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM  # dash runs the first one only where the script exits by itself

# list PART COUNT CLASS...: lines "file label" of the first COUNT images of each class.
list() (
  part=$1 count=$2 label=0
  shift 2
  cd "$work"
  for class in "$@"; do
    if [ ! -d "$part/$class" ]; then
      mkdir -p "$part/$class"
      if [ -d "$images/$part/$class" ]; then
        cp -r "$images/$part/$class/." "$part/$class"
      else
        for archive in "$images/$part/$class"*.tar.gz; do
          tar xzf "$archive" -C "$part/$class"
        done
      fi
    fi
    find "$part/$class" -type f > files.txt
    LC_ALL=C sort -o files.txt files.txt
    awk -v n="$count" -v l="$label" 'NR <= n { print $0, l }' files.txt
    label=$((label + 1))
  done
)

# database NAME PART COUNT CLASS...
database() (
  name=$1
  shift
  list "$@" > "$work/$name.txt"
  rm -rf "$out/${name}_lmdb"
  "$convert" -shuffle "$work/" "$work/$name.txt" "$out/${name}_lmdb"
  echo "$out/${name}_lmdb: $(wc -l < "$work/$name.txt") images"
)

# shellcheck disable=SC2086  # classes are words
{
  database base_train train 100000 $base
  database base_test test 100000 $base
  database new_train train "$new_images" $new
  database new_test test 100000 $new
}
