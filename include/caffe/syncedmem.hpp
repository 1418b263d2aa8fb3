#ifndef CAFFE_SYNCEDMEM_HPP_
#define CAFFE_SYNCEDMEM_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "caffe/allocator.hpp"
#include "caffe/common.hpp"
#include "caffe/device.hpp"

namespace caffe {

/// A block of memory with a copy on the host and one on the device, each made when first asked
/// for; reading brings the copy that is asked for up to date. Fresh memory reads as zeros.
///
/// Every way of writing (mutable_*, overwrite_*, set_*_data) takes a new stamp from one
/// process-wide counter, by which a Tensor tells which of its representations is the newest.
///
/// Several threads may read at once; writing needs the caller's own order, as ever in Caffe.
class SyncedMemory {
 public:
  enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };

  SyncedMemory() : SyncedMemory(0) {}
  /// Host memory comes from `allocator`, or from Allocator::Get() if that is null.
  explicit SyncedMemory(size_t size, std::shared_ptr<Allocator> allocator = nullptr)
      : size_(size), allocator_(std::move(allocator)) {}
  ~SyncedMemory();
  SyncedMemory(const SyncedMemory&) = delete;
  SyncedMemory& operator=(const SyncedMemory&) = delete;

  /// The host copy, up to date. The pointer stays the same until set_cpu_data.
  const void* cpu_data() {
    const SyncedHead head = head_.load(std::memory_order_acquire);
    if (head == HEAD_AT_CPU || head == SYNCED) return cpu_data_;
    return ReadCpu();
  }
  const void* gpu_data();
  void* mutable_cpu_data();
  void* mutable_gpu_data();
  /// As mutable_*, for a caller who writes every byte: nothing is copied or cleared first.
  void* overwrite_cpu_data();
  void* overwrite_gpu_data();

  /// As overwrite_cpu_data, but keeps the stamp: for a Tensor that fills in a conversion of
  /// something newer and sets the stamp when it is complete.
  void* fill_cpu_data();
  void* fill_gpu_data();

  /// Uses memory of the caller's (`size()` bytes) instead of its own. `keep_alive`, if given, is
  /// held as long as the memory is used.
  void set_cpu_data(void* data) { set_cpu_data(data, nullptr); }
  void set_cpu_data(void* data, std::shared_ptr<void> keep_alive);
  void set_gpu_data(void* data);
  /// Moves the device copy, or the place where it will be made, to memory of the caller's on the
  /// calling thread's device (`size()` bytes), for pointers not yet taken; `keep_alive` is held as
  /// long as the memory is used. What is newest stays so.
  void PlaceOnDevice(void* data, std::shared_ptr<void> keep_alive);
  /// Where the host copy lies, up to date or not; nullptr if not yet made.
  const void* cpu_place() const { return cpu_data_; }

  /// Starts copying the host copy to the device on `stream`; the caller synchronizes it before
  /// the device copy is read on another stream or the host copy is written.
  void async_gpu_push(Stream& stream);

  SyncedHead head() const { return head_.load(std::memory_order_acquire); }
  size_t size() const { return size_; }
  /// Bytes that this object itself holds on the host and on the device together.
  size_t owned_bytes() const;

  /// The stamp of the newest write; 0 if never written.
  uint64_t stamp() const { return stamp_.load(std::memory_order_acquire); }
  /// For memory that was made equal to a newer representation (Tensor).
  void set_stamp(uint64_t stamp) { stamp_.store(stamp, std::memory_order_release); }

 private:
  const void* ReadCpu();
  void AllocateCpu();
  void AllocateGpu();
  void MarkWritten(SyncedHead head);
  void FreeCpu() noexcept;
  void FreeGpu() noexcept;

  const size_t size_;
  const std::shared_ptr<Allocator> allocator_;
  std::atomic<SyncedHead> head_{UNINITIALIZED};
  std::atomic<uint64_t> stamp_{0};
  std::mutex mutex_;
  void* cpu_data_ = nullptr;
  Allocator* cpu_owner_ = nullptr;  // null: borrowed
  std::shared_ptr<void> cpu_keep_alive_;
  void* gpu_data_ = nullptr;
  bool owns_gpu_data_ = false;
  std::shared_ptr<void> gpu_keep_alive_;
  std::shared_ptr<Device> device_;
};

/// Caffe's allocation of host memory, for programs that call it: `*use_cuda` becomes false, as the
/// memory is never pinned. CaffeFreeHost frees it. Throws Error where there is not enough.
void CaffeMallocHost(void** pointer, size_t size, bool* use_cuda);
void CaffeFreeHost(void* pointer, bool use_cuda) noexcept;

}  // namespace caffe

#endif  // CAFFE_SYNCEDMEM_HPP_
