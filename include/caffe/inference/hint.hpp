#ifndef CAFFE_INFERENCE_HINT_HPP_
#define CAFFE_INFERENCE_HINT_HPP_

#include <string>

namespace caffe::inference {

/// What the CPU's threads are to be used for.
enum class Hint {
  LATENCY,    ///< low latency: one context, whose loops share all threads
  THROUGHPUT  ///< high throughput: as many contexts as threads, each with one thread
};

/// Parses "latency" or "throughput". Throws Error for another name.
Hint ParseHint(const std::string& name);

/// How threads are used: the number of parallel contexts, and the threads of each
/// (ExecutionContext, LoadOptions::streams and threads_each, BuilderConfig::threads).
struct ThreadSplit {
  int contexts = 1;
  int threads = 1;
};

/// Divides this many threads; 0: Caffe::threads(). Throws Error for less than 0.
ThreadSplit SplitThreads(Hint hint, int threads = 0);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_HINT_HPP_
