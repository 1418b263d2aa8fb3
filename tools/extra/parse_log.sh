#!/usr/bin/env sh
# Makes two tables of columns, for gnuplot, from the log of `caffe train`:
#
#     parse_log.sh train.log      # writes train.log.train and train.log.test into this folder
#
# with Caffe's columns, whose names follow a '#' in the first line:
#
#     .train  Iters Seconds TrainingLoss LearningRate   the loss that "Iteration N" is logged with
#     .test   Iters Seconds TestAccuracy TestLoss       "Test net output #0" and "#1"
#
# Further columns, by their names: the outputs of a net in training that has several, and other
# outputs of test nets. parse_log.py writes all outputs with commas.
set -eu

if [ $# -ne 1 ]; then
  echo "usage: parse_log.sh LOG" >&2
  exit 1
fi
name=$(basename "$1")
tab=$(printf '\t')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM  # dash runs the first one only where the script exits by itself
"$(dirname "$0")/parse_log.py" "$1" "$work" --delimiter "$tab"

if [ -f "$work/$name.train" ]; then
  # The log is standard input: awk would take a path with '=' for a setting.
  awk -F "$tab" '
    NR == FNR {
      if (match($0, /Iteration [0-9]+.*, loss = /)) {
        split(substr($0, RSTART), words, " ")
        sub(/,/, "", words[2])
        split(substr($0, RSTART + RLENGTH), rest, " ")
        loss[words[2]] = rest[1]
      }
      next
    }
    FNR == 1 { row = "#Iters Seconds TrainingLoss LearningRate" }
    FNR > 1 { row = $1 " " $2 " " ($1 in loss ? loss[$1] : "nan") " " $3 }
    NF > 4 { for (i = 4; i <= NF; i++) row = row " " ($i == "" ? "nan" : $i) }
    { print row }' - "$work/$name.train" < "$1" > "$name.train"
fi
if [ -f "$work/$name.test" ]; then
  awk -F "$tab" '
    NR == 1 {
      $1 = "#Iters"
      if ($4 == "accuracy") $4 = "TestAccuracy"
      if ($5 == "loss") $5 = "TestLoss"
    }
    { row = $1 " " $2 }
    { for (i = 4; i <= NF; i++) row = row " " ($i == "" ? "nan" : $i); print row }
  ' "$work/$name.test" > "$name.test"
fi
