#ifndef CAFFE_TENSOR_HPP_
#define CAFFE_TENSOR_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "caffe/element_type.hpp"
#include "caffe/syncedmem.hpp"

namespace caffe {

/// The order in which a tensor's elements lie in memory. PLAIN is Caffe's: row-major, the last
/// axis fastest. The others see the tensor as (num, channels, spatial).
struct Layout {
  enum Kind : uint8_t {
    PLAIN,
    CHANNELS_LAST,    ///< (num, spatial, channels)
    CHANNELS_BLOCKED  ///< (num, channels / block, spatial, block), the last block padded with zeros
  };
  Kind kind = PLAIN;
  int block = 1;  ///< channels per block, for CHANNELS_BLOCKED
  size_t num = 0, channels = 0, spatial = 0;

  static Layout ChannelsLast(size_t num, size_t channels, size_t spatial) {
    return {CHANNELS_LAST, 1, num, channels, spatial};
  }
  static Layout ChannelsBlocked(int block, size_t num, size_t channels, size_t spatial) {
    return {CHANNELS_BLOCKED, block, num, channels, spatial};
  }
  /// Elements in memory, padding included, for a tensor of `count` elements.
  size_t extent(size_t count) const;
  bool operator==(const Layout& other) const;
};

/// r = scale * (q - zero_point): what an integer q of an INT8 or UINT8 slot stands for.
struct AffineParameters {
  float scale = 1;
  int zero_point = 0;
};

/// One value in several representations. A slot holds it in one element type and one layout; the
/// slot that was written last is the truth, and reading another one converts it first. So layers
/// of different types connect without a cast, and a layer that knows only float works in a
/// FLOAT16 net.
///
/// Reading is safe from several threads: a conversion happens once, under a lock. Writing, Resize
/// and Trim need the caller's own order.
///
/// A plain slot that gave out a mutable pointer, or a const one to keep (kept_cpu_data), stays in
/// its place until the tensor dies: as in Caffe, where a Blob is Reshaped to more elements. Only
/// ForgetPointers, Release and MoveTo end that, which nets call for parameters while they are set
/// up, and for activations that no program has asked for. Any other const pointer is good until the
/// next Trim, Replace or Release: that of a parameter until its net runs or loads.
class Tensor {
 public:
  /// `count` elements, zeros, with no memory yet. `storage` is the declared storage type: what is
  /// saved and what memory is planned for, whichever slot is the newest.
  Tensor(size_t count, ElementType storage);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  /// Where the host memory of slots made from now on comes from; null: Allocator::Get().
  void set_allocator(const std::shared_ptr<Allocator>& allocator) { allocator_ = allocator; }

  size_t count() const { return count_; }
  size_t capacity() const { return capacity_; }
  /// Changes the number of elements in use, up to capacity(). Contents beyond the old count are
  /// unspecified.
  void Resize(size_t count);

  ElementType storage_type() const { return storage_; }
  void set_storage_type(ElementType type) { storage_ = type; }

  /// The element type that was written last; the storage type if nothing was written.
  ElementType newest_type() const;
  /// The layout of the newest slot if its type is `type`; otherwise PLAIN.
  Layout newest_layout(ElementType type) const;
  /// Grows with every write, through whichever slot; 0 if nothing was written.
  uint64_t stamp() const;

  const void* cpu_data(ElementType type) {
    Slot* slot = slots_.load(std::memory_order_acquire);
    if (slot && !slot->next && slot->IsPlain(type)) return slot->memory->cpu_data();
    return Read(type, Layout()).cpu_data();
  }
  const void* gpu_data(ElementType type) { return Read(type, Layout()).gpu_data(); }
  /// The same for a caller who may keep the pointer.
  const void* kept_cpu_data(ElementType type) { return Keep(type).cpu_data(); }
  const void* kept_gpu_data(ElementType type) { return Keep(type).gpu_data(); }
  void* mutable_cpu_data(ElementType type) { return Write(type, Layout()).mutable_cpu_data(); }
  void* mutable_gpu_data(ElementType type) { return Write(type, Layout()).mutable_gpu_data(); }
  /// For a caller who writes all elements: nothing is converted, copied or cleared first.
  void* overwrite_cpu_data(ElementType type) {
    return Overwrite(type, Layout()).overwrite_cpu_data();
  }
  void* overwrite_gpu_data(ElementType type) {
    return Overwrite(type, Layout()).overwrite_gpu_data();
  }

  /// The memory of a slot, up to date, for reading. The layout must describe count() elements.
  SyncedMemory& Read(ElementType type, const Layout& layout);
  /// The same for changing it: its mutable_*_data makes it the truth.
  SyncedMemory& Write(ElementType type, const Layout& layout);
  /// The memory of a slot, not brought up to date.
  SyncedMemory& Overwrite(ElementType type, const Layout& layout);
  /// The plain slot of `type`, up to date, shared. A caller who keeps it sees later writes to
  /// that slot only.
  const boost::shared_ptr<SyncedMemory>& memory(ElementType type);

