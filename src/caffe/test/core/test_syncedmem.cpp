#include "caffe/syncedmem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "caffe/context.hpp"
#include "caffe/test/support/fake_device.hpp"

namespace caffe {
namespace {

char* Chars(void* memory) { return static_cast<char*>(memory); }
const char* Chars(const void* memory) { return static_cast<const char*>(memory); }

TEST(SyncedMemory, StartsUninitializedWithNoMemory) {
  SyncedMemory memory(10);
  EXPECT_EQ(memory.head(), SyncedMemory::UNINITIALIZED);
  EXPECT_EQ(memory.size(), 10u);
  EXPECT_EQ(memory.owned_bytes(), 0u);
  EXPECT_EQ(memory.stamp(), 0u);
}

TEST(SyncedMemory, ReadsAsZerosBeforeTheFirstWrite) {
  SyncedMemory memory(100);
  const char* data = Chars(memory.cpu_data());
  EXPECT_TRUE(std::all_of(data, data + 100, [](char c) { return c == 0; }));
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_CPU);
  EXPECT_EQ(memory.stamp(), 0u) << "reading is no write";
}

TEST(SyncedMemory, AlignsToACacheLine) {
  for (size_t size : {1, 7, 64, 1000}) {
    SyncedMemory memory(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.cpu_data()) % Allocator::kAlignment, 0u);
  }
}

TEST(SyncedMemory, EveryWriteTakesANewerStamp) {
  FakeDevice::Installed device;
  SyncedMemory a(8), b(8);
  char own[8];
  uint64_t last = 0;
  const auto expect_newer = [&last](const SyncedMemory& memory) {
    EXPECT_GT(memory.stamp(), last);
    last = memory.stamp();
  };
  a.mutable_cpu_data();
  expect_newer(a);
  b.overwrite_cpu_data();
  expect_newer(b);
  a.set_cpu_data(own);
  expect_newer(a);
  std::unique_ptr<Stream> stream = device->CreateStream();
  a.async_gpu_push(*stream);
  expect_newer(a);
  b.mutable_gpu_data();
  expect_newer(b);
  a.overwrite_gpu_data();
  expect_newer(a);
}

TEST(SyncedMemory, BorrowsMemoryAndKeepsItsOwnerAlive) {
  auto owner = std::make_shared<std::vector<char>>(4, 'x');
  std::weak_ptr<std::vector<char>> watch = owner;
  {
    SyncedMemory memory(4);
    memory.set_cpu_data(owner->data(), owner);
    owner.reset();
    ASSERT_FALSE(watch.expired());
    EXPECT_EQ(Chars(memory.cpu_data())[3], 'x');
    EXPECT_EQ(memory.owned_bytes(), 0u);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(SyncedMemory, IsCountedByTheAllocator) {
  const size_t before = Allocator::bytes_in_use();
  {
    SyncedMemory memory(1 << 20);
    EXPECT_EQ(Allocator::bytes_in_use(), before) << "memory comes with the first use";
    memory.overwrite_cpu_data();
    EXPECT_EQ(Allocator::bytes_in_use(), before + (1 << 20));
    EXPECT_GE(Allocator::peak_bytes(), before + (1 << 20));
  }
  EXPECT_EQ(Allocator::bytes_in_use(), before);
}

TEST(SyncedMemory, OutOfMemoryIsAnErrorThatNamesTheSize) {
  SyncedMemory memory(size_t(1) << 62);
  try {
    memory.cpu_data();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("4611686018427387904"), std::string::npos);
  }
}

TEST(SyncedMemory, ManyThreadsMayReadAtOnce) {
  SyncedMemory memory(1000);
  std::vector<const void*> seen(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = memory.cpu_data(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), seen[0]), 8);
}

TEST(SyncedMemoryOnDevice, MovesThroughTheStates) {
  FakeDevice::Installed device;
  SyncedMemory memory(10);
  std::fill_n(Chars(memory.mutable_cpu_data()), 10, 1);
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_CPU);
  const void* on_device = memory.gpu_data();
  EXPECT_EQ(memory.head(), SyncedMemory::SYNCED);
  EXPECT_EQ(device->Peek(on_device, 9), 1);

  void* writable = memory.mutable_gpu_data();
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_GPU);
  std::fill_n(Chars(writable), 10, 2);
  EXPECT_EQ(Chars(memory.cpu_data())[0], 2);
  EXPECT_EQ(memory.head(), SyncedMemory::SYNCED);
}

TEST(SyncedMemoryOnDevice, FreshDeviceMemoryReadsAsZeros) {
  FakeDevice::Installed device;
  SyncedMemory memory(16);
  memory.gpu_data();
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_GPU);
  EXPECT_EQ(Chars(memory.cpu_data())[15], 0);
}

