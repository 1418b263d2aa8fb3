#include <glog/logging.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "caffe/common.hpp"
#include "seeds.hpp"

namespace caffe {
namespace {

/// Each test begins with the same random numbers, whichever tests ran before it.
class SeedsEachTest : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    Caffe::set_random_seed(TestSeed());
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
