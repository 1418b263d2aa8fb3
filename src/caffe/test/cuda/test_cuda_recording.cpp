// Recordings: what is in them, what is not, and how long the memory lives that they work on.
#include "caffe/device/recording.hpp"

#include <gtest/gtest.h>

#include "caffe/context.hpp"
#include "caffe/cuda/borrowed_stream.hpp"
#include "caffe/error.hpp"
#include "caffe/test/support/each_device.hpp"

namespace caffe {
namespace {

Stream& ThreadStream() { return Context::Current().stream(); }

void Put(void* device, unsigned char value) {
  Device::Get().CopyToDevice(device, &value, 1, ThreadStream());
  ThreadStream().Synchronize();
}

unsigned char Get(const void* device) {
  unsigned char value = 0;
  Device::Get().CopyToHost(&value, device, 1, ThreadStream());
  ThreadStream().Synchronize();
  return value;
}

/// A byte of the device.
struct DeviceByte {
  explicit DeviceByte(unsigned char value) : data(Device::Get().Allocate(1)) { Put(data, value); }
  ~DeviceByte() { Device::Get().Free(data, 1); }
  void* const data;
};

void Copy(void* to, const void* from) { Device::Get().CopyOnDevice(to, from, 1, ThreadStream()); }

TEST(Recordings, HappenWhenTheyAreLaunchedAndEachTime) {
  OnEachDevice([] {
    const DeviceByte from(7), to(1);
    const auto recording = Record(ThreadStream(), [&] { Copy(to.data, from.data); });
    ASSERT_TRUE(recording);
    EXPECT_EQ(Get(to.data), 1);
    recording->Launch(ThreadStream());
    EXPECT_EQ(Get(to.data), 7);
    Put(from.data, 8);
    recording->Launch(ThreadStream());
    EXPECT_EQ(Get(to.data), 8);
  });
}

TEST(Recordings, AreOfTheThreadsStreamWhileItsOwnGoesOn) {
  OnEachDevice([] {
    const DeviceByte from(7), to(1);
    Stream& own = ThreadStream();
    const auto recording = Record(own, [&] {
      EXPECT_NE(&ThreadStream(), &own);
      Device::Get().CopyOnDevice(to.data, from.data, 1, own);
    });
    ASSERT_TRUE(recording);
    EXPECT_EQ(&ThreadStream(), &own);
    EXPECT_EQ(Get(to.data), 7);
    Put(to.data, 1);
    recording->Launch(own);
    EXPECT_EQ(Get(to.data), 1);
  });
}

TEST(Recordings, AreNullWhereSomebodyWaitsOrFails) {
  OnEachDevice([] {
    EXPECT_FALSE(Record(ThreadStream(), [] { ThreadStream().Synchronize(); }));
    EXPECT_FALSE(Record(ThreadStream(), [] { Fail("no"); }));
    EXPECT_TRUE(Record(ThreadStream(), [] {}));
  });
}

TEST(Recordings, EndWhateverIsThrown) {
  OnEachDevice([] {
    EXPECT_THROW(Record(ThreadStream(), [] { throw 5; }), int);
    const DeviceByte from(7), to(1);
    Copy(to.data, from.data);
    EXPECT_EQ(Get(to.data), 7);
    EXPECT_TRUE(Record(ThreadStream(), [] {}));
  });
}

TEST(Recordings, KeepMemoryThatIsFreedInThem) {
  OnEachDevice([] {
    const DeviceByte to(1);
    void* const before = Device::Get().Allocate(1);
    Put(before, 7);
    const auto recording = Record(ThreadStream(), [&] {
      void* const between = Device::Get().Allocate(1);
      Copy(between, before);
      Device::Get().Free(before, 1);
      Copy(to.data, between);
      Device::Get().Free(between, 1);
    });
    ASSERT_TRUE(recording);
    for (int run = 0; run < 2; ++run) {
      const DeviceByte another(9);
      Put(to.data, 1);
      recording->Launch(ThreadStream());
      EXPECT_EQ(Get(to.data), 7);
    }
  });
}

TEST(Recordings, LeaveMemoryThatIsTakenInThem) {
  OnEachDevice([] {
    const DeviceByte from(7);
    for (const bool fails : {false, true}) {
      SCOPED_TRACE(fails ? "of a recording that fails" : "of a recording");
      void* taken = nullptr;
      const auto recording = Record(ThreadStream(), [&] {
        taken = Device::Get().Allocate(1);
        Copy(taken, from.data);
        if (fails) Fail("no");
      });
      EXPECT_EQ(recording == nullptr, fails);
      Put(taken, 3);
      EXPECT_EQ(Get(taken), 3);
      if (recording) {
        recording->Launch(ThreadStream());
        EXPECT_EQ(Get(taken), 7);
      }
      Device::Get().Free(taken, 1);
    }
  });
}

TEST(BorrowedStreams, OfNobodyAreCudasDefaultStream) {
  EXPECT_NE(cuda::BorrowStream(nullptr)->handle(), nullptr) << "such streams are the tests' own";
}

}  // namespace
}  // namespace caffe
