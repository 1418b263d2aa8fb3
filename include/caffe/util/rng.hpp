#ifndef CAFFE_UTIL_RNG_HPP_
#define CAFFE_UTIL_RNG_HPP_

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int.hpp>
#include <iterator>
#include <utility>

#include "caffe/common.hpp"
#include "caffe/util/string_stream.hpp"

namespace caffe {

typedef boost::mt19937 rng_t;

/// The calling thread's generator.
inline rng_t* caffe_rng() { return static_cast<rng_t*>(Caffe::rng_stream().generator()); }

/// A number that the calling thread's generator draws from [lower, upper].
float RandomUniform(float lower, float upper);

/// A generator's state as text, and back. Throws Error if it is no such text.
inline string RandomStateOf(const rng_t& generator) {
  StringWriter stream;
  stream << generator << ' ';  // Boost reads white space behind the last number
  return stream.str();
}
inline void SetRandomStateOf(const string& state, rng_t* generator) {
  StringReader stream(state);
  stream >> *generator;
  Require(!stream.fail(), "the stored random generator cannot be read");
}

/// While it lives, what the calling thread draws does not count: the generator is as it was after.
class KeepRandomState {
 public:
  KeepRandomState() : state_(*caffe_rng()) {}
  ~KeepRandomState() { *caffe_rng() = state_; }
  KeepRandomState(const KeepRandomState&) = delete;
  KeepRandomState& operator=(const KeepRandomState&) = delete;

 private:
  const rng_t state_;
};

/// Puts [begin, end) in random order (Fisher and Yates, from the end), with Caffe's draws.
template <typename RandomAccessIterator, typename RandomGenerator>
void shuffle(RandomAccessIterator begin, RandomAccessIterator end, RandomGenerator* generator) {
  using Difference = typename std::iterator_traits<RandomAccessIterator>::difference_type;
  for (Difference last = std::distance(begin, end) - 1; last > 0; --last) {
    boost::uniform_int<Difference> choose(0, last);
    std::iter_swap(begin + last, begin + choose(*generator));
  }
}

template <typename RandomAccessIterator>
void shuffle(RandomAccessIterator begin, RandomAccessIterator end) {
  shuffle(begin, end, caffe_rng());
}

}  // namespace caffe

#endif  // CAFFE_UTIL_RNG_HPP_
