#include "caffe/kernels/packed_convolution.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/cpu/gemm/packed_tiles.hpp"
#include "caffe/kernels/cpu/gemm/pair_tiles.hpp"
#include "caffe/kernels/cpu/resize/image_sizes.hpp"
#include "caffe/kernels/cpu/simd/amx_layout.hpp"
#include "caffe/kernels/cpu/simd/pixel_windows.hpp"
#include "caffe/kernels/cpu/simd/tile_pairs.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "convolution_bands.hpp"
#include "depthwise_direct.hpp"
#include "work_items.hpp"

namespace caffe::kernels {
namespace {

// What a thread works on at a time. In the L2 cache: the input of a band of pixels (larger with few
// channels), of one unit and of all units that are widened together, and unfinished sums. In the L1
// cache: the weights of a group of outputs, or as many as are summed before the next tile.
constexpr int kPixels = 128;
constexpr int kMaxPixelsOfBand = 256;
constexpr size_t kUnitFloats = 16 << 10;
constexpr size_t kInputFloats = 64 << 10;
constexpr size_t kWeightFloats = 5 << 10;
constexpr size_t kPartialFloats = 16 << 10;
constexpr size_t kDepthwiseFloats = 16 << 10;
constexpr size_t kGrain = 1 << 17;  // products below which work stays on one thread

/// True where a tile can widen its weights at no cost: AMD's cores convert halves in parallel with
/// multiply-adds, Intel's in the same units. Otherwise weights are widened once per band.
bool WidensInTiles() {
#if defined(__x86_64__)
  static const bool widens = __builtin_cpu_is("amd");
  return widens;
#else
  return false;
#endif
}

/// True for activations that only bound numbers, as AmxTiles' functions can.
bool IsClamp(const Activation& f) {
  return f.kind == Activation::NONE || f.kind == Activation::CLIP ||
         (f.kind == Activation::RELU && f.a == 0);
}
/// What AmxTiles write for `work`, in 16 bits and with such an activation.
AmxTiles::ClampedPixels ClampedPixelsOf(const PackedTiles::Work& work) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Activation& f = *work.activation;
  const bool is_clip = f.kind == Activation::CLIP, is_relu = f.kind == Activation::RELU;
  return {work.storage == STORED_HALF,
          is_clip   ? static_cast<float>(f.a)
          : is_relu ? 0.f
                    : -kInfinity,
          is_clip ? static_cast<float>(f.b) : kInfinity,
          static_cast<const uint16_t*>(work.residual), static_cast<uint16_t*>(work.y)};
}

/// Common part of both kinds.
class Packed : public PackedConvolution {
 public:
  Packed(const ConvolutionShape& shape, bool plain_input, bool takes_planes = false)
      : tiles_(ChosenPackedTiles()),
        plain_(plain_input),
        shape_(shape),
        bands_(shape),
        takes_planes_(takes_planes) {}
  int block() const override { return tiles_.block; }
  bool plain_input() const override { return plain_; }
  size_t scratch_size(int num) const final {
    return (BiasBytes() + ItemsBytes(num)) / sizeof(float);
  }

  void Forward(int num, Numbers x, Numbers weights, const PostOps& post, float* scratch,
               Destination y) const final {
    if (num == 0) return;
    const float* bias = Padded(post.bias, shape_.outputs, padded_outputs(), scratch);
    const Call call = {num,
                       {x.data, StorageOf(x.type)},
                       {weights.data, StorageOf(weights.type)},
                       bias,
                       post,
                       y,
                       Strides(y.strides, post.residual.data != nullptr)};
    Run(call, reinterpret_cast<char*>(scratch) + BiasBytes());
    ClearPadding(num, y, call.strides);
  }

 protected:
  /// Shared by all items of a call.
  struct Call {
    int num;
    Stored x, weights;
    const float* bias;  // padded
    const PostOps& post;
    const Destination& y;
    ImageStrides strides;  // of y, none of the images' 0
  };

  /// Outputs including the padding of blocks.
  virtual size_t padded_outputs() const = 0;
  /// Bytes that Run needs.
  virtual size_t ItemsBytes(int num) const = 0;
  virtual void Run(const Call& call, void* scratch) const = 0;

  /// As SpreadItems.
  template <typename Function>
  void Spread(int num, const WorkItems& items, void* scratch, size_t bytes, Function&& f) const {
    const size_t products = shape_.weight_count() * bands_.output_plane() * num;
    SpreadItems(items, products, kGrain, scratch, bytes, f);
  }

