#include "caffe/allocator.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "caffe/core/address_sanitizer.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"

namespace caffe {
namespace {

// Blocks of this many bytes and more are pages of their own, so that freeing one gives it back to
// the system. The heap would keep what loading a net and packing its weights leave free: up to half
// of what the net takes.
constexpr size_t kOwnPages = kHasAddressSanitizer ? SIZE_MAX : size_t(1) << 18;

// Larger blocks begin at huge pages, and ask for such, where the system gives them to those who
// ask: the processor finds the place of 2 MB at a time instead of 4 KB.
constexpr size_t kHugePage = size_t(2) << 20;

/// Null where there is none.
void* NewPages(size_t size) {
  void* const pages =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

/// The same in huge pages, as far as they are whole.
void* NewHugePages(size_t size) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t used = kernels::RoundUp(size, page), mapped = used + kHugePage;
  char* const pages = static_cast<char*>(NewPages(mapped));
  if (!pages) return NewPages(size);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(pages) % kHugePage) % kHugePage;
  char* const begin = pages + before;
  if (before > 0) munmap(pages, before);
  munmap(begin + used, mapped - before - used);
#ifdef MADV_HUGEPAGE
  madvise(begin, used, MADV_HUGEPAGE);  // a refusal costs speed only
#endif
  return begin;
}

class HeapAllocator : public Allocator {
 public:
  void* Allocate(size_t size) override {
    void* pointer = nullptr;
    if (size >= kOwnPages) {
      const bool is_large = size >= 2 * kHugePage && size <= SIZE_MAX / 2;
      pointer = is_large ? NewHugePages(size) : NewPages(size);
      if (pointer) return pointer;
      Fail("out of memory: ", size, " bytes were asked for with ", bytes_in_use(), " in use");
    }
    if (posix_memalign(&pointer, kAlignment, size == 0 ? kAlignment : size) != 0) {
      Fail("out of memory: ", size, " bytes were asked for with ", bytes_in_use(), " in use");
    }
    return pointer;
  }
  void Free(void* pointer, size_t size) noexcept override {
    if (size >= kOwnPages) {
      munmap(pointer, size);
    } else {
      std::free(pointer);
    }
  }
};

std::atomic<Allocator*> current{nullptr};
std::atomic<size_t> in_use{0};
std::atomic<size_t> peak{0};

void CountAllocation(size_t size) {
  const size_t now = in_use.fetch_add(size) + size;
  size_t seen = peak.load();
  while (seen < now && !peak.compare_exchange_weak(seen, now)) {
  }
}

}  // namespace

Allocator& Allocator::Get() {
  static HeapAllocator heap;
  Allocator* chosen = current.load();
  return chosen ? *chosen : heap;
}

void Allocator::Set(Allocator* allocator) { current.store(allocator); }
size_t Allocator::bytes_in_use() { return in_use.load(); }
size_t Allocator::peak_bytes() { return peak.load(); }
void Allocator::ResetPeak() { peak.store(in_use.load()); }

void* AllocateHost(size_t size, Allocator** owner) {
  if (!*owner) *owner = &Allocator::Get();
  void* pointer = (*owner)->Allocate(size);
  if (!(*owner)->counts_itself()) CountAllocation(size);
  return pointer;
}

void FreeHost(void* pointer, size_t size, Allocator* owner) noexcept {
  owner->Free(pointer, size);
  if (!owner->counts_itself()) in_use.fetch_sub(size);
}

}  // namespace caffe
