#include "caffe/tensor.hpp"

#include <algorithm>
#include <cstring>

#include "caffe/core/as_stored.hpp"
#include "caffe/device/on_device.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/transpose_bytes.hpp"

namespace caffe {

size_t Layout::extent(size_t count) const {
  if (kind != CHANNELS_BLOCKED) return count;
  return num * kernels::RoundUp(channels, block) * spatial;
}

bool Layout::operator==(const Layout& other) const {
  if (kind != other.kind) return false;
  if (kind == PLAIN) return true;
  return block == other.block && num == other.num && channels == other.channels &&
         spatial == other.spatial;
}

namespace {

std::atomic<uint64_t> layout_changes{0};

/// Copies between a plain matrix of `rows` channels by `columns` positions and a packed one in
/// which the channels of a position lie together, `block` of them.
template <bool to_packed, typename Bits>
void CopyBlock(size_t rows, size_t columns, size_t block, Bits* plain, Bits* packed) {
  constexpr size_t kTile = 16;  // positions at a time: both sides stay in the cache
  for (size_t begin = 0; begin < columns; begin += kTile) {
    const size_t end = std::min(columns, begin + kTile);
    for (size_t c = 0; c < rows; ++c) {
      Bits* row = plain + c * columns;
      for (size_t s = begin; s < end; ++s) {
        if constexpr (to_packed) {
          packed[s * block + c] = row[s];
        } else {
          row[s] = packed[s * block + c];
        }
      }
    }
  }
}

template <bool to_packed, typename Bits>
void CopyBlocks(const Layout& layout, Bits* plain, Bits* packed) {
  const size_t block = layout.block;
  const size_t blocks = kernels::CeilDiv(layout.channels, block);
  const size_t grain = std::max<size_t>(1, (1 << 14) / std::max<size_t>(1, block * layout.spatial));
  kernels::ParallelFor(layout.num * blocks, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t n = i / blocks, first = i % blocks * block;
      const size_t rows = std::min(block, layout.channels - first);
      Bits* target = packed + i * layout.spatial * block;
      if (to_packed && rows < block) std::fill(target, target + layout.spatial * block, Bits(0));
      CopyBlock<to_packed>(rows, layout.spatial, block,
                           plain + (n * layout.channels + first) * layout.spatial, target);
    }
  });
}

/// y[column, row] = x[row, column], with so many elements between rows.
template <typename Bits>
void Transpose(size_t rows, size_t columns, const Bits* x, size_t x_row, Bits* y, size_t y_row) {
  if constexpr (sizeof(Bits) == 1) {
    kernels::TransposeBytes(rows, columns, x, x_row, y, y_row);
  } else if constexpr (sizeof(Bits) == 2) {
    kernels::TransposeHalves(rows, columns, x, x_row, y, y_row);
  } else if constexpr (sizeof(Bits) == 4) {
    kernels::TransposeWords(rows, columns, x, x_row, y, y_row);
  } else {
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        y[column * y_row + row] = x[row * x_row + column];
      }
    }
  }
}

// Threads share pieces of some positions of an image.
template <bool to_packed, typename Bits>
void CopyChannelsLast(const Layout& layout, Bits* plain, Bits* packed) {
  constexpr size_t kPositions = 256;
  const size_t channels = layout.channels, spatial = layout.spatial;
  const size_t pieces = kernels::CeilDiv(spatial, kPositions);
  const size_t work = std::max<size_t>(1, channels * std::min(spatial, kPositions));
  const size_t grain = std::max<size_t>(1, (1 << 14) / work);
  kernels::ParallelFor(layout.num * pieces, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t image = i / pieces * channels * spatial, first = i % pieces * kPositions;
      const size_t some = std::min(kPositions, spatial - first);
      Bits* planes = plain + image + first;
      Bits* pixels = packed + image + first * channels;
      if (to_packed) {
        Transpose(channels, some, planes, spatial, pixels, channels);
      } else {
        Transpose(some, channels, pixels, channels, planes, spatial);
      }
    }
  });
}

