#ifndef CAFFE_BENCHMARKS_BENCHMARK_SUPPORT_HPP_
#define CAFFE_BENCHMARKS_BENCHMARK_SUPPORT_HPP_

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <vector>

// What the benchmarks of kernels have in common.

/// In milliseconds. On one thread the processor's time counts, which other work on the machine
/// disturbs least.
inline double Now() {
  if (omp_get_max_threads() == 1) return 1e3 * std::clock() / CLOCKS_PER_SEC;
  const std::chrono::duration<double, std::milli> now =
      std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

inline double Milliseconds(const std::function<void()>& f) {
  const double start = Now();
  f();
  return Now() - start;
}

inline double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// From -1 to 1, other ones with each call, the same in each run.
inline std::vector<float> Random(size_t n) {
  static std::mt19937 random(7);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(n);
  for (float& value : values) value = distribution(random);
  return values;
}

/// Memory aligned as the kernels want it.
class Aligned {
 public:
  explicit Aligned(size_t bytes)
      : data_(std::aligned_alloc(64, (bytes + 64) / 64 * 64), &std::free) {}
  void* get() const { return data_.get(); }

 private:
  std::unique_ptr<void, void (*)(void*)> data_;
};

#endif  // CAFFE_BENCHMARKS_BENCHMARK_SUPPORT_HPP_
