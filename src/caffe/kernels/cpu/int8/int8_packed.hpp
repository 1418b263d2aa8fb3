#ifndef CAFFE_KERNELS_CPU_INT8_PACKED_HPP_
#define CAFFE_KERNELS_CPU_INT8_PACKED_HPP_

#include <memory>

#include "caffe/kernels/cpu/convolution/convolution_bands.hpp"
#include "caffe/kernels/cpu/convolution/work_items.hpp"
#include "caffe/kernels/cpu/resize/image_sizes.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/int8_convolution.hpp"
#include "int8_rescaling.hpp"
#include "int8_tiles.hpp"

namespace caffe::kernels {

constexpr size_t kInt8Grain = 1 << 18;  // products below which work stays on one thread

/// Common part of all implementations.
class PackedInt8 : public Int8Convolution {
 public:
  PackedInt8(const ConvolutionShape& shape, bool plain_input)
      : tiles_(ChosenInt8Tiles()), plain_(plain_input), shape_(shape), bands_(shape) {}
  int block() const override { return tiles_.block; }
  bool plain_input() const override { return plain_; }

  size_t scratch_bytes(int num) const final { return FactorsBytes() + ItemsBytes(num); }

  void Forward(int num, Numbers x, const int8_t* packed, const PostOps& post, void* scratch,
               Destination y, int input_zero_point) const override {
    if (num == 0) return;
    RequireBytesOrFloats(y.type);
    RequireBytesOrFloats(post.residual.type);
    Pieces pieces(scratch);
    const Factors own(padded_outputs(), &pieces);
    const float* scale = Padded(post.scale, shape_.outputs, padded_outputs(), own.scale);
    const float* bias = Padded(post.bias, shape_.outputs, padded_outputs(), own.bias);
    Run(num, {x, input_zero_point}, packed, Int8Tiles::InFloats(post, scale, bias, y), y,
        LeavesZeros(post, y.type), scratch);
  }

  std::shared_ptr<const RescalingRows> Prepare(const Rescaling& by, ElementType type,
                                               const Residual* residual) const override {
    return std::make_shared<RescalingRows>(by, tiles_, type, shape_.outputs, padded_outputs(),
                                           shape_.column_rows(), residual);
  }

  void Forward(int num, Numbers x, const int8_t* packed, const Rescaling& by, void* scratch,
               Destination y, const Residual* residual, const RescalingRows* rows) const override {
    const auto prepared = rows ? nullptr : Prepare(by, y.type, residual);
    if (num == 0) return;
    const Int8Tiles::Rescaled& rescaled = (rows ? rows : prepared.get())->get();
    Int8Tiles::TilePostOps writing = Int8Tiles::InIntegers(rescaled, y);
    if (residual) {
      writing.residual = {residual->data,
                          residual->is_unsigned ? ElementType::UINT8 : ElementType::INT8};
    }
    const bool leaves_zeros = !residual && rescaled.least <= 0 && rescaled.most >= 0;
    Run(num, {x, by.input_zero_point}, packed, writing, y, leaves_zeros, scratch);
  }

 protected:
  struct Input {
    Input(const Numbers& x, int zero_point)
        : data(x.data), is_signed(x.type == ElementType::INT8), zero_point(zero_point) {
      RequireBytes(x.type);
    }
    const void* data;
    bool is_signed;
    int zero_point;
  };

  size_t Blocks(int channels) const { return CeilDiv(channels, tiles_.block); }

  /// Shared by all items of a call; bias and scale are padded, no stride of an image or plane is 0.
  struct Call {
    int num;
    Input x;
    const int8_t* packed;
    Int8Tiles::TilePostOps writing;
    ImageStrides strides;
  };

  /// Outputs including the padding of blocks.
  virtual size_t padded_outputs() const = 0;
  /// Including the padding of the last block.
  size_t input_channels() const {
    return plain_ ? shape_.channels : Blocks(shape_.channels) * tiles_.block;
  }
  /// Elements of an image.
  size_t input_image() const { return input_channels() * bands_.input_plane(); }
  /// Bytes of scratch that RunItems needs.
  virtual size_t ItemsBytes(int num) const = 0;
  /// Does the work.
  virtual void RunItems(const Call& call, void* scratch) const = 0;