template <bool to_packed, typename Bits>
void CopyLayout(const Layout& layout, Bits* plain, Bits* packed) {
  layout.kind == Layout::CHANNELS_LAST ? CopyChannelsLast<to_packed>(layout, plain, packed)
                                       : CopyBlocks<to_packed>(layout, plain, packed);
}

template <typename Bits>
void Unpack(const Layout& layout, const void* from, void* to) {
  CopyLayout<false>(layout, static_cast<Bits*>(to),
                    const_cast<Bits*>(static_cast<const Bits*>(from)));
}

template <typename Bits>
void Pack(const Layout& layout, const void* from, void* to) {
  CopyLayout<true>(layout, const_cast<Bits*>(static_cast<const Bits*>(from)),
                   static_cast<Bits*>(to));
}

template <typename Function>
void DispatchBits(size_t element_size, Function&& f) {
  switch (element_size) {
    case 1:
      return f(uint8_t());
    case 2:
      return f(uint16_t());
    case 4:
      return f(uint32_t());
    default:
      return f(uint64_t());
  }
}

/// Writes the values of a slot of `layout` in Caffe's order.
void ToPlain(ElementType type, const Layout& layout, SyncedMemory* source, SyncedMemory* target) {
  if (on_device::FromChannelsLast(layout, type, source, target)) return;
  DispatchBits(SizeOf(type), [&](auto bits) {
    Unpack<decltype(bits)>(layout, source->cpu_data(), target->fill_cpu_data());
  });
}

void FromPlain(ElementType type, const Layout& layout, SyncedMemory* source, SyncedMemory* target) {
  if (on_device::ToChannelsLast(layout, type, source, target)) return;
  DispatchBits(SizeOf(type), [&](auto bits) {
    Pack<decltype(bits)>(layout, source->cpu_data(), target->fill_cpu_data());
  });
}

}  // namespace

uint64_t LayoutChanges() { return layout_changes; }

Tensor::Tensor(size_t count, ElementType storage)
    : count_(count), capacity_(count), storage_(storage), replaced_type_(storage) {}

Tensor::~Tensor() { DropSlots(); }

void Tensor::DropSlots() {
  for (Slot* slot = slots_.exchange(nullptr); slot;) {
    Slot* next = slot->next;
    delete slot;
    slot = next;
  }
}

void Tensor::Release(Message why, Recompute recompute) {
  DropSlots();
  restore_ = nullptr;
  released_ = std::move(why);
  recompute_ = std::move(recompute);
}

void Tensor::Resize(size_t count) {
  CHECK_LE(count, capacity_);
  if (count == count_) return;
  Restore();
  // Only the newest slot keeps its contents: the others hold a converted copy of another extent.
  Slot* newest = Newest();
  if (newest && newest->layout.kind != Layout::PLAIN) newest = &UpToDate(newest->type, Layout());
  Slot* kept = nullptr;
  for (Slot* slot = slots_.load(); slot;) {
    Slot* next = slot->next;
    if (slot->layout.kind == Layout::PLAIN) {
      if (slot != newest && slot->memory->stamp() != 0) slot->memory->set_stamp(0);
      slot->next = kept;
      kept = slot;
    } else {
      delete slot;
    }
    slot = next;
  }
  slots_.store(kept);
  count_ = count;
}

Tensor::Slot* Tensor::Find(ElementType type, const Layout& layout) const {
  for (Slot* slot = slots_.load(std::memory_order_acquire); slot; slot = slot->next) {
    if (slot->type != type || slot->layout.kind != layout.kind) continue;
    if (layout.kind == Layout::PLAIN || slot->layout == layout) return slot;
  }
  return nullptr;
}

Tensor::Slot& Tensor::FindOrAdd(ElementType type, const Layout& layout) {
  if (Slot* slot = Find(type, layout)) return *slot;
  std::unique_ptr<Slot> slot(new Slot);
  slot->type = type;
  slot->layout = layout;
  const size_t elements = layout.kind == Layout::PLAIN ? capacity_ : layout.extent(count_);
  slot->memory.reset(new SyncedMemory(elements * SizeOf(type), allocator_));
  slot->next = slots_.load();
  slots_.store(slot.get(), std::memory_order_release);
  return *slot.release();
}

