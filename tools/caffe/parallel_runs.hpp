#ifndef CAFFE_TOOLS_CAFFE_PARALLEL_RUNS_HPP_
#define CAFFE_TOOLS_CAFFE_PARALLEL_RUNS_HPP_

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine_batches.hpp"
#include "caffe/inference/hint.hpp"

namespace caffe {

/// Runs batches in contexts side by side, and hands on what they make in the batches' order.
class ParallelRuns {
 public:
  using Done =
      std::function<void(const std::vector<std::string>& items, const inference::Tensors&)>;

  ParallelRuns(const std::shared_ptr<const inference::Engine>& engine,
               const inference::ThreadSplit& split, Done done);

  /// Returns when a context is free again.
  void Add(std::vector<std::string> items, inference::Tensors inputs);
  void Finish();

 private:
  struct Run {
    std::vector<std::string> items;
    std::future<inference::Tensors> outputs;
  };

  void FinishFirst();

  const Done done_;
  std::vector<inference::ExecutionContext> contexts_;
  std::deque<Run> pending_;  // ends before the contexts, which its runs use
  size_t count_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_PARALLEL_RUNS_HPP_
