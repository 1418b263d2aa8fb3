#include <glog/logging.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "caffe/common.hpp"
#include "seeds.hpp"

namespace caffe {
namespace {

/// Each test begins with the same random numbers, whichever tests ran before it, and says which
/// ones if it fails.
class SeedsEachTest : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    Caffe::set_random_seed(TestSeed());
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    std::cout << "CAFFE_TEST_SEED=" << TestSeed()
              << " repeats it, where the failure itself names no other seed.\n";
  }
};

}  // namespace
}  // namespace caffe

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new caffe::SeedsEachTest);
  if (!std::getenv("GLOG_minloglevel")) FLAGS_minloglevel = google::FATAL;
  google::InitGoogleLogging(argv[0]);
  return RUN_ALL_TESTS();
}
