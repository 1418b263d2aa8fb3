#include "caffe/tensor.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "caffe/test/support/fake_device.hpp"

namespace caffe {
namespace {

constexpr ElementType kFloat = ElementType::FLOAT;
constexpr ElementType kHalf = ElementType::FLOAT16;
constexpr ElementType kDouble = ElementType::DOUBLE;

template <typename T>
const T* Read(Tensor& tensor) {
  return static_cast<const T*>(tensor.cpu_data(kElementType<T>));
}
template <typename T>
T* Mutable(Tensor& tensor) {
  return static_cast<T*>(tensor.mutable_cpu_data(kElementType<T>));
}
template <typename T>
T* Overwrite(Tensor& tensor) {
  return static_cast<T*>(tensor.overwrite_cpu_data(kElementType<T>));
}

TEST(Tensor, StartsAsZerosInEveryType) {
  Tensor tensor(3, kHalf);
  EXPECT_EQ(tensor.newest_type(), kHalf);
  EXPECT_EQ(tensor.allocated_bytes(), 0u);
  EXPECT_EQ(Read<float>(tensor)[2], 0.f);
  EXPECT_EQ(Read<double>(tensor)[2], 0.);
  EXPECT_EQ(float(Read<float16>(tensor)[2]), 0.f);
}

TEST(Tensor, ReadingAnotherTypeConvertsTheNewestWrite) {
  Tensor tensor(2, kFloat);
  Mutable<float>(tensor)[0] = 1.5f;
  EXPECT_EQ(float(Read<float16>(tensor)[0]), 1.5f);
  Mutable<float16>(tensor)[1] = float16(-2.f);
  EXPECT_EQ(tensor.newest_type(), kHalf);
  EXPECT_EQ(Read<float>(tensor)[0], 1.5f);
  EXPECT_EQ(Read<float>(tensor)[1], -2.f);
  EXPECT_EQ(Read<double>(tensor)[1], -2.);
}

TEST(Tensor, ReadingLeavesTheTruthAlone) {
  Tensor tensor(1, kFloat);
  Mutable<float>(tensor)[0] = 1.f + 1.f / 4096;  // not a float16
  Read<float16>(tensor);
  EXPECT_EQ(tensor.newest_type(), kFloat);
  EXPECT_EQ(Read<float>(tensor)[0], 1.f + 1.f / 4096);
  EXPECT_EQ(Read<double>(tensor)[0], 1. + 1. / 4096) << "converted from what was written";
}

TEST(Tensor, ATensorOfOneTypeNeverAllocatesAnother) {
  Tensor tensor(1000, kHalf);
  Overwrite<float16>(tensor)[0] = float16(1.f);
  Read<float16>(tensor);
  Mutable<float16>(tensor);
  EXPECT_EQ(tensor.allocated_bytes(), 2000u);
}

TEST(Tensor, OverwritingConvertsNothing) {
  Tensor tensor(1, kFloat);
  Mutable<float>(tensor)[0] = 3.f;
  float16* half = Overwrite<float16>(tensor);
  half[0] = float16(4.f);
  EXPECT_EQ(Read<float>(tensor)[0], 4.f);
}

TEST(Tensor, SeesWritesThroughTheMemoryItHandsOut) {
  Tensor tensor(1, kFloat);
  boost::shared_ptr<SyncedMemory> memory = tensor.memory(kFloat);
  Read<float16>(tensor);
  static_cast<float*>(memory->mutable_cpu_data())[0] = 9.f;
  EXPECT_EQ(float(Read<float16>(tensor)[0]), 9.f);
}

TEST(Tensor, TouchMakesASlotTheTruth) {
  Tensor tensor(1, kFloat);
  float* cached = Mutable<float>(tensor);
  Overwrite<float16>(tensor)[0] = float16(2.f);
  cached[0] = 5.f;
  tensor.Touch(kFloat);
  EXPECT_EQ(float(Read<float16>(tensor)[0]), 5.f);
}

TEST(Tensor, TrimKeepsTheStorageTypeAndPointersThatWereHandedOut) {
  Tensor tensor(100, kHalf);
  float* held = Mutable<float>(tensor);
  held[0] = 1.f;
  Read<double>(tensor);
  tensor.Trim();
  EXPECT_TRUE(tensor.has_slot(kHalf));
  EXPECT_TRUE(tensor.has_slot(kFloat));
  EXPECT_FALSE(tensor.has_slot(kDouble));
  EXPECT_EQ(Mutable<float>(tensor), held);

  tensor.ForgetPointers();
  tensor.Trim();
  EXPECT_FALSE(tensor.has_slot(kFloat));
  EXPECT_EQ(tensor.allocated_bytes(), 200u);
  EXPECT_EQ(float(Read<float16>(tensor)[0]), 1.f);
}

TEST(Tensor, TrimKeepsConstPointersThatAreKeptAndWhatTheySee) {
  Tensor tensor(2, kHalf);
  Overwrite<float16>(tensor)[1] = float16(1.f);
  const float* kept = static_cast<const float*>(tensor.kept_cpu_data(kFloat));
  EXPECT_TRUE(tensor.is_held(kFloat));
  EXPECT_FALSE(tensor.handed_out(kFloat));
  Overwrite<float16>(tensor)[1] = float16(3.f);
  Read<double>(tensor);
  tensor.Trim();
  EXPECT_FALSE(tensor.has_slot(kDouble));
  ASSERT_TRUE(tensor.has_slot(kFloat));
  EXPECT_EQ(kept[1], 3.f);
  EXPECT_EQ(Read<float>(tensor), kept);

  tensor.ForgetMutablePointers();
  tensor.Trim();
  EXPECT_TRUE(tensor.has_slot(kFloat));
  tensor.ForgetConstPointers();
  tensor.Trim();
  EXPECT_FALSE(tensor.has_slot(kFloat));
}

TEST(Tensor, MovesIntoMemoryOfTheCallers) {
  Tensor tensor(3, kFloat);
  std::iota(Mutable<float>(tensor), Mutable<float>(tensor) + 3, 1.f);
  std::vector<float> arena(3);
  tensor.MoveTo(kFloat, arena.data(), nullptr);
  EXPECT_EQ(arena, (std::vector<float>{1, 2, 3}));
  Mutable<float>(tensor)[1] = 7.f;
  EXPECT_EQ(arena[1], 7.f);
  EXPECT_EQ(tensor.allocated_bytes(), 0u);
}

TEST(Tensor, ResizeWithinCapacityKeepsTheNewestSlot) {
  Tensor tensor(4, kFloat);
  std::iota(Mutable<float>(tensor), Mutable<float>(tensor) + 4, 1.f);
  Read<float16>(tensor);
  tensor.Resize(2);
  EXPECT_EQ(tensor.count(), 2u);
  Mutable<float>(tensor)[0] = 10.f;
  EXPECT_EQ(float(Read<float16>(tensor)[0]), 10.f);
  tensor.Resize(4);
  Mutable<float>(tensor)[3] = 40.f;
  EXPECT_EQ(float(Read<float16>(tensor)[3]), 40.f);
}

TEST(Tensor, IntegersStandForScaledValues) {
  Tensor tensor(3, kFloat);
  tensor.set_affine(ElementType::INT8, {0.5f, 10});
  float* data = Mutable<float>(tensor);
  data[0] = 1.f;     // 2 + 10
  data[1] = -100.f;  // saturates
  data[2] = 0.f;
  EXPECT_EQ(Read<int8_t>(tensor)[0], 12);
  EXPECT_EQ(Read<int8_t>(tensor)[1], -128);
  EXPECT_EQ(Read<int8_t>(tensor)[2], 10);
  Mutable<int8_t>(tensor)[0] = 20;
  EXPECT_EQ(Read<float>(tensor)[0], 5.f);
}

// A user of the tensor keeps the value in its own form, here negated.
TEST(TensorReplace, RestoresWhatIsRead) {
  Tensor tensor(3, ElementType::FLOAT);
  float* data = static_cast<float*>(tensor.overwrite_cpu_data(ElementType::FLOAT));
  std::vector<float> kept = {-1, -2, -3};
  for (int i = 0; i < 3; ++i) data[i] = -kept[i];
  const uint64_t stamp = tensor.stamp();
  int restored = 0;
  ASSERT_TRUE(tensor.Replace(ElementType::FLOAT, [&](void* to) {
    ++restored;
    for (int i = 0; i < 3; ++i) static_cast<float*>(to)[i] = -kept[i];
  }));
  EXPECT_EQ(tensor.allocated_bytes(), 0u);
  EXPECT_EQ(tensor.stamp(), stamp) << "it is the same value";
  EXPECT_EQ(static_cast<const double*>(tensor.cpu_data(ElementType::DOUBLE))[1], 2);
  EXPECT_EQ(static_cast<const float*>(tensor.cpu_data(ElementType::FLOAT))[2], 3);
  EXPECT_EQ(restored, 1);
  EXPECT_EQ(tensor.stamp(), stamp);
}

TEST(TensorReplace, AWriteEndsIt) {
  Tensor tensor(2, ElementType::FLOAT);
  tensor.overwrite_cpu_data(ElementType::FLOAT);
  ASSERT_TRUE(tensor.Replace(ElementType::FLOAT, [](void*) { FAIL(); }));
  float* data = static_cast<float*>(tensor.overwrite_cpu_data(ElementType::FLOAT));
  data[0] = data[1] = 5;
  EXPECT_EQ(static_cast<const double*>(tensor.cpu_data(ElementType::DOUBLE))[1], 5);
}

TEST(TensorReplace, RefusesWhereSomebodyHoldsPointersOrMemory) {
  const auto nothing = [](void*) {};
  Tensor tensor(2, ElementType::FLOAT);
  EXPECT_FALSE(tensor.Replace(ElementType::FLOAT, nothing)) << "nothing there";
  tensor.mutable_cpu_data(ElementType::FLOAT);
  EXPECT_FALSE(tensor.Replace(ElementType::FLOAT, nothing)) << "handed out";
  tensor.ForgetPointers();
  tensor.kept_cpu_data(ElementType::FLOAT);
  EXPECT_FALSE(tensor.Replace(ElementType::FLOAT, nothing)) << "kept";
  tensor.ForgetPointers();
  tensor.overwrite_cpu_data(ElementType::DOUBLE);
  EXPECT_FALSE(tensor.Replace(ElementType::FLOAT, nothing)) << "not the newest";
  float own[2] = {1, 2};
  tensor.Overwrite(ElementType::FLOAT, Layout()).set_cpu_data(own);
  EXPECT_FALSE(tensor.Replace(ElementType::FLOAT, nothing)) << "borrowed";
}

TEST(TensorReplace, ReadersInSeveralThreadsSeeAWholeValue) {
  for (int round = 0; round < 200; ++round) {
    Tensor tensor(1000, ElementType::FLOAT);
    tensor.overwrite_cpu_data(ElementType::FLOAT);
    ASSERT_TRUE(tensor.Replace(ElementType::FLOAT,
                               [](void* to) { std::fill_n(static_cast<float*>(to), 1000, 7.f); }));
    const auto read = [&tensor] {
      const float* data = static_cast<const float*>(tensor.cpu_data(ElementType::FLOAT));
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(data[i], 7) << i;
    };
    std::thread other(read);
    read();
    other.join();
  }
}

TEST(TensorLayout, ChannelsLastAndBack) {
  Tensor tensor(2 * 3 * 2, kFloat);
  std::iota(Mutable<float>(tensor), Mutable<float>(tensor) + 12, 0.f);
  const Layout layout = Layout::ChannelsLast(2, 3, 2);
  const float* last = static_cast<const float*>(tensor.Read(kFloat, layout).cpu_data());
  // (num, channels, spatial) = (0, c, s) lies at s * 3 + c.
  EXPECT_EQ(std::vector<float>(last, last + 6), (std::vector<float>{0, 2, 4, 1, 3, 5}));

  float* writable = static_cast<float*>(tensor.Write(kFloat, layout).mutable_cpu_data());
  writable[1] = 20.f;  // channel 1, position 0
  EXPECT_EQ(Read<float>(tensor)[2], 20.f);
}

TEST(TensorLayout, BlockedChannelsArePaddedWithZeros) {
  Tensor tensor(3 * 2, kFloat);
  std::iota(Mutable<float>(tensor), Mutable<float>(tensor) + 6, 1.f);
  const Layout layout = Layout::ChannelsBlocked(2, 1, 3, 2);
  ASSERT_EQ(layout.extent(6), 8u);
  const float* blocked = static_cast<const float*>(tensor.Read(kFloat, layout).cpu_data());
  EXPECT_EQ(std::vector<float>(blocked, blocked + 8), (std::vector<float>{1, 3, 2, 4, 5, 0, 6, 0}));
}

TEST(TensorLayout, ChangesOfTypeAndLayoutGoThroughPlain) {
  Tensor tensor(3 * 2, kFloat);
  const Layout layout = Layout::ChannelsBlocked(4, 1, 3, 2);
  float16* blocked = static_cast<float16*>(tensor.Overwrite(kHalf, layout).overwrite_cpu_data());
  std::fill_n(blocked, 8, float16(0.f));
  blocked[0 * 4 + 1] = float16(3.f);  // position 0, channel 1
  blocked[1 * 4 + 2] = float16(7.f);  // position 1, channel 2
  const float* plain = Read<float>(tensor);
  EXPECT_EQ(std::vector<float>(plain, plain + 6), (std::vector<float>{0, 0, 3, 0, 0, 7}));
  const Layout last = Layout::ChannelsLast(1, 3, 2);
  const double* doubles = static_cast<const double*>(tensor.Read(kDouble, last).cpu_data());
  EXPECT_EQ(doubles[1], 3.);
  EXPECT_EQ(doubles[5], 7.);
}

TEST(TensorThreads, AConversionHappensOnceAndAllReadersSeeIt) {
  for (int round = 0; round < 50; ++round) {
    Tensor tensor(1000, kFloat);
    std::fill_n(Mutable<float>(tensor), 1000, 2.f);
    std::vector<const float16*> seen(4);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < seen.size(); ++i) {
      threads.emplace_back([&, i] { seen[i] = Read<float16>(tensor); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const float16* half : seen) {
      EXPECT_EQ(half, seen[0]);
      EXPECT_EQ(float(half[999]), 2.f);
    }
  }
}

TEST(TensorOnDevice, ConvertsWhatWasWrittenOnTheDevice) {
  FakeDevice::Installed device;
  Tensor tensor(2, kFloat);
  float* on_device = static_cast<float*>(tensor.overwrite_gpu_data(kFloat));
  on_device[0] = on_device[1] = 3.f;
  EXPECT_EQ(float(Read<float16>(tensor)[1]), 3.f);
  EXPECT_EQ(static_cast<const float16*>(tensor.gpu_data(kHalf))[1].bits, float16(3.f).bits);
}

}  // namespace
}  // namespace caffe
