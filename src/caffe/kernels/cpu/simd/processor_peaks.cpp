#include "caffe/kernels/processor_peaks.hpp"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "amx_tiles.hpp"
#include "caffe/kernels/cpu/gemm/packed_tiles.hpp"
#include "caffe/kernels/cpu/int8/int8_tiles.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "instruction_set_row.hpp"
#include "tile_pairs.hpp"
#include "vector_kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace caffe::kernels {
namespace {

using PeakClock = std::chrono::steady_clock;

double Seconds(PeakClock::duration time) { return std::chrono::duration<double>(time).count(); }

/// One thread's part of a run.
struct PeakPart {
  PeakClock::time_point begin, end;
  double work;
};

/// A run of all threads.
struct PeakRun {
  double rate;    ///< from the first thread's beginning to the last one's end
  double alone;   ///< the sum of the own rates of as many threads as there are processors
  bool together;  ///< they began at the same time
};

PeakRun RunOf(const std::vector<PeakPart>& parts) {
  constexpr double kApart = 0.1;  // of the run
  PeakClock::time_point begin = parts[0].begin, last_begin = begin, end = parts[0].end;
  double work = 0, alone = 0;
  for (const PeakPart& part : parts) {
    begin = std::min(begin, part.begin);
    last_begin = std::max(last_begin, part.begin);
    end = std::max(end, part.end);
    work += part.work;
    alone += part.work / Seconds(part.end - part.begin);
  }
  const double seconds = Seconds(end - begin), threads = static_cast<double>(parts.size());
  const double at_a_time = std::min<double>(threads, omp_get_num_procs());
  return {work / seconds, alone * at_a_time / threads,
          Seconds(last_begin - begin) < kApart * seconds};
}

/// The best of several runs. Other programs interrupt some of them: three that began together have
/// to agree about what is the best, unless it takes too long. Where threads never ran at the same
/// time, what each one did is added up.
class BestOfRuns {
 public:
  explicit BestOfRuns(double seconds) : seconds_(seconds) {}

  void Add(const PeakRun& run) {
    alone_ = std::max(alone_, run.alone);
    if (run.together) rates_.push_back(run.rate);
  }
  double best() const {
    return rates_.empty() ? alone_ : *std::max_element(rates_.begin(), rates_.end());
  }
  bool done() const {
    constexpr double kSame = 0.97, kMost = 4;
    const double passed = Seconds(PeakClock::now() - start_), same = kSame * best();
    const auto agree =
        std::count_if(rates_.begin(), rates_.end(), [same](double rate) { return rate >= same; });
    return passed >= kMost * seconds_ || (passed >= seconds_ && agree >= 3);
  }

 private:
  const double seconds_;
  const PeakClock::time_point start_ = PeakClock::now();
  std::vector<double> rates_;
  double alone_ = 0;
};

/// Work a second that all threads do, in runs for `seconds` or a few times as long. work(thread,
/// threads, run) does one thread's part of a run, and returns how much it is. Runs should be short,
/// so that some are not interrupted.
template <typename Work>
double BestRate(double seconds, const Work& work) {
  BestOfRuns runs(seconds);
  std::vector<PeakPart> parts;
  bool done = false;
  std::atomic<int64_t> arrived{0};
#pragma omp parallel
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
#pragma omp single
    parts.resize(threads);
    for (int run = 0; !done; ++run) {
      // Not OpenMP's barrier, in which threads sleep: all of them are running when the last
      // arrives.
      ++arrived;
      while (arrived.load(std::memory_order_relaxed) < (run + int64_t{1}) * threads) {
      }
      PeakPart part;
      part.begin = PeakClock::now();
      part.work = work(thread, threads, run);
      part.end = PeakClock::now();
      parts[thread] = part;
#pragma omp barrier
#pragma omp single
      {
        runs.Add(RunOf(parts));
        done = runs.done();
      }
    }
  }
  return runs.best();
}

using MultiplyLoop = double(int64_t steps);

