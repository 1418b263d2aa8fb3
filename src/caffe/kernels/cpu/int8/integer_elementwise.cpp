#include "caffe/kernels/integer_elementwise.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <type_traits>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/parallel.hpp"
#include "integer_results.hpp"

namespace caffe::kernels {
SumEnd EndOf(const IntegerResult& result) {
  const bool twice = result.rounding == Rounding::DOUBLE;
  const int shift = result.by.shift;
  SumEnd end;
  end.left = twice && shift > 0 ? shift : 0;
  end.multiplier = result.by.value;
  end.right = twice ? 31 : 31 - shift;
  end.added = uint64_t{1} << (end.right - 1);
  end.subtracted = static_cast<uint32_t>(uint64_t{1} << (62 - end.right));
  end.shift = twice && shift < 0 ? -shift : 0;
  end.half = end.shift > 0 ? 1 << (end.shift - 1) : 0;
  end.doubles = end.shift > 0 ? -1 : 0;
  end.zero_point = result.zero_point;
  end.least = result.least;
  end.most = result.most;
  return end;
}

namespace {

/// What each byte value, as uint8_t, adds to a sum.
std::array<int32_t, 256> Terms(const IntegerOperand& x, Multiplier by, Rounding rounding) {
  std::array<int32_t, 256> terms;
  for (int i = 0; i < 256; ++i) {
    const int32_t byte = x.is_unsigned ? i : static_cast<int8_t>(i);
    terms[i] = TermOfSum(byte - x.zero_point, by, rounding);
  }
  return terms;
}

/// For multipliers whose shift is at most 0.
SumTerm TermOf(const IntegerOperand& x, Multiplier by, Rounding rounding) {
  constexpr int kLow = 31 - kSumShift;
  const int32_t value = std::abs(by.value);
  SumTerm term;
  term.zero_point = x.zero_point;
  term.high = value >> kLow;
  term.low = value & ((1 << kLow) - 1);
  term.shift = -by.shift;
  const bool once = rounding == Rounding::SINGLE && term.shift > 0;
  term.added = once ? 0 : 1 << (kLow - 1);
  term.half = term.shift > 0 ? 1 << (term.shift - 1) : 0;
  term.doubles = rounding == Rounding::DOUBLE && term.shift > 0 ? -1 : 0;
  term.sign = by.value < 0 ? -1 : 1;
  return term;
}

const uint8_t* BytesAt(const IntegerOperand& x, size_t offset) {
  return static_cast<const uint8_t*>(x.data) + offset;
}

template <typename Y>
void Finish(size_t n, const SumEnd& end, const int32_t* sums, Y* y) {
  ChosenKernels().integers.finish[std::is_unsigned<Y>::value](n, end, sums, y);
}

}  // namespace

template <typename Y>
void AddIntegers(size_t n, const std::vector<IntegerOperand>& x, const std::vector<Multiplier>& by,
                 const IntegerResult& result, Y* y) {
  const IntegerLoops& loops = ChosenKernels().integers;
  const SumEnd end = EndOf(result);
  std::vector<SumTerm> terms;
  std::vector<std::array<int32_t, 256>> tables;
  const bool shifted = std::all_of(by.begin(), by.end(), [](Multiplier m) { return m.shift <= 0; });
  for (size_t t = 0; t < x.size(); ++t) {
    if (shifted) {
      terms.push_back(TermOf(x[t], by[t], result.rounding));
    } else {
      tables.push_back(Terms(x[t], by[t], result.rounding));
    }
  }
  ForEachChunk(n, [&](size_t offset, size_t length) {
    int32_t sums[kChunk];
    for (size_t t = 0; t < x.size(); ++t) {
      const uint8_t* bytes = BytesAt(x[t], offset);
      if (shifted) {
        loops.add_term[x[t].is_unsigned](length, terms[t], t == 0, bytes, sums);
        continue;
      }
      for (size_t i = 0; i < length; ++i) {
        sums[i] = (t == 0 ? 0 : sums[i]) + tables[t][bytes[i]];
      }
    }
    Finish(length, end, sums, y + offset);
  });
}

template <typename Y>
void MultiplyIntegers(size_t n, const std::vector<IntegerOperand>& x, const IntegerResult& result,
                      Y* y) {
  const IntegerLoops& loops = ChosenKernels().integers;
  const SumEnd end = EndOf(result);
  ForEachChunk(n, [&](size_t offset, size_t length) {
    int32_t products[kChunk];
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t i = 0; t > 2 && i < length; ++i) {
        products[i] = RoundingShiftRight(products[i], kProductBits);
      }
      loops.multiply[x[t].is_unsigned](length, x[t].zero_point, t == 0, BytesAt(x[t], offset),
                                       products);
    }
    Finish(length, end, products, y + offset);
  });
}

