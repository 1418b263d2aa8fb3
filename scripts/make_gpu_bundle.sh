#!/usr/bin/env bash
# Makes a folder, and an archive of it, with which a machine that has an NVIDIA GPU, its driver, CUDA
# and cuDNN libraries and nothing else runs the GPU tests and benchmarks: run.sh in it.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/make_gpu_bundle.sh [ARCH] [--build-dir DIR] [--out DIR] [--data DIR] [--no-build]

  ARCH             the GPU's architecture (default 90: H100, H200); 80 A100, 89 L4, 120 RTX 50
  --build-dir DIR  where to build (default: build-gpu-ARCH)
  --out DIR        where the folder caffe-gpu-ARCH and its .tar.xz go (default: the build folder)
  --data DIR       databases to train on: DIR/mnist and DIR/cifar10 as examples/ has them once its
                   create_mnist.sh and create_cifar10.sh have run, or cut down to some thousand
                   records (convert_imageset): the archive may have 60 MB at most
  --no-build       bundle what the build folder has

CMAKE_OPTIONS in the environment is given to cmake, too.

example:
  scripts/make_gpu_bundle.sh 90
  scp build-gpu-90/caffe-gpu-90.tar.xz gpu-machine: && ssh gpu-machine \
    'tar xf caffe-gpu-90.tar.xz && caffe-gpu-90/run.sh'
TEXT
}

die() {
  echo "make_gpu_bundle.sh: $*" >&2
  exit 1
}

root=$(cd "$(dirname "$0")/.." && pwd)
arch=90 build= out= data= make=yes
while [ $# -gt 0 ]; do
  case $1 in
    --build-dir | --out | --data) [ $# -ge 2 ] || die "$1 needs a value; --help shows how" ;;
  esac
  case $1 in
    --build-dir) mkdir -p "$2"; build=$(cd "$2" && pwd); shift 2 ;;
    --out) mkdir -p "$2"; out=$(cd "$2" && pwd); shift 2 ;;
    --data)
      [ -d "$2/mnist" ] && [ -d "$2/cifar10" ] || die "$2 has no folders mnist and cifar10"
      data=$(cd "$2" && pwd); shift 2 ;;
    --no-build) make=no; shift ;;
    -h | --help | -help) usage; exit 0 ;;
    [0-9]*)
      [[ $1 =~ ^[0-9]+[af]?$ ]] || die "ARCH is a number like 90, not '$1'"
      arch=$1; shift ;;
    *) die "unknown argument '$1'; --help shows what there is" ;;
  esac
done
build=${build:-$root/build-gpu-$arch}
out=${out:-$build}
limit_mb=60

if [ "$make" = yes ]; then
  # Without what the GPU's tests do not need and what is large.
  cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DUSE_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES="$arch" -DBUILD_python=OFF -DUSE_OPENCV=OFF -DUSE_HDF5=OFF \
    -DUSE_LEVELDB=OFF -DUSE_ONEDNN=OFF -DUSE_MPI=OFF ${CMAKE_OPTIONS:-}
  cmake --build "$build" -j "$(nproc)" \
    --target caffe_tests tool_caffe tool_caffe_exec net_benchmark
fi
[ -e "$build/CMakeCache.txt" ] || die "$build has no build; leave out --no-build"
grep -q "^CMAKE_CUDA_ARCHITECTURES:[^=]*=.*$arch" "$build/CMakeCache.txt" ||
  die "$build was not built for architecture $arch"

name=caffe-gpu-$arch
bundle=$out/$name
rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/models"

# Programs, without the symbols that only a debugger needs.
programs=()
tests=$(find "$build" -maxdepth 2 -name caffe_tests -type f -perm -u+x | head -1)
for file in "${tests:-caffe_tests}" "$build"/tools/{caffe,caffe_exec} "$build/benchmarks/net_benchmark"; do
  [ -f "$file" ] || die "$build has no $(basename "$file"); leave out --no-build"
  programs+=("$file")
done
for file in "${programs[@]}"; do strip -o "$bundle/bin/$(basename "$file")" "$file"; done

# Their shared libraries, but for those of glibc, which go with the machine's kernel, and of CUDA,
# cuDNN and the driver, which the machine has.
theirs='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nsl|anl|BrokenLocale)\.so.*'
theirs+='|lib(cuda|cudart|cublas|cublasLt|curand|cudnn.*|nccl|nvrtc.*|nvJitLink|nvidia-.*)\.so.*)$'
ldd "${programs[@]}" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  while read -r library; do
    file=$(basename "$library")
    if [[ ! $file =~ $theirs ]]; then strip --strip-unneeded -o "$bundle/lib/$file" "$library"; fi
  done
ldd "${programs[@]}" | grep 'not found' && die "a library of these programs is missing here"

for net in lenet cifar10_quick bvlc_alexnet bvlc_googlenet resnet50 mobilenet_v2 vgg16 ssd300_vgg16; do
  mkdir "$bundle/models/$net"
  cp "$root/models/$net"/*.prototxt "$bundle/models/$net/"
done
if [ -n "$data" ]; then
  mkdir "$bundle/examples"
  cp -r "$data/mnist" "$data/cifar10" "$bundle/examples/"
fi
install -m 755 "$root/scripts/gpu_bundle/run.sh" "$bundle/run.sh"
install -m 644 "$root/scripts/gpu_bundle/peers.py" "$bundle/peers.py"
{
  echo "architecture $arch"
  git -C "$root" log -1 --format='commit %h of %cs' 2> /dev/null || true
} > "$bundle/contents.txt"

tar -C "$out" -c "$name" | xz -T0 -6 > "$out/$name.tar.xz"
megabytes=$(( ($(stat -c %s "$out/$name.tar.xz") + 999999) / 1000000 ))
echo "$out/$name.tar.xz: $megabytes MB"
[ "$megabytes" -le "$limit_mb" ] || die "that is more than the $limit_mb MB which a bundle may have"
