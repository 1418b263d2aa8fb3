#include "convolution_bands.hpp"

#include <algorithm>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/gemm/packed_tiles.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"

namespace caffe::kernels {
namespace {

/// The size of the largest part when `extent` is cut into as few nearly equal parts of at most
/// `most` as possible.
int EqualPart(int extent, int most) {
  const size_t parts = CeilDiv(extent, std::min(extent, std::max(1, most)));
  return static_cast<int>(CeilDiv(extent, parts));
}

BandAxis BandAxisOf(const ConvolutionShape& s, int axis) {
  BandAxis result;
  result.input = s.input[axis];
  result.output = s.output[axis];
  result.kernel = s.kernel[axis];
  result.stride = s.stride[axis];
  result.pad = s.pad[axis];
  result.dilation = s.dilation[axis];
  return result;
}

}  // namespace

bool OffsetsFit(const ConvolutionShape& s) {
  constexpr double kMost = 1 << 30;
  constexpr int kLargestBlock = 64;  // channels
  double elements = kLargestBlock * double(CeilDiv(s.channels / s.group, kLargestBlock));
  for (int axis = 0; axis < s.axes(); ++axis) {
    if (s.input[axis] + 2. * s.pad[axis] > kMost) return false;
    elements *= double(s.dilation[axis]) * (s.kernel[axis] - 1) + 1;
  }
  return elements <= kMost;
}

Bands::Bands(const ConvolutionShape& s) {
  if (s.is_pointwise()) {  // any order of positions will do
    columns_.input = columns_.output = static_cast<int>(s.output_spatial());
    return;
  }
  columns_ = BandAxisOf(s, s.axes() - 1);
  if (s.axes() == 2) rows_ = BandAxisOf(s, 0);
}

size_t Bands::BufferSize(const Band& b) const {
  return size_t(b.images) * rows_.extent(b.rows) * columns_.extent(b.columns);
}

Band Bands::Largest(int num, int pixels, size_t buffer) const {
  Band band;
  band.columns = EqualPart(columns_.output, pixels);
  band.rows = EqualPart(rows_.output, pixels / band.columns);
  if (band.rows == rows_.output && band.columns == columns_.output) {
    band.images = EqualPart(num, pixels / band.pixels());
  }
  while (band.images > 1 && BufferSize(band) > buffer) {
    band.images = EqualPart(num, band.images - 1);
  }
  while (band.rows > 1 && BufferSize(band) > buffer) {
    band.rows = EqualPart(rows_.output, band.rows - 1);
  }
  while (band.columns > 1 && BufferSize(band) > buffer) {
    band.columns = EqualPart(columns_.output, band.columns - 1);
  }
  return band;
}

Band Bands::ForThreads(int num, const Band& largest, size_t threads) const {
  const size_t count = Count(num, largest), parts = CeilDiv(rows_.output, largest.rows);
  if (count % threads == 0 || count >= 4 * threads) return largest;
  for (size_t more = parts + 1; 2 * more <= 3 * parts; ++more) {
    Band band = largest;
    band.rows = static_cast<int>(CeilDiv(rows_.output, more));
    if (rows_.output % more == 0 && Count(num, band) % threads == 0) return band;
  }
  return largest;
}

Band Bands::AtLeast(int num, Band largest, size_t count) const {
  constexpr int kFewPixels = 48;
  while (Count(num, largest) < count && largest.pixels() > kFewPixels) {
    if (largest.images > 1) {
      largest.images = EqualPart(num, largest.images - 1);
    } else if (largest.rows > 1) {
      largest.rows = EqualPart(rows_.output, largest.rows - 1);
    } else {
      largest.columns = EqualPart(columns_.output, largest.columns - 1);
    }
  }
  return largest;
}

size_t Bands::Count(int num, const Band& b) const {
  return CeilDiv(num, b.images) * CeilDiv(rows_.output, b.rows) *
         CeilDiv(columns_.output, b.columns);
}

Band Bands::At(int num, const Band& largest, size_t index) const {
  const auto part = [&index](int extent, int length, int* begin, int* count) {
    const int parts = static_cast<int>(CeilDiv(extent, length));
    *begin = static_cast<int>(index % parts) * length;
    *count = std::min(length, extent - *begin);
    index /= parts;
  };
  Band band;
  part(columns_.output, largest.columns, &band.column, &band.columns);
  part(rows_.output, largest.rows, &band.row, &band.rows);
  part(num, largest.images, &band.image, &band.images);
  return band;
}

void Bands::FindTaps(const Band& largest, int lanes, int32_t* taps) const {
  const int pitch = columns_.extent(largest.columns);
  for (int r = 0; r < rows_.kernel; ++r) {
    for (int c = 0; c < columns_.kernel; ++c) {
      *taps++ = (r * rows_.dilation * pitch + c * columns_.dilation) * lanes;
    }
  }
}

void Bands::FindPixels(const Band& band, const Band& largest, int lanes, int32_t* windows) const {
  const int pitch = columns_.extent(largest.columns);
  const int height = rows_.extent(largest.rows);
  for (int n = 0; n < band.images; ++n) {
    for (int r = 0; r < band.rows; ++r) {
      const int window = (n * height + r * rows_.pace()) * pitch;
      for (int c = 0; c < band.columns; ++c) *windows++ = (window + c * columns_.pace()) * lanes;
    }
  }
}

void Bands::FindTargets(const Band& band, int output_lanes, size_t image_size,
                        size_t* targets) const {
  for (int n = 0; n < band.images; ++n) {
    for (int r = 0; r < band.rows; ++r) {
      const size_t row = size_t(r) * columns_.output;
      for (int c = 0; c < band.columns; ++c) {
        *targets++ = n * image_size + (row + c) * output_lanes;
      }
    }
  }
}

int Bands::FindRowGroups(const Band& band, RowGroup* groups) const {
  int count = 0, pixel = 0;
  for (int n = 0; n < band.images; ++n) {
    for (int r = 0; r < band.rows; ++r, pixel += band.columns) {
      const int first = rows_.first(band.row + r);
      // Positions of the kernel before input row `end`.
      const auto before = [&](int end) {
        const size_t positions = end > first ? CeilDiv(end - first, rows_.dilation) : 0;
        return static_cast<int>(std::min<size_t>(positions, rows_.kernel));
      };
      const int begin = before(0), rows = before(rows_.input) - begin;
      RowGroup* last = count > 0 ? groups + count - 1 : nullptr;
      if (last && last->first_row == begin && last->rows == rows) {
        last->pixels += band.columns;
      } else {
        groups[count++] = {pixel, band.columns, begin, rows};
      }
    }
  }
  return count;
}

void Bands::ClearLastLanes(int num, size_t block, size_t lanes, size_t used, size_t size,
                           const ImageStrides& strides, void* y) const {
  const size_t pixel = strides.y_pixel ? strides.y_pixel : lanes;
  for (int n = 0; n < num; ++n) {
    Band band;
    band.image = n;
    const size_t first =
        FirstOfBlock(band, lanes, block, strides.y_plane, strides.y, strides.y_pixel);
    ClearLanes(static_cast<char*>(y) + first * size, output_plane(), lanes, used, size, pixel);
  }
}

void Bands::Widen(const Band& band, const Band& largest, int lanes, const Stored& x, size_t plane,
                  size_t image_size, float* buffer) const {
  const auto& widen = lanes == 1 ? ChosenPackedTiles().widen : ChosenPackedTiles().widen_blocks;
  Fill(band, largest, lanes, plane * input_plane() * lanes, image_size, buffer,
       [&](size_t offset, size_t count, int step, float* to) {
         widen[x.storage](count, step, x.at(offset), to);
       });
}

}  // namespace caffe::kernels
