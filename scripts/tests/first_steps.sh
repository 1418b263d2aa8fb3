#!/usr/bin/env bash
# From a folder of images to an INT8 engine in one command, which prints what matters and no log.
set -euo pipefail
root=$1 build=$2
source "$1/scripts/tests/lib/common.sh"
unset GLOG_minloglevel
export GLOG_log_dir=$work

small_net
make_images 12 8
mkdir -p folder/below
mv [0-5].png folder/
mv [6-9].png 1?.png folder/below/
echo 'not an image' > folder/notes.txt

# A folder: counted first; what comes next is said at the end. Nets log with -verbose only.
quietly() {
  runs "$@"
  ! grep -q '^I[0-9]' err.txt || fail "a log on stderr of: $*"
}
quietly "$caffe" build $net -plan net.plan -precision int8 -images folder
has err.txt '^12 images in folder$'
has out.txt '^note: 12 images are few'
has out.txt '^wrote net.plan: '
has out.txt '^  caffe infer -plan net.plan IMAGE...'
has out.txt '^  caffe compare -model net.prototxt .* -images folder$'
runs "$caffe" build $net -plan net.plan -verbose
has err.txt '^I[0-9].*net'

# A pattern of the shell's.
quietly "$caffe" infer -plan net.plan -images 'folder/*.png' -json
has err.txt '^6 images in folder/\*.png$'
[ "$(grep -c '"name"' out.txt)" = 6 ] || fail 'not the six images'
quietly "$caffe" compare $net -plan net.plan -images 'folder/below/*.png'
quietly "$caffe" check_fp16 $net -images folder

# What is not an image is named before anything is done with the others.
echo 'not an image' > folder/broken.jpg
refuses "1 of 13 files are not images.*'folder/broken.jpg'" "$caffe" infer -plan net.plan -images folder
refuses 'no file fits this pattern' "$caffe" infer -plan net.plan -images '*.gif'
mkdir empty
refuses 'the folder has no images' "$caffe" infer -plan net.plan -images empty

# A comma may be part of a file's name.
cp net.caffemodel 'a,b.caffemodel'
quietly "$caffe" build -model net.prototxt -weights a,b.caffemodel -plan comma.plan
refuses "c.caffemodel" "$caffe" build -model net.prototxt -weights a,b.caffemodel,c.caffemodel -plan comma.plan
echo "first_steps: passed"
