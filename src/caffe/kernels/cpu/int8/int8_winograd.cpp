#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "caffe/kernels/cpu/simd/l2_cache.hpp"
#include "caffe/kernels/winograd.hpp"
#include "int8_packed.hpp"

namespace caffe::kernels {
namespace {

// The transformed input of a strip of tiles and the transformed weights that it is multiplied by
// stay in a core's L2 cache, one slice of the channels at a time; with more tiles, weights are
// transformed less often.
constexpr size_t kMaxTiles = 64;
constexpr size_t kSlice = 128;  // channels
size_t StripBytes() { return std::max<size_t>(1 << 20, L2CacheBytes()); }
// Four times a sum of this many byte products fits 32 bits.
constexpr size_t kMaxProducts = 16560;

/// How the work is split: into strips of tiles and, for each strip and group, slices of the parts
/// of its outputs.
struct WinogradInt8Plan {
  WorkItems items;
  size_t tiles, strip_tiles;
  size_t input_stride;  // from one point of the transformed input to the next
  size_t channel_slices;
};

/// Winograd's algorithm F(2 x 2, 3 x 3) or F(4 x 4, 3 x 3) in integers, with transformed weights
/// scaled up to be whole. The result is that of the definition, bit for bit, with 4 or 2.25
/// products per output instead of 9.
///
/// 2 x 2: transformed inputs are at most 1020, weights 1143. 4 x 4: at most 17340 and 6223, which
/// also fit 16 bits. Sums of their products need not fit 32 bits: they are only added and
/// multiplied, modulo 2^32, so the final value, 4 or 64 times the result, is exact if it fits
/// (SumsFitWinograd).
///
/// A 5 x 5 kernel is split into four 3 x 3 kernels, padded with zeros, on images shifted by 0 or 3
/// rows and columns: four times as many channels of the same sum.
///
/// Weights are packed as (group, blocks of outputs that are summed together, 3 x 3 part of the
/// kernel, block of channels, position of the part, pair of channels, output, 2), and are
/// transformed when used.
class WinogradInt8 : public PlannedInt8<WinogradInt8Plan, GroupedInt8> {
 public:
  WinogradInt8(const ConvolutionShape& shape, size_t side)
      : PlannedInt8(shape, /*plain_input=*/false),
        way_(tiles_.winograd[side == 2 ? 0 : 1]),
        side_(side),
        extent_(side + 2),
        points_(extent_ * extent_),
        cuts_(CeilDiv(shape.kernel[0], 3)),
        blocks_(cuts_ * cuts_ * units_),
        tile_rows_(CeilDiv(shape.output[0], side)),
        tile_columns_(CeilDiv(shape.output[1], side)) {}

  size_t packed_size() const override { return padded_outputs() * blocks_ * 9 * tiles_.block; }
  void PackWeights(const int8_t* weights, int8_t* packed) const override;

 private:
  using Plan = WinogradInt8Plan;
  struct Buffers {
    Buffers(const WinogradInt8& self, const Plan& plan, Pieces* pieces)
        : input(pieces->Take<int16_t>(self.blocks_ * self.points_ * plan.input_stride)),
          weights(pieces->Take<int16_t>(self.points_ * self.WeightsStride(plan))),
          sums(pieces->Take<int32_t>(self.points_ * self.SumsStride(plan))),
          border(pieces->Take<int8_t>(self.points_ * self.tiles_.block)),
          steps(pieces->Take<int32_t>(self.blocks_)),
          windows(pieces->Take<int32_t>(plan.strip_tiles)),
          targets(pieces->Take<Int8Tiles::WinogradTarget>(plan.strip_tiles)) {}
    int16_t *input, *weights;
    int32_t* sums;
    int8_t* border;
    int32_t *steps, *windows;
    Int8Tiles::WinogradTarget* targets;
  };
  struct Tile {
    size_t image, row, column;
  };

  Plan MakePlan(int num) const override;
  size_t BytesOf(const Plan& plan) const override { return BytesOfPieces<Buffers>(*this, plan); }
  void RunPart(const Call& call, const Plan& plan, size_t begin, size_t end,
               void* scratch) const override {
    for (size_t item = begin; item < end; ++item) RunItem(call, plan, item, scratch);
  }

