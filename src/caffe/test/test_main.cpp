#include <glog/logging.h>
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!std::getenv("GLOG_minloglevel")) FLAGS_minloglevel = google::FATAL;
  google::InitGoogleLogging(argv[0]);
  return RUN_ALL_TESTS();
}
