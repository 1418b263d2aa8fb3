#!/usr/bin/env bash
# Programs as people wrote them for BVLC Caffe 1.0 compile against the install tree without warnings
# from its headers, and work, in a FLOAT16 net too.
set -euo pipefail
root=$1 build=$2
# Always the same folder, so that a compiler cache knows what it has compiled before.
work=$build/old_programs
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
options=(-DCMAKE_PREFIX_PATH="$work/caffe" -DCMAKE_BUILD_TYPE=Debug)
# A layer with a .cu file, where the library was built with CUDA.
nvcc=$(sed -n "s/^CAFFE_NVCC:[^=]*=//p" "$build/CMakeCache.txt")
if [ -n "$nvcc" ]; then
  options+=("-DCMAKE_CUDA_COMPILER=$nvcc"
    "-DCMAKE_CUDA_ARCHITECTURES=$(sed -n 's/^CMAKE_CUDA_ARCHITECTURES:[^=]*=//p' "$build/CMakeCache.txt")")
fi
if command -v ccache > /dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

cmake --install "$build" --prefix "$work/caffe" > /dev/null
cp -r "$work/caffe/include" "$work/headers"
cmake -S "$root/src/caffe/test/old_programs" -B "$work/build" "${options[@]}" -DROOT="$root" \
  -DHEADERS="$work/headers"
cmake --build "$work/build" -j "$(nproc)"
cmake -S "$root/examples/custom_layer" -B "$work/custom_layer" "${options[@]}"
cmake --build "$work/custom_layer"

# Every program on its net as it is, and with activations and weights stored in half precision.
export GLOG_minloglevel=2
for type in FLOAT FLOAT16; do
  mkdir "$work/$type"
  cd "$work/$type"
  for net in "$root"/src/caffe/test/old_programs/nets/*.prototxt; do
    case $net in
      *solver.prototxt) cp "$net" . ;;
      *) { echo "default_forward_type: $type"; cat "$net"; } > "$(basename "$net")" ;;
    esac
  done
  run() {
    echo "$type: $*"
    "$work/build/$@"
  }
  run custom_layer custom_layers.prototxt
  run custom_data_layer custom_data.prototxt
  run memory_data memory_data.prototxt
  run custom_loss_layer custom_loss_solver.prototxt
  run custom_solver train.prototxt
  run raw_memory classifier.prototxt
  run replaced_layers replaced_layers.prototxt
  run write_model classifier.prototxt net.caffemodel mean.binaryproto image.png
  run shared_weights classifier.prototxt net.caffemodel
  run transitive_includes classifier.prototxt > /dev/null
  run reader_data_layer reader_data.prototxt records
  run ssd_data_layer ssd_data.prototxt annotated_records
  run nv_classification classifier.prototxt net.caffemodel > /dev/null
  run nv_pose classifier.prototxt net.caffemodel
  run nv_train train.prototxt
  if [ -e "$work/build/gpu_layer" ]; then run gpu_layer gpu_layer.prototxt; fi
  if [ -e image.png ]; then
    run write_model detector.prototxt detector.caffemodel mean.binaryproto image.png
    for program in ssd_detect nv_ssd_detect; do
      run $program detector.prototxt detector.caffemodel mean.binaryproto image.png > $program.txt
    done
    grep '^image.png 1 ' ssd_detect.txt > /dev/null
    diff <(tail -n +2 ssd_detect.txt) <(tail -n +2 nv_ssd_detect.txt)
    printf 'cat\ndog\nbird\n' > labels.txt
    run classification classifier.prototxt net.caffemodel mean.binaryproto labels.txt image.png \
      > prediction.txt
    grep -q -- '---------- Prediction for image.png ----------' prediction.txt
    [ "$(grep -c '^[01]\.[0-9]\{4\} - "\(cat\|dog\|bird\)"$' prediction.txt)" = 3 ]
    echo cat > labels.txt
    if run classification classifier.prototxt net.caffemodel mean.binaryproto labels.txt image.png
    then
      echo "classification took one label for three classes"
      exit 1
    fi
  fi
  { echo "default_forward_type: $type"; cat "$root/examples/custom_layer/net.prototxt"; } > net.prototxt
  "$work/custom_layer/custom_layer" net.prototxt > angles.txt
  grep -q '^135' angles.txt
  # In an engine, from its plan, in two contexts.
  "$work/custom_layer/custom_layer" net.prototxt net.plan > engine_angles.txt
  cat angles.txt angles.txt | diff - engine_angles.txt
done
# The log says which layers are the program's, in lines with Caffe's prefix, though the program only
# starts glog; the environment can ask for the year.
replaced_layers() {
  env GLOG_minloglevel=0 GLOG_logtostderr=1 "$@" "$work/build/replaced_layers" \
    "$root/src/caffe/test/old_programs/nets/replaced_layers.prototxt" 2> log.txt
}
replaced_layers
for type in ReLU6 DepthwiseConvolution Permute; do
  prefix='^I[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} +[0-9]+ layer_factory\.cpp:[0-9]+\] '
  [ "$(grep -cE "${prefix}Layer type $type is the one that was registered outside" log.txt)" = 1 ] ||
    { echo "no line, or several, about $type"; cat log.txt; exit 1; }
done
replaced_layers GLOG_log_year_in_prefix=1
grep -qE '^I[0-9]{8} ' log.txt || { echo "GLOG_log_year_in_prefix=1 is not heard"; exit 1; }
"$work/build/gradient_check" --gtest_brief=1
"$work/build/configured_gradient_check" --gtest_brief=1
# Behind caffe/nvcaffe.hpp nothing of Caffe's may be declared: it would land in namespace nvcaffe.
"$work/build/nvcaffe_headers"
awk '/^# [0-9]+ "/ { file = $3 }
  /^ *namespace nvcaffe/ && file !~ /caffe\/nvcaffe/ { print file ": " $0; found = 1 }
  END { exit found }' "$(find "$work/build" -name 'nvcaffe_headers*.ii')"
"$work/build/all_headers"
