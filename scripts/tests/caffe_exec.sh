#!/usr/bin/env bash
# caffe_exec: trtexec's flags and the lines that scripts read from it.
set -euo pipefail
build=$2
source "$1/scripts/tests/lib/common.sh"
small_net
pictures 12 8
tool=$build/tools/caffe_exec
short="--duration=0 --warmUp=0"

runs "$tool" --help
has out.txt 'usage: caffe_exec'
has out.txt '^example:'

runs "$tool" --deploy=net.prototxt --model=net.caffemodel --output=prob --batch=4 \
  --saveEngine=net.plan $short --iterations=20 --avgRuns=5
has out.txt '^&&&& RUNNING caffe_exec # .*--batch=4'
has out.txt '^&&&& PASSED caffe_exec # '
has out.txt '^\[../../....-..:..:..\] \[I\] === Performance summary ===$'
has out.txt '\[I\] Throughput: [0-9.e+]* qps$'
ms='[0-9.e-]* ms'
has out.txt "Latency: min = $ms, max = $ms, mean = $ms, median = $ms, percentile(99%) = $ms\$"
has out.txt '\[I\] Total Host Walltime: [0-9.e-]* s$'
[ "$(grep -c 'Average on 5 runs' out.txt)" = 4 ] || fail 'not four means of five runs'
runs "$caffe" inspect -plan net.plan
has out.txt 'largest batch 4'

# A plan, one dash, percentages, and several contexts with or without threads.
runs "$tool" -loadEngine net.plan -duration 0 -iterations 10 -streams 2 -percentile 50,90
has out.txt 'percentile(50%) = .*, percentile(90%) = '
[ "$(grep -c 'Average on 10 runs' out.txt)" = 2 ] || fail 'not ten runs of two streams'
runs "$tool" --loadEngine=net.plan $short --streams=2 --threads --batch=1
has out.txt 'PASSED'

# Layers' times.
runs "$tool" --loadEngine=net.plan $short --dumpProfile --exportProfile=profile.json --iterations=7
has out.txt '=== Profile (7 iterations ) ==='
has out.txt 'Time(ms) .* Layer$'
has out.txt ' 100.0   Total$'
python3 - <<'PYTHON'
import json
profile = json.load(open('profile.json'))
assert profile[0] == {'count': 7}, profile
# Reorders may stand between the net's layers.
names = [layer['name'] for layer in profile[1:]]
assert [name for name in names if name in ('conv', 'fc', 'prob')] == ['conv', 'fc', 'prob'], names
assert abs(sum(layer['percentage'] for layer in profile[1:]) - 100) < 1e-6, profile
assert all(abs(layer['timeMs'] - 7 * layer['averageMs']) < 1e-6 for layer in profile[1:]), profile
PYTHON

# Outputs inside the net, named twice; without weights; precisions, a pool, a timing cache.
runs "$tool" --deploy=net.prototxt --output=conv --output=fc --saveEngine=two.plan $short
runs "$caffe" inspect -plan two.plan
has out.txt '^output conv: 1x4x6x6$'
has out.txt '^output fc: 1x5$'
lacks out.txt '^output prob'
runs "$tool" --deploy=net.prototxt --model=net.caffemodel --fp16 --memPoolSize=workspace:16 \
  --layerPrecisions=conv:fp32,*:fp16 --timingCacheFile=here.times $short
has here.times '^cortado timing cache 1'
runs "$tool" --deploy=net.prototxt --model=net.caffemodel --int8 $short
has out.txt "\[W\] no --calib: int8's ranges are those of noise"
runs "$caffe" calibrate $net -images list.txt -min_images 12 -tensorrt_cache net.cache
runs "$tool" --deploy=net.prototxt --model=net.caffemodel --best --calib=net.cache $short \
  --workspace=16
lacks out.txt 'lacks'

# Bad input.
refuses 'give a net, --deploy=FILE, or a plan' "$tool"
refuses 'give a net, --deploy=FILE, or a plan' "$tool" --deploy=net.prototxt --loadEngine=net.plan
refuses "'net.prototxt' is not expected" "$tool" net.prototxt
refuses 'missing.prototxt' "$tool" --deploy=missing.prototxt
refuses 'missing.plan' "$tool" --loadEngine=missing.plan
head -c 100 net.plan > cut.plan
refuses 'cut.plan: it is truncated' "$tool" --loadEngine=cut.plan
refuses "no blob 'prop'.*did you mean 'prob'" "$tool" --deploy=net.prototxt --output=prop
refuses 'calib is for --int8' "$tool" --deploy=net.prototxt --calib=net.cache
refuses "'-1' does not lie from 0 to 100" "$tool" --loadEngine=net.plan --percentile=-1
refuses "the pool that there is on a CPU" "$tool" --deploy=net.prototxt --memPoolSize=dlaSRAM:1
refuses "no size in MiB" "$tool" --deploy=net.prototxt --memPoolSize=workspace:much
refuses 'fp32, fp16, bf16, int8' "$tool" --deploy=net.prototxt --layerPrecisions=conv:int32
refuses "'conv' is not NAME:TYPE" "$tool" --deploy=net.prototxt --layerPrecisions=conv
refuses 'streams must be positive' "$tool" --loadEngine=net.plan --streams=0
refuses 'batch 9: .* is built for 1 to 4' "$tool" --loadEngine=net.plan --batch=9
refuses "unknown command line flag 'useDLACore'" "$tool" --loadEngine=net.plan --useDLACore=0
echo 'caffe_exec: passed'
