#!/usr/bin/env bash
# genDefaultModel.py and upgrade_net_fp16 turn a net into half precision and write the same bytes.
set -euo pipefail
root=$1 build=$2
source "$root/scripts/tests/lib/common.sh"

python=
for candidate in "${PYTHON:-}" python3 /usr/bin/python3; do
  [ -n "$candidate" ] && "$candidate" -c 'import numpy, google.protobuf' 2> /dev/null || continue
  python=$candidate
  break
done
[ -n "$python" ] || { echo "no Python with numpy and protobuf: PYTHON may name one"; exit 77; }
export GLOG_minloglevel=3

cat > net.prototxt <<'TEXT'
# Comments stay.
name: "net"
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "fc" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 2 } }
TEXT
PYTHONPATH=$root/python "$python" - <<'PYTHON'
from precision_migration.prototxt import load_schema
net = load_schema().NetParameter(name="net")
layer = net.layer.add(name="fc", type="InnerProduct")
layer.blobs.add(data=[0.1, 1e-6, 3, -4, 5, 1e6]).shape.dim.extend([2, 3])
layer.blobs.add(data=[1, 2]).shape.dim.append(2)
open("net.caffemodel", "wb").write(net.SerializeToString())
layer.blobs[0].data[5] = float("nan")
open("nan.caffemodel", "wb").write(net.SerializeToString())
open("empty.prototxt", "w")
PYTHON

tool=$build/tools/upgrade_net_fp16
script=(env "PYTHONPATH=$root/python" "$python" "$root/python/genDefaultModel.py")
flags=(--input net.prototxt --model net.caffemodel)

# says STATUS WANTED COMMAND...: its status, and WANTED in what it prints, which out.txt has.
says() {
  local status=$1 wanted=$2
  shift 2
  answers "$status" "$@"
  cat err.txt >> out.txt
  has out.txt "$wanted"
}

for program in "$tool" "${script[*]}"; do
  says 2 "1 values overflow, so nothing was written" $program "${flags[@]}" --output a.caffemodel --strict
  has out.txt "would become infinite"
  says 2 "would become its largest number" $program "${flags[@]}" --output a.caffemodel --strict --clamp
  says 2 "1 values are NaN or infinite, so nothing was written" \
    $program --input net.prototxt --model nan.caffemodel --output a.caffemodel --strict
  [ ! -e a.caffemodel ] && [ ! -e a.prototxt ] || fail "$program --strict wrote a file"
  says 1 "empty.prototxt: the file is empty" \
    $program --input empty.prototxt --model net.caffemodel --output a.caffemodel
  says 1 "would replace" $program "${flags[@]}" --output net.caffemodel
  says 1 "valid are fp16 (FLOAT16) and fp32 (FLOAT)" $program "${flags[@]}" --output a.caffemodel --to fp8
  says 1 "cannot be written" $program "${flags[@]}" --output none/a.caffemodel
  says 1 "--help shows the flags" $program "${flags[@]}" --output a.caffemodel stray
done
says 0 "largest difference" "$tool" "${flags[@]}" --output cpp.caffemodel --clamp --math bf16
says 0 "became its largest number" "${script[@]}" "${flags[@]}" --output python.caffemodel --clamp --math BFLOAT16
cmp cpp.caffemodel python.caffemodel
cmp cpp.prototxt python.prototxt
grep -q '^# Comments stay' cpp.prototxt
grep -q '^default_forward_type: FLOAT16' cpp.prototxt
grep -q '^default_backward_math: BFLOAT16' cpp.prototxt

# Half precision needs no other switch, and goes back.
"$build/tools/caffe" time -model cpp.prototxt -weights cpp.caffemodel -iterations 1 2> /dev/null
says 0 "largest difference" "$tool" --input cpp.prototxt --model cpp.caffemodel --output back.caffemodel --to fp32
cmp net.prototxt back.prototxt

# The rest of the Python tests, where there is pytest.
if "$python" -c 'import pytest' 2> /dev/null; then
  CAFFE_BUILD=$build "$python" -m pytest -q -p no:cacheprovider --noconftest \
    "$root/python/tests/test_gen_default_model.py" "$root/python/tests/test_migration_agreement.py"
fi