  // Points whole pages apart would map to the same cache sets.
  static size_t Apart(size_t elements, size_t element_size) {
    const size_t line = 64 / element_size;
    const size_t lines = CeilDiv(elements, line);
    return (lines % 8 == 0 ? lines + 1 : lines) * line;
  }
  size_t FirstBlock(const Plan& plan, size_t slice) const {
    return blocks_ * slice / plan.channel_slices;
  }
  size_t SliceBlocks(const Plan& plan) const { return CeilDiv(blocks_, plan.channel_slices); }
  size_t WeightsStride(const Plan& plan) const {
    return Apart(SliceBlocks(plan) * tiles_.block * parts_.largest() * tiles_.block, 2);
  }
  size_t SumsStride(const Plan& plan) const {
    return Apart(plan.strip_tiles * parts_.largest() * tiles_.block, 4);
  }
  /// Packed weights of a block of channels at one position, for `v` blocks of outputs.
  size_t Run(size_t v) const { return tiles_.block * v * tiles_.block; }

  /// Where in the kernel the block's part begins.
  size_t FirstRow(size_t block) const { return block / units_ / cuts_ * 3; }
  size_t FirstColumn(size_t block) const { return block / units_ % cuts_ * 3; }

  Tile At(size_t tile) const {
    const size_t row = tile / tile_columns_;
    return {row / tile_rows_, row % tile_rows_, tile % tile_columns_};
  }
  void RunItem(const Call& call, const Plan& plan, size_t index, void* scratch) const;
  void TransformInput(const Call& call, const Plan& plan, size_t group, size_t first, size_t count,
                      const Buffers& own) const;
  void TransformBorder(const Call& call, const int8_t* plane, size_t first_y, size_t first_x,
                       int16_t* v, size_t stride, int8_t* border) const;
  void FindTargets(const Call& call, size_t first, size_t count,
                   Int8Tiles::WinogradTarget* targets) const;
  void Multiply(const Call& call, const Plan& plan, size_t group, size_t part, size_t count,
                const Buffers& own) const;
  void Write(const Call& call, const Plan& plan, size_t group, size_t part, size_t count,
             const Buffers& own) const;

