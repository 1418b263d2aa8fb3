#ifndef CAFFE_KERNELS_CPU_CONVOLUTION_BANDS_HPP_
#define CAFFE_KERNELS_CPU_CONVOLUTION_BANDS_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/cpu/elementwise/stored.hpp"
#include "caffe/kernels/image_strides.hpp"

// How a convolution of channels in blocks (or of planes) is cut into bands of outputs whose input
// fits a core's cache when widened to float.
namespace caffe::kernels {

/// The sizes along one spatial axis.
struct BandAxis {
  int input = 1, output = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;

  /// Input positions from one buffered position to the next: a kernel of one position skips the
  /// others.
  int step() const { return kernel == 1 ? stride : 1; }
  /// Buffered positions from one window to the next.
  int pace() const { return kernel == 1 ? 1 : stride; }
  /// Buffered positions that `outputs` windows cover.
  int extent(int outputs) const { return (outputs - 1) * pace() + dilation * (kernel - 1) + 1; }
  /// The input position of the first one that window `output` covers; negative in the padding.
  int first(int output) const { return output * stride - pad; }
};

/// True if 32 bits hold the padded input's extents, and offsets in the buffer of one output and all
/// channels of a group in whole blocks; false for dilations and pads of millions.
bool OffsetsFit(const ConvolutionShape& shape);

/// Outputs that are computed together: those of some images, rows and columns.
struct Band {
  int image = 0, images = 1, row = 0, rows = 1, column = 0, columns = 1;
  int pixels() const { return images * rows * columns; }
  bool SameSize(const Band& other) const {
    return images == other.images && rows == other.rows && columns == other.columns;
  }
};

/// Neighbouring pixels of a band whose windows have the same rows in the input, not in the padding.
struct RowGroup {
  int first_pixel, pixels;
  int first_row, rows;  // of the kernel
};

/// The geometry of an image, and of buffers for bands of up to some size.
class Bands {
 public:
  /// The bands of a convolution over one or two spatial axes.
  explicit Bands(const ConvolutionShape& shape);

  const BandAxis& rows() const { return rows_; }
  const BandAxis& columns() const { return columns_; }
  int taps() const { return rows_.kernel * columns_.kernel; }
  size_t input_plane() const { return size_t(rows_.input) * columns_.input; }
  size_t output_plane() const { return size_t(rows_.output) * columns_.output; }

  /// Bands of about `pixels` outputs that cut each dimension into nearly equal parts, with at most
  /// `buffer` buffered positions, unless one output needs more.
  Band Largest(int num, int pixels, size_t buffer) const;
  /// The same with fewer rows, where few bands then divide equally among `threads` threads.
  Band ForThreads(int num, const Band& largest, size_t threads) const;
  /// The same with fewer images, rows or columns, as long as there are fewer bands than `count` and
  /// these have enough pixels to be worth reading the weights for.
  Band AtLeast(int num, Band largest, size_t count) const;
  /// How many of these there are, and the band at an index.
  size_t Count(int num, const Band& largest) const;
  Band At(int num, const Band& largest, size_t index) const;