Tensor::Slot* Tensor::Newest() const {
  Slot* newest = nullptr;
  for (Slot* slot = slots_.load(std::memory_order_acquire); slot; slot = slot->next) {
    if (!newest || slot->memory->stamp() > newest->memory->stamp() ||
        (slot->memory->stamp() == newest->memory->stamp() && slot->IsWritten())) {
      newest = slot;
    }
  }
  return newest;
}

ElementType Tensor::newest_type() const {
  const Slot* newest = Newest();
  return newest && newest->memory->stamp() != 0 ? newest->type : storage_;
}

Layout Tensor::newest_layout(ElementType type) const {
  const Slot* newest = Newest();
  return newest && newest->memory->stamp() != 0 && newest->type == type ? newest->layout : Layout();
}

uint64_t Tensor::stamp() const {
  const Slot* newest = Newest();
  return std::max<uint64_t>(newest ? newest->memory->stamp() : 0, replaced_stamp_);
}

bool Tensor::is_stale(ElementType type) const {
  const Slot* slot = Find(type, Layout());
  return slot && slot->memory->stamp() != Newest()->memory->stamp();
}

Tensor::Slot& Tensor::UpToDate(ElementType type, const Layout& layout) {
  if (released()) {
    if (const Recompute recompute = recompute_; recompute && *recompute) (*recompute)();
    if (released()) Fail(*released_);
  }
  Slot* slot = Find(type, layout);
  const Slot* newest = Newest();
  if (slot && slot->memory->stamp() == newest->memory->stamp()) return *slot;

  std::lock_guard<std::mutex> lock(mutex_);
  Restore();
  Slot& target = FindOrAdd(type, layout);
  Slot& source = *Newest();
  const uint64_t stamp = source.memory->stamp();
  if (target.memory->stamp() != stamp) {
    ConvertInto(target, source);
    target.converted_stamp = stamp;
    target.memory->set_stamp(stamp);
  }
  return target;
}

bool Tensor::Replace(ElementType type, std::function<void(void*)> restore) {
  const Slot* slot = Find(type, Layout());
  const Slot* newest = Newest();
  if (!slot || slot->memory->stamp() != newest->memory->stamp()) return false;
  for (const Slot* other = slots_.load(); other; other = other->next) {
    if (other->IsHeld() || other->memory->owned_bytes() == 0) return false;
  }
  replaced_type_ = type;
  replaced_stamp_ = slot->memory->stamp();
  DropSlots();
  restore_ = std::move(restore);
  return true;
}

// Other threads see the slot only once it is complete: a tensor's only slot counts as up to date.
void Tensor::Restore() {
  if (!restore_) return;
  std::unique_ptr<Slot> slot(new Slot);
  slot->type = replaced_type_;
  slot->memory.reset(new SyncedMemory(capacity_ * SizeOf(replaced_type_), allocator_));
  restore_(slot->memory->fill_cpu_data());
  slot->memory->set_stamp(replaced_stamp_);
  restore_ = nullptr;
  slots_.store(slot.release(), std::memory_order_release);
}

// Types are converted between plain slots only: a change of both goes through a plain slot of the
// source's type.
void Tensor::ConvertInto(Slot& target, Slot& source) {
  const bool same_type = target.type == source.type;
  const bool from_plain = source.layout.kind == Layout::PLAIN;
  const bool to_plain = target.layout.kind == Layout::PLAIN;
  if (from_plain && to_plain &&
      on_device::Convert(count_, source.type, source.memory.get(), target.type,
                         target.memory.get())) {
    return;
  }
  if (from_plain && to_plain) {
    const AffineParameters& from = source.type == ElementType::INT8 ? int8_ : uint8_;
    const AffineParameters& to = target.type == ElementType::INT8 ? int8_ : uint8_;
    kernels::Convert(count_, source.type, source.memory->cpu_data(), from.scale, from.zero_point,
                     target.type, target.memory->fill_cpu_data(), to.scale, to.zero_point);
  } else if (same_type && to_plain) {
    ++layout_changes;
    ToPlain(source.type, source.layout, source.memory.get(), target.memory.get());
  } else if (same_type && from_plain) {
    ++layout_changes;
    FromPlain(source.type, target.layout, source.memory.get(), target.memory.get());
  } else {
    const uint64_t stamp = source.memory->stamp();
    Slot& plain = FindOrAdd(from_plain ? target.type : source.type, Layout());
    ConvertInto(plain, source);
    plain.converted_stamp = stamp;
    plain.memory->set_stamp(stamp);
    ConvertInto(target, plain);
  }
}

