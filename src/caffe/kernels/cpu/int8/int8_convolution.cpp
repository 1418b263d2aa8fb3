#include "caffe/kernels/int8_convolution.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "caffe/kernels/cpu/convolution/convolution_bands.hpp"
#include "caffe/kernels/cpu/convolution/depthwise_direct.hpp"
#include "caffe/kernels/cpu/resize/image_sizes.hpp"
#include "caffe/kernels/cpu/simd/amx_tiles.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/weight_pairs.hpp"
#include "int8_packed.hpp"

namespace caffe::kernels {
namespace {

// What a thread works on at a time, so that it stays in a core's L1 and L2 caches: pixels of a
// band, its widened inputs, widened weights of a group of outputs, unfinished sums.
constexpr int kPixels = 128;
constexpr size_t kInputWords = 32 << 10;
constexpr size_t kWeightWords = 10 << 10;
constexpr size_t kPartialSums = 16 << 10;
constexpr size_t kDepthwiseGrain = 1 << 15;  // likewise: results of other cores are slow to read
constexpr size_t kDepthwiseFloats = 6 << 10;
constexpr size_t kMaxTerms = 66000;     // times 255 times 127 is below 2^31
constexpr size_t kMaxFloatTerms = 514;  // times 255 times 128 is below 2^24: floats hold the sum

/// How the work is split.
struct DensePlan {
  Band largest;
  WorkItems items;
  size_t units;      // in a part of the channels
  size_t unit_size;  // elements of a unit's buffer
  size_t partial;    // unfinished sums
};

/// A channel (of a plain input) or block of channels is a unit. A step is a position of the kernel
/// and all pairs of channels of a block; for a plain input, two neighbouring positions of a kernel
/// row, which form the pair, or a single one. Weights are packed as (group, blocks of outputs that
/// are summed together, unit, step, pair, output, 2).
class DenseInt8 : public PlannedInt8<DensePlan, GroupedInt8> {
 public:
  DenseInt8(const ConvolutionShape& shape, bool plain_input) : PlannedInt8(shape, plain_input) {
    const int width = bands_.columns().kernel;
    const bool neighbours = bands_.columns().dilation == 1;
    for (int tap = 0; tap < bands_.taps(); ++tap) {
      if (plain_ && neighbours && tap % width % 2 == 1) continue;
      const bool has_second = plain_ && neighbours && tap % width + 1 < width;
      steps_.push_back({tap, has_second});
    }
  }

  size_t packed_size() const override { return padded_outputs() * column(); }
  void PackWeights(const int8_t* weights, int8_t* packed) const override;

 private:
  struct Step {
    int tap;
    bool has_second;  ///< the next position of the kernel is the other half of the pair
  };
  using Plan = DensePlan;
  /// An item's scratch memory.
  struct Buffers {
    Buffers(const DenseInt8& self, const Plan& plan, Pieces* pieces);
    int16_t *input, *weights;
    int32_t *partial, *taps, *steps, *windows;
    size_t *targets, *residual_targets;
  };

  Plan MakePlan(int num) const override;
  size_t BytesOf(const Plan& plan) const override { return BytesOfPieces<Buffers>(*this, plan); }
  void RunPart(const Call& call, const Plan& plan, size_t begin, size_t end,
               void* scratch) const override {
    for (size_t item = begin; item < end; ++item) RunItem(call, plan, item, scratch);
  }

  size_t pairs() const { return plain_ ? 1 : tiles_.block / 2; }
  /// Rows of weights of a unit, in pairs, for each output.
  size_t unit_rows() const { return steps_.size() * pairs(); }
  size_t column() const { return units_ * unit_rows() * 2; }

  void RunItem(const Call& call, const Plan& plan, size_t index, void* scratch) const;

