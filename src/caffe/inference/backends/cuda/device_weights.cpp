#include "device_weights.hpp"

#include <mutex>
#include <utility>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "cuda_engine.hpp"
#include "cuda_target.hpp"

namespace caffe::inference::cuda {
namespace {

constexpr size_t kAlignment = 256;

/// Calls f(elements, bytes) for every constant that steps read, some of them more than once.
template <typename F>
void ForEachConstant(const Graph& graph, F f) {
  for (const Node& node : graph.nodes) {
    if (&ImplementationOf(CudaTarget(), node.implementation) == &AnyLayer()) continue;
    for (const Constant& c : node.parameters) f(c.data.get(), c.count() * SizeOf(c.type));
  }
  for (const Value& value : graph.values) {
    if (value.is_constant()) f(value.data.get(), BytesOf(value));
  }
}

}  // namespace

DeviceWeights::DeviceWeights(const Graph& graph, const std::shared_ptr<GpuQueue>& queue)
    : queue_(queue) {
  std::map<const void*, size_t> sizes;
  ForEachConstant(graph, [&](const void* elements, size_t bytes) {
    size_t& size = sizes[elements];
    size = std::max(size, bytes);
  });
  size_t end = 0;
  for (const auto& [elements, bytes] : sizes) {
    offsets_[elements] = end;
    end += kernels::RoundUp(bytes, kAlignment);
  }
  try {
    memory_ = queue->Allocate(std::max(end, kAlignment));
  } catch (Error& error) {
    error.AddContext("memory for the weights of engine '" + graph.name + "'");
    throw;
  }
  const GpuQueue::Scope scope(*queue);
  for (const auto& [elements, bytes] : sizes) {
    if (bytes == 0) continue;
    queue->device().CopyToDevice(static_cast<char*>(memory_.get()) + offsets_[elements], elements,
                                 bytes, queue->stream());
  }
  queue->stream().Synchronize();
}

const void* DeviceWeights::PlaceOf(const void* constant) const {
  const auto found = offsets_.find(constant);
  Require(found != offsets_.end(), "a constant of another engine");
  return static_cast<const char*>(memory_.get()) + found->second;
}

std::shared_ptr<const DeviceWeights> DeviceWeights::Of(const std::shared_ptr<const Graph>& graph,
                                                       const std::shared_ptr<GpuQueue>& queue) {
  // The owner keeps the graph alive, so that no other one gets its address meanwhile.
  struct Shared {
    std::shared_ptr<const Graph> graph;
    DeviceWeights weights;
  };
  static std::mutex mutex;
  static std::map<std::pair<const Graph*, Device*>, std::weak_ptr<Shared>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto it = known.begin(); it != known.end();) {
    it = it->second.expired() ? known.erase(it) : std::next(it);
  }
  std::weak_ptr<Shared>& entry = known[{graph.get(), &queue->device()}];
  std::shared_ptr<Shared> shared = entry.lock();
  if (!shared) {
    shared.reset(new Shared{graph, DeviceWeights(*graph, queue)});
    entry = shared;
  }
  return {shared, &shared->weights};
}

}  // namespace caffe::inference::cuda
