#include "caffe/util/system/sha256.hpp"

#include <gtest/gtest.h>

namespace caffe {
namespace {

// The examples of FIPS 180-4's publisher, and lengths around a block's end.
TEST(Sha256, HasThePublishedDigests) {
  Sha256 none, abc, two_blocks, many;
  EXPECT_EQ(none.Digest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  abc.Add("abc", 3);
  EXPECT_EQ(abc.Digest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  two_blocks.Add(text.data(), text.size());
  EXPECT_EQ(two_blocks.Digest(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const std::string thousand(1000, 'a');
  for (int i = 0; i < 1000; ++i) many.Add(thousand.data(), thousand.size());
  EXPECT_EQ(many.Digest(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowBytesAreAdded) {
  const std::string text(200, 'x');
  Sha256 whole;
  whole.Add(text.data(), text.size());
  for (const size_t first : {1, 55, 56, 63, 64, 65, 128}) {
    Sha256 parts;
    parts.Add(text.data(), first);
    parts.Add(text.data() + first, text.size() - first);
    EXPECT_EQ(parts.Digest(), whole.Digest()) << first;
  }
}

}  // namespace
}  // namespace caffe
