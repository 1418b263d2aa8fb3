#ifndef CAFFE_TEST_SEEDS_HPP_
#define CAFFE_TEST_SEEDS_HPP_

#include <vector>

namespace caffe {

/// The seed of a test's random numbers, which a failure prints; Caffe's own generator begins each
/// test with it. CAFFE_TEST_SEED=N is N, CAFFE_TEST_SEED=random another number in each run; without
/// it, a number that depends on nothing but the test's name.
unsigned TestSeed();

/// `count` seeds, of which a failure has to name its own; the one number of CAFFE_TEST_SEED=N.
std::vector<unsigned> Seeds(int count);

/// From here on each test begins with its seed. For the tests' main().
void SeedEachTest();

}  // namespace caffe

#endif  // CAFFE_TEST_SEEDS_HPP_
