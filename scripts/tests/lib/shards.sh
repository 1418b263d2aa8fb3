# The unit tests in several processes; sourced.

# in_shards COUNT LOGS COMMAND...: COUNT processes, 0: one a core, each with its part of the tests. What
# they write is in LOGS-0.log and so on, their statuses are in the array "shard_statuses". Threads that
# wait do not spin: there are more of them than cores.
in_shards() {
  local shards=$1 logs=$2 i status
  local -a pids=()
  shift 2
  if [ "$shards" = 0 ]; then
    shards=$(nproc)
    [ "$shards" -le 8 ] || shards=8
  fi
  for ((i = 0; i < shards; ++i)); do
    OMP_WAIT_POLICY=passive GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$@" \
      > "$logs-$i.log" 2>&1 < /dev/null &
    pids+=($!)
  done
  shard_statuses=()
  for ((i = 0; i < shards; ++i)); do
    status=0
    wait "${pids[i]}" || status=$?
    shard_statuses+=("$status")
  done
}

# pass_in_shards LOGS COMMAND...: likewise, one a core; fails if one does, and shows the ends of those.
pass_in_shards() {
  local logs=$1 i failed=0
  in_shards 0 "$@"
  for i in "${!shard_statuses[@]}"; do
    [ "${shard_statuses[i]}" != 0 ] || continue
    failed=1
    echo "the end of $logs-$i.log:"
    tail -n 60 "$logs-$i.log"
  done
  return "$failed"
}