/// Runs of about half a millisecond, against which threads begin at the same time.
double ProductsPerSecond(MultiplyLoop* multiply) {
  constexpr double kRunSeconds = 0.0005, kSeconds = 0.1;
  const auto takes = [multiply](int64_t steps) {
    double least = kRunSeconds;
    for (int i = 0; i < 3; ++i) {  // other programs interrupt some
      const PeakClock::time_point start = PeakClock::now();
      multiply(steps);
      least = std::min(least, Seconds(PeakClock::now() - start));
    }
    return least;
  };
  int64_t steps = 16;
  while (takes(steps) < kRunSeconds) steps *= 2;
  return BestRate(kSeconds, [=](int, int, int) { return multiply(steps); });
}

#if defined(__x86_64__)
/// As PackedTiles::multiply_registers, by an instruction that only oneDNN's kernels use. Chains of
/// sums are not an array, which GCC would keep in memory here.
[[gnu::target("avx512f,avx512bf16")]] double MultiplyBFloat16Registers(int64_t steps) {
  constexpr int kSums = 12, kFactors = 32;
  __m512i ones = _mm512_set1_epi16(0x3f80);
  __m512 a = _mm512_setzero_ps(), b = a, c = a, d = a, e = a, f = a;
  __m512 g = a, h = a, i = a, j = a, k = a, l = a;
  // Their values are hidden: compilers would merge equal sums.
  __asm__ volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f));
  __asm__ volatile("" : "+v"(g), "+v"(h), "+v"(i), "+v"(j), "+v"(k), "+v"(l));
  for (int64_t step = 0; step < steps; ++step) {
    __asm__ volatile("" : "+v"(ones));
    const __m512bh x = (__m512bh)ones;
    a = _mm512_dpbf16_ps(a, x, x);
    b = _mm512_dpbf16_ps(b, x, x);
    c = _mm512_dpbf16_ps(c, x, x);
    d = _mm512_dpbf16_ps(d, x, x);
    e = _mm512_dpbf16_ps(e, x, x);
    f = _mm512_dpbf16_ps(f, x, x);
    g = _mm512_dpbf16_ps(g, x, x);
    h = _mm512_dpbf16_ps(h, x, x);
    i = _mm512_dpbf16_ps(i, x, x);
    j = _mm512_dpbf16_ps(j, x, x);
    k = _mm512_dpbf16_ps(k, x, x);
    l = _mm512_dpbf16_ps(l, x, x);
  }
  __asm__ volatile(""
                   :
                   : "v"(a), "v"(b), "v"(c), "v"(d), "v"(e), "v"(f), "v"(g), "v"(h), "v"(i), "v"(j),
                     "v"(k), "v"(l));
  return static_cast<double>(kSums * kFactors) * static_cast<double>(steps);
}
#endif

/// The name of the first row with these kernels: the set that they are compiled for.
template <typename Kernels>
std::string UnitOf(const Kernels* InstructionSetRow::*column, const Kernels* kernels) {
  for (const InstructionSetRow& row : RegisteredRows()) {
    if (row.*column == kernels) return row.name;
  }
  return "";
}

}  // namespace

std::vector<ProductPeak> MeasureProductPeaks() {
  std::vector<ProductPeak> peaks;
  const auto add = [&peaks](ElementType type, const std::string& unit, bool tiles,
                            MultiplyLoop* multiply) {
    peaks.push_back({type, unit, tiles, ProductsPerSecond(multiply)});
  };
  const PackedTiles& floats = ChosenPackedTiles();
  const Int8Tiles& integers = ChosenInt8Tiles();
  const AmxTiles* tiles = ChosenAmxTiles();
  const std::string tiles_unit = tiles ? UnitOf(&InstructionSetRow::tiles, tiles) : "";
  add(ElementType::FLOAT, UnitOf(&InstructionSetRow::packed, &floats), false,
      floats.multiply_registers);
#if defined(__x86_64__)
  if (Includes(FoundCpuFeatures(), CpuFeatures::AVX512 | CpuFeatures::AVX512_BF16)) {
    add(ElementType::BFLOAT16, "avx512_bf16", false, MultiplyBFloat16Registers);
  }
#endif
  if (tiles) add(ElementType::BFLOAT16, tiles_unit, true, tiles->multiply_bfloat16_registers);
  add(ElementType::INT8, UnitOf(&InstructionSetRow::int8, &integers), false,
      integers.multiply_registers);
  if (tiles) add(ElementType::INT8, tiles_unit, true, tiles->multiply_signed_registers);
  return peaks;
}

