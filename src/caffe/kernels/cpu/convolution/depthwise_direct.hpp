#ifndef CAFFE_KERNELS_CPU_DEPTHWISE_DIRECT_HPP_
#define CAFFE_KERNELS_CPU_DEPTHWISE_DIRECT_HPP_

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/image_strides.hpp"
#include "convolution_bands.hpp"
#include "depthwise_row.hpp"

namespace caffe::kernels {

constexpr size_t kMinPlane = 2048;  // values of a block in a core's part of the rows
constexpr size_t kMaxDepthwiseKernel = kMaxDepthwiseRows * 5 * 16;  // weights of a block
/// Blocks of channels that are computed together at most.
constexpr size_t MaxDepthwiseBlocks(bool is_last) { return is_last ? 8 : 1; }
constexpr size_t kDepthwisePixelBytes = 128;  // of a pixel with channels last: two cache lines

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

/// Blocks of channels [block, block + blocks) and rows of outputs [begin, end) of an image.
struct DepthwisePart {
  size_t image, block, blocks;
  int begin, end;
};

/// Calls run(part) for parts of the outputs, on all cores unless there are too few products. A core
/// takes neighbouring images, or rows of all channels, as in other layers, whose results are then
/// in its own cache. In blocks a part has one block of channels, and small planes are not cut:
/// their parts would share cache lines. With channels last, a part has those of whole cache lines
/// (an element of x has `size` bytes).
template <bool kIsLast, typename Function>
void ForDepthwiseParts(const Bands& bands, size_t num, size_t blocks, size_t block, size_t size,
                       size_t least_products, Function&& run) {
  const size_t rows = bands.rows().output, threads = Threads();
  const size_t plane = bands.output_plane() * 8, wide = kMinPlane * threads;
  const bool stays_whole = !kIsLast && plane < wide && blocks >= 4 * threads;
  const size_t wanted = num % threads == 0 || stays_whole ? 1
                        : rows % threads == 0             ? threads
                                                          : 4 * threads;
  const size_t parts = std::min(wanted, rows);
  const size_t together =
      std::clamp<size_t>(kDepthwisePixelBytes / (block * size), 1, MaxDepthwiseBlocks(kIsLast));
  const size_t groups = CeilDiv(blocks, together);
  const size_t products = bands.output_plane() * bands.taps() * 8 * together / parts;
  const size_t grain = std::max<size_t>(1, least_products / std::max<size_t>(1, products));
  ParallelFor(num * parts * groups, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t part = i / groups % parts, first = i % groups * together;
      run(DepthwisePart{i / groups / parts, first, std::min(together, blocks - first),
                        static_cast<int>(rows * part / parts),
                        static_cast<int>(rows * (part + 1) / parts)});
    }
  });
}

/// What all rows have in common: where pixels lie, in blocks of `block` channels or with channels
/// last, and the value of the padding.
inline DepthwiseRow CommonRow(const ImageStrides& strides, size_t block, int outside) {
  const auto pitch = [block](size_t pixel) { return pixel ? pixel : block; };
  DepthwiseRow row = {};
  row.x_pixel = pitch(strides.x_pixel);
  row.y_pixel = pitch(strides.y_pixel);
  row.residual_pixel = pitch(strides.residual_pixel);
  row.outside = outside;
  return row;
}

/// What a part reads.
struct DepthwiseOperands {
  const void* x;        ///< the image's first pixel of the part's first block
  size_t size;          ///< bytes of an element
  size_t block;         ///< elements of x from one block of channels to the next
  const void* weights;  ///< of the part's first block, as in DepthwiseRow
  size_t kernel;        ///< bytes of the weights of a block
  size_t blocks = 1;    ///< that a row has
};

/// Calls f(row, the first of its blocks in the part, the row's first pixel in the plane) for rows
/// of outputs, `together` of them at once (1; or 2 with stride 1) as long as there are that many.
template <typename Function>
void ForDepthwiseRows(const Bands& bands, const DepthwisePart& part, const DepthwiseOperands& from,
                      int together, DepthwiseRow row, Function&& f) {
  const BandAxis &rows = bands.rows(), &columns = bands.columns();
  row.kernel_rows = rows.kernel;
  row.width = columns.input;
  row.pad = columns.pad;
  row.pixels = columns.output;
  const size_t pitch = columns.input * row.x_pixel * from.size;
  for (int r = part.begin; r < part.end; r += row.output_rows) {
    row.output_rows = std::min(together, part.end - r);
    for (size_t b = 0; b < part.blocks; b += from.blocks) {
      const char* x = static_cast<const char*>(from.x) + b * from.block * from.size;
      std::fill(std::begin(row.rows), std::end(row.rows), nullptr);
      for (int k = 0; k < rows.kernel + row.output_rows - 1; ++k) {
        const int y = rows.first(r) + k;
        row.rows[k] = y >= 0 && y < rows.input ? x + y * pitch : nullptr;
      }
      row.weights = static_cast<const char*>(from.weights) + b * from.kernel;
      f(row, b, size_t(r) * columns.output);
    }
  }
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_DEPTHWISE_DIRECT_HPP_
