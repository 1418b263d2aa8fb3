#ifndef CAFFE_KERNELS_CPU_DEPTHWISE_DIRECT_HPP_
#define CAFFE_KERNELS_CPU_DEPTHWISE_DIRECT_HPP_

#include <algorithm>
#include <iterator>

#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "convolution_bands.hpp"
#include "depthwise_row.hpp"

namespace caffe::kernels {

constexpr size_t kMinPlane = 2048;  // values of a block in a core's part of the rows

/// True for depthwise convolutions that are computed directly from the input.
inline bool IsDirectDepthwise(const Bands& bands) {
  const BandAxis &rows = bands.rows(), &columns = bands.columns();
  return (columns.kernel == 3 || columns.kernel == 5) && columns.dilation == 1 &&
         columns.stride <= 2 && rows.kernel <= kMaxDepthwiseRows && rows.dilation == 1;
}

/// Looks up a function in a table [kernel of 3 or 5 columns][stride - 1].
template <typename Function>
Function* DirectDepthwise(Function* const (&table)[2][2], const Bands& bands) {
  return table[bands.columns().kernel == 5][bands.columns().stride - 1];
}

/// Calls run(image, block, first row, end row) for parts of the outputs, on all cores unless there
/// are too few products. A core takes neighbouring images, or rows of all channels, as in other
/// layers, whose results are then in its own cache. Small planes are not cut: their parts would
/// share cache lines.
template <typename Function>
void ForDepthwiseParts(const Bands& bands, size_t num, size_t blocks, size_t least_products,
                       Function&& run) {
  const size_t rows = bands.rows().output, threads = Threads();
  const size_t plane = bands.output_plane() * 8, wide = kMinPlane * threads;
  const size_t wanted = num % threads == 0 || (plane < wide && blocks >= 4 * threads) ? 1
                        : rows % threads == 0                                         ? threads
                                                                                      : 4 * threads;
  const size_t parts = std::min(wanted, rows);
  const size_t products = bands.output_plane() * bands.taps() * 8 / parts;
  const size_t grain = std::max<size_t>(1, least_products / std::max<size_t>(1, products));
  ParallelFor(num * parts * blocks, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t image = i / blocks / parts, part = i / blocks % parts;
      run(image, i % blocks, static_cast<int>(rows * part / parts),
          static_cast<int>(rows * (part + 1) / parts));
    }
  });
}

/// Calls f(row, its offset among the outputs of the plane) for rows of one block of channels,
/// `together` of them at once (1; or 2 with stride 1) as long as there are that many. The input
/// plane begins at `plane`, with `size` bytes per position; the padding has the value `outside`.
template <typename Function>
void ForDepthwiseRows(const Bands& bands, const void* plane, size_t size, const void* weights,
                      int block, int begin, int end, int together, Function&& f, int outside = 0) {
  const BandAxis &rows = bands.rows(), &columns = bands.columns();
  DepthwiseRow row;
  row.kernel_rows = rows.kernel;
  row.width = columns.input;
  row.pad = columns.pad;
  row.pixels = columns.output;
  row.outside = outside;
  row.weights = weights;
  for (int r = begin; r < end; r += row.output_rows) {
    row.output_rows = std::min(together, end - r);
    std::fill(std::begin(row.rows), std::end(row.rows), nullptr);
    for (int k = 0; k < rows.kernel + row.output_rows - 1; ++k) {
      const int y = rows.first(r) + k;
      const bool inside = y >= 0 && y < rows.input;
      row.rows[k] =
          inside ? static_cast<const char*>(plane) + size_t(y) * columns.input * size : nullptr;
    }
    f(row, size_t(r) * columns.output * block);
  }
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_DEPTHWISE_DIRECT_HPP_