  size_t weights_of_an_output() const override { return shape_.column_rows(); }
  size_t Blocks(int channels) const { return CeilDiv(channels, tiles_.block); }
  /// `strides` of a call with no image stride 0.
  ImageStrides Strides(const ImageStrides& strides, bool has_residual) const {
    const size_t channels = plain_ ? shape_.channels : Blocks(shape_.channels) * tiles_.block;
    return WithoutZeros(strides, {channels, bands_.input_plane(), plain_},
                        {Blocks(shape_.outputs) * tiles_.block, bands_.output_plane()},
                        tiles_.block, has_residual, takes_planes_);
  }

  /// Makes `work` write the outputs from `block` on for the pixels of a band.
  void SetTarget(const PostOps& post, const Destination& y, const ImageStrides& strides,
                 size_t block, const Band& band, PackedTiles::Work* work) const {
    const size_t size = SizeOf(y.type);
    const auto bytes = [&](size_t image, size_t pixel) {
      return bands_.FirstOfBlock(band, tiles_.block, block, strides.y_plane, image, pixel) * size;
    };
    work->activation = &post.activation;
    const float* slopes = post.activation.slopes;
    work->slopes = slopes ? slopes + block * tiles_.block : nullptr;
    work->y = static_cast<char*>(y.y) + bytes(strides.y, strides.y_pixel);
    work->residual = post.residual.data;
    if (post.residual.data) {
      work->residual = static_cast<const char*>(post.residual.data) +
                       bytes(strides.residual, strides.residual_pixel);
    }
    work->storage = StorageOf(y.type);
  }

  /// Zeros the padding of each image's last block: NaNs of the input spread there too, and
  /// activation and residual may have made it nonzero.
  void ClearPadding(int num, const Destination& y, const ImageStrides& strides) const {
    const size_t used = shape_.outputs % tiles_.block;
    if (used == 0) return;
    bands_.ClearLastLanes(num, Blocks(shape_.outputs) - 1, tiles_.block, used, SizeOf(y.type),
                          strides, y.y);
  }

  const PackedTiles& tiles_;
  const bool plain_;
  const ConvolutionShape shape_;
  const Bands bands_;

 private:
  const bool takes_planes_;
  /// In scratch memory before that of the items.
  size_t BiasBytes() const { return RoundUp(padded_outputs() * sizeof(float), 64); }
};

/// A channel (of a plain input) or block of channels is a unit. Weights are packed as (group,
/// blocks of outputs that are summed together, unit, position of the kernel, channel, output).
class DensePacked : public Packed {
 public:
  DensePacked(const ConvolutionShape& shape, bool plain_input)
      : Packed(shape, plain_input),
        lanes_(plain_input ? 1 : tiles_.block),
        units_(CeilDiv(shape.channels / shape.group, lanes_)),
        parts_(PartsOf(Blocks(shape.outputs / shape.group), tiles_.vectors)) {}

  size_t packed_size() const override { return padded_outputs() * column(); }

 protected:
  size_t padded_outputs() const override { return shape_.group * parts_.blocks() * tiles_.block; }
  size_t ItemsBytes(int num) const override {
    const Plan& plan = PlanFor(num);
    const size_t streamed = IsSmall(num) ? num * bands_.output_plane() * column() : 0;
    return std::max(RoundUp(streamed * sizeof(float), 64),
                    ScratchOfItems(plan.items, BytesOf(plan)));
  }
  void Run(const Call& call, void* scratch) const override;
  void ForEachWeight(const std::function<void(size_t, size_t)>& f) const override;

 private:
  /// How the work is split.
  struct Plan {
    Band largest;
    WorkItems items;
    size_t units;         // whose input is widened together
    size_t weight_units;  // whose weights are
    size_t unit_size;     // floats of a unit's buffer
    size_t partial;       // floats for unfinished sums
  };
  /// A thread's scratch memory.
  struct Buffers {
    Buffers(const DensePacked& self, const Plan& plan, Pieces* pieces)
        : input(pieces->Take<float>(plan.units * plan.unit_size)),
          weights(pieces->Take<float>(plan.weight_units * self.UnitWeights())),
          partial(pieces->Take<float>(plan.partial)),
          steps(pieces->Take<int32_t>(plan.units * self.bands_.taps())),
          windows(pieces->Take<int32_t>(plan.largest.pixels())),
          targets(pieces->Take<size_t>(plan.largest.pixels())),
          residual_targets(pieces->Take<size_t>(plan.largest.pixels())),
          groups(pieces->Take<RowGroup>(size_t(plan.largest.images) * plan.largest.rows)) {}
    float *input, *weights, *partial;
    int32_t *steps, *windows;
    size_t *targets, *residual_targets;
    RowGroup* groups;
  };
  size_t BytesOf(const Plan& plan) const { return BytesOfPieces<Buffers>(*this, plan); }

