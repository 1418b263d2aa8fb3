#ifndef CAFFE_KERNELS_CPU_PIXEL_WINDOWS_HPP_
#define CAFFE_KERNELS_CPU_PIXEL_WINDOWS_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amx_tiles.hpp"
#include "caffe/kernels/cpu/convolution/convolution_bands.hpp"
#include "caffe/kernels/cpu/convolution/work_items.hpp"
#include "caffe/kernels/tile_shape.hpp"
#include "tile_pairs.hpp"

// How a convolution of images with channels last becomes products of matrices for AMX's tiles: a
// row for each pixel of the output, which is read where its window lies in memory; a column for
// each output.
namespace caffe::kernels {

/// A TileShape in numbers.
struct SumShape {
  explicit SumShape(TileShape shape)
      : tiles(shape == TileShape::FOUR_BY_ONE ? 4 : 2), panels(4 / tiles) {}
  int rows() const { return tiles * kTileRows; }
  int tiles, panels;
};

/// The order of a convolution's numbers.
///
/// A window's row of the kernel is contiguous if it has one column or a dilation of 1: a *segment*.
/// Else each position is one. Segments are cut into steps of equal sizes, up to 64 bytes; the last
/// step of a segment may begin before the end of the one before, with zeros as weights of what it
/// reads again. So no step reads anything but the window, and nothing has to be padded.
///
/// Pointwise convolutions read the image itself. Others copy a *cut*, some rows of outputs of some
/// images, into a buffer with its padding: rows that neighbouring outputs have below each other, so
/// that a tile's rows run on from one row of outputs to the next. Between them are positions that
/// belong to no output; they are computed and not written. Neighbouring rows share their padding.
class PixelWindows {
 public:
  /// `element`: bytes of a number, 1 or 2. A plain image has few channels, each in an array of its
  /// own.
  PixelWindows(const ConvolutionShape& shape, bool plain, int block, size_t element,
               const SumShape& sum_shape);
  /// False where tiles cannot compute it: groups are of whole panels, and a plain image, in one
  /// group, has a window.
  static bool Takes(const ConvolutionShape& shape, bool plain, int block);

  size_t group_channels() const { return channels_; }
  size_t group_outputs() const { return outputs_; }
  /// Numbers of a buffered pixel.
  size_t pixel() const { return pixel_; }
  /// Panels of 16 outputs of a group.
  size_t panels() const { return CeilDiv(outputs_, kTileOutputs); }
  /// Bytes of a step in a row.
  int step_bytes() const { return static_cast<int>(step_bytes_); }

  /// Numbers of a group's packed weights: (panel, step, number / n, 16 outputs, n), n being 4
  /// bytes' worth.
  size_t packed_group() const { return panels() * packed_panel(); }
  size_t packed_panel() const { return steps() * step_weights(); }
  size_t step_weights() const { return step_bytes_ * kTileOutputs / element_; }
  const SumShape& sum_shape() const { return sum_shape_; }
  /// The first panel of a slice of the work.
  size_t FirstPanel(const WorkItems& items, size_t slice) const {
    const size_t together = sum_shape_.panels;
    return std::min(items.Begin(slice, CeilDiv(panels(), together)) * together, panels());
  }
  /// Where the weight of an output, channel and position of the kernel lies in a group.
  size_t WeightAt(size_t output, size_t channel, int row, int column) const;
  /// The same in two parts: the step and where the first output of a panel lies in it, ...
  struct InStep {
    size_t step, number;
  };
  InStep InPanel(size_t channel, int row, int column) const;
  /// ... and where a panel's steps lie in its group: the first one, and from one to the next.
  struct PanelSteps {
    size_t first, pitch;
  };
  PanelSteps StepsOf(size_t panel) const;
  size_t steps() const { return segments() * segment_steps_; }
  /// Calls f(index among the packed weights, index among those that Caffe stores) for each weight
  /// of this many groups.
  template <typename Function>
  void ForEachWeight(int groups, Function&& f) const;

  /// How work is split. Numbers of x may be sums of parts, each in a buffer of its own.
  struct Plan {
    int rows = 0, images = 0;  ///< of a cut, at most
    size_t image_bytes = 0;    ///< of a buffered image of a cut; 0: x is read in place
    WorkItems items;
  };
  /// For `num` images; for none as for one. `parts`: of x; 0: tiles read it in place, which is for
  /// pointwise ones.
  Plan PlanFor(int num, int groups, int parts) const;

  struct Cut {
    int image, images, row, rows;
  };
  Cut CutAt(int num, const Plan& plan, size_t index) const;

  /// Steps for each pair of a part of x and a part of the weights. Weights in parts are
  /// (step, part, panels that are summed together, weights of a step).
  std::vector<AmxTiles::PixelStep> Steps(const Plan& plan, const TilePairs& pairs) const;

  bool is_pointwise() const { return pointwise_; }
  const BandAxis& rows() const { return rows_; }
  const BandAxis& columns() const { return columns_; }

