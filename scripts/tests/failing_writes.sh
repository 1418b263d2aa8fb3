#!/usr/bin/env bash
# Each call by which a program changes its files fails in turn, once or as on a disk that stays full:
# status 1 and one line with the file's path; each file is the old one or the new one, whole; nothing
# else is left behind. lib/failing_files.cpp makes them fail.
set -euo pipefail
root=$1 build=$2
source "$root/scripts/tests/lib/common.sh"
failing=$build/doubles/libfailing_files.so
if [ ! -e "$failing" ]; then
  echo "skipped: the build has no $failing"
  exit 77
fi
export OMP_NUM_THREADS=1 ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}

# is_whole FILE: of the new files; the same bytes, unless a command says how else to see it.
is_whole() { cmp -s "out/$1" "new/$1"; }

# check_files WHERE STATUS: no file is missing, torn or left over.
check_files() {
  local file
  for file in $(cd out && find . -mindepth 1 | sed 's|^./||'); do
    [ -e "new/$file" ] || fail "$1: out/$file is left behind"
    [ -d "out/$file" ] || is_whole "$file" && continue
    [ "$2" = 1 ] && cmp -s "out/$file" "old/$file" || fail "$1: out/$file is neither old nor new"
  done
  for file in $(cd old && find . -type f); do
    [ -f "out/$file" ] || fail "$1: $file is gone"
  done
}

# fails_well COMMAND...: it writes into out/ what is in old/ before.
calls=0
fails_well() {
  local way call status last where
  rm -rf new out
  cp -r old out
  runs "$@"
  mv out new
  for way in once full; do
    for ((call = 1; ; ++call)); do
      rm -rf out failed.txt
      cp -r old out
      status=0
      FAILING_FOLDER=$work/out FAILING_CALL=$call FAILING_WAY=$way FAILING_LOG=$work/failed.txt \
        LD_PRELOAD=$failing "$@" > out.txt 2> err.txt || status=$?
      [ -f failed.txt ] || break
      where="call $call ($(cat failed.txt), $way) of: $*"
      case $status in
        0) ;;
        1)
          last=$(grep -av '^[WI][0-9]* ' err.txt || true)
          [[ $last == *": "*out/* && $last != *$'\n'* ]] || fail "not one line with a path; $where" ;;
        *) fail "status $status; $where" ;;
      esac
      check_files "$where" $status
      calls=$((calls + 1))
    done
    [ "$call" -gt 1 ] && [ $status = 0 ] || fail "no call was to fail, or status $status: $*"
    echo "$way: $((call - 1)) calls of: ${*##*/}"
  done
}
# old_files COMMAND...: what out/ holds before: what this command makes.
old_files() {
  rm -rf old out
  mkdir out
  [ $# = 0 ] || runs "$@"
  mv out old
}

small_net
make_images 12 8

# Snapshots.
for format in BINARYPROTO HDF5; do
  for seed in 1 2; do
    echo "net: 'train.prototxt' base_lr: 0.01 lr_policy: 'fixed' max_iter: 2 snapshot: 1
      momentum: 0.9 random_seed: $seed snapshot_prefix: 'out/net' snapshot_format: $format" > solver.prototxt
    [ $seed = 2 ] || old_files "$caffe" train -solver solver.prototxt
  done
  fails_well "$caffe" train -solver solver.prototxt
done

# Tables, means, and nets in another precision.
calibrates="$caffe calibrate $net -calibration_table out/net.table"
old_files $calibrates -npy rows.npy
fails_well $calibrates -images list.txt -mean 100 -scale 0.5
migrates="$build/tools/upgrade_net_fp16 -input net.prototxt -model net.caffemodel -skip_check -output out/half.caffemodel"
old_files $migrates -to fp32
fails_well $migrates

# Databases, which are there as a whole or not at all.
old_files
is_whole() {
  case $1 in
    */data.mdb) cmp -s "out/$1" "new/$1" ;;
    *) true ;;
  esac
}
fails_well "$build/tools/convert_imageset" ./ list.txt out/images
mv new/images images
is_whole() {
  rm -rf copy
  cp -r out/images copy
  runs "$build/tools/compute_image_mean" -backend leveldb copy mean
  cmp -s mean leveldb.mean
}
runs "$build/tools/convert_imageset" -backend leveldb ./ list.txt leveldb
runs "$build/tools/compute_image_mean" -backend leveldb leveldb leveldb.mean
fails_well "$build/tools/convert_imageset" -backend leveldb ./ list.txt out/images
is_whole() { cmp -s "out/$1" "new/$1"; }
fails_well "$build/tools/compute_image_mean" images out/mean.binaryproto

# A plan and its timing cache. Times differ, so the files do: plans are loaded.
is_whole() {
  case $1 in
    *.plan) "$caffe" inspect -plan "out/$1" > /dev/null 2>&1 ;;
    *) [ -s "out/$1" ] ;;
  esac
}
builds="$caffe build $net -timing_iterations 1 -plan out/net.plan -timing_cache out/times"
old_files $builds
fails_well $builds -max_batch 1

# What is printed.
for command in layers --help "completion bash"; do
  refuses '^caffe: standard output: writing failed' sh -c "'$caffe' $command > /dev/full"
  [ "$(wc -l < err.txt)" = 1 ] || fail "more than a line of: $command"
done
echo "note: $calls failing calls, each with a message and whole files"
