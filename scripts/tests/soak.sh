#!/usr/bin/env bash
# A short soak: an engine run by many threads has the same bits all the time, and neither it nor a
# training nor a loop of nets in Python grows by more than 5 percent once a third of the time is over;
# and what scripts/soak.sh says of programs that grow. SOAK_SECONDS: of each (24).
set -euo pipefail
root=$1 build=$2
if [ "${CAFFE_SLOW_TESTS:-}" != 1 ]; then
  echo "skipped: takes minutes, and CAFFE_SLOW_TESTS is not 1"
  exit 77
fi
source "$root/scripts/tests/lib/common.sh"
seconds=${SOAK_SECONDS:-24}
python=$(built_python)
python=${python:-python3}
soak=$root/scripts/soak

if grep -q '^SANITIZE:STRING=.\+' "$build/CMakeCache.txt"; then
  echo "skipped: sanitizers keep memory that was freed"
  exit 77
fi

# What grows, opens files or does not end is seen.
watched() { runs "$python" "$soak/watch.py" --every 0.05 "$@"; }
watched sleeps.csv sleep 2
runs "$python" "$soak/report.py" --warm-up 0.4 sleeps.csv
has out.txt '^| sleeps | .* | flat |$'
watched grows.csv "$python" -c 'import time
kept = []
for _ in range(40):
    kept.append(b"1" * 1000000)
    time.sleep(0.05)'
answers 1 "$python" "$soak/report.py" --warm-up 0.4 sleeps.csv grows.csv
has out.txt '^| grows | .* | not flat |$'
has out.txt '^grows: its memory grew by .* %, more than 1 %$'
lacks out.txt '^sleeps: '
watched opens.csv "$python" -c 'import time
kept = []
for _ in range(40):
    kept.append(open("/dev/null"))
    time.sleep(0.05)'
answers 1 "$python" "$soak/report.py" --warm-up 0.4 --limit 100 opens.csv
has out.txt '^opens: [0-9]* descriptors became [0-9]*$'
answers 1 "$python" "$soak/report.py" --warm-up 60 sleeps.csv
has out.txt '^sleeps: it ran for too short a time'
answers 1 "$python" "$soak/watch.py" fails.csv false
has out.txt '^fails: false ended with status 1$'

refuses "'engines' is no part and no number of seconds" "$root/scripts/soak.sh" engines
refuses '--plot needs a value' "$root/scripts/soak.sh" --plot
runs "$root/scripts/soak.sh" --help
has out.txt '^example:'

parts=(training)
[ ! -x "$build/benchmarks/engine_soak" ] || parts+=(engine)
if ls "$root"/python/caffe/_caffe.*.so > /dev/null 2>&1; then parts+=(python); fi
# On a machine with other work on it programs may take long to begin, which looks like growth: what is
# longer has more of the rest, and more of what leaks.
for factor in 1 2 4; do
  status=0
  "$root/scripts/soak.sh" --build "$build" --together --limit 5 --nets 300 "${parts[@]}" \
    $((factor * seconds)) > out.txt 2> err.txt || status=$?
  [ "$status" != 0 ] || break
done
[ "$status" = 0 ] || fail "not flat in $((factor * seconds)) s"
sed -n 's/^| \(engine\|training\|python\) /note: &/p' out.txt
[ ${#parts[@]} = 3 ] || echo "note: only ${parts[*]}: engine_soak or the Python module is not built"
echo "soak: passed"
