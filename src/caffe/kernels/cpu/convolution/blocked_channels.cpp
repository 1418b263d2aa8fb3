#include "caffe/kernels/blocked_channels.hpp"

#include <algorithm>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kMaxBlock = 16;
constexpr size_t kRun = 256;  // positions that are summed in float

size_t BlocksOf(const BlockedChannels& s) { return CeilDiv(s.channels, s.block); }

/// total[k] += the sum of term(index) over the positions of block `b`, where `index` is that of
/// channel k.
template <size_t block, typename Term>
void SumBlock(const BlockedChannels& s, size_t b, double* total, Term&& term) {
  const size_t blocks = BlocksOf(s);
  for (size_t n = 0; n < s.num; ++n) {
    const size_t first = (n * blocks + b) * s.spatial * block;
    for (size_t start = 0; start < s.spatial; start += kRun) {
      const size_t end = std::min(s.spatial, start + kRun);
      float run[block] = {};
      for (size_t position = start; position < end; ++position) {
        for (size_t k = 0; k < block; ++k) run[k] += term(first + position * block + k, k);
      }
      for (size_t k = 0; k < block; ++k) total[k] += run[k];
    }
  }
}

template <size_t block>
void Moments(const BlockedChannels& s, const float* x, double* mean, double* variance) {
  const double count = double(s.num) * s.spatial;
  ParallelFor(BlocksOf(s), 1, [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) {
      double sum[block] = {}, squares[block] = {};
      SumBlock<block>(s, b, sum, [x](size_t i, size_t) { return x[i]; });
      float center[block];
      for (size_t k = 0; k < block; ++k) center[k] = static_cast<float>(sum[k] / count);
      SumBlock<block>(s, b, squares, [&](size_t i, size_t k) {
        const float difference = x[i] - center[k];
        return difference * difference;
      });
      for (size_t k = 0; k < block && b * block + k < s.channels; ++k) {
        // The center was rounded: what that adds to the squares is subtracted.
        const double exact = sum[k] / count, off = exact - center[k];
        mean[b * block + k] = exact;
        variance[b * block + k] = std::max(0., squares[k] / count - off * off);
      }
    }
  });
}

template <size_t block>
void Sums(const BlockedChannels& s, const float* x, const float* z, double* sum, double* dot) {
  ParallelFor(BlocksOf(s), 1, [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) {
      double plain[block] = {}, product[block] = {};
      if (sum) SumBlock<block>(s, b, plain, [x](size_t i, size_t) { return x[i]; });
      if (dot) SumBlock<block>(s, b, product, [x, z](size_t i, size_t) { return x[i] * z[i]; });
      for (size_t k = 0; k < block && b * block + k < s.channels; ++k) {
        if (sum) sum[b * block + k] = plain[k];
        if (dot) dot[b * block + k] = product[k];
      }
    }
  });
}

template <size_t block>
void Combine(const BlockedChannels& s, const float* a, const float* x, const float* b,
             const float* z, const float* d, float* y) {
  const size_t blocks = BlocksOf(s);
  const auto padded = [&](const float* values) {
    std::vector<float> result(blocks * block, 0.f);
    if (values) std::copy(values, values + s.channels, result.begin());
    return result;
  };
  const std::vector<float> factors = padded(a), others = padded(b), terms = padded(d);
  ParallelFor(
      s.num * blocks, std::max<size_t>(1, (1 << 14) / std::max<size_t>(1, s.spatial * block)),
      [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const size_t first = i * s.spatial * block;
          const float* factor = factors.data() + i % blocks * block;
          const float* other = others.data() + i % blocks * block;
          const float* term = terms.data() + i % blocks * block;
          for (size_t position = first; position < first + s.spatial * block; position += block) {
            if (z) {
              for (size_t k = 0; k < block; ++k) {
                y[position + k] =
                    factor[k] * x[position + k] + other[k] * z[position + k] + term[k];
              }
            } else {
              for (size_t k = 0; k < block; ++k) {
                y[position + k] = factor[k] * x[position + k] + term[k];
              }
            }
          }
        }
      });
}

}  // namespace

void BlockedMoments(const BlockedChannels& shape, const float* x, double* mean, double* variance) {
  shape.block == 8 ? Moments<8>(shape, x, mean, variance)
                   : Moments<kMaxBlock>(shape, x, mean, variance);
}

void BlockedSums(const BlockedChannels& shape, const float* x, const float* z, double* sum,
                 double* dot) {
  shape.block == 8 ? Sums<8>(shape, x, z, sum, dot) : Sums<kMaxBlock>(shape, x, z, sum, dot);
}

void BlockedCombine(const BlockedChannels& shape, const float* a, const float* x, const float* b,
                    const float* z, const float* d, float* y) {
  shape.block == 8 ? Combine<8>(shape, a, x, b, z, d, y)
                   : Combine<kMaxBlock>(shape, a, x, b, z, d, y);
}

}  // namespace caffe::kernels