double FastestProducts(const std::vector<ProductPeak>& peaks, ElementType math) {
  const Storage stored = math == ElementType::FLOAT     ? STORED_FLOAT
                         : math == ElementType::FLOAT16 ? STORED_HALF
                                                        : STORED_BFLOAT16;
  double fastest = 0;
  for (const ProductPeak& peak : peaks) {
    if ((peak.type == ElementType::INT8) != (math == ElementType::INT8)) continue;
    const bool in_floats = peak.type == ElementType::FLOAT;
    // Other vectors take BFLOAT16 as it is.
    if (!peak.tiles && !in_floats && peak.type != math) continue;
    const int products =
        peak.tiles && math != ElementType::INT8 ? TilePairsOf(stored, stored, math).size() : 1;
    fastest = std::max(fastest, peak.per_second / products);
  }
  return fastest;
}

double MeasureMemoryBandwidth() {
  constexpr double kSeconds = 0.2;
  size_t bytes = size_t(256) << 20;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (cache > 0) bytes = std::clamp(2 * static_cast<size_t>(cache), bytes, size_t(1) << 30);
#endif
  const size_t count = bytes / sizeof(float);
  const std::unique_ptr<float[]> numbers(new float[count]);
  float* const data = numbers.get();
  // By the threads that read them, so that they lie in memory near them.
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < count; ++i) data[i] = 1;
  const auto sum = Loops<float>().sum;
  return BestRate(kSeconds, [=](int thread, int threads, int run) {
    // Each thread reads its share of the array piece by piece.
    constexpr size_t kPiece = 1 << 20, kPart = 1 << 14;
    const size_t share = count / threads, pieces = std::max<size_t>(1, share / kPiece);
    const float* const piece = data + thread * share + run % pieces * kPiece;
    const size_t size = std::min(share, kPiece);
    volatile double keep = 0;
    for (size_t i = 0; i + kPart <= size; i += kPart) keep = keep + sum(kPart, piece + i);
    return static_cast<double>(size / kPart * kPart * sizeof(float));
  });
}

namespace {

// Which of two threads may write the line next, or that neither will.
constexpr int kSender = 0, kReceiver = 1, kEnd = 2;

void SendBack(std::atomic<int>* turn) {
  for (int now = turn->load(); now != kEnd; now = turn->load(std::memory_order_acquire)) {
    if (now == kReceiver) turn->store(kSender, std::memory_order_release);
  }
}

/// Half of the least time in which the line comes back, in nanoseconds. Ends soon where a core is
/// shared, and the other thread has to wait for it.
double SendAndWait(std::atomic<int>* turn) {
  constexpr int kBatches = 60, kTrips = 50;
  constexpr double kSeconds = 0.01;
  double least = std::numeric_limits<double>::infinity();
  const PeakClock::time_point start = PeakClock::now();
  for (int batch = 0; batch < kBatches; ++batch) {
    const PeakClock::time_point begin = PeakClock::now();
    if (Seconds(begin - start) > kSeconds) break;
    for (int trip = 0; trip < kTrips; ++trip) {
      turn->store(kReceiver, std::memory_order_release);
      while (turn->load(std::memory_order_acquire) != kSender) {
      }
    }
    least = std::min(least, Seconds(PeakClock::now() - begin) * 1e9 / (2 * kTrips));
  }
  turn->store(kEnd);
  return least;
}

}  // namespace

HandOver MeasureHandOver() {
  struct alignas(128) Line {
    std::atomic<int> turn{kSender};
  };
  const int threads = std::min(omp_get_max_threads(), omp_get_num_procs());
  std::vector<Line> lines(std::max(1, threads));
  std::vector<double> times(lines.size(), 0.);
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    for (int other = 1; other < omp_get_num_threads(); ++other) {
#pragma omp barrier
      if (me == 0) times[other] = SendAndWait(&lines[other].turn);
      if (me == other) SendBack(&lines[other].turn);
    }
  }
  HandOver result;
  for (size_t other = 1; other < times.size(); ++other) {
    constexpr double kTimeSlice = 1e5;  // or more: the cores are shared with other programs
    if (times[other] == 0 || times[other] > kTimeSlice) continue;  // 0: there were fewer threads
    result.nearest = result.nearest == 0 ? times[other] : std::min(result.nearest, times[other]);
    result.farthest = std::max(result.farthest, times[other]);
  }
  return result;
}

}  // namespace caffe::kernels
