#ifndef CAFFE_TEST_SEEDED_NUMBERS_HPP_
#define CAFFE_TEST_SEEDED_NUMBERS_HPP_

#include <random>

#include "caffe/test/support/seeds.hpp"

namespace caffe {

/// A whole number from `least` to `most`, both included.
inline int DrawInt(int least, int most, std::mt19937* random) {
  return std::uniform_int_distribution<int>(least, most)(*random);
}

/// Random numbers, the same for the same seed; as a base of fixtures, with the seed of the test.
class SeededNumbers {
 protected:
  explicit SeededNumbers(unsigned seed = TestSeed()) : seed_(seed), random_(seed) {}

  int Number(int least, int most) { return DrawInt(least, most, &random_); }
  float Real(float least, float most) {
    return std::uniform_real_distribution<float>(least, most)(random_);
  }
  bool Coin() { return Number(0, 1) == 1; }

  const unsigned seed_;
  std::mt19937 random_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_SEEDED_NUMBERS_HPP_
