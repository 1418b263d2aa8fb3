#!/usr/bin/env bash
# Configuring on machines that lack what this one may have, and what the summary says of it.
set -euo pipefail
root=$1 build=$2
source "$1/scripts/tests/lib/common.sh"
unset CUDACXX

# configure STATUS OPTIONS...: without the parts that this is not about, and, as CAFFE_NVCC is the empty
# path, without CUDA.
configure() {
  local status=$1
  shift
  rm -rf configured
  answers "$status" cmake -S "$root" -B configured -G Ninja -DCAFFE_NVCC= -DUSE_MPI=OFF \
    -DUSE_OPENCV=OFF -DUSE_HDF5=OFF -DBUILD_python=OFF -DBUILD_TESTING=OFF "$@"
}

configure 0
has out.txt "  CUDA  *off: nvcc was not found (CUDA 12 or 13; set CUDACXX or CUDA_HOME)$"
for part in MPI OPENCV HDF5 python; do has out.txt "  $part  *off$"; done

configure 1 -DUSE_CUDA=ON
has err.txt "USE_CUDA=ON: nvcc was not found"
configure 1 -DCAFFE_CPU_KERNELS=SOME
has err.txt "CAFFE_CPU_KERNELS"
configure 1 -DBUILD_TESTING=ON "-DTEST_PARTS=io;frobnication"
has err.txt "TEST_PARTS: src/caffe/test has no 'frobnication'"
