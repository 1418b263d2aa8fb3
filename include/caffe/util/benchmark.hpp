#ifndef CAFFE_UTIL_BENCHMARK_HPP_
#define CAFFE_UTIL_BENCHMARK_HPP_

// Timers, and what else programs take from Caffe's header of this name: Boost's clocks and
// lexical_cast. The library itself includes caffe/util/timer.hpp, which is compiled faster.

#include <boost/date_time/posix_time/posix_time.hpp>
#include <boost/lexical_cast.hpp>

#include "caffe/util/timer.hpp"

#endif  // CAFFE_UTIL_BENCHMARK_HPP_
