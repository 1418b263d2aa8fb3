#include "failing_allocations.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>
#include <link.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "caffe/allocator.hpp"
#include "caffe/error.hpp"
#include "caffe/proto/caffe.pb.h"
#include "seeds.hpp"

namespace caffe {
namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> made{0}, refused_one{0}, live_blocks{0};

enum Owner { LIBRARY, RUNTIME, OURS };

/// Whose code an address is.
class Modules {
 public:
  Modules() { dl_iterate_phdr(&Modules::Add, this); }
  Owner OwnerOf(const void* address) const {
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    for (const Range& range : ranges_) {
      if (at >= range.begin && at < range.end) return range.owner;
    }
    return LIBRARY;
  }

 private:
  struct Range {
    uintptr_t begin, end;
    Owner owner;
  };
  static Owner OwnerOfModule(const std::string& path) {
    if (path.empty() || path.find("libcaffe") != std::string::npos) return OURS;  // "": the program
    for (const char* runtime :
         {"libstdc++", "libc++", "libc.so", "libgcc_s", "libgomp", "libomp"}) {
      if (path.find(runtime) != std::string::npos) return RUNTIME;
    }
    return LIBRARY;
  }
  static int Add(dl_phdr_info* info, size_t, void* self) {
    const Owner owner = OwnerOfModule(info->dlpi_name ? info->dlpi_name : "");
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
      const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
      static_cast<Modules*>(self)->ranges_.push_back({begin, begin + segment.p_memsz, owner});
    }
    return 0;
  }

  std::vector<Range> ranges_;
};

const Modules& LoadedModules() {
  static const Modules modules;
  return modules;
}

const std::set<std::string>& MessageNames() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    const google::protobuf::FileDescriptor* const file = NetParameter::descriptor()->file();
    for (int i = 0; i < file->message_type_count(); ++i) all.insert(file->message_type(i)->name());
    return all;
  }();
  return names;
}

/// Messages' own code is that of protobuf's templates and compiler.
bool IsInAMessage(const void* address) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_sname) return false;
  const std::string symbol = info.dli_sname;
  if (symbol.find("google8protobuf") != std::string::npos) return true;
  const size_t scope = symbol.find("5caffe");  // a mangled caffe::NetParameter::...
  if (scope == std::string::npos || scope > 4) return false;
  const char* const number = symbol.c_str() + scope + 6;
  char* name = nullptr;
  const size_t length = std::strtoul(number, &name, 10);
  if (length == 0 || length > std::strlen(name)) return false;
  return MessageNames().count(std::string(name, length)) > 0;
}

/// No library is at work between the test and what asks for memory.
bool IsAskedForByUs() {
  constexpr int kMost = 64, kOwnFrames = 3;  // this one, IsRefused, operator new or Allocate
  void* frames[kMost];
  const int count = backtrace(frames, kMost);
  for (int i = kOwnFrames; i < count; ++i) {
    if (LoadedModules().OwnerOf(frames[i]) == LIBRARY || IsInAMessage(frames[i])) return false;
  }
  return true;
}

__attribute__((noinline)) bool IsRefused() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  static thread_local bool asks = false;  // what follows allocates, too
  if (asks || made.fetch_add(1) + 1 != refused_one.load()) return false;
  asks = true;
  const bool refused = IsAskedForByUs();
  asks = false;
  return refused;
}

/// The heap, but for what is refused.
class RefusingAllocator : public Allocator {
 public:
  void* Allocate(size_t size) override {
    Require(!IsRefused(), "out of memory: ", size, " bytes were refused");
    void* const pointer = heap_.Allocate(size);
    ++live_blocks;
    return pointer;
  }
  void Free(void* pointer, size_t size) noexcept override {
    --live_blocks;
    heap_.Free(pointer, size);
  }

 private:
  Allocator& heap_ = Allocator::Get();
};

RefusingAllocator& TheAllocator() {
  static RefusingAllocator allocator;
  return allocator;
}

}  // namespace

FailingAllocations::FailingAllocations(int64_t nth) {
  void* frame;
  backtrace(&frame, 1);  // which loads what it needs
  Allocator::Set(&TheAllocator());
  made = 0;
  refused_one = nth;
  counting = true;
}
FailingAllocations::~FailingAllocations() {
  counting = false;
  Allocator::Set(nullptr);
}
int64_t FailingAllocations::count() const { return made; }