  /// Positions from one row of outputs to the next, and bytes from one position to the next, in a
  /// buffer.
  size_t row_positions() const { return row_pixels_ / columns_.pace(); }
  size_t position_bytes() const { return columns_.pace() * pixel_ * element_; }
  size_t positions(const Cut& cut) const {
    return (cut.rows - 1) * row_positions() + columns_.output;
  }
  /// Pixels of one part of a buffered image.
  size_t part_pixels(int rows) const { return rows_.pace() * phase_pixels(rows); }

  /// Calls copy(input row, first input column, count, step, where in the part in pixels) for runs
  /// of input pixels of a cut, and clear(where, count) for its padding.
  template <typename Copy, typename Clear>
  void ForEachRun(const Cut& cut, int buffer_rows, Copy&& copy, Clear&& clear) const;

 private:
  size_t segments() const { return joins_ ? rows_.kernel : rows_.kernel * columns_.kernel; }
  /// Where a step of a segment begins, in bytes.
  size_t StepStart(size_t step) const {
    return step + 1 < segment_steps_ ? step * step_bytes_ : segment_bytes_ - step_bytes_;
  }
  /// Pixels of the rows of one phase: those whose distance is a multiple of the stride.
  size_t phase_pixels(int rows) const {
    return CeilDiv(rows_.extent(rows), rows_.pace()) * row_pixels_ + row_rest_;
  }

  size_t channels_, outputs_;  // of a group
  const size_t element_;
  const SumShape sum_shape_;
  bool pointwise_;
  BandAxis rows_, columns_;
  bool joins_;
  size_t pixel_, segment_bytes_, segment_steps_, step_bytes_;
  size_t row_pixels_, row_rest_;       // of a buffered row; and of the last one's padding behind it
  size_t first_column_, last_column_;  // of a buffered row, in the image
};

template <typename Function>
void PixelWindows::ForEachWeight(int groups, Function&& f) const {
  size_t from = 0;
  for (size_t o = 0; o < groups * outputs_; ++o) {
    const size_t group = o / outputs_ * packed_group();
    for (size_t c = 0; c < channels_; ++c) {
      for (int row = 0; row < rows_.kernel; ++row) {
        for (int column = 0; column < columns_.kernel; ++column) {
          f(group + WeightAt(o % outputs_, c, row, column), from++);
        }
      }
    }
  }
}

template <typename Copy, typename Clear>
void PixelWindows::ForEachRun(const Cut& cut, int buffer_rows, Copy&& copy, Clear&& clear) const {
  const int pace = rows_.pace(), extent = rows_.extent(cut.rows);
  for (int phase = 0; phase < pace; ++phase) {
    size_t at = phase * phase_pixels(buffer_rows);
    for (int r = phase; r < extent; r += pace, at += row_pixels_) {
      const int row = rows_.first(cut.row) + r * rows_.step();
      if (row < 0 || row >= rows_.input || first_column_ == last_column_) {
        clear(at, row_pixels_);
        continue;
      }
      if (first_column_ > 0) clear(at, first_column_);
      copy(row, columns_.first(0) + static_cast<int>(first_column_) * columns_.step(),
           last_column_ - first_column_, columns_.step(), at + first_column_);
      if (last_column_ < row_pixels_) clear(at + last_column_, row_pixels_ - last_column_);
    }
    if (row_rest_ > 0) clear(at, row_rest_);
  }
}

/// Nearly equal tiles of rows, the last of which ends with them: starts[i], `rows` each.
struct TileRows {
  TileRows(int all, int most_tiles);
  int tiles, rows;
  size_t starts[4];
};

/// Prefetches a cache line for each pixel of a block, to be read or written: the pixel's is at
/// memory + pixel * pitch.
inline void PrefetchPixels(const int32_t* pixels, int rows, const void* memory, size_t pitch) {
  for (int i = 0; i < rows; ++i) {
    if (pixels[i] < 0) continue;
    __builtin_prefetch(static_cast<const char*>(memory) + pixels[i] * ptrdiff_t(pitch));
  }
}

/// What an item needs in addition to its plan.
struct PixelItem {
  PixelItem(const PixelWindows& windows, const PixelWindows::Plan& plan, Pieces* pieces);
  char* buffer;     ///< of the cut's images
  int32_t* pixels;  ///< of each position of a cut of an image: its pixel, or -1
  int32_t* sums;    ///< of 4 bytes, of two blocks
};

constexpr size_t kBlockSums = 4 * kTileRows * kTileOutputs;

/// The pixel of each position of a cut, counted from that of its first one: -1 between rows.
void FindPixels(const PixelWindows& windows, const PixelWindows::Cut& cut, int32_t* pixels);

/// Sums of a cut for the panels [first_panel, last_panel) of a group.
struct CutSums {
  const AmxTiles& amx;
  void (*sum)(const AmxTiles::PixelWork&, int tiles, int panels);
  const PixelWindows& windows;
  PixelWindows::Cut cut;
  size_t first_panel, last_panel;
  const std::vector<AmxTiles::PixelStep>& steps;
  const char* x;      ///< the first position of the first image
  size_t x_pitch;     ///< bytes from position to position
  size_t x_image;     ///< and from image to image
  const float* bias;  ///< of the group, 16 for each panel; null: sums start with 0
  const int32_t* pixels;
  int32_t* sums;

