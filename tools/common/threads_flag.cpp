#include "threads_flag.hpp"

#include "caffe/common.hpp"
#include "flags.hpp"

CAFFE_FLAG(
    int32, threads, 0, "N",
    "how many threads share a loop on the CPU (default: OMP_NUM_THREADS, else the processors "
    "that the process may use)");

namespace caffe {

void ApplyThreadsFlag() {
  Require(FLAGS_threads >= 0, Error::Field{"-threads"}, " must not be negative, got ",
          FLAGS_threads);
  Require(FLAGS_threads <= kMaxThreads, Error::Field{"-threads"}, " must be ", kMaxThreads,
          " or less, got ", FLAGS_threads);
  if (FLAGS_threads > 0) Caffe::set_threads(FLAGS_threads);
}

}  // namespace caffe
