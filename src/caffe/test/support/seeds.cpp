#include "seeds.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>

namespace caffe {
namespace {

/// FNV-1a, as std::hash may differ from one library to another.
unsigned HashOf(const std::string& text) {
  unsigned hash = 2166136261u;
  for (const unsigned char c : text) hash = (hash ^ c) * 16777619u;
  return hash;
}

std::string NameOfTest() {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return test ? std::string(test->test_suite_name()) + "." + test->name() : "";
}

/// A number from the system, the same one throughout a test: it may ask for its seed several times,
/// and in several threads.
unsigned DrawnFor(const std::string& test) {
  static std::mutex mutex;
  static std::string latest;
  static unsigned seed = std::random_device()();
  const std::lock_guard<std::mutex> lock(mutex);
  if (latest != test) {
    latest = test;
    seed = std::random_device()();
  }
  return seed;
}

}  // namespace

std::vector<unsigned> Seeds(int count) {
  const std::string test = NameOfTest();
  std::mt19937 seeds(HashOf(test));
  const char* given = std::getenv("CAFFE_TEST_SEED");
  if (given && *given) {
    if (given != std::string("random")) {
      size_t read = 0;
      const unsigned long seed = std::stoul(given, &read);
      if (given[read]) throw std::invalid_argument("CAFFE_TEST_SEED is a number or random");
      return {static_cast<unsigned>(seed)};
    }
    seeds.seed(DrawnFor(test));
  }
  std::vector<unsigned> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(seeds());
  return numbers;
}

unsigned TestSeed() { return Seeds(1)[0]; }

}  // namespace caffe
