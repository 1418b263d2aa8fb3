#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "caffe/kernels/cpu/simd/l2_cache.hpp"
#include "int8_packed.hpp"

// Convolution of 8-bit integers by products of an unsigned and a signed byte, four of which are
// added: by one instruction with VNNI, else by several, for weights whose pairs fit 16 bits.
namespace caffe::kernels {
namespace {

// What a thread works on at a time: pixels of a band, whose input with its padding stays in a
// core's L2 cache together with the weights of some blocks of outputs. All weights are read again
// for each band: where windows reach so far that it would be of few pixels, its input takes more of
// the cache.
constexpr int kBandPixels = 512, kFewPixels = 128;
constexpr size_t kLeastInputBytes = 128 << 10;

/// How the work is split.
struct BytePlan {
  Band largest;
  WorkItems items;
  size_t unit_size;  // bytes of a unit's buffer
};

/// Inputs are unsigned bytes; signed ones and their padding are increased by 128. What that adds to
/// a sum, 128 times the sum of its weights, is subtracted from its start value.
///
/// All of it is arithmetic modulo 2^32 (nothing saturates: four products and their sum fit 18 bits,
/// and without VNNI weights are such that two fit 16), so a sum is exact if its final value fits 32
/// bits, as 66,000 products of bytes do, whatever its intermediate values.
///
/// A channel (of a plain input) or block of channels is a unit. A step is four channels of a block
/// at a position of the kernel; for a plain input, up to four neighbouring positions of a kernel
/// row. Weights are packed as (group, blocks of outputs that are summed together, step, output, 4),
/// followed by the start values of sums of signed inputs, 32 bits per output.
class ByteProducts : public PlannedInt8<BytePlan, GroupedInt8> {
 public:
  ByteProducts(const ConvolutionShape& shape, bool plain_input, bool copies)
      : PlannedInt8(shape, plain_input), copies_(copies) {
    for (size_t unit = 0; unit < units_; ++unit) AddSteps(static_cast<int>(unit));
  }

  size_t packed_size() const override {
    return weights_size() + sizeof(int32_t) * padded_outputs();
  }
  void PackWeights(const int8_t* weights, int8_t* packed) const override;

 private:
  struct Step {
    int unit, tap, lane;  ///< where its first operand lies
    int count;            ///< of nonzero operands: lanes, or positions of the kernel
  };
  using Plan = BytePlan;
  /// An item's scratch memory.
  struct Buffers {
    Buffers(const ByteProducts& self, const Plan& plan, Pieces* pieces)
        : input(pieces->Take<uint8_t>(self.units_ * plan.unit_size + kPast)),
          steps(pieces->Take<int32_t>(self.steps_.size())),
          taps(pieces->Take<int32_t>(self.bands_.taps())),
          windows(pieces->Take<int32_t>(plan.largest.pixels())),
          targets(pieces->Take<size_t>(plan.largest.pixels())),
          residual_targets(pieces->Take<size_t>(plan.largest.pixels())) {}
    uint8_t* input;
    int32_t *steps, *taps, *windows;
    size_t *targets, *residual_targets;
  };
  // Bytes that a step may read past the last one, with zero weights.
  static constexpr size_t kPast = 3;

  Plan MakePlan(int num) const override;
  size_t BytesOf(const Plan& plan) const override { return BytesOfPieces<Buffers>(*this, plan); }
  void RunPart(const Call& call, const Plan& plan, size_t begin, size_t end,
               void* scratch) const override;

  size_t column() const { return 4 * steps_.size(); }
  size_t weights_size() const { return padded_outputs() * column(); }

  void AddSteps(int unit);
  /// True if the windows of bands are the pixels of an unsigned input.
  bool ReadsInPlace(const Call& call, const Plan& plan) const;
  void FindSteps(const Plan& plan, size_t unit_size, const Buffers& own) const;
  void FindPixels(const Call& call, const Plan& plan, const Band& band, bool in_place,
                  const Buffers& own) const;
  /// Copies a group's channels into the buffer.
  void FillInput(const Call& call, const Plan& plan, const Band& band, size_t group,
                 uint8_t* input) const;
  void Copy(const Input& x, size_t offset, size_t count, int step, uint8_t* to) const;
  /// Computes parts of a group's outputs.
  void RunBand(const Call& call, const Band& band, size_t group, size_t first_part,
               size_t last_part, const uint8_t* x, const Buffers& own) const;

