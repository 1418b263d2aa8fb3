#ifndef CAFFE_TEST_SEEDS_HPP_
#define CAFFE_TEST_SEEDS_HPP_

#include <vector>

namespace caffe {

/// The seed of a test's random numbers, which a failure has to print. CAFFE_TEST_SEED=N is N,
/// CAFFE_TEST_SEED=random another number each time; without it, a number that depends on nothing
/// but the test's name.
unsigned TestSeed();

/// `count` different seeds; the one number of CAFFE_TEST_SEED=N.
std::vector<unsigned> Seeds(int count);

}  // namespace caffe

#endif  // CAFFE_TEST_SEEDS_HPP_