namespace {

/// Calls work() with the nth allocation refused, and check(). Returns how many allocations there
/// were.
int64_t Refuse(int64_t n, const std::function<void()>& work, const std::function<void()>& check) {
  int64_t count = 0;
  std::string message = "memory";
  {
    const FailingAllocations failing(n);
    try {
      work();
    } catch (const std::bad_alloc&) {
    } catch (const Error& error) {
      message = error.what();
    }
    count = failing.count();
  }
  EXPECT_NE(message.find("memory"), std::string::npos) << message;
  check();
  return count;
}

/// Blocks, when the threads are out of tasks that are done.
int64_t LiveBlocks(int64_t expected) {
  for (int i = 0; i < 200 && live_blocks > expected; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return live_blocks;
}

}  // namespace

void RefuseEachAllocation(const std::function<void()>& work, const std::function<void()>& check,
                          int64_t all, int64_t stride) {
  constexpr int kRepeats = 16;
  int refusals = 0;
  const int64_t shift = static_cast<int64_t>(TestSeed() % static_cast<unsigned>(stride));
  LoadedModules();
  MessageNames();
  for (int64_t n = 1;; n += n < all ? 1 : n == all ? 1 + shift : stride) {
    SCOPED_TRACE("allocation " + std::to_string(n) +
                 ", CAFFE_TEST_SEED=" + std::to_string(TestSeed()));
    const int64_t before = live_blocks;
    const int64_t count = Refuse(n, work, check);
    int64_t more = LiveBlocks(before) - before;
    if (more > 0) {  // kept for later, or lost: what is lost is lost each time
      for (int i = 0; i < kRepeats; ++i) Refuse(n, work, check);
      more = LiveBlocks(before) - before;
    }
    EXPECT_LT(more, kRepeats) << "blocks are lost";
    ++refusals;
    if (count < n || ::testing::Test::HasFailure()) break;
  }
  ::testing::Test::RecordProperty("refusals", refusals);
}

}  // namespace caffe

// The program's operator new, which all libraries take.

namespace {

void* NewBlock(size_t size, size_t alignment) {
  if (caffe::IsRefused()) return nullptr;
  void* pointer = nullptr;
  if (alignment <= alignof(std::max_align_t)) {
    pointer = std::malloc(size > 0 ? size : 1);
  } else if (posix_memalign(&pointer, alignment, size > 0 ? size : 1) != 0) {
    pointer = nullptr;
  }
  if (pointer) caffe::live_blocks.fetch_add(1, std::memory_order_relaxed);
  return pointer;
}
void* NewOrThrow(size_t size, size_t alignment) {
  void* const pointer = NewBlock(size, alignment);
  if (!pointer) throw std::bad_alloc();
  return pointer;
}
void DeleteBlock(void* pointer) noexcept {
  if (pointer) caffe::live_blocks.fetch_sub(1, std::memory_order_relaxed);
  std::free(pointer);
}

}  // namespace

void* operator new(size_t size) { return NewOrThrow(size, 1); }
void* operator new[](size_t size) { return NewOrThrow(size, 1); }
void* operator new(size_t size, std::align_val_t to) { return NewOrThrow(size, size_t(to)); }
void* operator new[](size_t size, std::align_val_t to) { return NewOrThrow(size, size_t(to)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return NewBlock(size, 1); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return NewBlock(size, 1); }
void operator delete(void* pointer) noexcept { DeleteBlock(pointer); }
void operator delete[](void* pointer) noexcept { DeleteBlock(pointer); }
void operator delete(void* pointer, size_t) noexcept { DeleteBlock(pointer); }
void operator delete[](void* pointer, size_t) noexcept { DeleteBlock(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { DeleteBlock(pointer); }
void operator delete[](void* pointer, std::align_val_t) noexcept { DeleteBlock(pointer); }
void operator delete(void* pointer, size_t, std::align_val_t) noexcept { DeleteBlock(pointer); }
void operator delete[](void* pointer, size_t, std::align_val_t) noexcept { DeleteBlock(pointer); }
void operator delete(void* pointer, const std::nothrow_t&) noexcept { DeleteBlock(pointer); }
void operator delete[](void* pointer, const std::nothrow_t&) noexcept { DeleteBlock(pointer); }