SyncedMemory& Tensor::Read(ElementType type, const Layout& layout) {
  return *UpToDate(type, layout).memory;
}

SyncedMemory& Tensor::Write(ElementType type, const Layout& layout) {
  Slot& slot = UpToDate(type, layout);
  slot.handed_out = true;
  return *slot.memory;
}

SyncedMemory& Tensor::Overwrite(ElementType type, const Layout& layout) {
  released_.reset();
  restore_ = nullptr;
  Slot* slot = Find(type, layout);
  if (!slot) {
    std::lock_guard<std::mutex> lock(mutex_);
    slot = &FindOrAdd(type, layout);
  }
  return *slot->memory;
}

const boost::shared_ptr<SyncedMemory>& Tensor::memory(ElementType type) {
  Slot& slot = UpToDate(type, Layout());
  slot.handed_out = true;
  return slot.memory;
}

bool Tensor::has_slot(ElementType type, const Layout& layout) const {
  return Find(type, layout) != nullptr;
}

bool Tensor::handed_out(ElementType type) const {
  const Slot* slot = Find(type, Layout());
  return slot && slot->handed_out;
}

bool Tensor::is_held(ElementType type) const {
  const Slot* slot = Find(type, Layout());
  return slot && slot->IsHeld();
}

void Tensor::ForgetPointers() {
  ForgetConstPointers();
  ForgetMutablePointers();
}

void Tensor::ForgetConstPointers() {
  for (Slot* slot = slots_.load(); slot; slot = slot->next) slot->kept = false;
}

void Tensor::ForgetMutablePointers() {
  for (Slot* slot = slots_.load(); slot; slot = slot->next) slot->handed_out = false;
}

void Tensor::set_affine(ElementType type, const AffineParameters& parameters) {
  CHECK(type == ElementType::INT8 || type == ElementType::UINT8);
  (type == ElementType::INT8 ? int8_ : uint8_) = parameters;
}

void Tensor::Touch(ElementType type) {
  Slot* slot = Find(type, Layout());
  if (!slot) return;
  if (slot->memory->head() == SyncedMemory::HEAD_AT_GPU) {
    slot->memory->overwrite_gpu_data();
  } else {
    slot->memory->overwrite_cpu_data();
  }
}

void Tensor::Trim() {
  Slot& storage = UpToDate(storage_, Layout());
  Slot* kept = nullptr;
  for (Slot* slot = slots_.load(); slot;) {
    Slot* next = slot->next;
    if (slot == &storage || slot->IsHeld()) {
      slot->next = kept;
      kept = slot;
    } else {
      delete slot;
    }
    slot = next;
  }
  slots_.store(kept);
  for (Slot* slot = kept; slot; slot = slot->next) {
    if (slot->kept) UpToDate(slot->type, slot->layout);
  }
}

void Tensor::MoveTo(ElementType type, void* memory, std::shared_ptr<void> keep_alive) {
  Slot& slot = UpToDate(type, Layout());
  std::memcpy(memory, slot.memory->cpu_data(), capacity_ * SizeOf(type));
  slot.memory->set_cpu_data(memory, std::move(keep_alive));
  for (Slot* other = slots_.load(); other;) {
    Slot* next = other->next;
    if (other != &slot) delete other;
    other = next;
  }
  slot.next = nullptr;
  slots_.store(&slot);
}

size_t Tensor::allocated_bytes() const {
  size_t bytes = 0;
  for (const Slot* slot = slots_.load(); slot; slot = slot->next) {
    bytes += slot->memory->owned_bytes();
  }
  return bytes;
}

}  // namespace caffe
