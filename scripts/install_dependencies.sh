#!/usr/bin/env bash
# Installs the packages that a build needs and that are not there (Debian, Ubuntu). Does nothing
# when all are. With --sanitizers also what tests of memory and threads need, with --tests all that only
# tests need: old programs' OpenCV headers; images, drawings, plots and notebooks in Python, too.
set -euo pipefail

case ${1-} in
  "" | --tests | --sanitizers) ;;
  *) echo "usage: scripts/install_dependencies.sh [--tests | --sanitizers]" >&2; exit 1 ;;
esac

packages=(
  g++ cmake ninja-build
  libprotobuf-dev protobuf-compiler libboost-dev libgoogle-glog-dev libgflags-dev
  libopenblas-openmp-dev liblmdb-dev libleveldb-dev libsnappy-dev libhdf5-dev
  libopencv-core-dev libopencv-imgproc-dev libopencv-imgcodecs-dev
  libgtest-dev zlib1g-dev libdnnl-dev libopenmpi-dev openmpi-bin
  python3 python3-dev python3-numpy python3-protobuf python3-pytest pybind11-dev
)
if [ "${1-}" = --tests ]; then
  packages+=(
    libopencv-highgui-dev  # old programs include its header
    libboost-filesystem-dev libboost-thread-dev  # old programs call them
    python3-venv  # MkDocs goes into an environment of its own
    python3-pil python3-h5py python3-pydot graphviz python3-matplotlib python3-nbclient
    python3-ipykernel python3-sklearn python3-skimage
  )
fi
# Of older releases' Clang part of another package.
own_package_later=()
if [ -n "${1-}" ]; then
  packages+=(clang libomp-dev valgrind libc6-dbg)  # scripts/tests/sanitizers.sh, scripts/memcheck.sh
  own_package_later+=(libclang-rt-dev)
fi

# By dpkg's list of what is there: nothing to ask, nothing to wait for.
missing=() missing_later=()
if command -v dpkg-query > /dev/null; then
  installed=$(dpkg-query -W -f='${binary:Package} ${db:Status-Status}\n' 2> /dev/null |
    sed -n 's/^\([^ :]*\)[^ ]* installed$/\1/p')
  for package in "${packages[@]}"; do
    grep -qxF "$package" <<< "$installed" || missing+=("$package")
  done
  for package in "${own_package_later[@]}"; do
    grep -qxF "$package" <<< "$installed" || missing_later+=("$package")
  done
else
  echo "install_dependencies.sh: this is neither Debian nor Ubuntu, so nothing is installed; needed is" \
    "what these packages hold: ${packages[*]}" >&2
fi
[ ${#missing[@]} -gt 0 ] || [ ${#missing_later[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo > /dev/null; then
    echo "install_dependencies.sh: there is no sudo; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
[ ${#missing[@]} = 0 ] || "${as_root[@]}" apt-get update -qq
for package in "${missing_later[@]}"; do
  ! apt-cache show "$package" > /dev/null 2>&1 || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
echo "Installing ${#missing[@]} package(s): ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" < /dev/null > /dev/null
