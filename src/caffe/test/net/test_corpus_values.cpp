// Public nets give BVLC Caffe 1.0's numbers, blob by blob, with weights and inputs made by a hash.
#include <gtest/gtest.h>

#include "caffe/test/support/corpus_nets.hpp"
#include "caffe/test/support/expected_blobs.hpp"
#include "caffe/test/support/slow_tests.hpp"

namespace caffe {
namespace {

class CorpusValues : public ::testing::TestWithParam<string> {};

TEST_P(CorpusValues, AreBvlcCaffes) {
  SLOW_TEST();
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const std::unique_ptr<Net<float>> filled = corpus::FilledNet(GetParam());
  Net<float>& net = *filled;
  net.Forward();
  const auto expected = ReadExpectedBlobs(corpus::Path("expected/" + GetParam() + ".txt"));
  ASSERT_FALSE(expected.empty());
  for (const ExpectedBlob& e : expected) {
    ASSERT_TRUE(net.has_blob(e.name)) << e.name;
    CompareBlob(e, *net.blob_by_name(e.name), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, CorpusValues, ::testing::ValuesIn(corpus::ExpectedNets()),
                         corpus::TestName);

}  // namespace
}  // namespace caffe