  std::vector<Step> steps_;  // of a unit
};

DenseInt8::Buffers::Buffers(const DenseInt8& self, const Plan& plan, Pieces* pieces)
    : input(pieces->Take<int16_t>(plan.units * plan.unit_size)),
      weights(pieces->Take<int16_t>(plan.units * self.unit_rows() * 2 * self.parts_.largest() *
                                    self.tiles_.block)),
      partial(pieces->Take<int32_t>(plan.partial)),
      taps(pieces->Take<int32_t>(self.bands_.taps())),
      steps(pieces->Take<int32_t>(plan.units * self.steps_.size())),
      windows(pieces->Take<int32_t>(plan.largest.pixels())),
      targets(pieces->Take<size_t>(plan.largest.pixels())),
      residual_targets(pieces->Take<size_t>(plan.largest.pixels())) {}

DensePlan DenseInt8::MakePlan(int num) const {
  DensePlan plan;
  const int images = std::max(1, num);
  plan.largest =
      bands_.ForThreads(images, bands_.Largest(images, kPixels, kInputWords / lanes_), Threads());
  const size_t pixels = plan.largest.pixels();
  // A pair may extend one element past the last one.
  plan.unit_size = RoundUp(bands_.BufferSize(plan.largest) * lanes_ + 1, 32);
  // Buffers whole pages apart would map to the same cache sets.
  if (plan.unit_size % 512 == 0) plan.unit_size += 32;

  const size_t unit_weights = unit_rows() * 2 * parts_.largest() * tiles_.block;
  const size_t fitting =
      std::max<size_t>(1, std::min(kWeightWords / unit_weights, kInputWords / plan.unit_size));
  const size_t pieces = CeilDiv(units_, fitting);
  plan.units = CeilDiv(units_, pieces);

  const size_t sums = group_blocks_ * tiles_.block * pixels;
  const size_t slices = pieces > 1 ? std::min(parts_.count(), CeilDiv(sums, kPartialSums)) : 1;
  plan.items = {bands_.Count(num, plan.largest), size_t(shape_.group), slices};
  plan.items.Slice(parts_.count());
  const size_t slice_blocks = CeilDiv(parts_.count(), plan.items.slices) * parts_.largest();
  plan.partial = pieces > 1 ? slice_blocks * tiles_.block * pixels : 0;
  return plan;
}

void DenseInt8::RunItem(const Call& call, const Plan& plan, size_t index, void* scratch) const {
  const WorkItems::Item item = plan.items.At(index);
  const size_t group = item.group;
  const Band band = bands_.At(call.num, plan.largest, item.cut);
  const size_t first_part = plan.items.Begin(item.slice, parts_.count());
  const size_t last_part = plan.items.Begin(item.slice + 1, parts_.count());
  const int pixels = band.pixels(), block = tiles_.block;

  Pieces pieces(scratch);
  const Buffers own(*this, plan, &pieces);
  bands_.FindTaps(plan.largest, lanes_, own.taps);
  for (size_t i = 0; i < plan.units * steps_.size(); ++i) {
    own.steps[i] = own.taps[steps_[i % steps_.size()].tap] +
                   static_cast<int32_t>(i / steps_.size() * plan.unit_size);
  }
  bands_.FindPixels(band, plan.largest, lanes_, own.windows);
  bands_.FindTargets(band, block, call.strides.y, own.targets);
  bands_.FindTargets(band, block, call.strides.residual, own.residual_targets);

  for (size_t first = 0; first < units_; first += plan.units) {
    const size_t units = std::min(plan.units, units_ - first);
    for (size_t u = 0; u < units; ++u) {
      bands_.Fill(band, plan.largest, lanes_, (group * units_ + first + u) * call.strides.x_plane,
                  call.strides.x, own.input + u * plan.unit_size, Widener<int16_t>(call.x, lanes_),
                  static_cast<int16_t>(call.x.zero_point));
    }
    int32_t* sums = own.partial;
    for (size_t part = first_part; part < last_part; ++part) {
      const int v = static_cast<int>(parts_.Count(part));
      const size_t start = group * group_blocks_ + parts_.Begin(part);  // block of outputs
      const size_t rows = 2 * unit_rows() * v * block;                  // weights of a unit
      tiles_.widen_signed(units * rows, call.packed + start * column() * block + first * rows,
                          own.weights);
      const Int8Tiles::TilePostOps target = From(call, start, band);
      Int8Tiles::Work work;
      work.x = own.input;
      work.steps = own.steps;
      work.steps_count = static_cast<int>(units * steps_.size());
      work.windows = own.windows;
      work.weights = own.weights;
      work.partial = sums;
      work.first = first == 0;
      work.last = first + units == units_;
      work.writing = &target;
      work.targets = own.targets;
      work.residual_targets = own.residual_targets;
      work.plane = call.strides.y_plane;
      RunTiles((plain_ ? tiles_.plain : tiles_.blocked)[v - 1], tiles_.pixels[v - 1], pixels, work);
      if (plan.partial) sums += size_t(pixels) * v * block;
    }
  }
}

void DenseInt8::PackWeights(const int8_t* weights, int8_t* packed) const {
  const size_t channels = shape_.channels / shape_.group, outputs = shape_.outputs / shape_.group;
  const size_t taps = bands_.taps();
  const auto weight = [&](size_t group, size_t o, size_t c, size_t tap) -> int8_t {
    if (o >= outputs || c >= channels) return 0;
    return weights[((group * outputs + o) * channels + c) * taps + tap];
  };
  for (size_t group = 0; group < size_t(shape_.group); ++group) {
    for (size_t part = 0; part < parts_.count(); ++part) {
      for (size_t unit = 0; unit < units_; ++unit) {
        for (const Step& step : steps_) {
          for (size_t pair = 0; pair < pairs(); ++pair) {
            const size_t c = plain_ ? unit : unit * lanes_ + 2 * pair;
            for (size_t o = parts_.Begin(part) * tiles_.block;
                 o < parts_.Begin(part + 1) * tiles_.block; ++o) {
              *packed++ = weight(group, o, c, step.tap);
              *packed++ = !plain_           ? weight(group, o, c + 1, step.tap)
                          : step.has_second ? weight(group, o, c, step.tap + 1)
                                            : int8_t(0);
            }
          }
        }
      }
    }
  }
}

/// A group for each channel, with one output. Weights are packed as (block, position of the kernel,
/// channel).
class DepthwiseInt8 : public PackedInt8 {
 public:
  explicit DepthwiseInt8(const ConvolutionShape& shape)
      : PackedInt8(shape, false),
        blocks_(Blocks(shape.channels)),
        largest_(bands_.Largest(1, bands_.output_plane(), kDepthwiseFloats / tiles_.block)),
        direct_(IsDirectDepthwise(bands_)) {}

