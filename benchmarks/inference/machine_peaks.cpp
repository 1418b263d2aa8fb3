#include "machine_peaks.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace caffe {
namespace {

constexpr int kRuns = 20;
constexpr int kSums = 10;  // chains of additions: latency times throughput of today's cores

double Seconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Lanes4 {
  typedef float Register __attribute__((vector_size(16)));
};
struct Lanes8 {
  typedef float Register __attribute__((vector_size(32)));
};
struct Lanes16 {
  typedef float Register __attribute__((vector_size(64)));
};

/// `steps` multiplications with additions in each of kSums registers of `kBytes`; what they sum to.
/// Inlined into functions for an instruction set each.
template <typename Lanes>
[[gnu::always_inline]] inline float MultiplyAndAdd(int steps, float by) {
  using Register = typename Lanes::Register;
  Register sums[kSums] = {}, factor = by - Register{};
  for (int i = 0; i < kSums; ++i) sums[i] += float(i);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) {
      sums[i] = sums[i] * factor + factor;
      asm volatile("" : "+v"(sums[i]));  // in a register, in this order
    }
  }
  float total = 0;
  for (const Register& sum : sums) total += sum[0];
  return total;
}

float Narrow(int steps, float by) { return MultiplyAndAdd<Lanes4>(steps, by); }
[[gnu::target("avx2,fma")]] float Avx2(int steps, float by) {
  return MultiplyAndAdd<Lanes8>(steps, by);
}
[[gnu::target("avx512f,fma")]] float Avx512(int steps, float by) {
  return MultiplyAndAdd<Lanes16>(steps, by);
}

/// Products a second of one way.
double Measured(float (*loop)(int, float), int lanes) {
  constexpr int kSteps = 2000000;
  double best = 0;
  volatile float keep = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    float total = 0;
#pragma omp parallel reduction(+ : total)
    total += loop(kSteps, 0.5f);
    const double products = double(kSteps) * kSums * lanes * omp_get_max_threads();
    best = std::max(best, products / Seconds(start));
    keep = total;
  }
  static_cast<void>(keep);
  return best;
}

}  // namespace

double PeakProducts() {
  double peak = Measured(Narrow, 4);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    peak = std::max(peak, Measured(Avx2, 8));
  }
  if (__builtin_cpu_supports("avx512f")) peak = std::max(peak, Measured(Avx512, 16));
  return peak;
}

double PeakBandwidth() {
  constexpr size_t kCount = size_t(64) << 20;  // 256 MB
  std::vector<float> numbers(kCount, 1.f);
  double best = 0;
  volatile float keep = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    float total = 0;
    const float* data = numbers.data();
#pragma omp parallel for simd reduction(+ : total)
    for (size_t i = 0; i < kCount; ++i) total += data[i];
    best = std::max(best, kCount * sizeof(float) / Seconds(start));
    keep = total;
  }
  static_cast<void>(keep);
  return best;
}

}  // namespace caffe