  const Int8Tiles::Winograd& way_;
  const size_t side_, extent_, points_;  // outputs and inputs of a tile per side; inputs of a tile
  const size_t cuts_;                    // parts of the kernel along a side
  const size_t blocks_;                  // of channels, of all parts of the kernel
  const size_t tile_rows_, tile_columns_;
};

WinogradInt8Plan WinogradInt8::MakePlan(int num) const {
  WinogradInt8Plan plan;
  plan.tiles = size_t(std::max(1, num)) * tile_rows_ * tile_columns_;
  const size_t tile_bytes = points_ * blocks_ * tiles_.block * sizeof(int16_t);
  const size_t most = std::clamp<size_t>(StripBytes() / tile_bytes, 16, kMaxTiles);
  plan.items = {CeilDiv(plan.tiles, most), size_t(shape_.group), 1};
  plan.items.Slice(parts_.count());
  plan.strip_tiles = CeilDiv(plan.tiles, plan.items.cuts);
  plan.input_stride = Apart(plan.strip_tiles * tiles_.block, 2);
  plan.channel_slices = CeilDiv(blocks_ * tiles_.block, kSlice);
  return plan;
}

void WinogradInt8::PackWeights(const int8_t* weights, int8_t* packed) const {
  const size_t channels = shape_.channels / shape_.group, outputs = shape_.outputs / shape_.group;
  const size_t block = tiles_.block, kernel = shape_.kernel[0], taps = kernel * kernel;
  for (size_t group = 0; group < size_t(shape_.group); ++group) {
    const auto weight = [&](size_t o, size_t c, size_t row, size_t column) -> int8_t {
      if (o >= outputs || c >= channels || row >= kernel || column >= kernel) return 0;
      return weights[((group * outputs + o) * channels + c) * taps + row * kernel + column];
    };
    for (size_t part = 0; part < parts_.count(); ++part) {
      for (size_t b = 0; b < blocks_; ++b) {
        const size_t first = b % units_ * block;
        for (size_t tap = 0; tap < 9; ++tap) {
          const size_t row = FirstRow(b) + tap / 3, column = FirstColumn(b) + tap % 3;
          for (size_t pair = 0; pair < block / 2; ++pair) {
            for (size_t o = parts_.Begin(part) * block; o < parts_.Begin(part + 1) * block; ++o) {
              for (size_t half = 0; half < 2; ++half) {
                *packed++ = weight(o, first + 2 * pair + half, row, column);
              }
            }
          }
        }
      }
    }
  }
}

void WinogradInt8::RunItem(const Call& call, const Plan& plan, size_t index, void* scratch) const {
  const WorkItems::Item item = plan.items.At(index);
  const size_t group = item.group;
  const size_t first = plan.tiles * item.cut / plan.items.cuts;
  const size_t count = plan.tiles * (item.cut + 1) / plan.items.cuts - first;
  Pieces pieces(scratch);
  const Buffers own(*this, plan, &pieces);
  for (size_t b = 0; b < blocks_; ++b) {
    own.steps[b] = static_cast<int32_t>(b * points_ * plan.input_stride);
  }
  for (size_t t = 0; t < count; ++t) own.windows[t] = static_cast<int32_t>(t * tiles_.block);
  TransformInput(call, plan, group, first, count, own);
  FindTargets(call, first, count, own.targets);
  const size_t end = plan.items.Begin(item.slice + 1, parts_.count());
  for (size_t part = plan.items.Begin(item.slice, parts_.count()); part < end; ++part) {
    Multiply(call, plan, group, part, count, own);
    Write(call, plan, group, part, count, own);
  }
}

// Runs of tiles that lie inside the image are transformed together.
void WinogradInt8::TransformInput(const Call& call, const Plan& plan, size_t group, size_t first,
                                  size_t count, const Buffers& own) const {
  const size_t block = tiles_.block, width = shape_.input[1], height = shape_.input[0];
  const auto transform = way_.input[call.x.is_signed ? 0 : 1];
  for (size_t b = 0; b < blocks_; ++b) {
    int16_t* v = own.input + b * points_ * plan.input_stride;
    const size_t channels = (group * units_ + b % units_) * call.strides.x_plane;
    for (size_t t = 0; t < count;) {
      const Tile tile = At(first + t);
      const int8_t* plane =
          static_cast<const int8_t*>(call.x.data) + tile.image * call.strides.x + channels;
      // Where the tile begins in the image; negative positions wrap around to large ones.
      const size_t y = side_ * tile.row + FirstRow(b) - shape_.pad[0];
      const size_t x = side_ * tile.column + FirstColumn(b) - shape_.pad[1];
      if (y >= height || height - y < extent_ || x >= width || width - x < extent_) {
        TransformBorder(call, plane, y, x, v + t * block, plan.input_stride, own.border);
        ++t;
        continue;
      }
      const size_t run =
          std::min({count - t, (width - x - extent_) / side_ + 1, tile_columns_ - tile.column});
      transform(static_cast<int>(run), plane + (y * width + x) * block, width * block,
                v + t * block, plan.input_stride);
      t += run;
    }
  }
}

void WinogradInt8::TransformBorder(const Call& call, const int8_t* plane, size_t first_y,
                                   size_t first_x, int16_t* v, size_t stride,
                                   int8_t* border) const {
  const size_t block = tiles_.block, height = shape_.input[0], width = shape_.input[1];
  std::memset(border, call.x.zero_point, points_ * block);
  for (size_t i = 0; i < extent_; ++i) {
    const size_t y = first_y + i;
    if (y >= height) continue;
    for (size_t j = 0; j < extent_; ++j) {
      const size_t x = first_x + j;
      if (x >= width) continue;
      std::memcpy(border + (extent_ * i + j) * block, plane + (y * width + x) * block, block);
    }
  }
  way_.input[call.x.is_signed ? 0 : 1](1, border, extent_ * block, v, stride);
}

void WinogradInt8::FindTargets(const Call& call, size_t first, size_t count,
                               Int8Tiles::WinogradTarget* targets) const {
  const size_t height = shape_.output[0], width = shape_.output[1];
  for (size_t t = 0; t < count; ++t) {
    const Tile tile = At(first + t);
    const size_t row = side_ * tile.row, column = side_ * tile.column;
    const size_t at = (row * width + column) * tiles_.block;
    targets[t] = {tile.image * call.strides.y + at, tile.image * call.strides.residual + at,
                  static_cast<int>(std::min(side_, height - row)),
                  static_cast<int>(std::min(side_, width - column))};
  }
}

void WinogradInt8::Multiply(const Call& call, const Plan& plan, size_t group, size_t part,
                            size_t count, const Buffers& own) const {
  const size_t v = parts_.Count(part), run = Run(v);
  const size_t weights_stride = WeightsStride(plan), sums_stride = SumsStride(plan);
  const size_t start = group * group_blocks_ + parts_.Begin(part);
  const int8_t* packed = call.packed + start * tiles_.block * blocks_ * 9 * tiles_.block;
  for (size_t slice = 0; slice < plan.channel_slices; ++slice) {
    const size_t begin = FirstBlock(plan, slice), end = FirstBlock(plan, slice + 1);
    for (size_t b = begin; b < end; ++b) {
      way_.weights(run, packed + b * 9 * run, run, own.weights + (b - begin) * run, weights_stride);
    }
    for (size_t point = 0; point < points_; ++point) {
      Int8Tiles::Work work = {};
      work.x = own.input + begin * points_ * plan.input_stride + point * plan.input_stride;
      work.steps = own.steps;
      work.steps_count = static_cast<int>(end - begin);
      work.windows = own.windows;
      work.weights = own.weights + point * weights_stride;
      work.partial = own.sums + point * sums_stride;
      work.first = slice == 0;
      work.last = false;
      RunTiles(tiles_.blocked[v - 1], tiles_.pixels[v - 1], static_cast<int>(count), work);
    }
  }
}

void WinogradInt8::Write(const Call& call, const Plan& plan, size_t group, size_t part,
                         size_t count, const Buffers& own) const {
  const size_t v = parts_.Count(part), block = tiles_.block;
  const Band origin;
  for (size_t vector = 0; vector < v; ++vector) {
    const size_t block_of_outputs = group * group_blocks_ + parts_.Begin(part) + vector;
    way_.output(From(call, block_of_outputs, origin), own.targets, static_cast<int>(count),
                own.sums + vector * block, v * block, SumsStride(plan), shape_.output[1] * block);
  }
}

}  // namespace

std::shared_ptr<const Int8Convolution> Int8Convolution::MakeWinograd(const ConvolutionShape& shape,
                                                                     int side) {
  if ((side != 2 && side != 4) || !HasWinograd(shape) || shape.column_rows() > kMaxProducts ||
      shape.weight_count() == 0 || shape.output_spatial() == 0) {
    return nullptr;
  }
  return std::make_shared<WinogradInt8>(shape, side);
}

bool Int8Convolution::SumsFitWinograd(const ConvolutionShape& shape, int side,
                                      const int8_t* weights) {
  if (side == 2) return true;
  const int64_t most = std::numeric_limits<int32_t>::max() / 64;
  const size_t column = shape.column_rows();
  if (static_cast<int64_t>(column) * 255 * 128 <= most) return true;
  for (int o = 0; o < shape.outputs; ++o, weights += column) {
    int64_t positive = 0, negative = 0;
    for (size_t i = 0; i < column; ++i) (weights[i] > 0 ? positive : negative) += weights[i];
    // Extremes: unsigned inputs use weights of one sign, signed inputs both.
    if (255 * std::max(positive, -negative) > most || 128 * (positive - negative) > most) {
      return false;
    }
  }
  return true;
}

}  // namespace caffe::kernels