  /// As SpreadItems.
  template <typename Function>
  void SpreadParts(int num, const WorkItems& items, size_t bytes, void* scratch,
                   Function&& f) const {
    const size_t products = shape_.weight_count() * bands_.output_plane() * num;
    SpreadItems(items, products, kInt8Grain, scratch, bytes, f);
  }
  /// Calls f(item, scratch of `bytes` bytes) for each of them.
  template <typename Function>
  void Spread(int num, const WorkItems& items, size_t bytes, void* scratch, Function&& f) const {
    SpreadParts(num, items, bytes, scratch, [&](size_t begin, size_t end, void* own) {
      for (size_t item = begin; item < end; ++item) f(item, own);
    });
  }

  /// The call's `writing`, moved to the outputs from `block` on and the pixels of a band.
  Int8Tiles::TilePostOps From(const Call& call, size_t block, const Band& band) const {
    Int8Tiles::TilePostOps writing = call.writing;
    const auto elements = [&](size_t image, size_t pixel) {
      return bands_.FirstOfBlock(band, tiles_.block, block, call.strides.y_plane, image, pixel);
    };
    if (writing.rescaled.rows) {
      writing.rescaled.rows += block * tiles_.block * Int8Tiles::RESCALING_ROWS;
    } else {
      writing.scale += block * tiles_.block;
      writing.bias += block * tiles_.block;
    }
    if (writing.activation.slopes) writing.activation.slopes += block * tiles_.block;
    writing.y = static_cast<char*>(writing.y) +
                elements(call.strides.y, call.strides.y_pixel) * SizeOf(writing.type);
    if (writing.residual.data) {
      writing.residual.data =
          writing.residual.at(elements(call.strides.residual, call.strides.residual_pixel));
    }
    return writing;
  }

  /// Zeros the padding of each image's last block: activation and residual may have made it
  /// nonzero.
  void ClearPadding(int num, const Int8Tiles::TilePostOps& writing,
                    const ImageStrides& strides) const {
    const size_t used = shape_.outputs % tiles_.block;
    if (used == 0) return;
    bands_.ClearLastLanes(num, Blocks(shape_.outputs) - 1, tiles_.block, used, SizeOf(writing.type),
                          strides, writing.y);
  }

  void WidenRun(size_t n, const int8_t* x, bool is_signed, int16_t* y) const {
    is_signed ? tiles_.widen_signed(n, x, y)
              : tiles_.widen_unsigned(n, reinterpret_cast<const uint8_t*>(x), y);
  }
  void WidenRun(size_t n, const int8_t* x, bool is_signed, float* y) const {
    is_signed ? tiles_.float_signed(n, x, y)
              : tiles_.float_unsigned(n, reinterpret_cast<const uint8_t*>(x), y);
  }

  /// Copies every step-th position of `lanes` bytes and widens them.
  template <typename T>
  auto Widener(Input x, int lanes) const {
    return [this, x, lanes](size_t offset, size_t count, int step, T* to) {
      const int8_t* from = static_cast<const int8_t*>(x.data) + offset;
      const size_t run = step == 1 ? count * lanes : lanes;
      for (size_t i = 0; i < (step == 1 ? 1 : count); ++i, from += step * lanes, to += lanes) {
        WidenRun(run, from, x.is_signed, to);
      }
    };
  }

  const Int8Tiles& tiles_;
  const bool plain_;
  const ConvolutionShape shape_;
  const Bands bands_;

 private:
  /// Scale and bias padded to whole blocks, in scratch memory before that of the items.
  struct Factors {
    Factors(size_t outputs, Pieces* pieces)
        : scale(pieces->Take<float>(outputs)), bias(pieces->Take<float>(outputs)) {}
    float *scale, *bias;
  };
  size_t FactorsBytes() const { return BytesOfPieces<Factors>(padded_outputs()); }

