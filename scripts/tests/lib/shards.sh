# The unit tests in several processes; sourced.

# A title, and the minutes and seconds since the beginning.
title() { printf '== %s (after %d:%02d)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }

# wait_for_turn COUNT: until fewer than that many run in the background.
wait_for_turn() { while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n 2> /dev/null || sleep 1; done; }

# in_shards COUNT LOGS COMMAND...: the tests in COUNT parts, 0: one a core, each in a process of its own, as
# many at a time as there are cores. What they write is in LOGS-0.log and so on, their statuses are in the
# array "shard_statuses". Threads that wait do not spin: there are more of them than cores. Where parts take
# turns, a line says which one begins. The caller has nothing else in the background.
in_shards() {
  local shards=$1 logs=$2 cores i status
  shift 2
  cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc) # which these would change
  [ "$cores" -le 8 ] || cores=8
  [ "$shards" != 0 ] || shards=$cores
  rm -f "$logs"-*.status
  for ((i = 0; i < shards; ++i)); do
    wait_for_turn "$cores"
    [ "$shards" -le "$cores" ] || title "part $((i + 1)) of $shards"
    {
      status=0
      OMP_WAIT_POLICY=passive GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$@" \
        > "$logs-$i.log" 2>&1 < /dev/null || status=$?
      echo "$status" > "$logs-$i.status"
    } &
  done
  wait
  shard_statuses=()
  for ((i = 0; i < shards; ++i)); do
    shard_statuses+=("$(cat "$logs-$i.status" 2> /dev/null || echo none)")
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