template <typename Y>
void MaximumOfIntegers(size_t n, const std::vector<const uint8_t*>& x,
                       const std::vector<const uint8_t*>& tables, int32_t least, int32_t most,
                       Y* y) {
  ParallelFor(n, kLoopGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      int32_t largest = least;
      for (size_t t = 0; t < x.size(); ++t) {
        largest = std::max<int32_t>(largest, static_cast<Y>(tables[t][x[t][i]]));
      }
      y[i] = static_cast<Y>(std::min(largest, most));
    }
  });
}

namespace {

/// Calls f(index of the first element of x, how many, products of x and a) for pieces of rows.
template <typename Function>
void ForEachProduct(const BroadcastShape& shape, const IntegerOperand& x, const IntegerOperand& a,
                    Function&& f) {
  const size_t width = shape.width, row = shape.run * width;
  const size_t piece = std::max<size_t>(1, kChunk / width) * width, pieces = CeilDiv(row, piece);
  ParallelFor(shape.rows * pieces, std::max<size_t>(1, kLoopGrain / piece),
              [&](size_t begin, size_t end) {
                std::vector<int32_t> products(piece), factors(width);
                for (size_t i = begin; i < end; ++i) {
                  const size_t r = i / pieces, first = i % pieces * piece;
                  if (i == begin || first == 0) {
                    for (size_t k = 0; k < width; ++k) factors[k] = a.At(r * width + k);
                  }
                  const size_t at = r * row + first, length = std::min(piece, row - first);
                  ChosenKernels().integers.multiply[x.is_unsigned](length, x.zero_point, true,
                                                                   BytesAt(x, at), products.data());
                  for (size_t p = 0; p < length; p += width) {
                    for (size_t k = 0; k < width; ++k) products[p + k] *= factors[k];
                  }
                  f(at, length, products.data());
                }
              });
}

}  // namespace

template <typename Y>
void ScaleIntegers(const BroadcastShape& shape, const IntegerOperand& x, const IntegerOperand& a,
                   const IntegerResult& result, Y* y) {
  const SumEnd end = EndOf(result);
  ForEachProduct(shape, x, a, [&](size_t at, size_t length, const int32_t* products) {
    Finish(length, end, products, y + at);
  });
}

template <typename Y>
void ScaleAndAddIntegers(const BroadcastShape& shape, const IntegerOperand& a,
                         const IntegerOperand& x, const IntegerOperand& b, const Multiplier by[2],
                         const IntegerResult& result, Y* y) {
  const SumEnd end = EndOf(result);
  const std::array<int32_t, 256> terms = Terms(b, by[1], result.rounding);
  ForEachProduct(shape, x, a, [&](size_t at, size_t length, int32_t* products) {
    const uint8_t* added = BytesAt(b, at);
    for (size_t i = 0; i < length; ++i) {
      products[i] = ProductInSum(products[i], by[0], result.rounding) + terms[added[i]];
    }
    Finish(length, end, products, y + at);
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

}  // namespace caffe::kernels
