#include "caffe/context.hpp"

#include <algorithm>
#include <mutex>

#include "caffe/allocator.hpp"
#include "caffe/core/scratch_source.hpp"
#include "caffe/core/stream_scope.hpp"
#include "caffe/core/thread_object.hpp"
#include "caffe/device/device_registry.hpp"
#include "threads.hpp"

namespace caffe {
namespace {

std::mutex latest_mutex;
Context::Settings latest_settings;

thread_local Allocator* scratch_source = nullptr;
thread_local Stream* stream_of_scope = nullptr;

}  // namespace

ScratchSource::ScratchSource(Allocator* allocator) : before_(scratch_source) {
  scratch_source = allocator;
}

ScratchSource::~ScratchSource() { scratch_source = before_; }

StreamScope::StreamScope(Stream* stream) : before_(stream_of_scope) { stream_of_scope = stream; }

StreamScope::~StreamScope() { stream_of_scope = before_; }

struct Workspace::Block {
  void* data;
  size_t size;
  Allocator* owner;
  bool in_use;
  bool returns;  // to its owner as soon as it is released
};

Workspace::Workspace() = default;

Workspace::~Workspace() {
  for (Block& block : blocks_) FreeHost(block.data, block.size, block.owner);
}

// The smallest free block that is large enough; else the largest free block is replaced by one of
// the size asked for, so that a growing net does not leave a trail of outgrown blocks.
void* Workspace::Acquire(size_t bytes) {
  if (scratch_source) {
    Allocator* owner = scratch_source;
    blocks_.reserve(blocks_.size() + 1);
    void* data = AllocateHost(bytes, &owner);
    blocks_.push_back({data, bytes, owner, true, true});
    return data;
  }
  Block* fitting = nullptr;
  Block* outgrown = nullptr;
  for (Block& block : blocks_) {
    if (block.in_use) continue;
    if (block.size >= bytes) {
      if (!fitting || block.size < fitting->size) fitting = &block;
    } else if (!outgrown || block.size > outgrown->size) {
      outgrown = &block;
    }
  }
  if (!fitting) {
    if (outgrown) {
      FreeHost(outgrown->data, outgrown->size, outgrown->owner);
      blocks_.erase(blocks_.begin() + (outgrown - blocks_.data()));
    }
    Allocator* owner = nullptr;
    blocks_.reserve(blocks_.size() + 1);
    void* data = AllocateHost(bytes, &owner);
    blocks_.push_back({data, bytes, owner, false, false});
    fitting = &blocks_.back();
  }
  fitting->in_use = true;
  return fitting->data;
}

void Workspace::Release(void* data) noexcept {
  const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                  [data](const Block& b) { return b.data == data; });
  if (block == blocks_.end()) return;
  block->in_use = false;
  if (!block->returns) return;
  FreeHost(block->data, block->size, block->owner);
  blocks_.erase(block);
}

size_t Workspace::capacity() const {
  size_t total = 0;
  for (const Block& block : blocks_) total += block.size;
  return total;
}

Context::Context() : face_(*this) {
  StartWithLatestThreads();
  std::lock_guard<std::mutex> lock(latest_mutex);
  settings_ = latest_settings;
}

Context& Context::Current() {
  static thread_local ThreadObject<Context> context;
  return context.Get([] { return new Context; });
}

void Context::set_settings(const Settings& settings) {
  settings_ = settings;
  std::lock_guard<std::mutex> lock(latest_mutex);
  latest_settings.mode = settings.mode;
  latest_settings.device = settings.device;
}

Caffe::RNG& Context::random() {
  if (!random_) random_.reset(new Caffe::RNG());
  return *random_;
}

void Context::set_random_seed(unsigned int seed) { random_.reset(new Caffe::RNG(seed)); }

Stream& Context::stream() {
  if (stream_of_scope) return *stream_of_scope;
  if (!stream_ || device_generation_ != DeviceGeneration() || stream_id_ != settings_.device) {
    device_generation_ = DeviceGeneration();
    stream_id_ = settings_.device;
    stream_.reset();
    stream_device_ = CurrentDevice();
    stream_device_->MakeCurrent();
    stream_ = stream_device_->CreateStream();
  }
  return *stream_;
}

}  // namespace caffe
