#!/usr/bin/env bash
# The first command of the README, on the digits: it has to learn them.
set -euo pipefail
root=$1 build=$2
rm -rf "$build/quickstart/digits"
"$root/scripts/quickstart.sh" --build-dir "$build" | tee "$build/quickstart.out"
for type in FP32 FP16; do
  row=$(grep "^LeNet $type" "$build/quickstart.out")
  awk '{ exit !($3 > 95 && $4 > 0 && $6 > 0 && $8 > 0) }' <<< "$row"
done
for type in FP32 FP16 INT8; do
  row=$(grep "^engine $type " "$build/quickstart.out")
  awk '{ exit !($3 > 95 && $4 > 0 && $6 > 0 && $8 > 0) }' <<< "$row"
done
row=$(grep '^engine INT8, integers only ' "$build/quickstart.out")
awk '{ exit !($5 > 95 && $6 > 0 && $8 > 0 && $10 > 0) }' <<< "$row"
report=$(sed -n 's/^Report: *//p' "$build/quickstart.out")
python3 - "$report" << 'PYTHON'
import sys
import xml.etree.ElementTree as ElementTree

page = ElementTree.parse(sys.argv[1]).getroot()
rows = [row[0][0].text for row in page.find(".//section[@id='comparison']").iter("tr")
        if row[0].tag == "td"]
assert rows == ["fp32", "fp16", "bf16", "int8", "int8 integers"], rows
headings = [heading.text for heading in page.iter("th")]
assert any("top-1 of" in heading for heading in headings), headings
PYTHON
test -s "$build/quickstart/digits/lenet_iter_600.caffemodel"
test -s "$build/quickstart/digits/lenet_fp16.caffemodel"
test -s "$build/quickstart/digits/lenet_iter_600.solverstate"
