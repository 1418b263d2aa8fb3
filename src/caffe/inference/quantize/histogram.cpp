#include "caffe/inference/histogram.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/quantize.hpp"

namespace caffe {
namespace {

constexpr int kBinsExponent = 12;  // kBins is 2 to it
static_assert(Histogram::kBins == 1 << kBinsExponent, "bins and their exponent");

/// Narrower bins would need factors that a float does not hold.
constexpr int kMinExponent = -100;

constexpr size_t kChunk = 4096;     // values taken at once: they and their bins stay in cache
constexpr size_t kGrain = 1 << 16;  // minimum number of values per thread
constexpr size_t kTables = 2;       // neighbours often share a bin: counting in turn avoids waiting
constexpr size_t kMaxAtOnce = size_t(1) << 31;  // 32-bit counts do not overflow

/// The exponent of the bins' width with which `largest` lies in the upper half of the bins.
int ExponentFor(float largest) {
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::max(kMinExponent, exponent - kBinsExponent);
}

}  // namespace

double Histogram::width() const { return std::ldexp(1.0, exponent_); }

float Histogram::largest() const { return std::max(std::fabs(minimum_), std::fabs(maximum_)); }

int Histogram::used_bins() const {
  if (bins_.empty()) return 0;
  return static_cast<int>(std::ldexp(double(largest()), -exponent_)) + 1;
}

void Histogram::SeeRange(float least, float most) {
  minimum_ = any_finite_ ? std::min(minimum_, least) : least;
  maximum_ = any_finite_ ? std::max(maximum_, most) : most;
  any_finite_ = true;
}

void Histogram::GrowTo(int exponent) {
  if (bins_.empty()) {
    bins_.assign(kBins, 0);
    exponent_ = exponent;
  }
  if (exponent <= exponent_) return;
  const int shift = std::min(exponent - exponent_, kBinsExponent);
  for (int i = 0; i < kBins; ++i) {
    const int64_t counted = bins_[i];
    bins_[i] = 0;
    bins_[i >> shift] += counted;
  }
  exponent_ = exponent;
}

void Histogram::Add(const float* values, size_t count) {
  for (; count > kMaxAtOnce; values += kMaxAtOnce, count -= kMaxAtOnce) Add(values, kMaxAtOnce);
  std::vector<Histogram> parts(std::max<size_t>(1, kernels::ParallelParts(count, kGrain)));
  kernels::ParallelParts(count, kGrain, [&](size_t part, size_t begin, size_t end) {
    parts[part].AddSerial(values + begin, end - begin);
  });
  for (const Histogram& part : parts) Merge(part);
}

void Histogram::AddSerial(const float* values, size_t count) {
  std::vector<uint32_t> counts(kTables * kBins, 0);
  std::vector<float> finite;
  const auto flush = [&] {
    if (bins_.empty()) return;
    // Modulo 2^32: zeros, counted in both tables, were taken from the first.
    for (int i = 0; i < kBins; ++i) bins_[i] += uint32_t(counts[i] + counts[kBins + i]);
    std::fill(counts.begin(), counts.end(), 0);
  };
  for (size_t start = 0; start < count; start += kChunk) {
    const float* chunk = values + start;
    size_t length = std::min(kChunk, count - start);
    const kernels::ValueSummary summary = kernels::Summarize(length, chunk);
    count_ += length;
    zeros_ += summary.zeros;
    negatives_ += summary.negatives;
    infinite_ += summary.infinite;
    not_a_number_ += summary.not_a_number;
    if (summary.infinite + summary.not_a_number > 0) {
      finite.clear();
      std::copy_if(chunk, chunk + length, std::back_inserter(finite),
                   [](float value) { return std::isfinite(value); });
      chunk = finite.data();
      length = finite.size();
    }
    if (length == 0) continue;
    SeeRange(summary.least, summary.most);
    if (summary.largest == 0) continue;
    const int exponent = ExponentFor(summary.largest);
    if (bins_.empty() || exponent > exponent_) {
      flush();
      GrowTo(exponent);
    }
    CountFinite(chunk, length, &counts);
    counts[0] -= static_cast<uint32_t>(summary.zeros);
  }
  flush();
}

void Histogram::CountFinite(const float* values, size_t count, std::vector<uint32_t>* counts) {
  int32_t bins[kChunk];
  kernels::MagnitudeBins(count, std::ldexp(1.f, -exponent_), values, bins);
  uint32_t* const even = counts->data();
  uint32_t* const odd = even + kBins;
  size_t i = 0;
  for (; i + 2 <= count; i += 2) {
    ++even[bins[i]];
    ++odd[bins[i + 1]];
  }
  if (i < count) ++even[bins[i]];
}

void Histogram::Merge(const Histogram& other) {
  if (!other.bins_.empty()) {
    GrowTo(other.exponent_);
    const int shift = std::min(exponent_ - other.exponent_, kBinsExponent);
    for (int i = 0; i < kBins; ++i) bins_[i >> shift] += other.bins_[i];
  }
  if (other.any_finite_) SeeRange(other.minimum_, other.maximum_);
  count_ += other.count_;
  zeros_ += other.zeros_;
  negatives_ += other.negatives_;
  infinite_ += other.infinite_;
  not_a_number_ += other.not_a_number_;
}

}  // namespace caffe
