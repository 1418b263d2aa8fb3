#!/usr/bin/env bash
# Long work says how far it is: on a terminal in one line that rewrites itself; elsewhere training keeps
# to Caffe's lines.
set -euo pipefail
root=$1 build=$2
source "$1/scripts/tests/lib/common.sh"
export GLOG_minloglevel=0 GLOG_log_dir=$work

cat > net.prototxt <<'TEXT'
name: "slow"
layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
  shape { dim: 32 dim: 3 dim: 48 dim: 48 } shape { dim: 32 } data_filler { type: "gaussian" }
  data_filler { type: "constant" value: 1 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param {
  num_output: 16 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
TEXT
echo 'net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" max_iter: 150 display: 50
snapshot_prefix: "slow"' > solver.prototxt

# on_terminal COMMAND...: as runs does, with a terminal for stdout and stderr; what it shows is in out.txt.
on_terminal() {
  python3 - "$@" > out.txt 2> err.txt <<'PYTHON' || fail "failed on a terminal: $*"
import os
import pty
import sys

status = pty.spawn(sys.argv[1:], stdin_read=lambda _: b"")
sys.exit(os.waitstatus_to_exitcode(status))
PYTHON
}

# Long enough for this machine: nothing is shown of work that is over soon.
for iterations in 150 600 2400 9600; do
  sed -i "s/max_iter: [0-9]*/max_iter: $iterations/" solver.prototxt
  on_terminal "$caffe" train -solver solver.prototxt
  tr '\r' '\n' < out.txt > lines.txt
  ! grep -q '^iteration ' lines.txt || break
done
has lines.txt "^iteration [0-9]* of $iterations, about [0-9]* s left"
has lines.txt 'solver.cpp.*Iteration 100'
runs "$caffe" train -solver solver.prototxt
lacks err.txt "iteration [0-9]* of $iterations"
has err.txt 'solver.cpp.*Iteration 100'
echo "progress: passed"
