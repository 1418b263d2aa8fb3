#include "caffe/inference/hint.hpp"

#include "caffe/common.hpp"
#include "caffe/error.hpp"

namespace caffe::inference {

Hint ParseHint(const std::string& name) {
  if (name == "latency") return Hint::LATENCY;
  if (name == "throughput") return Hint::THROUGHPUT;
  Fail("there is no hint '", name, "'", Error::Remedy{"give latency or throughput"});
}

ThreadSplit SplitThreads(Hint hint, int threads) {
  Require(threads >= 0, "the number of threads must not be negative, got ", threads);
  if (threads == 0) threads = Caffe::threads();
  return hint == Hint::LATENCY ? ThreadSplit{1, threads} : ThreadSplit{threads, 1};
}

}  // namespace caffe::inference
