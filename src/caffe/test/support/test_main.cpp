#include <glog/logging.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "seeds.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  caffe::SeedEachTest();
  if (!std::getenv("GLOG_minloglevel")) FLAGS_minloglevel = google::FATAL;
  google::InitGoogleLogging(argv[0]);
  return RUN_ALL_TESTS();
}
