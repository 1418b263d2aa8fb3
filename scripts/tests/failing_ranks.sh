#!/usr/bin/env bash
# One of three ranks is killed, stopped, cut off from the network or fails: the others end by
# themselves with one line each that says why, no process is left, and each snapshot is whole: training
# goes on from the newest one to the bits of a run that nothing disturbed. ROUNDS: how often (1), each
# time with other ranks at other moments, of the seed CAFFE_TEST_SEED ("random": a fresh one), which the
# first line names. RANK_TIMEOUT: seconds until a rank that is stopped counts as lost (8).
set -euo pipefail
root=$1 build=$2
source "$root/scripts/tests/lib/common.sh"
rounds=${ROUNDS:-1}
seed_random "ROUNDS=$rounds"
uses_mpirun "ranks that fail are"
mpirun+=(3)
timeout=${RANK_TIMEOUT:-8} # a loaded machine lets ranks wait for seconds, too

make_images 24 34
runs "$build/tools/convert_imageset" "$work/" list.txt images
cat > net.prototxt <<'TEXT'
layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { crop_size: 32 mirror: true scale: 0.01 }
  data_param { source: "../images" backend: LMDB batch_size: 8 } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "bn" }
layer { name: "conv2" type: "Convolution" bottom: "bn" top: "conv2"
  convolution_param { num_output: 32 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "drop" type: "Dropout" bottom: "conv2" top: "conv2" }
layer { name: "fc" type: "InnerProduct" bottom: "conv2" top: "fc"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
TEXT
echo 'net: "../net.prototxt" base_lr: 0.01 lr_policy: "fixed" momentum: 0.9 max_iter: 60
  snapshot: 5 random_seed: 5 display: 0 snapshot_prefix: "net"' > solver.prototxt
# What mpirun starts, in run/: leaves pid_RANK and err_RANK. With FAULT=RANK:WHAT that rank runs a
# command before it becomes caffe.
cat > rank.sh <<TEXT
#!/usr/bin/env bash
rank=\$OMPI_COMM_WORLD_RANK
echo \$\$ > "$work/pid_\$rank"
case \${FAULT-} in
  \$rank:*) eval "\${FAULT#*:}" ;;
esac
exec "$caffe" train -solver ../solver.prototxt "\$@" 2> "$work/err_\$rank"
TEXT
chmod +x rank.sh

broken() {
  cd "$work"
  cat err_? || true
  fail "CAFFE_TEST_SEED=$seed: $*"
}

trains() { exec "${mpirun[@]}" ../rank.sh "$@"; }

# begins COMMAND...: starts one of the commands that do not return, in a new folder run/, with its
# output in out.txt.
begins() {
  rm -rf run pid_? err_? cut
  mkdir run
  cd run
  "$@" > ../out.txt 2>&1 &
  job=$!
  cd ..
}

# await_snapshot: of an iteration from 5 to 20.
await_snapshot() {
  local file
  file=run/net_iter_$((RANDOM % 4 * 5 + 5)).solverstate
  for _ in {1..6000}; do
    [ ! -e $file ] || return 0
    kill -0 $job 2> /dev/null || broken "no training until $file"
    sleep 0.02
  done
  broken "no $file in two minutes"
}

# is_gone PROCESS: within ten seconds; one whose parent has not asked for its status yet counts as gone.
is_gone() {
  for _ in {1..100}; do
    if ! grep -qs '^State:.[^Z]' "/proc/$1/status"; then return 0; fi
    sleep 0.1
  done
  return 1
}

# ends_with PATTERN RANK...: the job ends by itself; of caffe's lines these ranks have one each, and no
# rank has more; one has this pattern. All ranks are gone.
ends_with() {
  local wanted=$1 status=0 rank lines
  shift
  wait $job 2> /dev/null || status=$?
  case $status in
    0 | 124) broken "status $status, not '$wanted'" ;;
  esac
  for rank in 0 1 2; do
    lines=$(grep -acs '^caffe: ' "err_$rank" || true)
    case " $* " in
      *" $rank "*) [ "$lines" = 1 ] || broken "not one line of rank $rank" ;;
      *) [ "${lines:-0}" -le 1 ] || broken "more than a line of rank $rank" ;;
    esac
  done
  grep -aq "$wanted" err_? || broken "no '$wanted'"
  # The namespaces of two_hosts.sh have numbers of their own, and say themselves what is left.
  [ -e cut ] || for rank in 0 1 2; do
    is_gone "$(cat "pid_$rank")" || broken "rank $rank is left"
  done
}

