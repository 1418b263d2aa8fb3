#include "caffe/kernels/pointwise.hpp"

#include <algorithm>
#include <vector>

#include "caffe/float16.hpp"
#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kPointwiseGrain = 1 << 14;

/// Calls f with the activation, NONE, RELU or CLIP, as a function of one number.
template <typename Function>
void WithActivation(const Activation& activation, Function&& f) {
  const float a = static_cast<float>(activation.a), b = static_cast<float>(activation.b);
  switch (activation.kind) {
    case Activation::RELU:
      if (a == 0) return f([](float v) { return v > 0 ? v : 0.f; });
      return f([a](float v) { return v > 0 ? v : a * v; });
    case Activation::CLIP:
      return f([a, b](float v) { return std::min(std::max(v, a), b); });
    default:
      return f([](float v) { return v; });
  }
}

}  // namespace

void ApplyPointwise(size_t num, size_t channels, size_t spatial, size_t block, const float* scale,
                    const float* shift, const Activation& activation, const float* x, float* y) {
  const size_t blocks = CeilDiv(channels, block);
  std::vector<float> a(blocks * block, 0.f), b(blocks * block, 0.f);
  std::copy(scale, scale + channels, a.begin());
  std::copy(shift, shift + channels, b.begin());
  const size_t length = spatial * block;
  const size_t grain = std::max<size_t>(1, kPointwiseGrain / std::max<size_t>(1, length));
  WithActivation(activation, [&](auto activate) {
    ParallelFor(num * blocks, grain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const float* from = x + i * length;
        float* to = y + i * length;
        const float* own_a = a.data() + i % blocks * block;
        const float* own_b = b.data() + i % blocks * block;
        if (block == 1) {
          const float factor = *own_a, term = *own_b;
          for (size_t s = 0; s < spatial; ++s) to[s] = activate(factor * from[s] + term);
          continue;
        }
        for (size_t s = 0; s < spatial; ++s) {
          for (size_t k = 0; k < block; ++k) {
            to[s * block + k] = activate(own_a[k] * from[s * block + k] + own_b[k]);
          }
        }
        // The activation of the padding's 0 may not be 0.
        const size_t used = std::min(block, channels - i % blocks * block);
        if (used == block || activate(0.f) == 0.f) continue;
        for (size_t s = 0; s < spatial; ++s) {
          std::fill(to + s * block + used, to + (s + 1) * block, 0.f);
        }
      }
    });
  });
}

void BlockedPRelu(size_t num, size_t channels, size_t spatial, size_t block, const float* slope,
                  const float* x, float* y) {
  const size_t blocks = CeilDiv(channels, block), length = spatial * block;
  std::vector<float> slopes(blocks * block, 0.f);
  std::copy(slope, slope + channels, slopes.begin());
  ParallelFor(num * blocks, std::max<size_t>(1, kPointwiseGrain / std::max<size_t>(1, length)),
              [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                  const float* own = slopes.data() + i % blocks * block;
                  const float* from = x + i * length;
                  float* to = y + i * length;
                  for (size_t s = 0; s < length; s += block) {
                    for (size_t k = 0; k < block; ++k) {
                      const float v = from[s + k];
                      to[s + k] = v > 0 ? v : own[k] * v;
                    }
                  }
                }
              });
}

namespace {

/// y = activation(y) for `pixels` times `block` numbers of one block of channels and its slopes.
void ActivateBlock(const Activation& activation, const float* slopes, size_t pixels, size_t block,
                   float* y) {
  if (activation.kind != Activation::PRELU) return Activate(activation, pixels * block, y, y);
  for (size_t i = 0; i < pixels * block; i += block) {
    for (size_t k = 0; k < block; ++k) y[i + k] = y[i + k] > 0 ? y[i + k] : slopes[k] * y[i + k];
  }
}

}  // namespace

template <typename T>
void ActivateInPlace(size_t num, size_t channels, size_t spatial, size_t block,
                     const Activation& activation, T* y) {
  constexpr size_t kChunk = 2048;
  const size_t blocks = CeilDiv(channels, block);
  const size_t run = std::max<size_t>(1, kChunk / block), runs = CeilDiv(spatial, run);
  ParallelFor(num * blocks * runs, kPointwiseGrain / kChunk, [&](size_t begin, size_t end) {
    std::vector<float> numbers(run * block);
    for (size_t i = begin; i < end; ++i) {
      const size_t plane = i / runs, first = i % runs * run, b = plane % blocks;
      const size_t pixels = std::min(run, spatial - first), count = pixels * block;
      const float* slopes = activation.slopes ? activation.slopes + b * block : nullptr;
      T* at = y + (plane * spatial + first) * block;
      for (size_t k = 0; k < count; ++k) numbers[k] = static_cast<float>(at[k]);
      ActivateBlock(activation, slopes, pixels, block, numbers.data());
      for (size_t k = 0; k < count; ++k) at[k] = static_cast<T>(numbers[k]);
      const size_t used = std::min(block, channels - b * block);
      for (size_t s = 0; s < pixels && used < block; ++s) {
        std::fill(at + s * block + used, at + (s + 1) * block, T(0.f));
      }
    }
  });
}

template void ActivateInPlace(size_t, size_t, size_t, size_t, const Activation&, float*);
template void ActivateInPlace(size_t, size_t, size_t, size_t, const Activation&, float16*);

}  // namespace caffe::kernels
