#ifndef CAFFE_INFERENCE_HINT_HPP_
#define CAFFE_INFERENCE_HINT_HPP_

#include <string>

namespace caffe::inference {

/// What the CPU's threads are to be used for.
enum class Hint {
  LATENCY,    ///< one run is over soon: one context, all threads share each of its loops
  THROUGHPUT  ///< many runs in a time: as many contexts as threads, each with one thread
};

/// The hint that is called "latency" or "throughput". Throws Error for another name.
Hint ParseHint(const std::string& name);

/// How threads are used: contexts that run side by side, and the threads of each
/// (ExecutionContext, LoadOptions::streams and threads_each, BuilderConfig::threads).
struct ThreadSplit {
  int contexts = 1;
  int threads = 1;
};

/// What a hint makes of so many threads; 0: Caffe::threads(). Throws Error for less than 0.
ThreadSplit SplitThreads(Hint hint, int threads = 0);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_HINT_HPP_
