#include "caffe/kernels/cuda/integers.hpp"

#include "caffe/kernels/integer_resize.hpp"
#include "integer_outputs.hpp"
#include "pooling_windows.hpp"
#include "reduce.hpp"

namespace caffe::cuda {
namespace {

using kernels::BroadcastShape;
using kernels::ByteRange;
using kernels::IntegerOperand;
using kernels::IntegerResult;
using kernels::Multiplier;

}  // namespace

void LookUpIntegers(Stream& stream, const Integers& x, const uint8_t* tables, bool by_channel,
                    const Integers& y) {
  const uint8_t* const bytes = static_cast<const uint8_t*>(x.data);
  ForEachOutput(stream, y, [=] __host__ __device__(int n, int c, int s) -> int32_t {
    return tables[(by_channel ? c : 0) * 256 + bytes[x.PlaceOf(n, c, s)]];
  });
}

namespace {

constexpr size_t kAtOnce = 32;  // inputs of one kernel

/// Some of the inputs of a combination.
struct Inputs {
  size_t first = 0;  // number of inputs before
  int count = 0;
  Integers x[kAtOnce];
  Multiplier by[kAtOnce];
};

/// y = end(number), where number starts as start and becomes next(number, i, input) for each input;
/// through `scratch` if there are many.
template <typename Next, typename End>
void Combine(Stream& stream, const std::vector<Integers>& x, const std::vector<Multiplier>& by,
             int32_t start, void* scratch, const Integers& y, Next next, End end) {
  int32_t* const numbers = static_cast<int32_t*>(scratch);
  for (size_t first = 0; first < x.size(); first += kAtOnce) {
    Inputs some;
    some.first = first;
    some.count = static_cast<int>(std::min(kAtOnce, x.size() - first));
    std::copy_n(x.begin() + first, some.count, some.x);
    if (!by.empty()) std::copy_n(by.begin() + first, some.count, some.by);
    const auto number = [=] __host__ __device__(int i, int n, int c, int s) {
      int32_t value = first == 0 ? start : numbers[i];
      for (int k = 0; k < some.count; ++k) value = next(value, some, k, n, c, s);
      return value;
    };
    const Places places(y);
    if (first + kAtOnce < x.size()) {
      ForEach(stream, places.count(), [=] __host__ __device__(int i) {
        const Place at = places.Of(i);
        numbers[i] = number(i, at.n, at.c, at.s);
      });
    } else {
      ForEach(stream, places.count(), [=] __host__ __device__(int i) {
        const Place at = places.Of(i);
        PutByte(y, at, end(number(i, at.n, at.c, at.s)));
      });
    }
  }
}

}  // namespace

size_t CombinationScratchBytes(size_t inputs, size_t elements) {
  return inputs > kAtOnce ? elements * sizeof(int32_t) : 0;
}

void AddIntegers(Stream& stream, const std::vector<Integers>& x, const std::vector<Multiplier>& by,
                 const IntegerResult& result, void* scratch, const Integers& y) {
  Combine(
      stream, x, by, 0, scratch, y,
      [=] __host__ __device__(int32_t sum, const Inputs& in, int k, int n, int c, int s) {
        return sum + kernels::TermOfSum(in.x[k].At(n, c, s), in.by[k], result.rounding);
      },
      [=] __host__ __device__(int32_t sum) { return result.Of(sum); });
}

void MultiplyIntegers(Stream& stream, const std::vector<Integers>& x, const IntegerResult& result,
                      void* scratch, const Integers& y) {
  Combine(
      stream, x, {}, 1, scratch, y,
      [=] __host__ __device__(int32_t product, const Inputs& in, int k, int n, int c, int s) {
        return kernels::NextProduct(product, in.first + k, in.x[k].At(n, c, s));
      },
      [=] __host__ __device__(int32_t product) { return result.Of(product); });
}

void MaximumOfIntegers(Stream& stream, const std::vector<Integers>& x, const uint8_t* tables,
                       const IntegerResult& result, void* scratch, const Integers& y) {
  const bool is_unsigned = y.is_unsigned;
  Combine(
      stream, x, {}, result.least, scratch, y,
      [=] __host__ __device__(int32_t largest, const Inputs& in, int k, int n, int c, int s) {
        const Integers& from = in.x[k];
        const uint8_t byte = static_cast<const uint8_t*>(from.data)[from.PlaceOf(n, c, s)];
        const uint8_t* const table = tables + (in.first + k) * 256;
        return Max(largest, IntegerOperand{table, is_unsigned, 0}.At(byte));
      },
      [=] __host__ __device__(int32_t largest) { return Min(largest, result.most); });
}

namespace {

/// Calls result(i, product) for each element i of x, times its factor.
template <typename Result>
void ForEachProduct(Stream& stream, int outer, const BroadcastShape& shape, const IntegerOperand& x,
                    const IntegerOperand& a, uint8_t* y, Result result) {
  const int rows = static_cast<int>(shape.rows), run = static_cast<int>(shape.run);
  ForEach(stream, CountedWork(double(outer) * rows * run), [=] __host__ __device__(int i) {
    y[i] = static_cast<uint8_t>(result(i, x.At(i) * a.At(i / run % rows)));
  });
}

}  // namespace

void ScaleIntegers(Stream& stream, int outer, const BroadcastShape& shape, const IntegerOperand& x,
                   const IntegerOperand& a, const IntegerResult& result, uint8_t* y) {
  ForEachProduct(stream, outer, shape, x, a, y,
                 [=] __host__ __device__(int, int32_t product) { return result.Of(product); });
}

void ScaleAndAddIntegers(Stream& stream, int outer, const BroadcastShape& shape,
                         const IntegerOperand& a, const IntegerOperand& x, const IntegerOperand& b,
                         const Multiplier by[2], const IntegerResult& result, uint8_t* y) {
  const Multiplier of_product = by[0], of_b = by[1];
  ForEachProduct(stream, outer, shape, x, a, y, [=] __host__ __device__(int i, int32_t product) {
    return result.Of(kernels::ProductInSum(product, of_product, result.rounding) +
                     kernels::TermOfSum(b.At(i), of_b, result.rounding));
  });
}

void MaxPoolIntegers(Stream& stream, const kernels::PoolingShape& shape, ByteRange range,
                     const Integers& x, const Integers& y) {
  const Pool windows(shape);
  ForEachOutput(stream, y, [=] __host__ __device__(int n, int c, int s) {
    const Window window = windows.WindowAt(s / windows.pooled_width, s % windows.pooled_width);
    int32_t largest = range.least;
    for (int h = window.h_begin; h < window.h_end; ++h) {
      for (int w = window.w_begin; w < window.w_end; ++w) {
        largest = Max(largest, x.At(n, c, h * windows.width + w) + x.zero_point);
      }
    }
    return Min(largest, range.most);
  });
}

void AveragePoolIntegers(Stream& stream, const kernels::PoolingShape& shape, ByteRange range,
                         const Integers& x, const Integers& y) {
  const Pool windows(shape);
  const int32_t middle = kernels::MiddleOf(x.is_unsigned), offset = x.zero_point - middle;
  ForEachOutput(stream, y, [=] __host__ __device__(int n, int c, int s) {
    const Window window = windows.WindowAt(s / windows.pooled_width, s % windows.pooled_width);
    const int32_t size = kernels::MeanPositions(window.h_end - window.h_begin,
                                                window.w_end - window.w_begin, window.divisor);
    int32_t sum = size * offset;  // the padding is the zero point
    for (int h = window.h_begin; h < window.h_end; ++h) {
      for (int w = window.w_begin; w < window.w_end; ++w) {
        sum += x.At(n, c, h * windows.width + w);
      }
    }
    const int32_t mean = kernels::RoundedMean(sum, size, middle);
    return Max(range.least, Min(mean, range.most));
  });
}

namespace {

/// A softmax's statistics of a row.
struct Exponentials {
  int64_t sum;
  int32_t largest;
};

}  // namespace

size_t SoftmaxIntegersScratchBytes(const kernels::SoftmaxExtents& extents) {
  return extents.outer * extents.inner * sizeof(Exponentials);
}

void SoftmaxIntegers(Stream& stream, const kernels::SoftmaxExtents& extents, const int32_t* table,
                     int32_t steps, const IntegerResult& result, const IntegerOperand& x,
                     void* scratch, uint8_t* y) {
  const int rows = CountedWork(double(extents.outer) * extents.inner);
  const int length = static_cast<int>(extents.length), inner = static_cast<int>(extents.inner);
  Exponentials* const of_rows = static_cast<Exponentials*>(scratch);
  const IntegerOperand bytes = {x.data, x.is_unsigned, 0};
  const auto at = [=] __host__ __device__(int row, int i) {
    return bytes.At((size_t(row / inner) * length + i) * inner + row % inner);
  };
  ReduceEach(
      stream, rows, length, inner > 1, -128, at,
      [] __host__ __device__(int32_t a, int32_t b) { return Max(a, b); },
      [=] __host__ __device__(int row, int32_t largest) { of_rows[row].largest = largest; });
  ReduceEach(
      stream, rows, length, inner > 1, int64_t{0},
      [=] __host__ __device__(int row, int i) -> int64_t {
        return table[of_rows[row].largest - at(row, i)];
      },
      [] __host__ __device__(int64_t a, int64_t b) { return a + b; },
      [=] __host__ __device__(int row, int64_t sum) { of_rows[row].sum = sum; });
  ForEach(stream, CountedWork(double(rows) * length), [=] __host__ __device__(int i) {
    const Exponentials& row = of_rows[i / inner / length * inner + i % inner];
    const int32_t exponential = table[row.largest - bytes.At(i)];
    y[i] = static_cast<uint8_t>(kernels::SoftmaxShare(exponential, row.sum, steps, result));
  });
}

namespace {

__host__ __device__ inline uint32_t Square(int32_t q) { return static_cast<uint32_t>(q * q); }

}  // namespace

void LrnIntegers(Stream& stream, const kernels::LrnShape& shape, const int32_t* table,
                 const IntegerResult& result, const Integers& x, const Integers& y) {
  const int size = shape.size, before = (size - 1) / 2;
  const int channels = shape.channels, height = shape.height, width = shape.width;
  const bool within_channel = shape.within_channel;
  ForEachOutput(stream, y, [=] __host__ __device__(int n, int c, int s) {
    uint64_t sum = 0;
    if (within_channel) {
      const int row = s / width - before, column = s % width - before;
      for (int h = Max(0, row); h < Min(row + size, height); ++h) {
        for (int w = Max(0, column); w < Min(column + size, width); ++w) {
          sum += Square(x.At(n, c, h * width + w));
        }
      }
    } else {
      for (int k = Max(0, c - before); k < Min(c - before + size, channels); ++k) {
        sum += Square(x.At(n, k, s));
      }
    }
    return result.Of(kernels::DividedBy(table, sum, x.At(n, c, s)));
  });
}

size_t NormalizeIntegersScratchBytes(bool across_spatial, const Integers& x) {
  return size_t(x.images) * (across_spatial ? 1 : x.positions) * sizeof(uint64_t);
}

void NormalizeIntegers(Stream& stream, bool across_spatial, const int32_t* table,
                       const int32_t* multipliers, int count, const IntegerResult& result,
                       const Integers& x, void* scratch, const Integers& y) {
  uint64_t* const sums = static_cast<uint64_t*>(scratch);
  const int channels = x.channels, norms = across_spatial ? 1 : x.positions;
  const int terms = CountedWork(double(channels) * (across_spatial ? x.positions : 1));
  ReduceEach(
      stream, CountedWork(double(x.images) * norms), terms, !across_spatial && x.position == 1,
      uint64_t{0},
      [=] __host__ __device__(int row, int i) -> uint64_t {
        const int s = across_spatial ? i / channels : row % norms;
        return Square(x.At(row / norms, i % channels, s));
      },
      [] __host__ __device__(uint64_t a, uint64_t b) { return a + b; },
      [=] __host__ __device__(int row, uint64_t sum) { sums[row] = sum; });
  ForEachOutput(stream, y, [=] __host__ __device__(int n, int c, int s) {
    IntegerResult of_channel = result;
    const int32_t* const by = multipliers + 2 * (count == 1 ? 0 : c);
    of_channel.by = {by[0], by[1]};
    const uint64_t a = sums[n * norms + (across_spatial ? 0 : s)];
    return of_channel.Of(kernels::DividedBy(table, a, x.At(n, c, s)));
  });
}

namespace {

/// The statistics that standardize a row.
struct Moments {
  int64_t factor;
  int32_t mean;
};

}  // namespace

size_t StandardizeIntegersScratchBytes(int rows) { return rows * sizeof(Moments); }

void StandardizeIntegers(Stream& stream, int rows, int length, const int32_t* table,
                         const IntegerResult& result, const IntegerOperand& x, void* scratch,
                         uint8_t* y) {
  Moments* const moments = static_cast<Moments*>(scratch);
  const auto plus = [] __host__ __device__(int64_t a, int64_t b) { return a + b; };
  const auto at = [=] __host__ __device__(int row, int i) {
    return x.At(size_t(row) * length + i);
  };
  ReduceEach(
      stream, rows, length, false, int64_t{0},
      [=] __host__ __device__(int row, int i) -> int64_t { return at(row, i); }, plus,
      [=] __host__ __device__(int row, int64_t sum) {
        moments[row] = {0, kernels::MeanOfSum(sum, length)};
      });
  if (table) {
    ReduceEach(
        stream, rows, length, false, int64_t{0},
        [=] __host__ __device__(int row, int i) -> int64_t {
          const int64_t distance = 256 * at(row, i) - moments[row].mean;
          return distance * distance;
        },
        plus,
        [=] __host__ __device__(int row, int64_t squares) {
          const int64_t variance = kernels::RoundedQuotient(squares, length);
          moments[row].factor = kernels::Interpolated(table, static_cast<uint64_t>(variance));
        });
  }
  const bool has_table = table != nullptr;
  ForEach(stream, CountedWork(double(rows) * length), [=] __host__ __device__(int i) {
    const Moments& row = moments[i / length];
    const int32_t distance = 256 * x.At(i) - row.mean;
    const int32_t number = kernels::Standardized(distance, row.factor, has_table);
    y[i] = static_cast<uint8_t>(result.Of(number));
  });
}

void ResizeIntegers(Stream& stream, const ResizeAxis<int32_t>& h, const ResizeAxis<int32_t>& w,
                    ByteRange range, const Integers& x, const Integers& y) {
  ForEachOutput(stream, y, [=] __host__ __device__(int n, int c, int s) {
    const int row = s / w.outputs, column = s % w.outputs;
    int64_t sum = 0;
    for (int a = h.start[row]; a < h.start[row + 1]; ++a) {
      int64_t of_row = 0;
      for (int b = w.start[column]; b < w.start[column + 1]; ++b) {
        of_row += int64_t{w.weight[b]} * x.At(n, c, h.index[a] * w.inputs + w.index[b]);
      }
      sum += h.weight[a] * of_row;
    }
    return kernels::ResizedByte(sum, x.zero_point, range.least, range.most);
  });
}

void GatherBytes(Stream& stream, int n, const int32_t* from, int begin, int end, const uint8_t* x,
                 uint8_t* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) {
    if (from[i] >= begin && from[i] < end) y[i] = x[from[i] - begin];
  });
}

void FillBytes(Stream& stream, int n, const int32_t* from, uint8_t value, uint8_t* y) {
  ForEach(stream, n, [=] __host__ __device__(int i) {
    if (from[i] < 0) y[i] = value;
  });
}

}  // namespace caffe::cuda
