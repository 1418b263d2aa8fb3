#include <algorithm>
#include <cstring>
#include <memory>

#include "caffe/kernels/cpu/simd/amx_layout.hpp"
#include "int8_packed.hpp"

// Convolution of 8-bit integers in AMX's tiles.
namespace caffe::kernels {
namespace {

/// Rows hold the input's bytes unchanged; weights are packed as tiles read them: (group, panel,
/// row / 4, output, 4).
class AmxInt8 : public PlannedInt8<AmxPlan, PackedInt8> {
 public:
  AmxInt8(const ConvolutionShape& shape, bool plain_input, const AmxTiles& amx)
      : PlannedInt8(shape, plain_input),
        amx_(amx),
        layout_(shape, bands_, plain_input ? 1 : tiles_.block, tiles_.block, sizeof(int8_t)) {}

  size_t packed_size() const override {
    return shape_.group * layout_.group_blocks() * tiles_.block * layout_.whole_depth();
  }
  void PackWeights(const int8_t* weights, int8_t* packed) const override;

 protected:
  size_t padded_outputs() const override {
    return shape_.group * layout_.group_blocks() * tiles_.block;
  }

 private:
  /// An item's scratch memory.
  struct Buffers {
    Buffers(const AmxLayout& layout, const AmxPlan& plan, Pieces* pieces)
        : input(pieces->Take<int8_t>(plan.buffer)),
          rows(pieces->Take<int8_t>(plan.tiles.padded() * layout.pitch())),
          sums(pieces->Take<int32_t>(plan.sums())),
          windows(pieces->Take<int32_t>(plan.largest.pixels())),
          targets(pieces->Take<size_t>(plan.largest.pixels())),
          residual_targets(pieces->Take<size_t>(plan.largest.pixels())) {}
    int8_t *input, *rows;
    int32_t *sums, *windows;
    size_t *targets, *residual_targets;
  };

  AmxPlan MakePlan(int num) const override {
    return AmxPlan(layout_, bands_, num, shape_.group, 1);
  }
  size_t BytesOf(const AmxPlan& plan) const override {
    return BytesOfPieces<Buffers>(layout_, plan);
  }
  void RunPart(const Call& call, const AmxPlan& plan, size_t begin, size_t end,
               void* scratch) const override {
    for (size_t item = begin; item < end; ++item) RunItem(call, plan, item, scratch);
  }

  void RunItem(const Call& call, const AmxPlan& plan, size_t index, void* scratch) const;
  /// Gathers a part of the channels into rows.
  void FillRows(const Call& call, const AmxPlan& plan, const Band& band, size_t group, size_t part,
                const Buffers& own) const;
  /// Writes the sums of a panel.
  void Finish(const Call& call, const Band& band, size_t block, int blocks, const Buffers& own,
              int32_t* sums) const;

