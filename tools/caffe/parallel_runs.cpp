#include "parallel_runs.hpp"

#include <utility>

namespace caffe {

ParallelRuns::ParallelRuns(const std::shared_ptr<const inference::Engine>& engine,
                           const inference::ThreadSplit& split, Done done)
    : done_(std::move(done)) {
  for (int i = 0; i < split.contexts; ++i) contexts_.emplace_back(engine, split.threads);
}

void ParallelRuns::Add(std::vector<std::string> items, inference::Tensors inputs) {
  // A single context stays in this thread: its team of threads is made once.
  const auto launch = contexts_.size() == 1 ? std::launch::deferred : std::launch::async;
  inference::ExecutionContext* context = &contexts_[count_++ % contexts_.size()];
  pending_.push_back({std::move(items), std::async(launch, [context, inputs = std::move(inputs)] {
                        return inference::RunInPieces(inputs, context);
                      })});
  if (pending_.size() == contexts_.size()) FinishFirst();
}

void ParallelRuns::Finish() {
  while (!pending_.empty()) FinishFirst();
}

void ParallelRuns::FinishFirst() {
  Run first = std::move(pending_.front());
  pending_.pop_front();
  done_(first.items, first.outputs.get());
}

}  // namespace caffe
