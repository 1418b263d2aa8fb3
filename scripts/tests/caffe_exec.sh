#!/usr/bin/env bash
# caffe_exec: trtexec's flags, and the lines and files that scripts read from it.
set -euo pipefail
root=$1 build=$2
source "$1/scripts/tests/lib/common.sh"
small_net
make_images 12 8
tool=$build/tools/caffe_exec
short="--duration=0 --warmUp=0 --iterations=1"
deploy="--deploy=net.prototxt --model=net.caffemodel"

# fails PATTERN FLAG...: status 1, the error on stdout and, as one line, on stderr, and the last line
# that scripts look for.
fails() {
  local wanted=$1
  shift
  refuses "$wanted" "$tool" "$@"
  has out.txt "^\[.*\] \[E\] .*$wanted"
  tail -n 1 out.txt | grep -q '^&&&& FAILED caffe_exec # ' || fail "no FAILED of: $*"
  lacks out.txt '&&&& PASSED'
}

runs "$tool" --help
has out.txt 'usage: caffe_exec'
has out.txt '^example:'
for group in Model Build Inference Reporting System; do has out.txt "^=== $group Options ===$"; done

# The document has the program's own table of flags.
"$tool" --help=markdown > table.md
sed -n '/^| flag | here |$/,/^$/p' "$root/docs/trtexec.md" | sed '/^$/d' | cmp - table.md ||
  fail "docs/trtexec.md is stale: put in what caffe_exec --help=markdown prints"

# The report.
runs "$tool" $deploy --output=prob --batch=4 --saveEngine=net.plan --duration=0 --warmUp=0 \
  --iterations=20 --avgRuns=5
has out.txt '^&&&& RUNNING caffe_exec # .*--batch=4'
tail -n 1 out.txt | grep -q '^&&&& PASSED caffe_exec # ' || fail 'no PASSED'
for block in 'Model Options' 'Build Options' 'System Options' 'Inference Options' \
  'Reporting Options' 'Device Information' 'Trace details' 'Performance summary'; do
  has out.txt "^\[../../....-..:..:..\] \[I\] === $block ===\$"
done
has out.txt '\[I\] Prototxt: net.prototxt$'
has out.txt '\[I\] Precision: FP32$'
has out.txt '\[I\] Input binding for data with dimensions 4x3x8x8 is created.$'
has out.txt '\[I\] Throughput: [0-9.e+]* qps$'
has out.txt '\[I\] Timing trace has 80 queries over'
ms='[0-9.e-]* ms'
figures="min = $ms, max = $ms, mean = $ms, median = $ms"
figures+=", percentile(90%) = $ms, percentile(95%) = $ms, percentile(99%) = $ms\$"
for figure in Latency 'GPU Compute Time'; do has out.txt "\[I\] $figure: $figures"; done
for figure in 'Enqueue Time' 'H2D Latency' 'D2H Latency'; do
  has out.txt "\[I\] $figure: min = 0 ms, max = 0 ms"
done
has out.txt '\[I\] The CPU computes: GPU stands for it'
has out.txt '\[I\] Total Host Walltime: [0-9.e-]* s$'
has out.txt '\[I\] Total GPU Compute Time: [0-9.e-]* s$'
line="Average on 5 runs - GPU latency: $ms - Host latency: $ms (enqueue 0 ms)\$"
[ "$(grep -c "$line" out.txt)" = 4 ] || fail 'not four means of five runs'
runs "$caffe" inspect -plan net.plan
has out.txt 'largest batch 4'

# A plan, one dash, percentages, and several contexts with or without threads.
runs "$tool" -loadEngine net.plan -duration 0 -iterations 10 -streams 2 -percentile 50,90
has out.txt 'percentile(50%) = .*, percentile(90%) = '
[ "$(grep -c 'Average on 10 runs' out.txt)" = 2 ] || fail 'not ten runs of two streams'
runs "$tool" --loadEngine=net.plan $short --infStreams=2 --threads --batch=1 --idleTime=1 \
  --sleepTime=1
