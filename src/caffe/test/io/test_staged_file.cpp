#include "caffe/io/staged_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

std::string Contents(const StagedFile& file) {
  std::string bytes(file.size(), '?');
  file.Read(0, bytes.data(), bytes.size());
  return bytes;
}

// The same writes in a string; sizes around that of a page (256 KiB).
TEST(StagedFile, HoldsWhatAStringWouldAfterEachCommit) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string name = NewFile("what was there before");
  StagedFile file(name);
  EXPECT_EQ(ReadFile(name), "");
  std::string expected, committed;
  for (int step = 0; step < 60; ++step) {
    const size_t offset = random() % 1000000, size = random() % (random() % 2 ? 50 : 600000);
    switch (random() % 8) {
      case 0:
        file.Commit();
        committed = expected;
        break;
      case 1:
        expected.resize(random() % (expected.size() + 1));
        file.Resize(expected.size());
        // What was cut off would be undefined if the file grew over it.
        file.Commit();
        committed = expected;
        break;
      default: {
        const std::string bytes(size, static_cast<char>('a' + step % 26));
        file.Write(offset, bytes.data(), size);
        if (size == 0) break;
        expected.resize(std::max(expected.size(), offset + size));
        expected.replace(offset, size, bytes);
      }
    }
    ASSERT_EQ(ReadFile(name), committed) << step;
    ASSERT_EQ(Contents(file), expected) << step;
  }
}

TEST(StagedFile, WithoutRoomStaysWhatItWas) {
  const std::string name = NewFileName();
  StagedFile file(name);
  const std::string old(400000, 'o'), grown(1000000, 'n');
  file.Write(0, old.data(), old.size());
  file.Commit();
  file.Write(10, grown.data(), grown.size());
  {
    const FileSizeLimit limit(600000);
    const std::string message = ErrorOf([&] { file.Commit(); });
    ExpectContains(message, name + ": writing failed (File too large)");
    ExpectContains(message, "free space");
  }
  EXPECT_EQ(ReadFile(name), old);
  file.Commit();
  EXPECT_EQ(ReadFile(name), old.substr(0, 10) + grown);
}

TEST(StagedFile, IsOneWritersAlone) {
  const std::string name = NewFileName();
  {
    StagedFile file(name);
    file.Write(0, "kept", 4);
    file.Commit();
    ExpectContains(ErrorOf([&] { StagedFile second(name); }), name + ": is in use");
    EXPECT_EQ(ReadFile(name), "kept");
  }
  StagedFile next(name);
  EXPECT_EQ(ReadFile(name), "");
}

TEST(StagedFile, NamesAFolderThatIsMissing) {
  ExpectContains(
      ErrorOf([] { StagedFile file("/no/such/file"); }),
      "/no/such/file: cannot be created (No such file or directory); create the directory");
}

}  // namespace
}  // namespace caffe
