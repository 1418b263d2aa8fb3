#!/usr/bin/env bash
# Installs the packages that a build needs and that are not there (Debian, Ubuntu). Does nothing
# when all are.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkg-config
  libprotobuf-dev protobuf-compiler libboost-dev libgoogle-glog-dev libgflags-dev
  libopenblas-openmp-dev liblmdb-dev libleveldb-dev libsnappy-dev libhdf5-dev
  libopencv-core-dev libopencv-imgproc-dev libopencv-imgcodecs-dev
  libgtest-dev zlib1g-dev python3
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get > /dev/null; then
  echo "install_dependencies.sh: this is no Debian or Ubuntu; install by hand: ${missing[*]}" >&2
  exit 1
fi
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
echo "Installing ${#missing[@]} package(s): ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