has out.txt 'Inference Streams: 2$'
runs "$tool" --loadEngine=net.plan $short --getPlanVersionOnly
has out.txt 'Plan was created with Cortado version: [0-9.]*$'
lacks out.txt 'Throughput'
runs "$tool" --loadEngine=net.plan --timeDeserialize
has out.txt 'Total deserialization time = .* in 10 iterations, average time = '
lacks out.txt 'Throughput'
for flag in --skipInference --buildOnly; do
  runs "$tool" $deploy $flag --saveEngine=built.plan
  [ -f built.plan ] || fail 'no plan'
  rm built.plan
  lacks out.txt 'Throughput'
done
# Without end, until it is told to stop: then it reports as ever.
"$tool" --loadEngine=net.plan --duration=-1 > out.txt 2> err.txt &
for _ in {1..600}; do
  ! grep -q 'Starting inference' out.txt || break
  sleep 0.1
done
kill -INT $!
wait $! || fail 'SIGINT ends it with an error'
has out.txt '&&&& PASSED'
runs "$tool" --loadEngine=net.plan $short --verbose
has out.txt "\[V\] Engine 'small': largest batch 4, "
has out.txt '\[V\] conv (Convolution): '
has out.txt '\[V\] === Explanations of the performance metrics ===$'
runs "$tool" $deploy $short --verbose
has out.txt '\[V\] pass losses: '

# Files of JSON, and what they have in common with what is printed.
python3 -c "
import struct
open('data.raw', 'wb').write(struct.pack('<192f', *(i / 192 for i in range(192))))"
results="--exportOutput=output.json --dumpOutput --dumpRawBindingsToFile"
runs "$tool" --loadEngine=net.plan --batch=1 --duration=0 --warmUp=0 --iterations=7 \
  --loadInputs=data:data.raw --exportTimes=times.json $results --dumpProfile \
  --exportProfile=profile.json --exportLayerInfo=names.json --dumpLayerInfo
has out.txt 'data<-data.raw$'
has out.txt '=== Profile (7 iterations ) ==='
has out.txt 'Time(ms) .* Layer$'
has out.txt ' 100.0   Total$'
has out.txt '\[I\] Layer Information:$'
has out.txt '\[I\] conv$'
has out.txt '\[I\] prob: (1x5)$'
cp out.txt report.txt
runs "$tool" --loadEngine=net.plan $short --profilingVerbosity=detailed --dumpLayerInfo \
  --exportLayerInfo=details.json --dumpOptimizationProfile
has out.txt 'Name: conv, LayerType: Convolution, Precision: FLOAT, TacticName: '
has out.txt '\[I\] data: up to 4x3x8x8$'
runs "$tool" --loadEngine=net.plan $short --nvtxMode=none --dumpLayerInfo
has out.txt 'there is nothing to say of the layers'
runs "$tool" --loadEngine=net.plan $short --dumpLayerTime --separateProfileRun
has out.txt '=== Profile (1 iterations ) ==='
runs "$tool" --loadEngine=net.plan --batch=1 $short --loadInputs="'data':data.raw" \
  --saveDebugTensors=fc:fc.raw
python3 - <<'PYTHON'
import json
import math
import re
import struct

def floats(file):
    data = open(file, 'rb').read()
    return struct.unpack(f'<{len(data) // 4}f', data)

times = json.load(open('times.json'))
assert len(times) == 7, times
for run in times:
    assert run['startComputeMs'] < run['endComputeMs'], run
    assert run['computeMs'] == run['latencyMs'] > 0, run
    assert run['endToEndMs'] >= run['latencyMs'], run
    assert all(run[key] == 0 for key in ('h2dMs', 'inMs', 'd2hMs', 'outMs')), run
    assert run['startEnqMs'] == run['endEnqMs'], run

profile = json.load(open('profile.json'))
assert profile[0] == {'count': 7}, profile
# Reorders may stand between the net's layers.
names = [layer['name'] for layer in profile[1:]]
assert [name for name in names if name in ('conv', 'fc', 'prob')] == ['conv', 'fc', 'prob'], names
assert abs(sum(layer['percentage'] for layer in profile[1:]) - 100) < 1e-6, profile
assert all(abs(layer['timeMs'] - 7 * layer['averageMs']) < 1e-6 for layer in profile[1:]), profile
assert all(layer['medianMs'] > 0 for layer in profile[1:]), profile

