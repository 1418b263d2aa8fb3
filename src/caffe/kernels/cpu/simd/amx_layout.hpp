#ifndef CAFFE_KERNELS_CPU_AMX_LAYOUT_HPP_
#define CAFFE_KERNELS_CPU_AMX_LAYOUT_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amx_tiles.hpp"
#include "caffe/kernels/cpu/convolution/convolution_bands.hpp"
#include "caffe/kernels/cpu/convolution/work_items.hpp"
#include "tile_runs.hpp"

// How a convolution becomes a product of matrices for AMX's tiles: a row for each pixel, with the
// contents of its window; a column for each output.
namespace caffe::kernels {

/// A convolution's channels and outputs, cut into parts for tiles. A unit is a block of channels,
/// or one channel of a plain input. A row is (unit, position of the kernel, lane), in parts of
/// whole units, each padded to whole steps of 64 bytes. Outputs are in panels of 16; with blocks of
/// 8, the last one of a group may have 8.
class AmxLayout {
 public:
  /// `element`: bytes of a number in a row, 1 or 2.
  AmxLayout(const ConvolutionShape& shape, const Bands& bands, int lanes, int block,
            size_t element);

  int lanes() const { return lanes_; }
  size_t units() const { return units_; }            ///< of a group
  size_t unit_depth() const { return unit_depth_; }  ///< numbers of a unit in a row
  size_t group_blocks() const { return group_blocks_; }

  size_t parts() const { return CeilDiv(units_, part_units_); }
  size_t first_unit(size_t part) const { return part * part_units_; }
  size_t units(size_t part) const { return std::min(part_units_, units_ - first_unit(part)); }
  /// Numbers of a part in a row: without and with padding.
  size_t used(size_t part) const { return units(part) * unit_depth_; }
  size_t depth(size_t part) const { return RoundUp(used(part), step_); }
  size_t most_depth() const { return depth(0); }
  int steps(size_t part) const { return static_cast<int>(depth(part) / step_); }
  /// Depth of all parts, and of those before one.
  size_t whole_depth() const { return depth_before(parts() - 1) + depth(parts() - 1); }
  size_t depth_before(size_t part) const { return part * most_depth(); }
  /// Where a unit begins in a row that holds all parts.
  size_t RowOf(size_t unit) const {
    return depth_before(unit / part_units_) + unit % part_units_ * unit_depth_;
  }

  size_t panels() const { return CeilDiv(group_blocks_, panel_blocks_); }
  size_t first_block(size_t panel) const { return panel * panel_blocks_; }
  int blocks(size_t panel) const {
    return static_cast<int>(std::min(panel_blocks_, group_blocks_ - first_block(panel)));
  }
  int width(size_t panel) const { return blocks(panel) * block_; }
  /// The end of the run of panels from `panel` on with its width, at most `most` panels.
  size_t EqualPanels(size_t panel, size_t end, size_t most) const;

  /// Bytes from row to row.
  size_t pitch() const { return pitch_; }
  /// Copies the windows of `pixels` pixels in one unit, which is in `buffer`, into their rows;
  /// `unit` is counted within its part. Sizes are in bytes, but windows in elements.
  void Gather(const void* buffer, const int32_t* windows, int pixels, size_t unit,
              void* rows) const;
  /// Zeros the padding of rows after a part, and a unit's place in them.
  void ClearRest(size_t part, int pixels, void* rows) const;
  void ClearUnit(size_t unit, int pixels, void* rows) const;
  /// For Gather: where runs of neighbouring positions of the kernel begin in a buffer for bands up
  /// to `largest`.
  void FindRuns(const Band& largest);

 private:
  struct Run {
    size_t from, bytes;
  };
  void Clear(size_t begin, size_t end, int pixels, void* rows) const;

  const Bands& bands_;
  const int lanes_, block_;
  const size_t element_, step_;  // of a number in bytes; numbers of a step
  const size_t units_, unit_depth_, group_blocks_, panel_blocks_;
  size_t part_units_, pitch_;
  std::vector<Run> runs_;
};

/// Rows of pixels in nearly equal tiles.
struct PixelTiles {
  explicit PixelTiles(int pixels)
      : tiles(static_cast<int>(CeilDiv(pixels, kTileRows))),
        rows(static_cast<int>(CeilDiv(pixels, tiles))) {}
  int tiles, rows;
  size_t padded() const { return size_t(tiles) * rows; }
};

/// How the work is split: bands of pixels, slices of a group's outputs.
struct AmxPlan {
  AmxPlan(const AmxLayout& layout, const Bands& bands, int num, int groups, int planes);

  Band largest;
  AmxLayout layout;     ///< with runs for this band
  PixelTiles tiles{1};  ///< of the largest band
  WorkItems items;
  size_t slice_panels;  ///< at most
  size_t buffer;        ///< elements of a unit's buffer
  size_t sums() const { return slice_panels * tiles.padded() * kTileOutputs; }
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_AMX_LAYOUT_HPP_
