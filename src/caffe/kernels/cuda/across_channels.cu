#include "caffe/kernels/cuda/across_channels.hpp"

#include <limits>

#include "lanes.hpp"

namespace caffe::cuda {
namespace {

/// A pixel's largest score, and the sum of exp(score - largest).
struct Scores {
  float largest, sum;
};

__host__ __device__ inline Scores Joined(const Scores& a, const Scores& b) {
  const bool a_is_higher = !(a.largest < b.largest);  // also if one is NaN
  const Scores& high = a_is_higher ? a : b;
  const Scores& low = a_is_higher ? b : a;
  // The difference of two infinities would be NaN.
  const float factor = low.largest == high.largest ? 1.f : expf(low.largest - high.largest);
  return {high.largest, high.sum + low.sum * factor};
}

__host__ __device__ inline float ReadOne(const Array& x, size_t at) {
  float value[1];
  x.Read(at, value);
  return value[0];
}

__host__ __device__ inline void WriteOne(const Array& y, size_t at, float result) {
  const float value[1] = {result};
  y.Write(value, at);
}

void RequireFilled(int channels, int filled, const Pixels& x, const Pixels& y) {
  Require(channels <= filled && filled <= y.stride && channels <= x.stride, "pixels of ", channels,
          " channels, filled up to ", filled, ", cannot lie ", x.stride, " and ", y.stride,
          " elements apart");
}

}  // namespace

void LrnOfPixels(Stream& stream, const kernels::LrnShape& lrn, int pixels, int channels, int filled,
                 const Pixels& x, const Pixels& y) {
  RequireFilled(channels, filled, x, y);
  const Array from = ArrayOf(x), to = ArrayOf(y);
  const int half = lrn.size / 2;
  const float alpha = static_cast<float>(lrn.alpha / lrn.size);
  const float beta = static_cast<float>(lrn.beta), k = static_cast<float>(lrn.k);
  ForEach(stream, CountedWork(double(pixels) * filled), [=] __host__ __device__(int i) {
    const size_t pixel = i / filled;
    const int channel = i % filled;
    float result = 0;
    if (channel < channels) {
      float sum = 0;
      for (int c = Max(0, channel - half); c <= Min(channels - 1, channel + half); ++c) {
        const float value = ReadOne(from, pixel * from.stride + c);
        sum += value * value;
      }
      result = ReadOne(from, pixel * from.stride + channel) * powf(k + alpha * sum, -beta);
    }
    WriteOne(to, pixel * to.stride + channel, result);
  });
}

void SoftmaxOfPixels(Stream& stream, int pixels, int channels, int filled, const Pixels& x,
                     void* scratch, const Pixels& y) {
  RequireFilled(channels, filled, x, y);
  const Array from = ArrayOf(x), to = ArrayOf(y);
  Scores* const scores = static_cast<Scores*>(scratch);
  const int work = CountedWork(double(pixels) * filled);
  ReduceRows(
      stream, pixels, channels, Scores{-std::numeric_limits<float>::infinity(), 0.f},
      [=] __host__ __device__(int pixel, int channel) {
        return Scores{ReadOne(from, size_t(pixel) * from.stride + channel), 1.f};
      },
      [] __host__ __device__(const Scores& a, const Scores& b) { return Joined(a, b); },
      [=] __host__ __device__(int pixel, const Scores& all) { scores[pixel] = all; });
  ForEach(stream, work, [=] __host__ __device__(int i) {
    const size_t pixel = i / filled;
    const int channel = i % filled;
    float result = 0;
    if (channel < channels) {
      const Scores& all = scores[pixel];
      result = expf(ReadOne(from, pixel * from.stride + channel) - all.largest) / all.sum;
    }
    WriteOne(to, pixel * to.stride + channel, result);
  });
}

size_t SoftmaxScratchBytes(int pixels) { return size_t(pixels) * sizeof(Scores); }

}  // namespace caffe::cuda
