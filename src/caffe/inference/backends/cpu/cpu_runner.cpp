#include "cpu_runner.hpp"

#include <algorithm>
#include <cstring>

#include "caffe/allocator.hpp"
#include "caffe/kernels/parallel.hpp"
#include "copy_rows.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

class HostMemory : public TargetMemory {
 public:
  std::shared_ptr<void> Allocate(size_t bytes) override {
    Allocator* owner = nullptr;
    void* memory = AllocateHost(bytes, &owner);
    std::memset(memory, 0, bytes);
    return std::shared_ptr<void>(memory, [bytes, owner](void* p) { FreeHost(p, bytes, owner); });
  }
  const void* PlaceOf(const std::shared_ptr<const void>& constant) override {
    return constant.get();
  }
  void CopyRows(size_t rows, size_t bytes, const void* from, size_t from_stride, void* to,
                size_t to_stride) override {
    cpu::CopyRows(rows, bytes, from, from_stride, to, to_stride);
  }
  void Read(const void* from, size_t bytes, void* to) override { std::memcpy(to, from, bytes); }
};

bool NeedsOpenMp(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return ImplementationOf(CpuTarget(), node.implementation).NeedsOpenMp(graph, node);
  });
}

}  // namespace

// Two kinds of threads would wait for the cores that the others spin on.
CpuRunner::CpuRunner(std::shared_ptr<const Graph> graph)
    : LoweredRunner(graph, CpuTarget(), std::make_unique<HostMemory>()),
      has_loop_team_(!NeedsOpenMp(*graph)) {}

void CpuRunner::Run(const AfterNode& after) {
  const kernels::LoopTeam::Scope team(has_loop_team_);
  const kernels::FlushDenormals flush_denormals;
  LoweredRunner::Run(after);
}

}  // namespace caffe::inference::cpu
