// Convolution of 8-bit integers with channels last in AMX's tiles.
#include <algorithm>
#include <cstring>
#include <memory>

#include "caffe/kernels/cpu/simd/pixel_windows.hpp"
#include "int8_packed.hpp"

namespace caffe::kernels {
namespace {

struct PixelPlan : PixelWindows::Plan {
  std::vector<AmxTiles::PixelStep> steps;
};

class ChannelsLastInt8 : public PlannedInt8<PixelPlan, PackedInt8> {
 public:
  ChannelsLastInt8(const ConvolutionShape& shape, bool plain_input, TileShape tile_shape,
                   const AmxTiles& amx)
      : PlannedInt8(shape, plain_input),
        amx_(amx),
        windows_(shape, plain_input, tiles_.block, sizeof(int8_t), SumShape(tile_shape)) {}

  size_t packed_size() const override { return shape_.group * windows_.packed_group(); }

  void PackWeights(const int8_t* weights, int8_t* packed) const override {
    std::fill_n(packed, packed_size(), int8_t(0));
    windows_.ForEachWeight(shape_.group,
                           [=](size_t to, size_t from) { packed[to] = weights[from]; });
  }

 protected:
  size_t padded_outputs() const override { return Blocks(shape_.outputs) * tiles_.block; }

 private:
  PixelPlan MakePlan(int num) const override {
    PixelPlan plan{windows_.PlanFor(num, shape_.group, windows_.is_pointwise() ? 0 : 1), {}};
    TilePairs only;
    only.Add({0, 0});
    plan.steps = windows_.Steps(plan, only);
    return plan;
  }
  size_t BytesOf(const PixelPlan& plan) const override {
    return BytesOfPieces<PixelItem>(windows_, plan);
  }
  void RunPart(const Call& call, const PixelPlan& plan, size_t begin, size_t end,
               void* scratch) const override {
    for (size_t item = begin; item < end; ++item) RunItem(call, plan, item, scratch);
  }

  void RunItem(const Call& call, const PixelPlan& plan, size_t index, void* scratch) const;
  void FillBuffer(const Call& call, const PixelWindows::Plan& plan, const PixelWindows::Cut& cut,
                  size_t group, char* buffer) const;
  void FillImage(const Call& call, const PixelWindows::Cut& cut, int buffer_rows, size_t group,
                 const uint8_t* image, uint8_t* to) const;

