// How lines of the log begin in a program that links the library and has only started glog, as this
// one (test_main.cpp). python/tests/test_log_lines.py reads whole logs.
#include <glog/logging.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <string>

namespace {

TEST(LogPrefix, IsCaffesWhateverTheVersionOfGlog) {
  if (std::getenv("GLOG_log_year_in_prefix"))
    GTEST_SKIP() << "GLOG_log_year_in_prefix is set, which decides instead";
  const int level = FLAGS_minloglevel;
  const bool to_stderr = FLAGS_logtostderr;
  FLAGS_minloglevel = google::INFO;
  FLAGS_logtostderr = true;
  ::testing::internal::CaptureStderr();
  LOG(INFO) << "Solving";
  LOG(WARNING) << "Beware";
  const std::string lines = ::testing::internal::GetCapturedStderr();
  FLAGS_minloglevel = level;
  FLAGS_logtostderr = to_stderr;
  const std::string time = R"(\d{4} \d{2}:\d{2}:\d{2}\.\d{6} +\d+ test_log_prefix\.cpp:\d+\] )";
  EXPECT_TRUE(std::regex_match(lines, std::regex("I" + time + "Solving\nW" + time + "Beware\n")))
      << lines;
}

}  // namespace
