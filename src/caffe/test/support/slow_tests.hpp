#ifndef CAFFE_TEST_SLOW_TESTS_HPP_
#define CAFFE_TEST_SLOW_TESTS_HPP_

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace caffe {

/// CAFFE_SLOW_TESTS=0: slow tests are left out, as scripts/test.sh --quick does.
inline bool SkipsSlowTests() {
  const char* value = std::getenv("CAFFE_SLOW_TESTS");
  return value && value == std::string("0");
}

}  // namespace caffe

/// The first line of a test that takes about two seconds or more.
#define SLOW_TEST() \
  if (::caffe::SkipsSlowTests()) GTEST_SKIP() << "slow, and CAFFE_SLOW_TESTS is 0"

#endif  // CAFFE_TEST_SLOW_TESTS_HPP_