  void Run(int num, const Input& x, const int8_t* packed, const Int8Tiles::TilePostOps& writing,
           const Destination& y, bool leaves_zeros, void* scratch) const {
    const ImageStrides strides = WithoutZeros(
        y.strides, {input_channels(), bands_.input_plane(), plain_},
        {padded_outputs(), bands_.output_plane()}, tiles_.block, writing.residual.data != nullptr,
        /*takes_planes=*/true);
    RunItems({num, x, packed, writing, strides}, static_cast<char*>(scratch) + FactorsBytes());
    if (!leaves_zeros) ClearPadding(num, writing, strides);
  }

  /// True if a sum of zero without bias is written as zero, as in the padding of the last block.
  static bool LeavesZeros(const PostOps& post, ElementType type) {
    const Activation& f = post.activation;
    const bool keeps_zero = f.kind == Activation::NONE || f.kind == Activation::RELU ||
                            (f.kind == Activation::CLIP && f.a <= 0 && f.b >= 0);
    return keeps_zero && !post.residual.data &&
           (post.zero_point == 0 || type == ElementType::FLOAT);
  }
};

/// Common part of those whose outputs are summed over channels, or blocks of them, one after the
/// other: one group, or groups of whole blocks.
class GroupedInt8 : public PackedInt8 {
 protected:
  GroupedInt8(const ConvolutionShape& shape, bool plain_input)
      : PackedInt8(shape, plain_input),
        lanes_(plain_input ? 1 : tiles_.block),
        units_(CeilDiv(shape.channels / shape.group, lanes_)),
        group_blocks_(Blocks(shape.outputs / shape.group)),
        parts_(group_blocks_, tiles_.vectors) {}
  size_t padded_outputs() const override { return shape_.group * group_blocks_ * tiles_.block; }

  const int lanes_;            // channels of a unit
  const size_t units_;         // of a group
  const size_t group_blocks_;  // of outputs
  const BlockParts parts_;     // of a group's outputs; the sums of a part fit the registers
};

/// What splits its work by a Plan, which has `items` and is made once for each number of images.
template <typename Plan, typename Base>
class PlannedInt8 : public Base {
 protected:
  using Base::Base;
  using typename Base::Call;

  virtual Plan MakePlan(int num) const = 0;
  /// Bytes of scratch of an item.
  virtual size_t BytesOf(const Plan& plan) const = 0;
  /// Does items [begin, end), one after another in the same scratch.
  virtual void RunPart(const Call& call, const Plan& plan, size_t begin, size_t end,
                       void* scratch) const = 0;

 private:
  const Plan& PlanFor(int num) const {
    return plans_.For(num, [this](int images) { return MakePlan(images); });
  }
  size_t ItemsBytes(int num) const final {
    const Plan& plan = PlanFor(num);
    return ScratchOfItems(plan.items, BytesOf(plan));
  }
  void RunItems(const Call& call, void* scratch) const final {
    const Plan& plan = PlanFor(call.num);
    this->SpreadParts(
        call.num, plan.items, BytesOf(plan), scratch,
        [&](size_t begin, size_t end, void* own) { RunPart(call, plan, begin, end, own); });
  }

  Plans<Plan> plans_;
};

/// By products of bytes, for shapes that Int8Convolution::Make computes densely and tiles that have
/// `bytes`. `copies`: unsigned inputs of 1x1 kernels, too, are copied before they are read.
std::shared_ptr<const Int8Convolution> MakeByteProducts(const ConvolutionShape& shape,
                                                        bool plain_input, bool copies = false);

struct AmxTiles;

/// In AMX's tiles, for shapes that Int8Convolution::Make computes densely.
std::shared_ptr<const Int8Convolution> MakeAmxInt8(const ConvolutionShape& shape, bool plain_input,
                                                   const AmxTiles& amx);

/// With channels last in AMX's tiles; null where they cannot compute it.
std::shared_ptr<const Int8Convolution> MakeChannelsLastInt8(const ConvolutionShape& shape,
                                                            bool plain_input, TileShape tile_shape,
                                                            const AmxTiles& amx);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_INT8_PACKED_HPP_