layers = json.load(open('names.json'))
assert layers['Bindings'] == ['data', 'prob'], layers
assert layers['Layers'] == names, (layers, names)
details = json.load(open('details.json'))
assert [layer['Name'] for layer in details['Layers']] == names, details
assert details['Layers'][names.index('fc')]['WeightBytes'] > 0, details

output, = json.load(open('output.json'))
assert output['name'] == 'prob' and output['dimensions'] == '1x5', output
assert abs(sum(output['values']) - 1) < 1e-6, output
printed = re.search(r'prob: \(1x5\)\n\[.*\] \[I\] (.*)', open('report.txt').read()).group(1)
assert all(abs(float(a) - b) < 1e-5 for a, b in zip(printed.split(), output['values'])), printed
assert list(floats('prob.output.1.5.fp32.raw')) == output['values']
assert floats('data.input.1.3.8.8.fp32.raw') == floats('data.raw')
powers = [math.exp(x) for x in floats('fc.raw')]
assert all(abs(p / sum(powers) - b) < 1e-5 for p, b in zip(powers, output['values'])), powers
PYTHON

# Batches and shapes.
runs "$tool" $deploy $short --maxBatch=3 --saveEngine=three.plan
has out.txt 'data with dimensions 1x3x8x8 is created'
runs "$tool" --loadEngine=three.plan $short
has out.txt 'data with dimensions 3x3x8x8 is created'
range="--minShapes=data:1x3x8x8 --optShapes=data:2x3x8x8 --maxShapes=d*a:4x3x8x8"
runs "$tool" $deploy $short $range --saveEngine=range.plan
has out.txt 'data with dimensions 2x3x8x8 is created'
has out.txt 'Batch: Explicit$'
runs "$tool" --loadEngine=range.plan $short --shapes=data:3x3x8x8
has out.txt 'data with dimensions 3x3x8x8 is created'
has out.txt 'Timing trace has 1 queries'
runs "$tool" --loadEngine=range.plan $short --dumpOptimizationProfile
has out.txt 'profile 0, data: min 1x3x8x8, opt 2x3x8x8, max 4x3x8x8$'
# A plan of several profiles.
runs "$caffe" build $net -plan ranges.plan -min_shape 1x3x8x8:2x3x8x8 -max_shape 2x3x8x8:6x3x8x8 \
  -timing_iterations 0
runs "$tool" --loadEngine=ranges.plan $short --useProfile=1 --dumpOptimizationProfile
has out.txt 'data with dimensions 6x3x8x8 is created'
has out.txt 'profile 0, data: min 1x3x8x8, opt 2x3x8x8, max 2x3x8x8$'
has out.txt 'profile 1, data: min 2x3x8x8, opt 6x3x8x8, max 6x3x8x8$'
runs "$tool" --loadEngine=ranges.plan $short --useProfile=0
has out.txt 'data with dimensions 2x3x8x8 is created'
fails '1x3x8x8' --loadEngine=ranges.plan --useProfile=1 --shapes=data:1x3x8x8
fails 'useProfile=2: the plan has 2 profiles' --loadEngine=ranges.plan --useProfile=2
fails 'does not lie within --maxShapes' $deploy --minShapes=data:5x3x8x8 --maxShapes=data:4x3x8x8
fails 'is not built for data 5x3x8x8, but for profile 0' --loadEngine=range.plan --shapes=data:5x3x8x8
fails "there is no input 'date'.*did you mean 'data'" $deploy --shapes=date:1x3x8x8
fails "'1x3xa' is not a shape" $deploy --shapes=data:1x3xa
fails "'1x3x8x8x' is not a shape" $deploy --shapes=data:1x3x8x8x
fails 'batch does not go with shapes' $deploy --batch=2 --shapes=data:2x3x8x8
fails 'batch=4 is more than --maxBatch=2' $deploy --batch=4 --maxBatch=2
fails "'data' is not NAME:VALUE" $deploy --shapes=data

