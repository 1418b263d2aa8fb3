#include "caffe/kernels/integer_elementwise.hpp"

#include <algorithm>
#include <array>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
namespace {

constexpr size_t kGrain = 1 << 13;
constexpr int kProductBits = 8;  // that a product of two loses before it is multiplied again

/// What each byte, as uint8_t, adds to a sum.
std::array<int32_t, 256> Terms(const IntegerOperand& x, Multiplier by, Rounding rounding) {
  std::array<int32_t, 256> terms;
  for (int i = 0; i < 256; ++i) {
    const int32_t byte = x.is_unsigned ? i : static_cast<int8_t>(i);
    terms[i] = RescaleSigned((byte - x.zero_point) * (1 << kSumShift), by, rounding);
  }
  return terms;
}

}  // namespace

template <typename Y>
void AddIntegers(size_t n, const std::vector<IntegerOperand>& x, const std::vector<Multiplier>& by,
                 const IntegerResult& result, Y* y) {
  std::vector<std::array<int32_t, 256>> terms;
  for (size_t t = 0; t < x.size(); ++t) terms.push_back(Terms(x[t], by[t], result.rounding));
  ParallelFor(n, kGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      int32_t sum = 0;
      for (size_t t = 0; t < x.size(); ++t) {
        sum += terms[t][static_cast<const uint8_t*>(x[t].data)[i]];
      }
      y[i] = static_cast<Y>(result.Of(sum));
    }
  });
}

template <typename Y>
void MultiplyIntegers(size_t n, const std::vector<IntegerOperand>& x, const IntegerResult& result,
                      Y* y) {
  ParallelFor(n, kGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      int32_t product = x[0].At(i);
      for (size_t t = 1; t < x.size(); ++t) {
        if (t > 2) product = RoundingShiftRight(product, kProductBits);
        product *= x[t].At(i);
      }
      y[i] = static_cast<Y>(result.Of(product));
    }
  });
}

template <typename Y>
void MaximumOfIntegers(size_t n, const std::vector<const uint8_t*>& x,
                       const std::vector<const uint8_t*>& tables, int32_t least, int32_t most,
                       Y* y) {
  ParallelFor(n, kGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      int32_t largest = least;
      for (size_t t = 0; t < x.size(); ++t) {
        largest = std::max<int32_t>(largest, static_cast<Y>(tables[t][x[t][i]]));
      }
      y[i] = static_cast<Y>(std::min(largest, most));
    }
  });
}

template <typename Y>
void ScaleIntegers(const BroadcastShape& shape, const IntegerOperand& x, const IntegerOperand& a,
                   const IntegerResult& result, Y* y) {
  const size_t row = shape.run * shape.width;
  ParallelFor(shape.rows, std::max<size_t>(1, kGrain / std::max<size_t>(1, row)),
              [&](size_t begin, size_t end) {
                for (size_t i = begin * row; i < end * row; ++i) {
                  const size_t at = i / row * shape.width + i % shape.width;
                  y[i] = static_cast<Y>(result.Of(x.At(i) * a.At(at)));
                }
              });
}

template <typename Y>
void ScaleAndAddIntegers(const BroadcastShape& shape, const IntegerOperand& a,
                         const IntegerOperand& x, const IntegerOperand& b, const Multiplier by[2],
                         const IntegerResult& result, Y* y) {
  const size_t row = shape.run * shape.width;
  ParallelFor(shape.rows, std::max<size_t>(1, kGrain / std::max<size_t>(1, row)),
              [&](size_t begin, size_t end) {
                for (size_t i = begin * row; i < end * row; ++i) {
                  const size_t at = i / row * shape.width + i % shape.width;
                  const int32_t product = x.At(i) * a.At(at) * (1 << (kSumShift - kProductBits));
                  const int32_t added = b.At(i) * (1 << kSumShift);
                  y[i] = static_cast<Y>(result.Of(RescaleSigned(product, by[0], result.rounding) +
                                                  RescaleSigned(added, by[1], result.rounding)));
                }
              });
}

#define CAFFE_INTEGER_ELEMENTWISE(Y)                                                               \
  template void AddIntegers(size_t, const std::vector<IntegerOperand>&,                            \
                            const std::vector<Multiplier>&, const IntegerResult&, Y*);             \
  template void MultiplyIntegers(size_t, const std::vector<IntegerOperand>&, const IntegerResult&, \
                                 Y*);                                                              \
  template void MaximumOfIntegers(size_t, const std::vector<const uint8_t*>&,                      \
                                  const std::vector<const uint8_t*>&, int32_t, int32_t, Y*);       \
  template void ScaleIntegers(const BroadcastShape&, const IntegerOperand&, const IntegerOperand&, \
                              const IntegerResult&, Y*);                                           \
  template void ScaleAndAddIntegers(const BroadcastShape&, const IntegerOperand&,                  \
                                    const IntegerOperand&, const IntegerOperand&,                  \
                                    const Multiplier[2], const IntegerResult&, Y*)
CAFFE_INTEGER_ELEMENTWISE(int8_t);
CAFFE_INTEGER_ELEMENTWISE(uint8_t);
#undef CAFFE_INTEGER_ELEMENTWISE

}  // namespace kernels
}  // namespace caffe