TEST(SyncedMemoryOnDevice, OverwritingCopiesNothing) {
  FakeDevice::Installed device;
  SyncedMemory memory(16);
  memory.mutable_cpu_data();
  const int before = device->operations();
  const void* on_device = memory.overwrite_gpu_data();
  EXPECT_EQ(device->operations(), before);
  EXPECT_EQ(device->Peek(on_device), FakeDevice::kPoison);
}

TEST(SyncedMemoryOnDevice, APushTakesEffectWhenItsStreamIsSynchronized) {
  FakeDevice::Installed device;
  SyncedMemory memory(4);
  std::fill_n(Chars(memory.mutable_cpu_data()), 4, 7);
  std::unique_ptr<Stream> stream = device->CreateStream();
  memory.async_gpu_push(*stream);
  EXPECT_EQ(memory.head(), SyncedMemory::SYNCED);
  EXPECT_EQ(device->Peek(memory.gpu_data()), FakeDevice::kPoison);
  stream->Synchronize();
  EXPECT_EQ(device->Peek(memory.gpu_data()), 7);
}

TEST(SyncedMemoryOnDevice, AFailedCopyIsAnErrorAndTheHostCopyStays) {
  FakeDevice::Installed device;
  SyncedMemory memory(4);
  std::fill_n(Chars(memory.mutable_cpu_data()), 4, 5);
  device->FailNext("copy to the device");
  EXPECT_THROW(memory.gpu_data(), Error);
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_CPU);
  EXPECT_EQ(Chars(memory.cpu_data())[3], 5);
  EXPECT_EQ(device->Peek(memory.gpu_data()), 5) << "the next attempt works";
}

TEST(SyncedMemoryOnDevice, OutOfDeviceMemoryIsAnError) {
  FakeDevice::Installed device(100);
  SyncedMemory memory(200);
  memory.mutable_cpu_data();
  EXPECT_THROW(memory.gpu_data(), Error);
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_CPU);
}

TEST(SyncedMemoryOnDevice, ReturnsAllMemory) {
  FakeDevice::Installed device;
  {
    SyncedMemory memory(64);
    memory.gpu_data();
    EXPECT_EQ(device->bytes_in_use(), 64u);
  }
  EXPECT_EQ(device->bytes_in_use(), 0u);
  EXPECT_EQ(device->bad_frees(), 0);
}

TEST(SyncedMemoryOnDevice, MovesItsDeviceCopyToMemoryOfTheCallers) {
  FakeDevice::Installed device;
  Stream& stream = Context::Current().stream();
  void* const place = device->Allocate(8);
  {
    SyncedMemory memory(4), unread(4);
    int* const on_device = static_cast<int*>(memory.mutable_gpu_data());
    stream.RunOnHost([=] { *on_device = 7; });
    const uint64_t stamp = memory.stamp();
    memory.PlaceOnDevice(place, nullptr);
    EXPECT_EQ(memory.gpu_data(), place);
    EXPECT_EQ(memory.stamp(), stamp);
    EXPECT_EQ(*static_cast<const int*>(memory.cpu_data()), 7);
    // What is newest on the host stays so.
    *static_cast<int*>(unread.mutable_cpu_data()) = 9;
    void* const second = static_cast<char*>(place) + 4;
    unread.PlaceOnDevice(second, nullptr);
    EXPECT_EQ(unread.gpu_data(), second);
    EXPECT_EQ(*static_cast<const int*>(second), 9);
  }
  EXPECT_EQ(device->bytes_in_use(), 8u) << "it is the caller's to free";
  device->Free(place, 8);
  EXPECT_EQ(device->bad_frees(), 0);
}

TEST(StreamOnDevice, WaitsForWhatWasPutOnAnotherUntilThen) {
  FakeDevice::Installed device;
  const std::unique_ptr<Stream> first = device->CreateStream(), second = device->CreateStream();
  std::string order;
  first->RunOnHost([&] { order += 'a'; });
  second->WaitFor(*first);
  second->RunOnHost([&] { order += 'b'; });
  first->WaitFor(*second);
  first->RunOnHost([&] { order += 'c'; });
  second->RunOnHost([&] { order += 'd'; });
  second->Synchronize();
  EXPECT_EQ(order, "abd") << "'c' was put there later";
  first->Synchronize();
  EXPECT_EQ(order, "abdc");
}

TEST(SyncedMemoryOnDevice, WithoutADeviceTheErrorSaysWhatToDo) {
  if (Device::available()) GTEST_SKIP() << "this machine has a GPU";
  SyncedMemory memory(4);
  try {
    memory.gpu_data();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("CPU mode"), std::string::npos);
  }
}

}  // namespace
}  // namespace caffe
