#ifndef CAFFE_TOOLS_CAFFE_PARALLEL_RUNS_HPP_
#define CAFFE_TOOLS_CAFFE_PARALLEL_RUNS_HPP_

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
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
               const inference::ThreadSplit& split, Done done)
      : done_(std::move(done)) {
    for (int i = 0; i < split.contexts; ++i) contexts_.emplace_back(engine, split.threads);
  }

  /// Returns when a context is free again.
  void Add(std::vector<std::string> items, inference::Tensors inputs) {
    // A single context stays in this thread: its team of threads is made once.
    const auto launch = contexts_.size() == 1 ? std::launch::deferred : std::launch::async;
    inference::ExecutionContext* context = &contexts_[count_++ % contexts_.size()];
    pending_.push_back({std::move(items), std::async(launch, [context, inputs = std::move(inputs)] {
                          return inference::RunInPieces(inputs, context);
                        })});
    if (pending_.size() == contexts_.size()) FinishFirst();
  }
  void Finish() {
    while (!pending_.empty()) FinishFirst();
  }

 private:
  struct Run {
    std::vector<std::string> items;
    std::future<inference::Tensors> outputs;
  };

  void FinishFirst() {
    Run first = std::move(pending_.front());
    pending_.pop_front();
    done_(first.items, first.outputs.get());
  }

  const Done done_;
  std::vector<inference::ExecutionContext> contexts_;
  std::deque<Run> pending_;  // ends before the contexts, which its runs use
  size_t count_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_PARALLEL_RUNS_HPP_