  const AmxTiles& amx_;
  const PixelWindows windows_;
};

/// The cut's input of one image.
void ChannelsLastInt8::FillImage(const Call& call, const PixelWindows::Cut& cut, int buffer_rows,
                                 size_t group, const uint8_t* image, uint8_t* to) const {
  const size_t pixel = windows_.pixel(), from_pixel = plain_ ? 1 : call.strides.x_pixel;
  const size_t channels = plain_ ? shape_.channels : std::min(pixel, from_pixel);
  const uint8_t* const first = image + (plain_ ? 0 : group * windows_.group_channels());
  const size_t plane = bands_.input_plane();
  windows_.ForEachRun(
      cut, buffer_rows,
      [&](int row, int column, size_t count, int step, size_t at) {
        const uint8_t* x = first + (size_t(row) * windows_.columns().input + column) * from_pixel;
        uint8_t* y = to + at * pixel;
        if (plain_ && step == 1 && pixel == 4) {
          const uint8_t* planes[4] = {};
          for (size_t c = 0; c < channels; ++c) planes[c] = x + c * plane;
          return amx_.interleave_bytes(count, static_cast<int>(channels), planes, y);
        }
        if (plain_) {
          for (size_t i = 0; i < count; ++i) {
            for (size_t c = 0; c < pixel; ++c) {
              y[i * pixel + c] = c < channels ? x[c * plane + i * step] : 0;
            }
          }
        } else if (step == 1 && from_pixel == pixel) {
          std::memcpy(y, x, count * pixel);
        } else {
          for (size_t i = 0; i < count; ++i) {
            std::memcpy(y + i * pixel, x + i * step * from_pixel, channels);
          }
        }
      },
      [&](size_t at, size_t count) {
        std::memset(to + at * pixel, call.x.zero_point & 0xff, count * pixel);
      });
}

void ChannelsLastInt8::FillBuffer(const Call& call, const PixelWindows::Plan& plan,
                                  const PixelWindows::Cut& cut, size_t group, char* buffer) const {
  for (int i = 0; i < cut.images; ++i) {
    const size_t image = cut.image + i;
    FillImage(call, cut, plan.rows, group,
              static_cast<const uint8_t*>(call.x.data) + image * call.strides.x,
              reinterpret_cast<uint8_t*>(buffer + i * plan.image_bytes));
  }
}

void ChannelsLastInt8::RunItem(const Call& call, const PixelPlan& plan, size_t index,
                               void* scratch) const {
  const WorkItems::Item item = plan.items.At(index);
  const PixelWindows::Cut cut = windows_.CutAt(call.num, plan, item.cut);
  Pieces pieces(scratch);
  const PixelItem own(windows_, plan, &pieces);
  FindPixels(windows_, cut, own.pixels);

  const bool in_place = plan.image_bytes == 0;
  const char* x = static_cast<const char*>(call.x.data) + item.group * windows_.group_channels();
  if (!in_place) FillBuffer(call, plan, cut, item.group, own.buffer);
  const int8_t* const weights = call.packed + item.group * windows_.packed_group();
  const CutSums sums = {amx_,
                        call.x.is_signed ? amx_.sum_signed : amx_.sum_unsigned,
                        windows_,
                        cut,
                        windows_.FirstPanel(plan.items, item.slice),
                        windows_.FirstPanel(plan.items, item.slice + 1),
                        plan.steps,
                        in_place ? x + cut.row * call.strides.x_pixel : own.buffer,
                        in_place ? call.strides.x_pixel : windows_.position_bytes(),
                        plan.image_bytes,
                        nullptr,
                        own.pixels,
                        own.sums};
  const size_t group_block = item.group * CeilDiv(windows_.group_outputs(), tiles_.block);
  const auto weights_of = [&](size_t panel, int) {
    return weights + panel * windows_.packed_panel();
  };
  const auto block_of = [&](const CutSums::Block& sum) {
    return group_block + CutSums::FirstBlock(sum, tiles_.block);
  };
  const auto image_of = [](const CutSums::Block& sum) {
    Band band;
    band.image = sum.image;
    return band;
  };
  const Numbers& residual = call.writing.residual;
  const auto ahead = [&](const CutSums::Block& sum) {
    if (!residual.data) return;
    const size_t pixel = call.strides.residual_pixel;
    const size_t first = bands_.FirstOfBlock(image_of(sum), tiles_.block, block_of(sum),
                                             call.strides.y_plane, call.strides.residual, pixel);
    PrefetchPixels(sum.pixels, sum.rows, residual.at(first), pixel * SizeOf(residual.type));
  };
  Int8Tiles::TilePostOps target;
  size_t panel = 0;
  int image = -1;
  sums.ForEachBlock(weights_of, ahead, [&](const CutSums::Block& sum, int first, int rows) {
    if (!sum.IsIn(panel, image)) {
      panel = sum.panel;
      image = sum.image;
      target = From(call, block_of(sum), image_of(sum));
    }
    tiles_.finish_pixels(target,
                         sum.Rows(first, rows, sums.Vectors(sum, tiles_.block), call.strides));
  });
}

}  // namespace

std::shared_ptr<const Int8Convolution> MakeChannelsLastInt8(const ConvolutionShape& shape,
                                                            bool plain_input, TileShape tile_shape,
                                                            const AmxTiles& amx) {
  if (!PixelWindows::Takes(shape, plain_input, ChosenInt8Tiles().block)) return nullptr;
  return std::make_shared<ChannelsLastInt8>(shape, plain_input, tile_shape, amx);
}

}  // namespace caffe::kernels