  /// Rows of weights: channels of whole units at all positions.
  size_t column() const { return units_ * bands_.taps() * lanes_; }
  static BlockParts PartsOf(size_t blocks, int vectors) {
    if (vectors == 3) return BlockParts::Into(std::max<size_t>(1, blocks / 2), blocks);
    // Two threads share the outputs of a few pixels: of three parts one would have twice as much.
    return BlockParts(blocks, vectors, /*even=*/vectors == 4);
  }
  /// Weights of a unit for the outputs of a part.
  size_t UnitWeights() const { return bands_.taps() * lanes_ * parts_.largest() * tiles_.block; }

  /// True for so few single pixels that reading the weights dominates.
  bool IsSmall(int num) const {
    return shape_.is_pointwise() && !plain_ && shape_.group == 1 &&
           num * bands_.output_plane() <= kMaxStreamed;
  }
  /// Runs such a call; weights are widened while they are read.
  void RunStreamed(const Call& call, float* wide) const;

  const Plan& PlanFor(int num) const {
    return plans_.For(num, [this](int images) { return MakePlan(images); });
  }
  Plan MakePlan(int num) const;
  /// True for floats whose windows are single pixels: nothing has to be widened or padded. Offsets
  /// in x must fit 32 bits.
  bool ReadsInPlace(const Plan& plan, Storage storage, size_t image) const {
    const size_t reach =
        plan.largest.images * image + plan.units * bands_.input_plane() * size_t(lanes_);
    return shape_.is_pointwise() && !plain_ && storage == STORED_FLOAT && reach < (size_t(1) << 31);
  }
  /// Offsets of steps and pixels from the band's first pixel on, in the widened input or in x.
  void FindSteps(const Call& call, const Plan& plan, bool in_place, const Band& band,
                 int32_t* steps, int32_t* windows, size_t* targets) const;
  /// in_place: x is read directly. `found` is the band whose pixels `own` has now.
  void RunItem(const Call& call, const Plan& plan, bool in_place, size_t index, const Buffers& own,
               Band* found) const;

