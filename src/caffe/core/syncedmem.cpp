#include "caffe/syncedmem.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "caffe/context.hpp"
#include "caffe/device/device_registry.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace {

uint64_t NextStamp() {
  static std::atomic<uint64_t> counter{0};
  return ++counter;
}

}  // namespace

SyncedMemory::~SyncedMemory() {
  FreeCpu();
  FreeGpu();
}

void SyncedMemory::FreeGpu() noexcept {
  if (owns_gpu_data_) device_->Free(gpu_data_, size_);
  gpu_data_ = nullptr;
  owns_gpu_data_ = false;
  gpu_keep_alive_.reset();
}

void SyncedMemory::FreeCpu() noexcept {
  if (cpu_data_ && cpu_owner_) FreeHost(cpu_data_, size_, cpu_owner_);
  cpu_data_ = nullptr;
  cpu_owner_ = nullptr;
  cpu_keep_alive_.reset();
}

void SyncedMemory::AllocateCpu() {
  if (cpu_data_) return;
  Allocator* owner = allocator_.get();
  cpu_data_ = AllocateHost(size_, &owner);
  cpu_owner_ = owner;
}

void SyncedMemory::AllocateGpu() {
  if (gpu_data_) return;
  device_ = CurrentDevice();
  gpu_data_ = device_->Allocate(size_);
  owns_gpu_data_ = true;
}

const void* SyncedMemory::ReadCpu() {
  std::lock_guard<std::mutex> lock(mutex_);
  switch (head_.load()) {
    case UNINITIALIZED:
      AllocateCpu();
      std::memset(cpu_data_, 0, size_);
      head_.store(HEAD_AT_CPU, std::memory_order_release);
      break;
    case HEAD_AT_GPU: {
      AllocateCpu();
      Stream& stream = Context::Current().stream();
      device_->CopyToHost(cpu_data_, gpu_data_, size_, stream);
      stream.Synchronize();
      head_.store(SYNCED, std::memory_order_release);
      break;
    }
    case HEAD_AT_CPU:
    case SYNCED:
      break;
  }
  return cpu_data_;
}

const void* SyncedMemory::gpu_data() {
  std::lock_guard<std::mutex> lock(mutex_);
  switch (head_.load()) {
    case UNINITIALIZED:
      AllocateGpu();
      device_->FillZero(gpu_data_, size_, Context::Current().stream());
      head_.store(HEAD_AT_GPU, std::memory_order_release);
      break;
    case HEAD_AT_CPU: {
      AllocateGpu();
      Stream& stream = Context::Current().stream();
      device_->CopyToDevice(gpu_data_, cpu_data_, size_, stream);
      stream.Synchronize();
      head_.store(SYNCED, std::memory_order_release);
      break;
    }
    case HEAD_AT_GPU:
    case SYNCED:
      break;
  }
  return gpu_data_;
}

void SyncedMemory::MarkWritten(SyncedHead head) {
  head_.store(head, std::memory_order_release);
  set_stamp(NextStamp());
}

void* SyncedMemory::mutable_cpu_data() {
  cpu_data();
  MarkWritten(HEAD_AT_CPU);
  return cpu_data_;
}

void* SyncedMemory::mutable_gpu_data() {
  gpu_data();
  MarkWritten(HEAD_AT_GPU);
  return gpu_data_;
}

void* SyncedMemory::overwrite_cpu_data() {
  fill_cpu_data();
  MarkWritten(HEAD_AT_CPU);
  return cpu_data_;
}

void* SyncedMemory::fill_cpu_data() {
  std::lock_guard<std::mutex> lock(mutex_);
  AllocateCpu();
  head_.store(HEAD_AT_CPU, std::memory_order_release);
  return cpu_data_;
}

void* SyncedMemory::overwrite_gpu_data() {
  fill_gpu_data();
  MarkWritten(HEAD_AT_GPU);
  return gpu_data_;
}

void* SyncedMemory::fill_gpu_data() {
  std::lock_guard<std::mutex> lock(mutex_);
  AllocateGpu();
  head_.store(HEAD_AT_GPU, std::memory_order_release);
  return gpu_data_;
}

void SyncedMemory::set_cpu_data(void* data, std::shared_ptr<void> keep_alive) {
  CHECK(data != nullptr);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    FreeCpu();
    cpu_data_ = data;
    cpu_keep_alive_ = std::move(keep_alive);
  }
  MarkWritten(HEAD_AT_CPU);
}

void SyncedMemory::set_gpu_data(void* data) {
  CHECK(data != nullptr);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    FreeGpu();
    device_ = CurrentDevice();
    gpu_data_ = data;
  }
  MarkWritten(HEAD_AT_GPU);
}

void SyncedMemory::PlaceOnDevice(void* data, std::shared_ptr<void> keep_alive) {
  CHECK(data != nullptr);
  std::lock_guard<std::mutex> lock(mutex_);
  if (gpu_data_ == data) return;
  const std::shared_ptr<Device> device = CurrentDevice();
  const SyncedHead head = head_.load();
  if (head == HEAD_AT_GPU || head == SYNCED) {
    device->CopyOnDevice(data, gpu_data_, size_, Context::Current().stream());
  }
  FreeGpu();
  device_ = device;
  gpu_data_ = data;
  gpu_keep_alive_ = std::move(keep_alive);
}

void SyncedMemory::async_gpu_push(Stream& stream) {
  CHECK_EQ(head(), HEAD_AT_CPU);
  std::lock_guard<std::mutex> lock(mutex_);
  AllocateGpu();
  device_->CopyToDevice(gpu_data_, cpu_data_, size_, stream);
  head_.store(SYNCED, std::memory_order_release);
  set_stamp(NextStamp());
}

size_t SyncedMemory::owned_bytes() const {
  return (cpu_owner_ ? size_ : 0) + (owns_gpu_data_ ? size_ : 0);
}

void CaffeMallocHost(void** pointer, size_t size, bool* use_cuda) {
  *use_cuda = false;
  *pointer = std::malloc(std::max<size_t>(size, 1));
  Require(*pointer != nullptr, "there is no memory for ", size, " bytes");
}

void CaffeFreeHost(void* pointer, bool) noexcept { std::free(pointer); }

}  // namespace caffe
