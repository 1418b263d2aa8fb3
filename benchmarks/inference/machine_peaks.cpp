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

/// `kCount` chains of additions, each in a register. Not an array: the compiler would keep it in
/// memory.
template <typename Register, int kCount>
struct Chains {
  Register sum;
  Chains<Register, kCount - 1> others;

  [[gnu::always_inline]] void Start() {
    sum = float(kCount) - Register{};
    others.Start();
  }
  [[gnu::always_inline]] void Step(const Register& factor) {
    sum = sum * factor + factor;
    asm volatile("" : "+v"(sum));  // in this order
    others.Step(factor);
  }
  [[gnu::always_inline]] float Total() const { return sum[0] + others.Total(); }
};
template <typename Register>
struct Chains<Register, 0> {
  [[gnu::always_inline]] void Start() {}
  [[gnu::always_inline]] void Step(const Register&) {}
  [[gnu::always_inline]] float Total() const { return 0; }
};

/// `steps` multiplications with additions in each of kSums registers; what they sum to. Inlined
/// into functions for an instruction set each.
template <typename Lanes>
[[gnu::always_inline]] inline float MultiplyAndAdd(int steps, float by) {
  using Register = typename Lanes::Register;
  const Register factor = by - Register{};
  Chains<Register, kSums> chains;
  chains.Start();
  for (int step = 0; step < steps; ++step) chains.Step(factor);
  return chains.Total();
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