  const int lanes_;
  const size_t units_;      // of a group
  const BlockParts parts_;  // of a group's outputs, that are summed together
  Plans<Plan> plans_;
};

DensePacked::Plan DensePacked::MakePlan(int num) const {
  Plan plan;
  const size_t wanted = kInputFloats / (units_ * lanes_);
  plan.largest = bands_.ForThreads(
      std::max(1, num),
      bands_.Largest(std::max(1, num), std::clamp<int>(wanted, kPixels, kMaxPixelsOfBand),
                     kUnitFloats / lanes_),
      Threads());
  // Where there are too few parts of outputs for all threads.
  plan.largest = bands_.AtLeast(std::max(1, num), plan.largest,
                                CeilDiv(Threads(), shape_.group * parts_.count()));
  const size_t pixels = plan.largest.pixels();
  plan.unit_size = RoundUp(bands_.BufferSize(plan.largest) * lanes_, 16);
  // Buffers whole pages apart would map to the same cache sets.
  if (plan.unit_size % 256 == 0) plan.unit_size += 16;

  const auto equal = [](size_t n, size_t most) {
    return CeilDiv(n, CeilDiv(n, std::max<size_t>(1, most)));
  };
  plan.units = equal(units_, kInputFloats / plan.unit_size);
  plan.weight_units = equal(plan.units, kWeightFloats / UnitWeights());
  const size_t pieces = CeilDiv(units_, plan.units);

  const size_t sums = parts_.blocks() * tiles_.block * pixels;
  const size_t slices = pieces > 1 ? std::min(parts_.count(), CeilDiv(sums, kPartialFloats)) : 1;
  plan.items = {bands_.Count(num, plan.largest), size_t(shape_.group), slices};
  plan.items.Slice(parts_.count());

  // Between pieces the sums of all outputs are kept, otherwise those of one part.
  const size_t waiting = pieces > 1 ? CeilDiv(parts_.count(), plan.items.slices) * parts_.largest()
                         : plan.weight_units < plan.units ? parts_.largest()
                                                          : 0;
  plan.partial = waiting * tiles_.block * pixels;
  return plan;
}

void DensePacked::FindSteps(const Call& call, const Plan& plan, bool in_place, const Band& band,
                            int32_t* steps, int32_t* windows, size_t* targets) const {
  const size_t taps = bands_.taps();
  const size_t unit = in_place ? bands_.input_plane() * lanes_ : plan.unit_size;
  bands_.FindTaps(plan.largest, lanes_, steps);
  for (size_t i = taps; i < plan.units * taps; ++i) {
    steps[i] = steps[i - taps] + static_cast<int32_t>(unit);
  }
  if (!in_place) return bands_.FindPixels(band, plan.largest, lanes_, windows);
  bands_.FindTargets(band, lanes_, call.strides.x, targets);  // x has the layout of y
  std::copy_n(targets, band.pixels(), windows);
}

void DensePacked::RunItem(const Call& call, const Plan& plan, bool in_place, size_t index,
                          const Buffers& own, Band* found) const {
  const WorkItems::Item item = plan.items.At(index);
  const size_t group = item.group;
  const Band band = bands_.At(call.num, plan.largest, item.cut);
  const size_t first_part = plan.items.Begin(item.slice, parts_.count());
  const size_t last_part = plan.items.Begin(item.slice + 1, parts_.count());
  const int pixels = band.pixels(), block = tiles_.block, taps = bands_.taps();
  const size_t plane = bands_.output_plane() * block;

  if (!found->SameSize(band)) {
    FindSteps(call, plan, in_place, band, own.steps, own.windows, own.targets);
    bands_.FindTargets(band, block, call.strides.y, own.targets);
    bands_.FindTargets(band, block, call.strides.residual, own.residual_targets);
    *found = band;
  }

  const bool in_tiles =
      !plain_ && WidensInTiles() && tiles_.stored_blocked[call.weights.storage][0][0] != nullptr;
  const auto functions = plain_     ? tiles_.plain
                         : in_tiles ? tiles_.stored_blocked[call.weights.storage]
                                    : tiles_.blocked;
  // Rows of the padding are skipped where each unit's weights are a separate part.
  int groups_count = 1;
  own.groups[0] = {0, pixels, 0, bands_.rows().kernel};
  if (plan.weight_units == 1) groups_count = bands_.FindRowGroups(band, own.groups);
  const float* input = own.input;
  PackedTiles::Work work = {};
  work.windows = own.windows;
  work.targets = own.targets;
  work.residual_targets = own.residual_targets;
  work.plane = plane;
  for (size_t first = 0; first < units_; first += plan.units) {
    const size_t units = std::min(plan.units, units_ - first);
    const size_t unit = group * units_ + first;
    if (in_place) {
      input = static_cast<const float*>(call.x.data) +
              bands_.FirstTarget(band, lanes_, call.strides.x) +
              unit * bands_.input_plane() * lanes_;
    }
    for (size_t u = 0; u < units && !in_place; ++u) {
      bands_.Widen(band, plan.largest, lanes_, call.x, unit + u, call.strides.x,
                   own.input + u * plan.unit_size);
    }
    work.x = input;
    work.partial = own.partial;
    for (size_t part = first_part; part < last_part; ++part) {
      const int v = static_cast<int>(parts_.Count(part));
      const size_t start = group * parts_.blocks() + parts_.Begin(part);  // block of outputs
      work.bias = call.bias + start * block;
      SetTarget(call.post, call.y, call.strides, start, band, &work);
      for (size_t u = 0; u < units; u += plan.weight_units) {
        const size_t some = std::min(plan.weight_units, units - u);
        const size_t row = (first + u) * taps * lanes_;
        const size_t size = SizeOf(call.weights.storage);
        const auto stored =
            static_cast<const char*>(call.weights.at((start * column() + row * v) * block));
        const float* packed = in_tiles
                                  ? nullptr
                                  : Widened(call.weights.storage, some * taps * lanes_ * v * block,
                                            stored, own.weights);
        work.first = first + u == 0;
        work.last = first + u + some == units_;
        for (int g = 0; g < groups_count; ++g) {
          const RowGroup& rows = own.groups[g];
          const size_t tap = size_t(rows.first_row) * bands_.columns().kernel;
          work.steps = own.steps + u * taps + tap;
          work.steps_count = static_cast<int>(some) * rows.rows * bands_.columns().kernel;
          work.weights = in_tiles ? nullptr : packed + tap * lanes_ * v * block;
          work.stored = stored + tap * lanes_ * v * block * size;
          RunTiles(functions[v - 1], tiles_.pixels[v - 1], rows.pixels, work, rows.first_pixel);
        }
      }
      if (units < units_) work.partial += size_t(pixels) * v * block;
    }
  }
}

void DensePacked::RunStreamed(const Call& call, float* wide) const {
  const size_t plane = bands_.output_plane(), block = tiles_.block;
  const int pixels = static_cast<int>(call.num * plane);
  int32_t windows[kMaxStreamed];
  size_t targets[kMaxStreamed], residual_targets[kMaxStreamed];
  for (int p = 0; p < pixels; ++p) {
    const size_t image = p / plane, position = p % plane * block;
    windows[p] = static_cast<int32_t>(p * column());
    targets[p] = image * call.strides.y + position;
    residual_targets[p] = image * call.strides.residual + position;
    tiles_.widen_blocks[call.x.storage](units_, plane, call.x.at(image * call.strides.x + position),
                                        wide + windows[p]);
  }
  const size_t products = column() * tiles_.vectors * block * pixels;
  ParallelFor(
      parts_.count(), std::max<size_t>(1, kGrain / products), [&](size_t begin, size_t end) {
        for (size_t part = begin; part < end; ++part) {
          PackedTiles::Work work = {};
          work.x = wide;
          work.steps_count = static_cast<int>(units_);
          work.windows = windows;
          work.stored = call.weights.at(parts_.Begin(part) * column() * block);
          work.bias = call.bias + parts_.Begin(part) * block;
          SetTarget(call.post, call.y, call.strides, parts_.Begin(part), Band(), &work);
          work.targets = targets;
          work.residual_targets = residual_targets;
          work.plane = plane * block;
          tiles_.streamed[call.weights.storage][parts_.Count(part) - 1][pixels - 1](work, 0, 1);
        }
      });
}

void DensePacked::Run(const Call& call, void* scratch) const {
  if (IsSmall(call.num) && tiles_.streamed[call.weights.storage][0][0]) {
    return RunStreamed(call, static_cast<float*>(scratch));
  }
  const Plan& plan = PlanFor(call.num);
  const bool in_place = ReadsInPlace(plan, call.x.storage, call.strides.x);
  Spread(call.num, plan.items, scratch, BytesOf(plan), [&](size_t begin, size_t end, void* memory) {
    Pieces pieces(memory);
    const Buffers own(*this, plan, &pieces);
    Band found;
    found.images = 0;
    for (size_t item = begin; item < end; ++item) {
      RunItem(call, plan, in_place, item, own, &found);
    }
  });
}

void DensePacked::ForEachWeight(const std::function<void(size_t, size_t)>& f) const {
  size_t packed = 0;
  const size_t taps = bands_.taps();
  const size_t channels = shape_.channels / shape_.group, outputs = shape_.outputs / shape_.group;
  for (size_t group = 0; group < shape_.group; ++group) {
    for (size_t part = 0; part < parts_.count(); ++part) {
      for (size_t unit = 0; unit < units_; ++unit) {
        for (size_t tap = 0; tap < taps; ++tap) {
          for (int k = 0; k < lanes_; ++k) {
            const size_t c = unit * lanes_ + k;
            for (size_t o = parts_.Begin(part) * tiles_.block;
                 o < parts_.Begin(part + 1) * tiles_.block; ++o, ++packed) {
              if (c >= channels || o >= outputs) continue;
              f(packed, ((group * outputs + o) * channels + c) * taps + tap);
            }
          }
        }
      }
    }
  }
}

/// A group for each channel, with one output. Weights are packed as (block, position of the kernel,
/// channel).
class DepthwisePacked : public Packed {
 public:
  explicit DepthwisePacked(const ConvolutionShape& shape)
      : Packed(shape, false, /*takes_planes=*/true),
        blocks_(Blocks(shape.channels)),
        largest_(bands_.Largest(1, bands_.output_plane(), kDepthwiseFloats / tiles_.block)),
        direct_(IsDirectDepthwise(bands_)),
        pairs_(ChosenPairTiles()),
        amx_(ChosenAmxTiles()) {}