  /// Rows of sums that wait to be written: row i is that of pixels[i] of an image, if that is not
  /// negative.
  struct Block {
    size_t panel = 0;
    int panels = 0, image = 0;
    const int32_t* pixels = nullptr;
    int rows = 0;
    int32_t* sums = nullptr;
    size_t pitch = 0;  ///< sums from row to row

    bool IsIn(size_t of_panel, int of_image) const {
      return panel == of_panel && image == of_image;
    }
    /// Some of its rows, to be written as images with these strides.
    PixelSums Rows(int first, int count, int vectors, const ImageStrides& strides) const {
      return {sums + first * pitch,  pitch, count, vectors, pixels + first, strides.y_pixel,
              strides.residual_pixel};
    }
  };

  /// The block of `lanes` outputs, counted in the group, that a panel begins with, and the vectors
  /// of them that it and the panels summed with it have.
  static size_t FirstBlock(const Block& block, int lanes) {
    return block.panel * (kTileOutputs / lanes);
  }
  int Vectors(const Block& block, int lanes) const {
    const size_t all = CeilDiv(windows.group_outputs(), lanes);
    return static_cast<int>(
        std::min<size_t>(block.panels * (kTileOutputs / lanes), all - FirstBlock(block, lanes)));
  }

  /// Sums with the weights that weights(panel, panels) returns, and calls finish(block, first row,
  /// rows) for all rows of blocks of sums: for those of one while the tiles sum the next, which may
  /// be the first of the next panel. ahead(block) comes before a block is summed, to prefetch what
  /// finish reads.
  template <typename Weights, typename Ahead, typename Finish>
  void ForEachBlock(Weights&& weights, Ahead&& ahead, Finish&& finish) const {
    const SumShape shape = windows.sum_shape();
    const int positions = static_cast<int>(windows.positions(cut));
    const int blocks = static_cast<int>(CeilDiv(positions, shape.rows()));
    AmxTiles::PixelWork work = {};
    work.x_pitch = x_pitch;
    work.weights_panel = windows.step_bytes() * kTileOutputs;
    Block block, before;
    TileRows tile_rows(1, 1);
    int rows_of_tiles = 0, configured = 0, number = 0;
    for (size_t panel = first_panel; panel < last_panel; panel += shape.panels) {
      block.panel = panel;
      block.panels = static_cast<int>(std::min<size_t>(shape.panels, last_panel - panel));
      block.pitch = size_t(block.panels) * kTileOutputs;
      work.weights = weights(panel, block.panels);
      work.bias = bias ? bias + panel * kTileOutputs : nullptr;
      work.sums_pitch = block.pitch;
      for (block.image = cut.image; block.image < cut.image + cut.images; ++block.image) {
        for (int i = 0; i < blocks; ++i) {
          const int begin = static_cast<int>(int64_t(positions) * i / blocks);
          block.rows = static_cast<int>(int64_t(positions) * (i + 1) / blocks) - begin;
          block.pixels = pixels + begin;
          block.sums = sums + number++ % 2 * kBlockSums;
          work.sums = block.sums;
          work.x = x + (block.image - cut.image) * x_image + begin * x_pitch;
          if (block.rows != rows_of_tiles) {
            rows_of_tiles = block.rows;
            tile_rows = TileRows(block.rows, shape.tiles);
            std::copy_n(tile_rows.starts, 4, work.starts);
            if (tile_rows.rows != configured) {
              amx.configure_pixels(tile_rows.rows, windows.step_bytes());
              configured = tile_rows.rows;
            }
          }
          ahead(block);
          SumAndFinish(tile_rows.tiles, block.panels, before, finish, &work);
          before = block;
        }
      }
    }
    if (before.rows > 0) finish(before, 0, before.rows);
    amx.release();
  }

 private:
  /// In parts, so that the tiles' instructions and those of `finish` alternate within the
  /// processor's window.
  template <typename Finish>
  void SumAndFinish(int row_tiles, int panels, const Block& before, Finish&& finish,
                    AmxTiles::PixelWork* work) const {
    constexpr int kMaxParts = 2;
    const int count = static_cast<int>(steps.size());
    const int parts = std::min(count, kMaxParts);
    for (int part = 0; part < parts; ++part) {
      const int step = count * part / parts;
      work->steps = steps.data() + step;
      work->steps_count = count * (part + 1) / parts - step;
      work->first = part == 0;
      work->last = part + 1 == parts;
      sum(*work, row_tiles, panels);
      const int row = before.rows * part / parts;
      const int rows = before.rows * (part + 1) / parts - row;
      if (rows > 0) finish(before, row, rows);
    }
  }
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_PIXEL_WINDOWS_HPP_
