#!/usr/bin/env bash
# Makes two tables of columns, for gnuplot, from the log of `caffe train`:
#
#     parse_log.sh train.log      # writes train.log.train and train.log.test into the present folder
#
# NumIters, Seconds, LearningRate and the outputs, with a line of names that begins with '#'.
# parse_log.py writes the same with commas.
set -euo pipefail

if [ $# -ne 1 ]; then
  echo "usage: parse_log.sh LOG" >&2
  exit 1
fi
"$(dirname "$0")/parse_log.py" "$1" . --delimiter ' '
for table in "$(basename "$1")".train "$(basename "$1")".test; do
  if [ -f "$table" ]; then
    sed -i '1s/^/#/' "$table"
  fi
done