# Outputs inside the net, named twice; without weights; types, a pool, times that are kept.
runs "$tool" --deploy=net.prototxt --output=conv --output=fc --saveEngine=two.plan $short
runs "$caffe" inspect -plan two.plan
has out.txt '^output conv: 1x4x6x6$'
has out.txt '^output fc: 1x5$'
lacks out.txt '^output prob'
runs "$tool" $deploy --fp16 --memPoolSize=workspace:16,tacticSharedMem:4K $short \
  --layerPrecisions=conv:fp32,*:fp16 --timingCacheFile=here.times
has out.txt '\[I\] Precision: FP32+FP16$'
has out.txt '\[W\] ignored: --memPoolSize=tacticSharedMem:4K '
has here.times '^cortado timing cache 1'
runs "$tool" $deploy $short --timingCacheFile=none.times --noBuilderCache --bf16
runs "$tool" $deploy $short --timingCacheFile=none.times --timingCacheMode=local --minTiming=1 \
  --avgTiming=2 --builderOptimizationLevel=1
runs "$tool" $deploy $short --heuristic --stronglyTyped --best
lacks out.txt 'int8'
[ ! -e none.times ] || fail 'a timing cache was written'
# What a type becomes: TYPE LAYER FLAG...
has_type() {
  local type=$1 layer=$2
  shift 2
  runs "$tool" $deploy $short --dumpLayerInfo --profilingVerbosity=detailed "$@"
  has out.txt "Name: $layer, .*Precision: $type,"
}
has_type FLOAT16 fc --fp16 --strictTypes
has_type FLOAT16 fc --layerPrecisions=fc:fp16
has_type FLOAT fc --layerPrecisions=fc:fp16 --precisionConstraints=none
has out.txt '\[W\] --layerPrecisions does not hold with --precisionConstraints=none'
has_type FLOAT16 fc --layerPrecisions=fc:fp16 --precisionConstraints=obey
fails 'precisionConstraints=obey: prob (Softmax) is not int8 but FLOAT' $deploy $short \
  --layerPrecisions=prob:int8 --precisionConstraints=obey
runs "$tool" $deploy --int8 $short
has out.txt "\[W\] no --calib: int8's ranges are those of noise"
runs "$caffe" calibrate $net -images list.txt -min_images 12 -tensorrt_cache net.cache
runs "$tool" $deploy --best --calib=net.cache $short --workspace=16
lacks out.txt 'lacks'

# A library with a custom layer, when building and when loading.
cat > twice.cpp <<'CODE'
#include "caffe/caffe.hpp"
namespace caffe {
template <typename Dtype>
class TwiceLayer : public Layer<Dtype> {
 public:
  using Layer<Dtype>::Layer;
  const char* type() const override { return "Twice"; }
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    for (int i = 0; i < top[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = 2 * bottom[0]->cpu_data()[i];
    }
  }
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}
};
INSTANTIATE_CLASS(TwiceLayer);
REGISTER_LAYER_CLASS(Twice);
}  // namespace caffe
CODE
sed '$ d' net.prototxt > twice.prototxt
echo 'layer { name: "twice" type: "Twice" bottom: "fc" top: "twice" }' >> twice.prototxt
fails "Twice" --deploy=twice.prototxt $short
if [ -e "$build/lib/libcaffe.so" ]; then
  "${CXX:-g++}" -std=c++17 -O0 -shared -fPIC -I"$root/include" -I"$build/include" twice.cpp \
    -o libtwice.so
  runs "$tool" --deploy=twice.prototxt $short --plugins=libtwice.so --saveEngine=twice.plan
  has out.txt 'Output binding for twice with dimensions 1x5'
  runs "$tool" --loadEngine=twice.plan $short --staticPlugins="$PWD/libtwice.so"
  # Two libraries with one layer type: one line names the second.
  cp libtwice.so again.so
  fails 'plugins: again.so: Layer type Twice already registered' --deploy=twice.prototxt $short \
    --plugins=libtwice.so --plugins=again.so
  # The same in the commands of caffe.
  refuses 'unknown layer type .Twice' "$caffe" time -model twice.prototxt -iterations 1
  runs "$caffe" time -model twice.prototxt -iterations 1 -plugins libtwice.so
  runs "$caffe" time -plan twice.plan -iterations 1 -plugins "$PWD/libtwice.so"
  refuses 'plugins: again.so: Layer type Twice already registered' \
    "$caffe" time -model twice.prototxt -plugins libtwice.so,again.so
  [ "$(wc -l < err.txt)" = 1 ] || fail "more than a line"
  refuses 'plugins: .*none.so' "$caffe" time -model twice.prototxt -plugins none.so