# goes_on: snapshots are those of the full run, which the training from the newest one ends with.
resumed=0
goes_on() {
  local file
  cd run
  for file in net_iter_*; do
    case $file in
      *.tmp.*) rm "$file" ;; # its writer was killed
      *) cmp -s "$file" "../full/$file" || broken "$file is another one" ;;
    esac
  done
  # shellcheck disable=SC2046 # no state, no words
  (trains $(newest | sed 's/^/-snapshot /')) > ../out.txt 2>&1 || broken "does not go on"
  for file in net_iter_60.*; do
    cmp -s "$file" "../full/$file" || broken "after a new start $file is another one"
  done
  cd ..
  resumed=$((resumed + 1))
}

# A libcaffe without MPI has nothing to test.
start=$SECONDS
begins trains
status=0
wait $job || status=$?
whole=$((SECONDS - start + 1)) # seconds
if grep -aq 'built without MPI' err_0; then
  echo "libcaffe is built without MPI: ranks that fail are not tested"
  exit 77
fi
[ $status = 0 ] || broken "the training that nothing disturbs fails"
mv run full

# trains_on_two_hosts TIMEOUT FLAGS...: with rank 2 on another host and these flags of mpirun's.
trains_on_two_hosts() {
  local timeout=$1
  shift
  export OMPI_MCA_btl=self,vader,tcp
  # shellcheck disable=SC2016 # $BETA is two_hosts.sh's
  exec "$root/scripts/tests/lib/two_hosts.sh" ../cut bash -c \
    'exec "$@" --mca plm_rsh_agent "$BETA" ../rank.sh -rank_timeout "$0"' "$timeout" "${mpirun[@]}" \
    --mca btl_tcp_if_include 10.77.1.0/24 --mca oob_tcp_if_include 10.77.1.0/24 \
    -H 10.77.1.1:2,10.77.1.2:1 "$@"
}
hosts=yes
"$root/scripts/tests/lib/two_hosts.sh" cut true 2> /dev/null || hosts=no
[ $hosts = yes ] || echo "note: no network namespaces can be made here: no rank is cut off"

others() { echo "0 1 2" | tr -d "$1"; }
for ((round = 0; round < rounds; ++round)); do
  # Killed.
  rank=$((RANDOM % 3))
  begins trains
  await_snapshot
  kill -KILL "$(cat pid_$rank)"
  # shellcheck disable=SC2046 # ranks
  ends_with "ends at iteration [0-9]*: another rank has died .* resume with -snapshot net_iter_" $(others $rank)
  goes_on

  # Stopped, for a while that others wait, and for ever.
  rank=$((RANDOM % 3))
  begins trains
  await_snapshot
  kill -STOP "$(cat pid_$rank)"
  sleep 1
  kill -CONT "$(cat pid_$rank)"
  wait $job || broken "a rank that was stopped for a second ends the others"
  for file in run/net_iter_60.*; do
    cmp -s "$file" "full/${file#run/}" || broken "after a stop $file is another one"
  done
  rank=$((RANDOM % 3))
  begins trains -rank_timeout $timeout
  await_snapshot
  kill -STOP "$(cat pid_$rank)"
  # shellcheck disable=SC2046 # ranks
  ends_with "ends at iteration [0-9]*: it has waited $timeout s .* resume with -snapshot net_iter_" $(others $rank)
  goes_on

  # Cut off: mpirun notices, or else each rank by itself.
  if [ $hosts = yes ]; then
    begins trains_on_two_hosts 600 --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 \
      --mca oob_tcp_keepalive_probes 2
    await_snapshot
    touch cut
    ends_with "ends at iteration [0-9]*: another rank has died .* resume with -snapshot net_iter_" 0 1 2
    lacks out.txt '^left: '
    goes_on
    begins trains_on_two_hosts $timeout
    await_snapshot
    touch cut
    for _ in {1..600}; do
      [ "$(cat err_? | grep -ac '^caffe: rank')" -lt 3 ] || break
      sleep 0.1
    done
    kill -KILL $job # mpirun may wait for a quarter of an hour
    ends_with "ends at iteration [0-9]*: it has waited $timeout s .* resume with -snapshot net_iter_" 0 1 2
    goes_on
  fi
done

# Before the first iteration: killed, stopped, without its files.
export FAULT
FAULT="1:sleep $whole; kill -KILL \$\$" begins trains
ends_with "another rank has died" 0 2
FAULT='1:kill -STOP $$' begins trains -rank_timeout $timeout
ends_with "it has waited $timeout s for the other ranks" 0 2
FAULT='1:cd ..' begins trains
ends_with "^caffe: \.\./net.prototxt: " 1
echo "note: $resumed trainings came to the same bits after a rank had failed"