  size_t packed_size() const override { return blocks_ * bands_.taps() * tiles_.block; }

 protected:
  size_t padded_outputs() const override { return blocks_ * tiles_.block; }
  size_t ItemsBytes(int num) const override {
    return direct_ ? 0 : ScratchOfItems(items(num), BytesOfPieces<Buffers>(*this));
  }
  void Run(const Call& call, void* scratch) const override;
  void ForEachWeight(const std::function<void(size_t, size_t)>& f) const override;

 private:
  WorkItems items(int num) const { return {bands_.Count(num, largest_), blocks_, 1}; }
  /// A thread's scratch memory.
  struct Buffers {
    Buffers(const DepthwisePacked& self, Pieces* pieces)
        : input(pieces->Take<float>(self.bands_.BufferSize(self.largest_) * self.tiles_.block)),
          weights(pieces->Take<float>(self.bands_.taps() * self.tiles_.block)),
          steps(pieces->Take<int32_t>(self.bands_.taps())),
          targets(pieces->Take<size_t>(self.largest_.pixels())),
          residual_targets(pieces->Take<size_t>(self.largest_.pixels())) {}
    float *input, *weights;
    int32_t* steps;
    size_t *targets, *residual_targets;
  };

  /// Without widening x first.
  template <bool kIsLast>
  void RunDirect(const Call& call) const;
  bool RunsInPairs(const Call& call) const;
  void RunPairs(const Call& call) const;
  void RunItem(const Call& call, size_t index, const Buffers& own) const;
  void WidenLast(const Band& band, const Call& call, size_t b, float* buffer) const;