  /// True if there is such a slot (up to date or not).
  bool has_slot(ElementType type, const Layout& layout = Layout()) const;
  /// True if the plain slot of `type` gave out a mutable pointer.
  bool handed_out(ElementType type) const;
  /// True if the plain slot of `type` gave out a pointer that is kept, const or mutable.
  bool is_held(ElementType type) const;
  /// True if the plain slot of `type` exists and something newer was written elsewhere.
  bool is_stale(ElementType type) const;
  /// Declares that no caller keeps pointers from before, so that Trim may drop every other slot.
  void ForgetPointers();
  /// The same for const (mutable) pointers alone.
  void ForgetConstPointers();
  void ForgetMutablePointers();
  /// What the integers of the slots of INT8 or UINT8 stand for. Set before the slot is used.
  void set_affine(ElementType type, const AffineParameters& parameters);

  /// Declares the plain slot of `type`, already allocated, the truth: a caller wrote through a
  /// pointer obtained earlier.
  void Touch(ElementType type);
  /// Brings the storage type's slot up to date and frees the others, except those of which a
  /// pointer is kept: readers of these see the value of now.
  void Trim();
  /// Writes a released tensor again; an empty function does nothing.
  using Recompute = std::shared_ptr<const std::function<void()>>;
  /// A message that tensors share: they are released in every pass.
  using Message = std::shared_ptr<const std::string>;
  /// Frees all memory, handed out or not. Until the tensor is overwritten or revived, reading it
  /// calls `recompute`, which has to do so, and without that throws Error(*why).
  void Release(Message why, Recompute recompute = nullptr);
  bool released() const { return released_ != nullptr; }
  /// Ends that state: the elements are zeros again.
  void Revive() { released_.reset(); }
  /// Frees all slots for a form of the caller's, from which `restore` can write the plain slot of
  /// `type` again, capacity() elements, as soon as it is read. Not while another thread may
  /// read the tensor. Returns false, and does nothing, where a pointer is kept, memory is borrowed
  /// or that slot is not up to date.
  bool Replace(ElementType type, std::function<void(void*)> restore);
  /// Moves the plain slot of `type` with its contents into memory of the caller's, capacity()
  /// elements, and drops the others. `keep_alive` is held while the memory is used.
  void MoveTo(ElementType type, void* memory, std::shared_ptr<void> keep_alive);

  /// Host and device bytes of all slots.
  size_t allocated_bytes() const;

 private:
  struct Slot {
    ElementType type;
    Layout layout;
    boost::shared_ptr<SyncedMemory> memory;
    std::atomic<bool> handed_out{false};       // mutable, or as shared memory
    std::atomic<bool> kept{false};             // const: see kept_cpu_data
    std::atomic<uint64_t> converted_stamp{0};  // the stamp that a conversion gave it
    Slot* next = nullptr;
    bool IsPlain(ElementType wanted) const {
      return type == wanted && layout.kind == Layout::PLAIN;
    }
    bool IsHeld() const { return handed_out || kept; }
    // False for a copy that a conversion made: it may be rounded.
    bool IsWritten() const { return memory->stamp() != converted_stamp; }
  };

  Slot* Find(ElementType type, const Layout& layout) const;
  Slot& FindOrAdd(ElementType type, const Layout& layout);
  Slot* Newest() const;
  SyncedMemory& Keep(ElementType type) {
    Slot* slot = slots_.load(std::memory_order_acquire);
    const bool alone = slot && !slot->next && slot->IsPlain(type);
    if (!alone) slot = &UpToDate(type, Layout());
    if (!slot->kept.load(std::memory_order_relaxed)) slot->kept = true;
    return *slot->memory;
  }
  Slot& UpToDate(ElementType type, const Layout& layout);
  void Restore();
  void ConvertInto(Slot& target, Slot& source);
  void DropSlots();

  size_t count_;
  size_t capacity_;
  ElementType storage_;
  AffineParameters int8_, uint8_;
  std::shared_ptr<Allocator> allocator_;
  std::atomic<Slot*> slots_{nullptr};   // newest-made first; only grows while threads may read
  std::function<void(void*)> restore_;  // see Replace; guarded by mutex_
  ElementType replaced_type_;
  std::atomic<uint64_t> replaced_stamp_{0};  // of what Replace freed
  Message released_;                         // why reading is an error; null when it is not
  Recompute recompute_;                      // what ends that state
  std::mutex mutex_;
};

}  // namespace caffe

#endif  // CAFFE_TENSOR_HPP_