fi

# On the tests' device, where the library has kernels for GPUs.
if [ -e "$build/lib/libcaffe.so" ] && grep -q '^CAFFE_NVCC:[^=]*=.*/nvcc' "$build/CMakeCache.txt"; then
  cat > gpu.cpp <<'CODE'
#include "caffe/test/support/fake_device.hpp"
static const auto* const device = new caffe::FakeDevice::Installed;
CODE
  "${CXX:-g++}" -std=c++17 -O0 -shared -fPIC -I"$root/include" -I"$build/include" -I"$root/src" \
    gpu.cpp -o libgpu.so
  gpu="--plugins=libgpu.so --device=0"
  runs "$tool" $deploy $short $gpu --saveEngine=gpu.plan --useCudaGraph --exportOutput=gpu.json \
    --exportTimes=gpu_times.json
  lacks out.txt 'ignored\|The CPU computes'
  has out.txt '\[I\] Selected Device: fake device$'
  for figure in 'Enqueue Time' 'H2D Latency' 'GPU Compute Time' 'D2H Latency'; do
    has out.txt "\[I\] $figure: min = [0-9.e-]*[1-9]"
  done
  runs "$tool" --loadEngine=gpu.plan $short $gpu --noDataTransfers --exportOutput=again.json
  for figure in 'H2D Latency' 'D2H Latency'; do has out.txt "\[I\] $figure: min = [0-9.e-]* ms"; done
  python3 -c "
import json
assert json.load(open('gpu.json')) == json.load(open('again.json')), 'other outputs without transfers'
run, = json.load(open('gpu_times.json'))
assert run['startH2dMs'] < run['endH2dMs'] == run['startEnqMs'] < run['endEnqMs'], run
assert run['endEnqMs'] < run['endComputeMs'] == run['startD2hMs'] < run['endD2hMs'], run"
fi

# What means nothing here is said, and the rest is done.
ignored=$("$tool" --help=markdown | sed -n 's/^| `--\([A-Za-z0-9]*\)\(=[^`]*\)\{0,1\}` | ignored: .*/\1 \2/p')
[ "$(wc -l <<< "$ignored")" -gt 50 ] || fail 'few flags are ignored'
all=()
while read -r flag argument; do all+=("--$flag${argument:+=1}"); done <<< "$ignored"
runs "$tool" --loadEngine=net.plan $short "${all[@]}"
for flag in "${all[@]}"; do has out.txt "\[W\] ignored: ${flag%=1} ("; done
runs "$tool" --loadEngine=net.plan $short --sparsity=disable --useRuntime=full --safe=false
lacks out.txt 'ignored' # they ask for what there is
gpu="noTF32 noDataTransfers includeDataTransfers useCudaGraph"
runs "$tool" --loadEngine=net.plan $short $(printf -- ' --%s' $gpu)
for flag in $gpu; do has out.txt "\[W\] ignored: --$flag (the CPU computes)"; done
runs "$tool" --loadEngine=net.plan $short --minloglevel=2 --gpu_fallback --ignore_unknown_fields

