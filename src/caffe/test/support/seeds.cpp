#include "seeds.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>

#include "caffe/common.hpp"

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

/// What CAFFE_TEST_SEED=random draws: a number for each test, however often the test asks for its
/// seed.
unsigned drawn = 0;

/// Each test begins with the same random numbers, whichever tests ran before it, and says which
/// ones if it fails.
class SeedsEachTest : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    drawn = std::random_device()();
    Caffe::set_random_seed(TestSeed());
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    std::cout << "CAFFE_TEST_SEED=" << TestSeed()
              << " repeats it, where the failure itself names no other seed.\n";
  }
};

}  // namespace

void SeedEachTest() { ::testing::UnitTest::GetInstance()->listeners().Append(new SeedsEachTest); }

std::vector<unsigned> Seeds(int count) {
  std::mt19937 seeds(HashOf(NameOfTest()));
  const char* given = std::getenv("CAFFE_TEST_SEED");
  if (given && *given) {
    if (given != std::string("random")) {
      size_t read = 0;
      const unsigned long seed = std::stoul(given, &read);
      if (given[read]) throw std::invalid_argument("CAFFE_TEST_SEED is a number or random");
      return {static_cast<unsigned>(seed)};
    }
    seeds.seed(drawn);
  }
  std::vector<unsigned> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(seeds());
  return numbers;
}

unsigned TestSeed() { return Seeds(1)[0]; }

}  // namespace caffe