  size_t packed_size() const override { return blocks_ * bands_.taps() * tiles_.block; }
  void PackWeights(const int8_t* weights, int8_t* packed) const override {
    std::fill_n(packed, packed_size(), int8_t(0));
    ForEachDepthwiseWeight(shape_.channels, bands_.taps(), tiles_.block,
                           [=](size_t to, size_t from) { packed[to] = weights[from]; });
  }

 protected:
  size_t ItemsBytes(int num) const override {
    return direct_ ? 0 : ScratchOfItems(items(num), bytes());
  }
  size_t padded_outputs() const override { return blocks_ * tiles_.block; }
  void RunItems(const Call& call, void* scratch) const override {
    if (direct_) return call.strides.y_pixel ? RunDirect<true>(call) : RunDirect<false>(call);
    Spread(call.num, items(call.num), bytes(), scratch,
           [&](size_t item, void* own) { RunItem(call, item, own); });
  }

 private:
  WorkItems items(int num) const { return {bands_.Count(num, largest_), blocks_, 1}; }
  size_t bytes() const { return BytesOfPieces<Buffers>(*this); }
  void RunItem(const Call& call, size_t index, void* scratch) const;
  /// Without widening x first.
  template <bool kIsLast>
  void RunDirect(const Call& call) const;
  /// Widens every step-th pixel's bytes of block b, with channels last.
  auto PixelWidener(const Input& x, size_t b, size_t pixel) const {
    return [this, x, b, pixel](size_t first, size_t count, int step, float* to) {
      const int8_t* from = static_cast<const int8_t*>(x.data) + first * pixel + b * tiles_.block;
      for (size_t i = 0; i < count; ++i, from += step * pixel, to += tiles_.block) {
        WidenRun(tiles_.block, from, x.is_signed, to);
      }
    };
  }

