#!/usr/bin/env bash
# The page of caffe build -report: which engines it compares and by what, and that it is well formed.
set -euo pipefail
build=$2
source "$1/scripts/tests/lib/common.sh"
small_net
make_images 12 8
quickly="-timing_iterations 1 -report_seconds 0.01"

# page FILE PRECISION...: the page reads as XML and has a row for each of these.
page() {
  python3 - "$@" << 'PYTHON'
import sys
import xml.etree.ElementTree as ElementTree

page = ElementTree.parse(sys.argv[1]).getroot()
rows = [row[0][0].text for row in page.find(".//section[@id='comparison']").iter("tr")
        if row[0].tag == "td"]
assert rows == sys.argv[2:], rows
PYTHON
}

# Without data: no INT8; errors on noise.
runs "$caffe" build $net -plan net.plan -report report.html $quickly
has out.txt '^wrote report.html$'
page report.html fp32 fp16 bf16
has report.html 'output error'
has report.html "<dt>command</dt><dd>$caffe build -model net.prototxt .* -report report.html"
has report.html '<dt>instruction set</dt>'
lacks report.html 'top-1'
lacks report.html 'id="ranges"'
[ ! -e net.plan.report ] || fail 'a plan was left behind'

# With labelled images: INT8, top-1, histograms; a row for an engine of several types.
runs "$caffe" build $net -plan net.plan -images list.txt -min_images 12 -report report.html \
  -layer_precision fc=fp16 $quickly
page report.html fp32 fp16 bf16 int8 'int8 integers' 'fp32 as built'
has report.html 'top-1 of 12 images'
has report.html 'Magnitudes in 12 images'

# With a table: thresholds, and images only to test on.
runs "$caffe" calibrate $net -images list.txt -min_images 12 -calibration_table net.table
runs "$caffe" build $net -plan net.plan -calibration_table net.table -images list.txt \
  -report report.html $quickly
page report.html fp32 fp16 bf16 int8 'int8 integers'
has report.html '<section id="integers">'
has report.html 'top-1 of 12 images'
has report.html 'threshold'
lacks report.html 'Magnitudes in'

rm -f a.plan
refuses '/no/such/folder/a.html' "$caffe" build $net -plan a.plan -report /no/such/folder/a.html
refuses 'report_seconds must be positive' "$caffe" build $net -plan a.plan -report a.html \
  -report_seconds 0
[ ! -e a.plan ] || fail 'a plan was written though the command failed'
echo 'build_report: passed'
