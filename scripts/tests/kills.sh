#!/usr/bin/env bash
# SIGKILL at random moments of a training that writes snapshots every few iterations: each snapshot that
# is found then is whole, and the run that goes on from the newest one ends with the same bits as a run
# that nothing stopped. KILLS: how many (20). The seed of the moments is CAFFE_TEST_SEED, "random" a
# fresh one; the first line names it.
set -euo pipefail
build=$2
source "$1/scripts/tests/lib/common.sh"
kills=${KILLS:-20}
seed_random "KILLS=$kills"
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive

# All that a resumed run has to find again: places in the data, random numbers of crops, mirrors and
# dropout, the rule's moments, the loss scale of FLOAT16, the means of batch normalization.
make_images 24 12
runs "$build"/tools/convert_imageset "$work/" list.txt images_lmdb
cat > net.prototxt <<'TEXT'
layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { crop_size: 8 mirror: true scale: 0.01 }
  data_param { source: "../images_lmdb" backend: LMDB batch_size: 5 } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "bn" }
layer { name: "relu" type: "ReLU" bottom: "bn" top: "bn" }
layer { name: "drop" type: "Dropout" bottom: "bn" top: "bn" }
layer { name: "wide" type: "InnerProduct" bottom: "bn" top: "wide"
  inner_product_param { num_output: 256 weight_filler { type: "xavier" } } }
layer { name: "fc" type: "InnerProduct" bottom: "wide" top: "fc"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
TEXT
{
  echo 'default_forward_type: FLOAT16 default_backward_type: FLOAT16'
  cat net.prototxt
} > net_fp16.prototxt
# trains_with NAME NET FIELDS: NAME.prototxt, a solver that trains for 40 iterations, and full_NAME, the
# snapshots of a run that nothing stops.
trains_with() {
  {
    echo "net: '../$2' base_lr: 0.01 lr_policy: 'step' gamma: 0.7 stepsize: 7"
    echo 'max_iter: 40 snapshot: 2 test_iter: 2 test_interval: 7 display: 0 random_seed: 5'
    echo "snapshot_prefix: 'net' $3"
  } > "$1.prototxt"
  mkdir "full_$1"
  local begin
  begin=$(date +%s%3N)
  (cd "full_$1" && train "$1") || fail "the training that nothing stops fails"
  milliseconds[$1]=$(($(date +%s%3N) - begin))
}
declare -A milliseconds # of that run
train() { exec "$caffe" train -solver "../$1.prototxt" "${@:2}" > ../out.txt 2> ../err.txt; }

trains_with binary net.prototxt 'momentum: 0.9 average_loss: 3'
trains_with hdf5 net_fp16.prototxt \
  'type: "Adam" momentum: 0.9 momentum2: 0.99 snapshot_format: HDF5'


broken() {
  cd "$work"
  fail "after $killed kills with CAFFE_TEST_SEED=$seed: $1"
}

# check_snapshots NAME: what is there is what the full run has under the same name, to the last bit, and
# every state has its weights.
check_snapshots() {
  local file
  for file in net_iter_*; do
    case $file in
      *.tmp.* | *.tempfile | 'net_iter_*') continue ;;
    esac
    cmp -s "$file" "../full_$1/$file" || broken "$1: $file is another one"
    [ -f "${file/solverstate/caffemodel}" ] || broken "$file has no weights"
  done
}

# go_on NAME: trains on from the newest snapshot; false if the run came to its end, true if it was
# killed, at a random moment: after 0.2 to 0.6 of the time that a whole run takes, start included.
go_on() {
  local state status=0 training after
  state=$(newest)
  train "$1" ${state:+-snapshot "$state"} &
  training=$!
  if [ "$killed" -lt "$kills" ]; then
    after=$(((milliseconds[$1] * 2 + milliseconds[$1] * 4 * RANDOM / 32768) / 10))
    sleep "$((after / 1000)).$(printf '%03d' $((after % 1000)))"
    kill -KILL $training 2> /dev/null || true
  fi
  wait $training 2> /dev/null || status=$?
  [ $status != 137 ] || return 0
  [ $status = 0 ] || broken "$1 does not go on from '$state': status $status"
  return 1
}

killed=0 partial=0 ends=0
while [ "$killed" -lt "$kills" ]; do
  for name in binary hdf5; do
    mkdir run
    cd run
    while go_on $name; do
      killed=$((killed + 1))
      check_snapshots $name
      # As if a minute had passed, after which a run removes what another one has not finished.
      find . -name '*.tmp.*' > ../partial.txt
      [ ! -s ../partial.txt ] || partial=$((partial + 1))
      xargs -r touch -d '2 minutes ago' < ../partial.txt
    done
    check_snapshots $name
    [ "$(ls)" = "$(ls "../full_$name")" ] || broken "$name has other files: $(ls)"
    cd ..
    rm -r run
    ends=$((ends + 1))
  done
done
echo "note: $killed kills, $partial of them within a file; $ends trainings came to the same bits"