  const size_t blocks_;
  const Band largest_;
  const bool direct_;
  const PairTiles* const pairs_;  // or null
  const AmxTiles* const amx_;     // or null
};

/// True where AmxTiles::depthwise computes two blocks of channels at a time.
bool DepthwisePacked::RunsInPairs(const Call& call) const {
  return amx_ && amx_->depthwise_weights && call.strides.y_pixel && tiles_.block == kTileOutputs &&
         call.x.storage == STORED_BFLOAT16 && call.weights.storage == STORED_BFLOAT16 &&
         StorageOf(call.y.type) == STORED_BFLOAT16 && IsClamp(call.post.activation);
}

void DepthwisePacked::RunPairs(const Call& call) const {
  constexpr size_t kSize = sizeof(uint16_t);
  const size_t block = tiles_.block, taps = bands_.taps(), kernel = taps * block;
  const auto run_row = DirectDepthwise(amx_->depthwise, bands_);
  const DepthwiseRow common = CommonRow(call.strides, block, 0);
  ForDepthwiseParts<true>(
      bands_, call.num, blocks_, block, kSize, kGrain, [&](const DepthwisePart& part) {
        alignas(64) float weights[MaxDepthwiseBlocks(true) * kMaxDepthwiseKernel];
        const auto stored = static_cast<const uint16_t*>(call.weights.at(part.block * kernel));
        for (size_t i = 0; i < part.blocks; i += 2) {
          const uint16_t* const first = stored + i * kernel;
          const bool is_last = i + 1 == part.blocks;
          amx_->depthwise_weights(taps, first, is_last ? nullptr : first + kernel,
                                  weights + i * kernel);
        }
        Band band;
        band.image = static_cast<int>(part.image);
        PackedTiles::Work work = {};
        SetTarget(call.post, call.y, call.strides, part.block, band, &work);
        const AmxTiles::ClampedPixels clamp = ClampedPixelsOf(work);
        const DepthwiseOperands from = {call.x.at(part.image * call.strides.x + part.block * block),
                                        kSize,
                                        block,
                                        weights,
                                        kernel * sizeof(float),
                                        2};
        ForDepthwiseRows(bands_, part, from, 1, common,
                         [&](const DepthwiseRow& row, size_t i, size_t first) {
                           AmxTiles::DepthwiseTarget target = {
                               static_cast<int>(std::min<size_t>(2, part.blocks - i) * block),
                               call.bias + (part.block + i) * block, clamp};
                           target.clamp.y += i * block;
                           if (clamp.residual) target.clamp.residual += i * block;
                           run_row(target, row, first);
                         });
      });
}

template <bool kIsLast>
void DepthwisePacked::RunDirect(const Call& call) const {
  constexpr size_t kMost = MaxDepthwiseBlocks(kIsLast);
  using Wide = std::array<float, kMost * kMaxDepthwiseKernel>;
  using Works = std::array<PackedTiles::Work, kMost>;
  const size_t block = tiles_.block, kernel = bands_.taps() * block;
  const bool rounds =
      pairs_ && call.x.storage == STORED_BFLOAT16 && StorageOf(call.y.type) == STORED_BFLOAT16;
  const auto run_row = DirectDepthwise(
      rounds ? pairs_->depthwise_direct[kIsLast] : tiles_.depthwise_direct[call.x.storage][kIsLast],
      bands_);
  const DepthwiseRow common = CommonRow(call.strides, block, 0);
  const size_t x_size = SizeOf(call.x.storage);
  const size_t x_block = kIsLast ? block : call.strides.x_plane;
  ForDepthwiseParts<kIsLast>(
      bands_, call.num, blocks_, block, x_size, kGrain, [&](const DepthwisePart& part) {
        Wide wide;
        Works works;
        Band band;
        band.image = static_cast<int>(part.image);
        for (size_t i = 0; i < part.blocks; ++i) {
          works[i] = {};
          works[i].bias = call.bias + (part.block + i) * block;
          SetTarget(call.post, call.y, call.strides, part.block + i, band, &works[i]);
        }
        const float* weights = Widened(call.weights.storage, part.blocks * kernel,
                                       call.weights.at(part.block * kernel), wide.data());
        const DepthwiseOperands from = {
            call.x.at(part.image * call.strides.x + part.block * x_block), x_size, x_block, weights,
            kernel * sizeof(float)};
        ForDepthwiseRows(bands_, part, from, 1, common,
                         [&](const DepthwiseRow& row, size_t i, size_t first) {
                           run_row(works[i], row, first);
                         });
      });
}

void DepthwisePacked::RunItem(const Call& call, size_t index, const Buffers& own) const {
  const int block = tiles_.block, taps = bands_.taps();
  const WorkItems::Item item = items(call.num).At(index);
  const size_t b = item.group;
  const Band band = bands_.At(call.num, largest_, item.cut);
  bands_.FindTaps(largest_, block, own.steps);
  const ImageStrides& strides = call.strides;
  bands_.FindTargets(band, strides.y_pixel ? strides.y_pixel : block, strides.y, own.targets);
  bands_.FindTargets(band, strides.residual_pixel ? strides.residual_pixel : block,
                     strides.residual, own.residual_targets);
  if (strides.x_pixel) {
    WidenLast(band, call, b, own.input);
  } else {
    const Stored x = {call.x.at(b * strides.x_plane), call.x.storage};
    bands_.Widen(band, largest_, block, x, 0, strides.x, own.input);
  }
  PackedTiles::Work work = {};
  work.x = own.input;
  work.steps = own.steps;
  work.steps_count = taps;
  work.weights =
      Widened(call.weights.storage, taps * block, call.weights.at(b * taps * block), own.weights);
  work.bias = call.bias + b * block;
  work.first = work.last = true;
  work.targets = own.targets;
  work.residual_targets = own.residual_targets;
  SetTarget(call.post, call.y, strides, b, band, &work);
  const int pace = bands_.columns().pace();
  for (int r = 0; r < band.rows; ++r) {
    tiles_.depthwise_row(work, r * bands_.WindowPitch(largest_, block), r * band.columns,
                         band.columns, pace);
  }
}

/// Widens the band's input of block b, with channels last.
void DepthwisePacked::WidenLast(const Band& band, const Call& call, size_t b, float* buffer) const {
  const size_t pixel = call.strides.x_pixel, block = tiles_.block;
  const auto widen = tiles_.widen_blocks[call.x.storage];
  bands_.FillFromPixels(
      band, largest_, tiles_.block, buffer, [&](size_t first, size_t count, int step, float* to) {
        widen(count, step * (pixel / block), call.x.at(first * pixel + b * block), to);
      });
}

void DepthwisePacked::Run(const Call& call, void* scratch) const {
  if (direct_ && RunsInPairs(call)) return RunPairs(call);
  if (direct_) return call.strides.y_pixel ? RunDirect<true>(call) : RunDirect<false>(call);
  Spread(call.num, items(call.num), scratch, BytesOfPieces<Buffers>(*this),
         [&](size_t begin, size_t end, void* memory) {
           Pieces pieces(memory);
           const Buffers own(*this, &pieces);
           for (size_t item = begin; item < end; ++item) RunItem(call, item, own);
         });
}

void DepthwisePacked::ForEachWeight(const std::function<void(size_t, size_t)>& f) const {
  ForEachDepthwiseWeight(shape_.channels, bands_.taps(), tiles_.block, f);
}

#include "pair_packed_convolution.inc"

#include "amx_packed_convolution.inc"
#include "channels_last_packed_convolution.inc"

/// True for shapes that kernels in blocks take.
bool HasPackedKernel(const ConvolutionShape& shape, bool plain_input) {
  if (shape.axes() < 1 || shape.axes() > 2 || shape.weight_count() == 0 ||
      shape.output_spatial() == 0 || !OffsetsFit(shape) || (shape.group > 1 && plain_input)) {
    return false;
  }
  const int block = ChosenPackedTiles().block;
  return shape.group == 1 || shape.is_depthwise() ||
         (shape.channels / shape.group % block == 0 && shape.outputs / shape.group % block == 0);
}

}  // namespace

