// The memory of blobs and engines.
#include "caffe/allocator.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <limits>

#include "caffe/core/address_sanitizer.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace {

constexpr size_t kPage = 4096, kHugePage = 2 << 20;

class HostMemory {
 public:
  explicit HostMemory(size_t size)
      : size_(size), pointer_(static_cast<char*>(AllocateHost(size, &owner_))) {}
  ~HostMemory() { Free(); }
  void Free() {
    if (pointer_) FreeHost(pointer_, size_, owner_);
    pointer_ = nullptr;
  }
  char* pointer() const { return pointer_; }
  bool aligned_to(size_t bytes) const { return reinterpret_cast<uintptr_t>(pointer_) % bytes == 0; }

 private:
  const size_t size_;
  Allocator* owner_ = nullptr;
  char* pointer_;
};

TEST(Allocator, GivesBlocksOfAllSizesThatAreAlignedAndWritable) {
  for (const size_t size : {size_t(1), size_t(100), size_t(1) << 18, (size_t(1) << 22) - 1,
                            size_t(1) << 22, (size_t(5) << 20) + 123}) {
    const HostMemory memory(size);
    EXPECT_TRUE(memory.aligned_to(Allocator::kAlignment)) << size;
    memory.pointer()[0] = 1;
    memory.pointer()[size - 1] = 2;
    EXPECT_EQ(memory.pointer()[size - 1], 2);
  }
}

/// True if something is mapped at the page.
bool IsMapped(char* page) {
  unsigned char resident;
  return mincore(page, 1, &resident) == 0 || errno != ENOMEM;
}

TEST(Allocator, LargeBlocksBeginAtHugePagesAndGoBackWhole) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer's heap has no such pages";
  constexpr size_t kSize = 5 * kHugePage + 3 * kPage + 10;
  HostMemory memory(kSize);
  ASSERT_TRUE(memory.aligned_to(kHugePage));
  char* const begin = memory.pointer();
  char* const last = begin + kSize / kPage * kPage;
  *last = 1;
  EXPECT_TRUE(IsMapped(begin));
  memory.Free();
  EXPECT_FALSE(IsMapped(begin));
  EXPECT_FALSE(IsMapped(last));
}

TEST(Allocator, RefusesMoreThanThereCanBe) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer ends the program";
  for (const size_t size :
       {std::numeric_limits<size_t>::max() - kPage, std::numeric_limits<size_t>::max() / 2 - 1}) {
    Allocator* owner = nullptr;
    EXPECT_THROW(AllocateHost(size, &owner), Error) << size;
  }
}

}  // namespace
}  // namespace caffe