  /// Buffered positions of a band of that size.
  size_t BufferSize(const Band& largest) const;
  /// Where in the buffer the positions of the kernel lie, in elements, `lanes` per position.
  void FindTaps(const Band& largest, int lanes, int32_t* taps) const;
  /// Where in the buffer the windows of a band of that size begin.
  void FindPixels(const Band& band, const Band& largest, int lanes, int32_t* windows) const;
  /// Where their outputs lie, relative to the band's first pixel; images are `image_size` elements
  /// apart.
  void FindTargets(const Band& band, int output_lanes, size_t image_size, size_t* targets) const;
  /// All pixels of a band in groups, at most one per row of each image; returns how many.
  int FindRowGroups(const Band& band, RowGroup* groups) const;
  /// Where in the output the band's first pixel lies.
  size_t FirstTarget(const Band& band, int output_lanes, size_t image_size) const {
    return band.image * image_size +
           (size_t(band.row) * columns_.output + band.column) * output_lanes;
  }
  /// Where in the output the band's first pixel of a block of outputs of `lanes` lanes lies; from
  /// one block to the next are `plane` elements; with channels last, `pixel` from one pixel to the
  /// next, else 0.
  size_t FirstOfBlock(const Band& band, size_t lanes, size_t block, size_t plane, size_t image_size,
                      size_t pixel) const {
    return pixel ? block * lanes + FirstTarget(band, static_cast<int>(pixel), image_size)
                 : block * plane + FirstTarget(band, static_cast<int>(lanes), image_size);
  }
  /// Zeros the lanes from `used` on of y's block `block`, the last one, whose elements have `size`
  /// bytes. No stride of a plane is 0.
  void ClearLastLanes(int num, size_t block, size_t lanes, size_t used, size_t size,
                      const ImageStrides& strides, void* y) const;
  /// Elements of the buffer from one row of windows to the next.
  int WindowPitch(const Band& largest, int lanes) const {
    return rows_.pace() * columns_.extent(largest.columns) * lanes;
  }
  /// Widens the band's input of one plane, with `lanes` lanes (1, or a block) per position, into
  /// `buffer`, with zeros for the padding. Images are `image_size` elements apart.
  void Widen(const Band& band, const Band& largest, int lanes, const Stored& x, size_t plane,
             size_t image_size, float* buffer) const;

  /// The same for other types, of a plane that begins `plane` elements after its image:
  /// copy(offset, positions, step, to) copies every step-th position, the first one at element
  /// `offset` of the input; the padding becomes `zero`.
  template <typename T, typename Copy>
  void Fill(const Band& band, const Band& largest, int lanes, size_t plane, size_t image_size,
            T* buffer, Copy&& copy, T zero = T(0)) const;
  /// The same of a block of channels that are last: copy's first argument counts pixels of all
  /// images.
  template <typename T, typename Copy>
  void FillFromPixels(const Band& band, const Band& largest, int lanes, T* buffer, Copy&& copy,
                      T zero = T(0)) const {
    Fill(
        band, largest, lanes, 0, input_plane() * lanes, buffer,
        [&](size_t offset, size_t count, int step, T* to) {
          copy(offset / lanes, count, step, to);
        },
        zero);
  }

 private:
  BandAxis rows_, columns_;
};

template <typename T, typename Copy>
void Bands::Fill(const Band& band, const Band& largest, int lanes, size_t plane, size_t image_size,
                 T* buffer, Copy&& copy, T zero) const {
  const int pitch = columns_.extent(largest.columns), height = rows_.extent(largest.rows);
  const int columns = columns_.extent(band.columns), rows = rows_.extent(band.rows);
  const int step = columns_.step(), first = columns_.first(band.column);
  // The positions that lie in the input.
  const auto positions = [step](int extent) { return extent > 0 ? (extent + step - 1) / step : 0; };
  const int begin = std::min(columns, positions(-first));
  const int end = std::max(begin, std::min(columns, positions(columns_.input - first)));
  for (int n = 0; n < band.images; ++n) {
    const size_t image = (band.image + n) * image_size + plane;
    for (int r = 0; r < rows; ++r) {
      const int row = rows_.first(band.row) + r * rows_.step();
      T* to = buffer + (size_t(n) * height + r) * pitch * lanes;
      const bool inside = row >= 0 && row < rows_.input && begin < end;
      const int zeros = inside ? begin : columns;
      std::fill_n(to, zeros * lanes, zero);
      if (!inside) continue;
      const size_t offset = (size_t(row) * columns_.input + first + begin * step) * lanes;
      copy(image + offset, static_cast<size_t>(end - begin), step, to + begin * lanes);
      std::fill_n(to + end * lanes, (columns - end) * lanes, zero);
    }
  }
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_CONVOLUTION_BANDS_HPP_