std::shared_ptr<const PackedConvolution> PackedConvolution::Make(const ConvolutionShape& shape,
                                                                 bool plain_input,
                                                                 ElementType math) {
  if (!HasPackedKernel(shape, plain_input)) return nullptr;
  if (shape.is_depthwise()) return std::make_shared<DepthwisePacked>(shape);
  if (const AmxTiles* amx = ChosenAmxTiles()) {
    return std::make_shared<AmxPacked>(shape, plain_input, math, *amx);
  }
  return std::make_shared<DensePacked>(shape, plain_input);
}

std::shared_ptr<const PackedConvolution> PackedConvolution::MakeInPairs(
    const ConvolutionShape& shape, bool plain_input) {
  const PairTiles* const pairs = ChosenPairTiles();
  if (!pairs || shape.is_depthwise() || !HasPackedKernel(shape, plain_input)) return nullptr;
  if (plain_input && shape.channels > 4) return nullptr;
  return std::make_shared<PairPacked>(shape, plain_input, *pairs);
}

std::shared_ptr<const PackedConvolution> PackedConvolution::MakeChannelsLast(
    const ConvolutionShape& shape, bool plain_input, ElementType math, TileShape tile_shape) {
  if (shape.is_depthwise()) {
    return Make(shape, plain_input, math);
  }
  const AmxTiles* amx = ChosenAmxTiles();
  if (!amx || !OffsetsFit(shape) ||
      !PixelWindows::Takes(shape, plain_input, ChosenPackedTiles().block)) {
    return nullptr;
  }
  return std::make_shared<ChannelsLastPacked>(shape, plain_input, math, tile_shape, *amx);
}