# Bad input.
fails 'give a net, --deploy=FILE, or a plan'
fails 'give a net, --deploy=FILE, or a plan' --deploy=net.prototxt --loadEngine=net.plan
fails "'net.prototxt' is not expected" net.prototxt
fails 'missing.prototxt' --deploy=missing.prototxt
fails 'missing.plan' --loadEngine=missing.plan
head -c 100 net.plan > cut.plan
fails 'cut.plan: it is truncated' --loadEngine=cut.plan
fails "there is no flag '--exportTime'; did you mean '--exportTimes'" --exportTime=times.json
fails "there is no flag '--frobnicate'" --deploy=net.prototxt --frobnicate
fails '--flagfile: flags are given on the command line only' --deploy=net.prototxt --flagfile=missing.txt
fails '--fromenv: flags are given on the command line only' --deploy=net.prototxt --fromenv=help
fails 'loadEngine needs a value' --loadEngine
fails "'many' is not a number" --loadEngine=net.plan --iterations=many
fails 'iterations must be 1 or more, got 0' --loadEngine=net.plan --iterations=0
fails 'verbose=maybe: it is a switch' --loadEngine=net.plan --verbose=maybe
for flag in --onnx=net.onnx --refitFromOnnx=net.onnx --uff=net.uff --uffInput=data,3,8,8 --uffNHWC; do
  fails 'give .*--deploy=FILE --model=FILE' $flag
done
fails 'it is --saveEngine=FILE or --loadEngine=FILE' --engine=net.plan
fails "no blob 'prop'.*did you mean 'prob'" --deploy=net.prototxt --output=prop
for flag in saveEngine timingCacheFile exportTimes exportOutput exportProfile exportLayerInfo; do
  fails 'net.caffemodel would be overwritten, which --model reads' $deploy --$flag=net.caffemodel
  fails 'net.prototxt would be overwritten, which --deploy reads' $deploy --$flag=./net.prototxt
  fails 'net.plan would be overwritten, which --loadEngine reads' --loadEngine=net.plan \
    --$flag=net.plan
done
fails 'net.cache would be overwritten, which --calib reads' $deploy --int8 --calib=net.cache \
  --saveEngine=net.cache
fails 'data.raw would be overwritten, which --loadInputs reads' $deploy \
  --loadInputs=data:data.raw --saveDebugTensors=fc:data.raw
fails 'exportTimes: x.json is what --saveEngine writes' $deploy --saveEngine=x.json \
  --exportTimes=x.json
fails 'calib is for --int8' --deploy=net.prototxt --calib=net.cache
fails "'-1' does not lie from 0 to 100" --loadEngine=net.plan --percentile=-1
fails "'dlaROM' is not one of workspace" --deploy=net.prototxt --memPoolSize=dlaROM:1
fails 'not a size in MiB' --deploy=net.prototxt --memPoolSize=workspace:much
fails 'fp32, fp16, bf16' --deploy=net.prototxt --layerPrecisions=conv:int32
fails "'conv' is not NAME:TYPE" --deploy=net.prototxt --layerPrecisions=conv
fails "'must' is not one of none, prefer, obey" $deploy --layerPrecisions=fc:fp16 \
  --precisionConstraints=must
fails 'infStreams must be 1 or more, got 0' --loadEngine=net.plan --infStreams=0
fails 'infStreams must be 4096 or less, got 5000' --loadEngine=net.plan --infStreams=5000
fails 'cpuThreads must be 4096 or less, got 5000' --loadEngine=net.plan --cpuThreads=5000
fails 'batch 9: .* is built for 1 to 4' --loadEngine=net.plan --batch=9 --maxBatch=9
fails 'data.raw has 768 bytes, and input .data. takes 3072: FP32 values of 4x3x8x8' \
  --loadEngine=net.plan --loadInputs=data:data.raw
fails 'missing.raw cannot be read' --loadEngine=net.plan --loadInputs=data:missing.raw
fails "there is no input 'x'; there are 'data'" --loadEngine=net.plan --loadInputs=x:data.raw
fails "no blob 'fd'; did you mean 'fc'" --loadEngine=net.plan $short --saveDebugTensors=fd:fd.raw
fails 'plugins: .*none.so' --loadEngine=net.plan --plugins=none.so
fails 'builderOptimizationLevel must be 0 to 5, got 6' $deploy --builderOptimizationLevel=6
fails "'loud' is not one of" --loadEngine=net.plan $short --profilingVerbosity=loud
fails 'nowhere/times.json' --loadEngine=net.plan $short --exportTimes=nowhere/times.json
fails 'useProfile=1: ' --loadEngine=net.plan $short --optShapes=data:1x3x8x8 --useProfile=1
echo 'caffe_exec: passed'
