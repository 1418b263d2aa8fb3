# What tests of programs have in common; sourced with the build folder as $build. Works in a new
# folder, which is gone at the end.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
: > out.txt
: > err.txt
caffe=$build/tools/caffe
export GLOG_minloglevel=1

# Says what is wrong, shows what the last command wrote, and ends the test.
fail() {
  echo "$1"
  cat out.txt err.txt
  exit 1
}

# has FILE PATTERN: the file has a line with this pattern. What Open MPI 5 passes on may hold zeros,
# which make it a binary file to grep without -a.
has() { grep -aq -- "$2" "$1" || fail "no '$2' in $1"; }
# lacks FILE PATTERN: it has none.
lacks() { [ -e "$1" ] && ! grep -aq -- "$2" "$1" || fail "'$2' in $1"; }

# answers STATUS COMMAND...: runs a command that ends with this status; what it writes is in out.txt
# and err.txt.
answers() {
  local wanted=$1 status=0
  shift
  "$@" > out.txt 2> err.txt || status=$?
  [ "$status" = "$wanted" ] || fail "status $status, not $wanted, of: $*"
}
# runs COMMAND...: succeeds.
runs() { answers 0 "$@"; }

# refuses PATTERN COMMAND...: status 1, and the last line of stderr has this pattern.
refuses() {
  local wanted=$1
  shift
  answers 1 "$@"
  tail -n 1 err.txt | grep -aq -e "$wanted" || fail "no '$wanted' from: $*"
}

# built_python: the interpreter that the build's Python module is for; nothing without one.
built_python() { sed -n 's/^_Python_EXECUTABLE:INTERNAL=//p' "$build/CMakeCache.txt"; }

# seed_random WHAT: RANDOM goes by the seed CAFFE_TEST_SEED (1 where it is not set, "random": a fresh
# one), which is $seed then; a line names it, behind WHAT.
seed_random() {
  seed=${CAFFE_TEST_SEED:-1}
  [ "$seed" != random ] || seed=$RANDOM
  RANDOM=$seed
  echo "$1 CAFFE_TEST_SEED=$seed"
}

# newest: the solver state net_iter_... of the current folder with the highest iteration, if any.
newest() { find . -name 'net_iter_*.solverstate*' ! -name '*.tmp.*' | sort -t_ -k3 -n | tail -n 1; }

# uses_mpirun WHAT: "${mpirun[@]}" COUNT COMMAND... starts ranks on this machine alone, that share its
# cores; ends the test where there is no mpirun: WHAT is not tested.
uses_mpirun() {
  if ! command -v mpirun > /dev/null; then
    echo "there is no mpirun (Debian: openmpi-bin): $1 not tested"
    exit 77
  fi
  export OMP_NUM_THREADS=1 OMPI_MCA_rmaps_base_oversubscribe=1
  # No network: what one machine's processes share is enough.
  export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
  # Ranks that wait leave the cores to others.
  export OMPI_MCA_mpi_yield_when_idle=1
  mpirun=(timeout -k 5 300 mpirun --allow-run-as-root --oversubscribe --bind-to none -n)
}

# make_images COUNT SIDE: 0.png, 1.png, ..., square ones of noise, the same ones each time; list.txt, a
# line "0.png LABEL" for each with labels 0, 1, 2, 0, ...; rows.npy, which has them as rows of (3,
# SIDE, SIDE), red first, less 100.
make_images() {
  python3 - "$1" "$2" <<'PYTHON'
import random
import struct
import sys
import zlib
count, side = int(sys.argv[1]), int(sys.argv[2])
random.seed(1)
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = []
for number in range(count):
    pixels = [[[random.randrange(256) for _ in range(3)] for _ in range(side)] for _ in range(side)]
    data = b''.join(b'\0' + bytes(sum(row, [])) for row in pixels)
    with open(f'{number}.png', 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' +
                   chunk(b'IHDR', struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0)) +
                   chunk(b'IDAT', zlib.compress(data)) + chunk(b'IEND', b''))
    rows += [pixels[y][x][c] - 100. for c in range(3) for y in range(side) for x in range(side)]
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 3, {side}, {side}), }}"
header += ' ' * (-(10 + len(header) + 1) % 64) + '\n'
with open('rows.npy', 'wb') as file:
    file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() +
               struct.pack(f'<{len(rows)}f', *rows))
with open('list.txt', 'w') as file:
    file.writelines(f'{number}.png {number % 3}\n' for number in range(count))
PYTHON
}

# small_net: net.prototxt, net.caffemodel, and $net, the flags that name them. Two images of
# 3 x 8 x 8 in, probabilities of five classes out. The weights do not change from run to run.
small_net() {
  cat > net.prototxt <<'TEXT'
name: "small"
layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" batch_norm_param { eps: 1e4 } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "drop" type: "Dropout" bottom: "conv" top: "conv" }
layer { name: "fc" type: "InnerProduct" bottom: "conv" top: "fc"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" }
TEXT
  # Training for no iteration writes what the fillers make.
  {
    sed '/type: "Softmax"/d' net.prototxt
    echo 'layer { name: "sum" type: "Reduction" bottom: "fc" top: "sum" loss_weight: 1 }'
  } > train.prototxt
  echo 'net: "train.prototxt" base_lr: 0 lr_policy: "fixed" max_iter: 0 random_seed: 7
    snapshot_prefix: "net"' > solver.prototxt
  runs "$caffe" train -solver solver.prototxt
  mv net_iter_0.caffemodel net.caffemodel
  net="-model net.prototxt -weights net.caffemodel"
}