void PackedConvolution::PackStrided(const uint16_t*, const WeightStrides&, uint16_t*) const {
  Require(false, "only kernels with channels last pack weights in another order");
}

template <typename V, typename W>
void PackedConvolution::PackWeights(const V* weights, const float* scale, W* packed) const {
  std::fill_n(packed, packed_size(), W(0.f));
  const size_t row = weights_of_an_output();
  ForEachWeight([&](size_t to, size_t from) {
    const float weight = static_cast<float>(weights[from]);
    packed[to] = static_cast<W>(scale ? weight * scale[from / row] : weight);
  });
}

template <typename W>
void PackedConvolution::UnpackWeights(const W* packed, W* weights) const {
  ForEachWeight([&](size_t to, size_t from) { weights[from] = packed[to]; });
}

template void PackedConvolution::PackWeights(const float*, const float*, float*) const;
template void PackedConvolution::PackWeights(const float*, const float*, float16*) const;
template void PackedConvolution::PackWeights(const float*, const float*, bfloat16*) const;
template void PackedConvolution::PackWeights(const float16*, const float*, float*) const;
template void PackedConvolution::PackWeights(const float16*, const float*, float16*) const;
template void PackedConvolution::PackWeights(const float16*, const float*, bfloat16*) const;
template void PackedConvolution::PackWeights(const bfloat16*, const float*, float*) const;
template void PackedConvolution::PackWeights(const bfloat16*, const float*, float16*) const;
template void PackedConvolution::PackWeights(const bfloat16*, const float*, bfloat16*) const;
template void PackedConvolution::UnpackWeights(const float*, float*) const;
template void PackedConvolution::UnpackWeights(const float16*, float16*) const;
template void PackedConvolution::UnpackWeights(const bfloat16*, bfloat16*) const;

}  // namespace caffe::kernels
