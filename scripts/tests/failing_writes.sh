#!/usr/bin/env bash
# Each call by which a program changes its files fails in turn, once or as on a disk that stays full
# (lib/failing_files.cpp makes them fail), and so does a file system that is read-only or really full:
# status 1 and one line with the file's path; each file is the old one or the new one, whole; nothing
# else is left behind.
set -euo pipefail
root=$1 build=$2
# File systems are mounted where no other process sees them.
if [ -z "${MOUNTS-}" ]; then
  export MOUNTS=no
  for user in "" "--user --map-root-user"; do
    # shellcheck disable=SC2086 # none, or two words
    if unshare $user --mount true 2> /dev/null; then
      MOUNTS=yes exec unshare $user --mount "$0" "$@"
    fi
  done
  echo "note: nothing can be mounted here: no file system is read-only or really full"
fi
source "$root/scripts/tests/lib/common.sh"
trap 'umount "$work/disk" 2> /dev/null || true; rm -rf "$work"' EXIT
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

# one_line WHERE: of what the program wrote to stderr, log lines apart, with the path of a file in out/.
one_line() {
  local last
  last=$(grep -av '^[WIE][0-9]* ' err.txt || true)
  [[ $last == *": "*out/* && $last != *$'\n'* ]] || fail "not one line with a path; $1"
}

# kilobytes FOLDER: that its files take in pages.
kilobytes() { find "$1" -type f -printf '%s\n' | awk '{ n += int(($1 + 4095) / 4096) * 4 } END { print n + 0 }'; }

# on_disk OPTION ROOM COMMAND...: runs it with out/ on a file system that is mounted with this option
# and has this many kilobytes left.
disks=0
on_disk() {
  local option=$1 room=$2 where status=0
  shift 2
  where="$option, $room KiB left; $*"
  rm -rf out
  mkdir -p disk
  mount -t tmpfs -o "size=$((4 + $(kilobytes old) + room))k" tmpfs disk
  head -c 4096 /dev/zero > disk/filler # a tmpfs of no size has no limit
  cp -r old disk/out
  mount -o "remount,$option" disk
  ln -s disk/out out
  "$@" > out.txt 2> err.txt || status=$?
  case $status in
    0) [ "$room" != 0 ] || fail "status 0; $where" ;;
    1) one_line "$where" ;;
    *) fail "status $status; $where" ;;
  esac
  check_files "$where" $status
  umount disk
  rm out
  disks=$((disks + 1))
}

# makes_new COMMAND...: new/ is what it makes of old/.
makes_new() {
  rm -rf new out
  cp -r old out
  runs "$@"
  mv out new
}

# fails_on_disks COMMAND...: it writes into out/ what is in old/ before, or on a disk without room.
fails_on_disks() {
  local needed part
  [ "$MOUNTS" = yes ] || return 0
  on_disk ro 0 "$@"
  needed=$(kilobytes new)
  for part in 0 1 2 3; do
    on_disk rw $((needed * part / 16 * 4)) "$@"
  done
}

# fails_well COMMAND...: the same, and each of its calls fails.
calls=0 way=disk
fails_well() {
  local call status where
  makes_new "$@"
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
        1) one_line "$where" ;;
        *) fail "status $status; $where" ;;
      esac
      check_files "$where" $status
      calls=$((calls + 1))
    done
    [ "$call" -gt 1 ] && [ $status = 0 ] || fail "no call was to fail, or status $status: $*"
    echo "$way: $((call - 1)) calls of: ${*##*/}"
  done
  way=disk
  fails_on_disks "$@"
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

# Descriptions, weights and features.
old_files
for tool in upgrade_net_proto_text upgrade_solver_proto_text; do
  file=net.prototxt
  [ $tool = upgrade_net_proto_text ] || file=solver.prototxt
  makes_new "$build/tools/$tool" $file out/upgraded
  fails_on_disks "$build/tools/$tool" $file out/upgraded
done
makes_new "$build/tools/upgrade_net_proto_binary" net.caffemodel out/upgraded
fails_on_disks "$build/tools/upgrade_net_proto_binary" net.caffemodel out/upgraded
sed 's/type: "Input" top: "data"/type: "ImageData" top: "data" top: "label"/
  s/input_param.*/image_data_param { source: "list.txt" batch_size: 4 } }/' net.prototxt > features.prototxt
is_whole() { [ "$1" != features/data.mdb ] || cmp -s "out/$1" "new/$1"; }
extracts="$build/tools/extract_features net.caffemodel features.prototxt fc out/features 3 lmdb"
makes_new $extracts
fails_on_disks $extracts

# Rows of a net, which come pass by pass: the file has those of the first passes. On a disk that is full
# in the middle of what it has already, as no real one is, the file may be damaged.
for passes in 0 1 2 3; do
  echo "net: 'rows.prototxt' base_lr: 0 lr_policy: 'fixed' max_iter: $passes random_seed: 1
    snapshot_prefix: 'rows' snapshot_after_train: false" > solver.prototxt
  echo 'layer { name: "images" type: "ImageData" top: "data" top: "label"
      image_data_param { source: "list.txt" batch_size: 4 } }
    layer { name: "rows" type: "HDF5Output" bottom: "data" bottom: "label"
      hdf5_output_param { file_name: "out/rows.h5" } }' > rows.prototxt
  old_files "$caffe" train -solver solver.prototxt
  mv old/rows.h5 rows$passes.h5
done
is_whole() {
  local rows
  [ $way != full ] || return 0
  for rows in rows?.h5 /dev/null; do
    ! cmp -s "out/$1" $rows || return 0
  done
  return 1
}
fails_well "$caffe" train -solver solver.prototxt
is_whole() { cmp -s "out/$1" "new/$1"; }

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

# A log is not worth a training.
if [ "$MOUNTS" = yes ]; then
  mkdir -p disk out
  mount -t tmpfs -o ro tmpfs disk
  runs env GLOG_minloglevel=0 GLOG_log_dir=disk "$caffe" train -solver solver.prototxt
  grep -aqi 'could not create.*file: Read-only' err.txt || fail "no word of the log file"
  umount disk
fi

# What is printed.
for command in layers --help "completion bash"; do
  refuses '^caffe: standard output: writing failed' sh -c "'$caffe' $command > /dev/full"
  [ "$(wc -l < err.txt)" = 1 ] || fail "more than a line of: $command"
done
echo "note: $calls failing calls and $disks file systems without room, each with a message and whole files"