  const bool copies_;
  std::vector<Step> steps_;  // of a group
};

void ByteProducts::AddSteps(int unit) {
  const int width = bands_.columns().kernel;
  const int channels = std::min(lanes_, shape_.channels / shape_.group - unit * lanes_);
  const int together = !plain_ || bands_.columns().dilation > 1 ? 1 : 4;
  for (int row = 0; row < bands_.taps(); row += width) {
    for (int column = 0; column < width; column += together) {
      for (int lane = 0; lane < channels; lane += 4) {
        const int count =
            plain_ ? std::min(together, width - column) : std::min(4, channels - lane);
        steps_.push_back({unit, row + column, lane, count});
      }
    }
  }
}

BytePlan ByteProducts::MakePlan(int num) const {
  BytePlan plan;
  const int images = std::max(1, num);
  const auto largest_with = [&](size_t input_bytes) {
    const size_t positions = std::max<size_t>(1, input_bytes / (units_ * lanes_));
    const int pixels = static_cast<int>(std::min<size_t>(kBandPixels, positions));
    return bands_.Largest(images, pixels, positions);
  };
  Band largest = largest_with(std::max(kLeastInputBytes, L2CacheBytes() / 8));
  if (largest.pixels() < kFewPixels) largest = largest_with(L2CacheBytes() / 2);
  plan.largest = bands_.ForThreads(images, largest, Threads());
  plan.unit_size = bands_.BufferSize(plan.largest) * lanes_;
  // Buffers whole pages apart would map to the same cache sets.
  if (plan.unit_size % 1024 == 0) plan.unit_size += 64;

  plan.items = {bands_.Count(num, plan.largest), size_t(shape_.group), 1};
  plan.items.Slice(parts_.count());
  return plan;
}

bool ByteProducts::ReadsInPlace(const Call& call, const Plan& plan) const {
  const size_t extent =
      (plan.largest.images - 1) * call.strides.x + units_ * shape_.group * call.strides.x_plane;
  return !copies_ && !plain_ && !call.x.is_signed && shape_.is_pointwise() &&
         extent <= size_t(std::numeric_limits<int32_t>::max());
}

void ByteProducts::FindSteps(const Plan& plan, size_t unit_size, const Buffers& own) const {
  bands_.FindTaps(plan.largest, lanes_, own.taps);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    own.steps[s] = static_cast<int32_t>(step.unit * unit_size) + own.taps[step.tap] + step.lane;
  }
}

void ByteProducts::FindPixels(const Call& call, const Plan& plan, const Band& band, bool in_place,
                              const Buffers& own) const {
  bands_.FindTargets(band, tiles_.block, call.strides.y, own.targets);
  bands_.FindTargets(band, tiles_.block, call.strides.residual, own.residual_targets);
  if (!in_place) return bands_.FindPixels(band, plan.largest, lanes_, own.windows);
  int32_t* window = own.windows;
  for (int n = 0; n < band.images; ++n) {
    const int32_t image = static_cast<int32_t>(n * call.strides.x);
    for (int p = 0; p < band.columns; ++p) *window++ = image + p * lanes_;
  }
}

void ByteProducts::Copy(const Input& x, size_t offset, size_t count, int step, uint8_t* to) const {
  const uint8_t* from = static_cast<const uint8_t*>(x.data) + offset;
  const size_t bytes = count * lanes_;
  const auto shift = [&](const void* signed_bytes) {
    tiles_.shift_signed(bytes, static_cast<const int8_t*>(signed_bytes), to);
  };
  if (step == 1 && x.is_signed) return shift(from);
  if (step == 1) {
    std::memcpy(to, from, bytes);
    return;
  }
  const auto copy_pixels = [&](auto lanes) {  // constant size: a few moves each
    constexpr int kLanes = decltype(lanes)::value;
    for (size_t i = 0; i < count; ++i)
      std::memcpy(to + i * kLanes, from + i * step * kLanes, kLanes);
  };
  if (lanes_ == 16) {
    copy_pixels(std::integral_constant<int, 16>());
  } else if (lanes_ == 8) {
    copy_pixels(std::integral_constant<int, 8>());
  } else {
    copy_pixels(std::integral_constant<int, 1>());
  }
  if (x.is_signed) shift(to);
}

void ByteProducts::FillInput(const Call& call, const Plan& plan, const Band& band, size_t group,
                             uint8_t* input) const {
  const uint8_t zero = static_cast<uint8_t>(call.x.zero_point + (call.x.is_signed ? 128 : 0));
  const auto copy = [&](size_t offset, size_t count, int step, uint8_t* to) {
    Copy(call.x, offset, count, step, to);
  };
  for (size_t u = 0; u < units_; ++u) {
    bands_.Fill(band, plan.largest, lanes_, (group * units_ + u) * call.strides.x_plane,
                call.strides.x, input + u * plan.unit_size, copy, zero);
  }
}

// What neighbouring items share is computed once.
void ByteProducts::RunPart(const Call& call, const Plan& plan, size_t begin, size_t end,
                           void* scratch) const {
  Pieces pieces(scratch);
  const Buffers own(*this, plan, &pieces);
  const bool in_place = ReadsInPlace(call, plan);
  const size_t plane = call.strides.x_plane;
  FindSteps(plan, in_place ? plane : plan.unit_size, own);
  Band before;
  before.images = 0;
  for (size_t index = begin; index < end; ++index) {
    const WorkItems::Item item = plan.items.At(index);
    const Band band = bands_.At(call.num, plan.largest, item.cut);
    if (!band.SameSize(before)) FindPixels(call, plan, band, in_place, own);
    before = band;
    const uint8_t* x = own.input;
    if (in_place) {
      x = static_cast<const uint8_t*>(call.x.data) + band.image * call.strides.x +
          item.group * units_ * plane + band.column * lanes_;
    } else if (index == begin || item.slice == 0) {
      FillInput(call, plan, band, item.group, own.input);
    }
    RunBand(call, band, item.group, plan.items.Begin(item.slice, parts_.count()),
            plan.items.Begin(item.slice + 1, parts_.count()), x, own);
  }
}

void ByteProducts::RunBand(const Call& call, const Band& band, size_t group, size_t first_part,
                           size_t last_part, const uint8_t* x, const Buffers& own) const {
  const size_t block = tiles_.block;
  Int8Tiles::ByteWork work = {};
  work.x = x;
  work.steps = own.steps;
  work.steps_count = static_cast<int>(steps_.size());
  work.windows = own.windows;
  work.first = work.last = true;
  work.targets = own.targets;
  work.residual_targets = own.residual_targets;
  work.plane = call.strides.y_plane;
  const void* starts = call.packed + weights_size();
  for (size_t part = first_part; part < last_part; ++part) {
    const int v = static_cast<int>(parts_.Count(part));
    const size_t start = group * group_blocks_ + parts_.Begin(part);  // block of outputs
    const Int8Tiles::TilePostOps target = From(call, start, band);
    work.weights = call.packed + start * block * column();
    if (call.x.is_signed) work.start = static_cast<const int32_t*>(starts) + start * block;
    work.writing = &target;
    RunTiles(tiles_.bytes[v - 1], tiles_.pixels[v - 1], band.pixels(), work);
  }
}

void ByteProducts::PackWeights(const int8_t* weights, int8_t* packed) const {
  const size_t channels = shape_.channels / shape_.group, outputs = shape_.outputs / shape_.group;
  const size_t taps = bands_.taps(), block = tiles_.block;
  std::vector<int32_t> starts(padded_outputs(), 0);
  int8_t* to = packed;
  for (size_t group = 0; group < size_t(shape_.group); ++group) {
    for (size_t part = 0; part < parts_.count(); ++part) {
      const size_t begin = parts_.Begin(part) * block, end = parts_.Begin(part + 1) * block;
      for (const Step& step : steps_) {
        for (size_t o = begin; o < end; ++o) {
          for (int k = 0; k < 4; ++k, ++to) {
            *to = 0;
            if (o >= outputs || k >= step.count) continue;
            const size_t c = step.unit * lanes_ + step.lane + (plain_ ? 0 : k);
            const size_t tap = step.tap + (plain_ ? k : 0);
            *to = weights[((group * outputs + o) * channels + c) * taps + tap];
            starts[group * group_blocks_ * block + o] -= 128 * *to;
          }
        }
      }
    }
  }
  std::memcpy(to, starts.data(), sizeof(int32_t) * starts.size());
}

}  // namespace

std::shared_ptr<const Int8Convolution> MakeByteProducts(const ConvolutionShape& shape,
                                                        bool plain_input, bool copies) {
  return std::make_shared<ByteProducts>(shape, plain_input, copies);
}

}  // namespace caffe::kernels
