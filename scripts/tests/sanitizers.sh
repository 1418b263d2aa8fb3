#!/usr/bin/env bash
# Part of the unit tests with sanitizers: what reads files with AddressSanitizer and
# UndefinedBehaviorSanitizer, what runs in several threads with ThreadSanitizer. All of them:
# scripts/test.sh --sanitize.
set -euo pipefail
root=$1 build=$2
if [ "${CAFFE_SLOW_TESTS:-}" = 0 ]; then
  echo "skipped: builds the library twice, and CAFFE_SLOW_TESTS is 0"
  exit 77
fi
# A machine that takes so long for the rest takes half an hour for this.
if [ "${CAFFE_SLOW_TESTS:-}" != 1 ] && [ "${CAFFE_TEST_MINUTES:-0}" -gt 50 ]; then
  echo "skipped: builds the library twice, and the tests have taken $CAFFE_TEST_MINUTES minutes so far"
  exit 77
fi
source "$1/scripts/tests/lib/common.sh"
source "$1/scripts/tests/lib/sanitizers.sh"
source "$1/scripts/tests/lib/shards.sh"
sanitizer_environment
export OMP_NUM_THREADS=2 CAFFE_SLOW_TESTS=0

# sanitized FOLDER WHAT PARTS: these folders and files of src/caffe/test. What is compiled without
# optimization, in half the time, is tested once only.
ran=
sanitized() {
  local why folder=$build/sanitizers/$1
  why=$(why_unsanitized "$2")
  if [ -n "$why" ]; then
    echo "note: not with $1: $why"
    return 0
  fi
  options=()
  sanitizer_options "$2"
  runs env TARGETS=caffe_tests "$root/scripts/build.sh" "$folder" "${options[@]}" \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -g1" -DUSE_ONEDNN=OFF -DUSE_MPI=OFF "-DTEST_PARTS=$3"
  pass_in_shards "$work/$1" "$folder/caffe_tests" --gtest_color=no --gtest_brief=1 \
    --gtest_filter="*-$(sanitizer_skips "$2")" || fail "with $1"
  ran=1
}

# Of undefined behavior not pointers that are null, misaligned or of another type: a third of the time of
# a build, and AddressSanitizer sees most of it.
sanitized address \
  address,bool,bounds,enum,integer-divide-by-zero,return,shift,signed-integer-overflow,unreachable \
  "core;data;io;tools;util;inference/test_damaged_plans.cpp;inference/test_calibration_table.cpp"
sanitized thread thread "core/test_context.cpp;core/test_blocking_queue.cpp;core/test_internal_thread.cpp;\
core/test_tensor.cpp;data/test_data_reader.cpp;parallel;util/test_progress.cpp;util/test_thread_team.cpp;\
inference/test_execution_context.cpp;inference/test_latency.cpp;layers/test_data_layer.cpp;\
layers/test_image_data_layer.cpp;layers/test_annotated_data_layer.cpp"
[ -n "$ran" ] || { echo "skipped: no sanitizer can be used here"; exit 77; }
echo "sanitizers: passed"