  const AmxTiles& amx_;
  const AmxLayout layout_;
};

void AmxInt8::FillRows(const Call& call, const AmxPlan& plan, const Band& band, size_t group,
                       size_t part, const Buffers& own) const {
  const AmxLayout& layout = plan.layout;
  const int lanes = layout.lanes();
  const auto copy = [&](size_t offset, size_t count, int step, int8_t* to) {
    const int8_t* from = static_cast<const int8_t*>(call.x.data) + offset;
    if (step == 1) {
      std::memcpy(to, from, count * lanes);
      return;
    }
    for (size_t i = 0; i < count; ++i) std::memcpy(to + i * lanes, from + i * step * lanes, lanes);
  };
  for (size_t u = 0; u < layout.units(part); ++u) {
    const size_t unit = group * layout.units() + layout.first_unit(part) + u;
    bands_.Fill(band, plan.largest, lanes, unit * call.strides.x_plane, call.strides.x, own.input,
                copy, static_cast<int8_t>(call.x.zero_point));
    layout.Gather(own.input, own.windows, band.pixels(), u, own.rows);
  }
  layout.ClearRest(part, band.pixels(), own.rows);
}

void AmxInt8::Finish(const Call& call, const Band& band, size_t block, int blocks,
                     const Buffers& own, int32_t* sums) const {
  const Int8Tiles::TilePostOps target = From(call, block, band);
  Int8Tiles::Work work = {};
  work.x = reinterpret_cast<const int16_t*>(own.rows);  // no step reads it
  work.windows = own.windows;
  work.partial = sums;
  work.last = true;
  work.writing = &target;
  work.targets = own.targets;
  work.residual_targets = own.residual_targets;
  work.plane = call.strides.y_plane;
  RunTiles(tiles_.blocked[blocks - 1], tiles_.pixels[blocks - 1], band.pixels(), work);
}

void AmxInt8::RunItem(const Call& call, const AmxPlan& plan, size_t index, void* scratch) const {
  const AmxLayout& layout = plan.layout;
  const WorkItems::Item item = plan.items.At(index);
  const size_t group = item.group;
  const Band band = bands_.At(call.num, plan.largest, item.cut);
  const size_t first_panel = plan.items.Begin(item.slice, layout.panels());
  const size_t last_panel = plan.items.Begin(item.slice + 1, layout.panels());
  const PixelTiles pixels(band.pixels());
  Pieces pieces(scratch);
  const Buffers own(layout, plan, &pieces);
  bands_.FindPixels(band, plan.largest, layout.lanes(), own.windows);
  bands_.FindTargets(band, tiles_.block, call.strides.y, own.targets);
  bands_.FindTargets(band, tiles_.block, call.strides.residual, own.residual_targets);
  std::fill_n(own.sums, (last_panel - first_panel) * pixels.padded() * kTileOutputs, 0);

  constexpr TilePair kOnly = {0, 0};
  AmxTiles::Work work = {};
  work.rows = pixels.rows;
  work.row_tiles = pixels.tiles;
  work.x = own.rows;
  work.x_pitch = layout.pitch();
  work.sums_panel = pixels.padded() * kTileOutputs;
  work.pairs = &kOnly;
  work.pairs_count = 1;
  for (size_t part = 0; part < layout.parts(); ++part) {
    FillRows(call, plan, band, group, part, own);
    work.steps = layout.steps(part);
    for (size_t panel = first_panel, end; panel < last_panel; panel = end) {
      end = layout.EqualPanels(panel, last_panel, last_panel);
      work.panels = static_cast<int>(end - panel);
      work.width = layout.width(panel);
      const size_t block = group * layout.group_blocks() + layout.first_block(panel);
      work.weights = call.packed + block * tiles_.block * layout.whole_depth() +
                     layout.depth_before(part) * work.width;
      work.weights_panel = work.width * layout.whole_depth();
      work.sums = own.sums + (panel - first_panel) * work.sums_panel;
      work.sums_pitch = work.width;
      (call.x.is_signed ? amx_.multiply_signed : amx_.multiply_unsigned)(work);
    }
  }
  for (size_t panel = first_panel; panel < last_panel; ++panel) {
    Finish(call, band, group * layout.group_blocks() + layout.first_block(panel),
           layout.blocks(panel), own, own.sums + (panel - first_panel) * work.sums_panel);
  }
}

void AmxInt8::PackWeights(const int8_t* weights, int8_t* packed) const {
  const size_t channels = shape_.channels / shape_.group, outputs = shape_.outputs / shape_.group;
  const size_t taps = bands_.taps(), lanes = layout_.lanes();
  std::fill_n(packed, packed_size(), int8_t(0));
  for (size_t o = 0; o < size_t(shape_.outputs); ++o) {
    const size_t group = o / outputs, panel = o % outputs / kTileOutputs;
    const size_t block = group * layout_.group_blocks() + layout_.first_block(panel);
    const size_t width = layout_.width(panel), column = o % outputs % kTileOutputs;
    int8_t* to = packed + block * tiles_.block * layout_.whole_depth();
    for (size_t c = 0; c < channels; ++c) {
      const size_t unit = c / lanes;
      for (size_t tap = 0; tap < taps; ++tap) {
        const size_t row = layout_.RowOf(unit) + tap * lanes + c % lanes;
        to[(row / 4 * width + column) * 4 + row % 4] = weights[(o * channels + c) * taps + tap];
      }
    }
  }
}

}  // namespace

std::shared_ptr<const Int8Convolution> MakeAmxInt8(const ConvolutionShape& shape, bool plain_input,
                                                   const AmxTiles& amx) {
  return std::make_shared<AmxInt8>(shape, plain_input, amx);
}

}  // namespace caffe::kernels
