#!/usr/bin/env bash
# Two ranks that mpirun starts train as one with twice the batch, and end together.
set -euo pipefail
root=$1 build=$2
source "$1/scripts/tests/lib/common.sh"
export GLOG_minloglevel=0
uses_mpirun "training with several ranks is"

cat > layers.prototxt <<'TEXT'
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "fc" type: "InnerProduct" bottom: "conv" top: "fc"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "fc" bottom: "label" top: "accuracy"
  include { phase: TEST } }
TEXT
# net FILE KIND BATCH: a net on KIND (lmdb, list, hdf5), tested in batches of 4.
net() {
  local phase batch
  for phase in TRAIN TEST; do
    batch=$3
    [ "$phase" = TRAIN ] || batch=4
    case $2 in
      lmdb) echo "layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: $phase }
        transform_param { scale: 0.01 mirror: true crop_size: 6 }
        data_param { source: 'images_lmdb' batch_size: $batch backend: LMDB } }" ;;
      list) echo "layer { name: 'd' type: 'ImageData' top: 'data' top: 'label'
        include { phase: $phase } transform_param { scale: 0.01 }
        image_data_param { source: 'list.txt' batch_size: $batch shuffle: true } }" ;;
      hdf5) echo "layer { name: 'd' type: 'HDF5Data' top: 'data' top: 'label'
        include { phase: $phase } hdf5_data_param { source: 'rows.txt' batch_size: $batch } }" ;;
    esac
  done > "$1"
  cat layers.prototxt >> "$1"
}
# solver FILE NET [FIELDS]
solver() {
  echo "net: '$2' base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.001 max_iter: 8
    display: 1 test_interval: 4 test_iter: 6 random_seed: 3 snapshot_prefix: '${1%.prototxt}' ${3-}" > "$1"
}
# shown FILE: iterations, losses and scores of a log, a line each.
shown() {
  sed -n 's/.*] Iteration \([0-9]*\).*, loss = \(.*\)/iteration \1 \2/p
    s/.*\(T[a-z]* net output #[0-9]*: [a-z]* = [^ ]*\).*/\1/p' "$1"
}
# alike FILE FILE: the same lines, the numbers at their ends to 1e-6.
alike() {
  shown "$1" > a.txt
  shown "$2" > b.txt
  [ "$(wc -l < a.txt)" -ge 20 ] || fail "$1 has too few losses"
  paste -d '|' a.txt b.txt | awk -F '|' '
    { n = split($1, a, " "); m = split($2, b, " "); d = a[n] - b[m]; if (d < 0) d = -d
      x = a[n]; y = b[m]; sub(/[^ ]*$/, "", $1); sub(/[^ ]*$/, "", $2)
      if ($1 != $2 || y == "" || d > 1e-6 * (1 + (x < 0 ? -x : x))) { print $1 x " and " $2 y; bad = 1 } }
    END { exit bad }' || fail "$1 and $2 differ"
}

make_images 24 8
runs "$build/tools/convert_imageset" --backend lmdb "$work/" list.txt images_lmdb
net alone.prototxt lmdb 8
net both.prototxt lmdb 4
solver alone_solver.prototxt alone.prototxt
solver both_solver.prototxt both.prototxt
runs "$caffe" train -solver alone_solver.prototxt
mv err.txt alone.txt

# A libcaffe without MPI must not train a net in each process.
answers_any() { "$@" > out.txt 2> err.txt || true; }
answers_any "${mpirun[@]}" 2 "$caffe" train -solver both_solver.prototxt
if grep -q 'built without MPI' err.txt; then
  echo "libcaffe is built without MPI: training with several ranks is not tested"
  exit 77
fi
mv err.txt both.txt
has both.txt 'Training with 2 ranks'
has both.txt "Effective batch of layer 'd': 8 (4 on each of 2 ranks)"
has both.txt 'each of the 2 ranks tests its share'
[ "$(grep -c 'Optimization Done' both.txt)" = 2 ] || fail "not rank 0 alone logs"
alike alone.txt both.txt
[ -f both_solver_iter_8.solverstate ] || fail "no snapshot"

# The batch of all ranks; messages of one parameter each; more passes, clipped.
sed 's/^layer { name: .conv/reduce_buckets: 0\n&/' alone.prototxt > buckets.prototxt
solver host_solver.prototxt buckets.prototxt
runs "${mpirun[@]}" 2 "$caffe" train -solver host_solver.prototxt -batch_per host
mv err.txt host.txt
has host.txt 'averaged in 4 messages'
alike alone.txt host.txt
solver alone_solver.prototxt alone.prototxt 'iter_size: 2 clip_gradients: 0.3'
solver both_solver.prototxt both.prototxt 'iter_size: 2 clip_gradients: 0.3'
runs "$caffe" train -solver alone_solver.prototxt
mv err.txt alone2.txt
runs "${mpirun[@]}" 2 "$caffe" train -solver both_solver.prototxt
mv err.txt both2.txt
alike alone2.txt both2.txt

# Other sources.
kinds=list
if python3 -c 'import h5py' 2> /dev/null; then
  python3 - <<'PYTHON'
import h5py
import numpy
random = numpy.random.RandomState(1)
with h5py.File('rows.h5', 'w') as file:
    file['data'] = random.rand(24, 3, 8, 8).astype('float32')
    file['label'] = (numpy.arange(24) % 3).astype('float32')
PYTHON
  echo rows.h5 > rows.txt
  kinds="list hdf5"
fi
for kind in $kinds; do
  net kind_alone.prototxt $kind 8
  net kind_both.prototxt $kind 4
  solver kind_alone_solver.prototxt kind_alone.prototxt
  solver kind_both_solver.prototxt kind_both.prototxt
  runs "$caffe" train -solver kind_alone_solver.prototxt
  mv err.txt kind_alone.txt
  runs "${mpirun[@]}" 2 "$caffe" train -solver kind_both_solver.prototxt
  mv err.txt kind_both.txt
  alike kind_alone.txt kind_both.txt
done

# A run that is resumed shows what it would have shown.
solver whole_solver.prototxt both.prototxt 'snapshot: 4'
runs "${mpirun[@]}" 2 "$caffe" train -solver whole_solver.prototxt
shown err.txt | sed -n '/^iteration 4/,$p' | grep -v '^iteration 8' > whole.txt
runs "${mpirun[@]}" 2 "$caffe" train -solver whole_solver.prototxt -snapshot whole_solver_iter_4.solverstate
shown err.txt | sed -n '/^iteration 4/,$p' | grep -v '^iteration 8' | diff whole.txt - ||
  fail "a resumed run shows something else"

# mpirun passes on what ranks write in blocks that end within a line: a rank's log would cut what
# another complains of.
export GLOG_minloglevel=2
# complains PATTERN COMMAND...: status 1, and one line of caffe's says why, with this pattern. Nothing
# hangs. A rank that another's end ends may have a line of its own.
complains() {
  local wanted=$1
  shift
  answers 1 "${mpirun[@]}" 2 "$@"
  [ "$(grep -a '^caffe: ' err.txt | grep -vc '^caffe: rank . of 2 ends ')" = 1 ] ||
    fail "not one line of caffe's"
  grep -a '^caffe: ' err.txt | grep -q -e "$wanted" || fail "no '$wanted' from: $*"
}
complains "-batch_per card: valid are device and host" \
  "$caffe" train -solver both_solver.prototxt -batch_per card
net odd.prototxt lmdb 5
solver odd_solver.prototxt odd.prototxt
complains "layer 'd' (Data): data_param: batch_size 5 cannot be divided among 2 ranks" \
  "$caffe" train -solver odd_solver.prototxt -batch_per host
complains "-rank_timeout -1 is below 0" "$caffe" train -solver both_solver.prototxt -rank_timeout -1
complains "no_such.prototxt" "$caffe" train -solver no_such.prototxt
complains "no_such.solverstate" "$caffe" train -solver both_solver.prototxt -snapshot no_such.solverstate
head -c 1000 /dev/urandom > garbage.solverstate
complains "garbage.solverstate" "$caffe" train -solver both_solver.prototxt -snapshot garbage.solverstate
# An image of rank 1's that is missing when its turn comes.
cp list.txt good.txt
sed '6s/5.png/gone.png/' good.txt > list.txt
net gone.prototxt list 4
sed -i 's/shuffle: true//' gone.prototxt
solver gone_solver.prototxt gone.prototxt
complains "gone.png" "$caffe" train -solver gone_solver.prototxt
has err.txt 'caffe: rank 0 of 2 ends at iteration '
cp good.txt list.txt

# A rank that is killed ends the others, which say where training can be resumed.
solver long_solver.prototxt both.prototxt 'snapshot: 100'
sed -i 's/max_iter: 8/max_iter: 100000000/; s/display: 1/display: 100/; s/test_interval: 4/test_interval: 0/; s/test_iter: 6//' long_solver.prototxt
cat > one_dies.sh <<TEXT
#!/usr/bin/env bash
if [ "\$OMPI_COMM_WORLD_RANK" = 1 ]; then
  (for _ in {1..500}; do [ ! -e long_solver_iter_100.solverstate ] || break; sleep 0.2; done
    kill -9 \$\$) &
fi
exec "$caffe" train -solver long_solver.prototxt
TEXT
chmod +x one_dies.sh
status=0
# Open MPI kills those that are left after a second, which a busy machine may need for their last lines.
OMPI_MCA_odls_base_sigkill_timeout=30 "${mpirun[@]}" 4 ./one_dies.sh > out.txt 2> err.txt || status=$?
[ "$status" != 0 ] && [ "$status" != 124 ] || fail "status $status after a rank was killed"
[ -f long_solver_iter_100.solverstate ] || fail "rank 1 was killed before it trained"
lacks err.txt 'SIGTERM'
for rank in 0 2 3; do
  [ "$(grep -ac "^caffe: rank $rank of 4 ends at iteration [0-9]*: another rank has died" err.txt)" = 1 ] ||
    fail "not one line of rank $rank: $(cat err.txt)"
done
snapshot=$(sed -n 's/^caffe: rank 0 .* resume with -snapshot //p' err.txt)
iteration=$(sed -n 's/^long_solver_iter_\([0-9]*00\).solverstate$/\1/p' <<< "$snapshot")
[ -n "$iteration" ] || fail "rank 0 names no snapshot"
sed -i "s/max_iter: 100000000/max_iter: $((iteration + 5))/" long_solver.prototxt
runs "${mpirun[@]}" 4 "$caffe" train -solver long_solver.prototxt -snapshot "$snapshot"