  struct Buffers {
    Buffers(const DepthwiseInt8& self, Pieces* pieces)
        : input(pieces->Take<float>(self.bands_.BufferSize(self.largest_) * self.tiles_.block)),
          weights(pieces->Take<float>(self.bands_.taps() * self.tiles_.block)),
          steps(pieces->Take<int32_t>(self.bands_.taps())),
          windows(pieces->Take<int32_t>(self.largest_.pixels())),
          targets(pieces->Take<size_t>(self.largest_.pixels())),
          residual_targets(pieces->Take<size_t>(self.largest_.pixels())) {}
    float *input, *weights;
    int32_t *steps, *windows;
    size_t *targets, *residual_targets;
  };

  const size_t blocks_;
  const Band largest_;
  const bool direct_;
};

/// f(block) of each of the part's blocks of channels, made in place: of a small plane, outputs take
/// little longer than copying it.
template <typename Function, size_t... i>
auto OfBlocks(const DepthwisePart& part, const Function& f, std::index_sequence<i...>) {
  return std::array<decltype(f(0)), sizeof...(i)>{
      {f(part.block + std::min(i, part.blocks - 1))...}};
}

template <bool kIsLast>
void DepthwiseInt8::RunDirect(const Call& call) const {
  constexpr size_t kMost = MaxDepthwiseBlocks(kIsLast);
  using Floats = std::array<float, kMost * kMaxDepthwiseKernel>;
  const size_t block = tiles_.block, kernel = bands_.taps() * block;
  const int sign = call.x.is_signed ? 0 : 1;
  const int stride = bands_.columns().stride;
  const bool in_bytes =
      tiles_.has_bytes() && bands_.rows().kernel == 3 && bands_.columns().kernel == 3;
  const int together =
      in_bytes && stride == 1 && bands_.rows().stride == 1 ? tiles_.byte_depthwise_rows : 1;
  const auto run_row = in_bytes ? tiles_.byte_depthwise[sign][kIsLast][stride - 1]
                                : DirectDepthwise(tiles_.depthwise_direct[sign][kIsLast], bands_);
  const DepthwiseRow common = CommonRow(call.strides, block, call.x.zero_point);
  const size_t x_block = kIsLast ? block : call.strides.x_plane;
  ForDepthwiseParts<kIsLast>(
      bands_, call.num, blocks_, block, 1, kDepthwiseGrain, [&](const DepthwisePart& part) {
        const int8_t* bytes = call.packed + part.block * kernel;
        Floats floats;
        if (!in_bytes) tiles_.float_signed(part.blocks * kernel, bytes, floats.data());
        Band band;
        band.image = static_cast<int>(part.image);
        const auto targets = OfBlocks(
            part, [&](size_t b) { return From(call, b, band); }, std::make_index_sequence<kMost>());
        const char* x = static_cast<const char*>(call.x.data) + part.image * call.strides.x +
                        part.block * x_block;
        const DepthwiseOperands from = {x, 1, x_block,
                                        in_bytes ? static_cast<const void*>(bytes) : floats.data(),
                                        kernel * (in_bytes ? 1 : sizeof(float))};
        ForDepthwiseRows(bands_, part, from, together, common,
                         [&](const DepthwiseRow& row, size_t i, size_t first) {
                           run_row(targets[i], row, first);
                         });
      });
}

void DepthwiseInt8::RunItem(const Call& call, size_t index, void* scratch) const {
  const int block = tiles_.block, taps = bands_.taps();
  const WorkItems::Item item = items(call.num).At(index);
  const size_t b = item.group;
  const Band band = bands_.At(call.num, largest_, item.cut);
  Pieces pieces(scratch);
  const Buffers own(*this, &pieces);
  bands_.FindTaps(largest_, block, own.steps);
  bands_.FindPixels(band, largest_, block, own.windows);
  const ImageStrides& strides = call.strides;
  bands_.FindTargets(band, strides.y_pixel ? strides.y_pixel : block, strides.y, own.targets);
  bands_.FindTargets(band, strides.residual_pixel ? strides.residual_pixel : block,
                     strides.residual, own.residual_targets);
  if (strides.x_pixel) {
    bands_.FillFromPixels(band, largest_, block, own.input,
                          PixelWidener(call.x, b, strides.x_pixel),
                          static_cast<float>(call.x.zero_point));
  } else {
    bands_.Fill(band, largest_, block, b * strides.x_plane, strides.x, own.input,
                Widener<float>(call.x, block), static_cast<float>(call.x.zero_point));
  }
  tiles_.float_signed(taps * block, call.packed + b * taps * block, own.weights);
  const Int8Tiles::TilePostOps target = From(call, b, band);
  Int8Tiles::DepthwiseWork work;
  work.x = own.input;
  work.steps = own.steps;
  work.steps_count = taps;
  work.windows = own.windows;
  work.weights = own.weights;
  work.writing = &target;
  work.targets = own.targets;
  work.residual_targets = own.residual_targets;
  RunTiles(tiles_.depthwise, kMaxInt8Pixels, band.pixels(), work);
}

/// True for shapes that have 32-bit sums.
bool Int8SumsFit(const ConvolutionShape& shape) {
  return shape.axes() >= 1 && shape.axes() <= 2 && shape.weight_count() > 0 &&
         shape.output_spatial() > 0 && shape.column_rows() <= kMaxTerms && OffsetsFit(shape);
}

/// True for one group, and for groups of whole blocks.
bool HasWholeBlocks(const ConvolutionShape& shape) {
  const int block = ChosenInt8Tiles().block;
  return shape.group == 1 ||
         (shape.channels / shape.group % block == 0 && shape.outputs / shape.group % block == 0);
}

}  // namespace

std::shared_ptr<const Int8Convolution> Int8Convolution::Make(const ConvolutionShape& shape,
                                                             bool plain_input) {
  if (!Int8SumsFit(shape) || (shape.group > 1 && plain_input)) return nullptr;
  if (shape.is_depthwise()) {
    if (shape.column_rows() > kMaxFloatTerms) return nullptr;
    return std::make_shared<DepthwiseInt8>(shape);
  }
  if (!HasWholeBlocks(shape)) return nullptr;
  if (const AmxTiles* amx = ChosenAmxTiles()) {
    return MakeAmxInt8(shape, plain_input, *amx);
  }
  if (ChosenInt8Tiles().has_bytes()) return MakeByteProducts(shape, plain_input);
  return std::make_shared<DenseInt8>(shape, plain_input);
}

std::shared_ptr<const Int8Convolution> Int8Convolution::MakeForSmallPairs(
    const ConvolutionShape& shape, bool plain_input, bool copies) {
  if (!Int8SumsFit(shape) || (shape.group > 1 && plain_input)) return nullptr;
  if (copies && (plain_input || !shape.is_pointwise())) return nullptr;
  if (!ChosenInt8Tiles().has_saturating_bytes() || shape.is_depthwise() || !HasWholeBlocks(shape)) {
    return nullptr;
  }
  return MakeByteProducts(shape, plain_input, copies);
}

bool Int8Convolution::PairsFit(const ConvolutionShape& shape, bool plain_input,
                               const int8_t* weights) {
  const WeightPairs pairs(shape.channels / shape.group, shape.kernel, shape.dilation.back(),
                          plain_input);
  const size_t filter = shape.column_rows();
  for (int o = 0; o < shape.outputs; ++o, weights += filter) {
    if (!pairs.AllFit(weights)) return false;
  }
  return true;
}

std::shared_ptr<const Int8Convolution> Int8Convolution::MakeChannelsLast(
    const ConvolutionShape& shape, bool plain_input, TileShape tile_shape) {
  if (!Int8SumsFit(shape)) return nullptr;
  if (shape.is_depthwise()) return Make(shape, plain_input);
  const AmxTiles* amx = ChosenAmxTiles();
  return amx ? MakeChannelsLastInt8(shape, plain_input, tile_shape, *amx) : nullptr;
}

}  // namespace caffe::kernels
