#include <algorithm>
#include <vector>

#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/parallel.hpp"
#include "winograd_plan.hpp"

namespace caffe::kernels {
namespace {

// A strip is so many tiles that its transforms stay in the second cache while a block is computed.
constexpr size_t kStripTiles = 96;
// Transforms of a thread's own strip, in bytes.
constexpr size_t kOwnStrip = size_t(1) << 20;
// Up to so many bytes of sums each thread has its own, so that none waits for another; more cost
// more to add up than is saved.
constexpr size_t kOwnSums = size_t(1) << 20;

/// Sums are computed in blocks: of one vector of channels and one output panel, all points of them,
/// (point, channel, output). Here an output panel is up to three vectors of outputs.
struct GradientPlan {
  explicit GradientPlan(const WinogradShape& shape) : forward(shape, kWinogradScratch) {
    WinogradGeometry& g = forward.g;
    g.slice = g.depth;
    lanes = forward.kernels.lanes;
    output_depth = RoundUp(g.outputs, lanes);
    channel_vectors = g.depth / lanes;
    output_vectors = output_depth / lanes;
    output_panels = CeilDiv(output_vectors, size_t(3));
    sums_stride = PointStride(lanes * lanes * CeilDiv(output_vectors, output_panels));
  }

  size_t blocks() const { return output_panels * channel_vectors; }
  size_t block_floats() const { return forward.points * sums_stride; }
  /// The first of an output panel's vectors.
  size_t FirstVector(size_t panel) const { return output_vectors * panel / output_panels; }
  // Between the points of the transforms of a strip.
  size_t input_stride(size_t strip_tiles) const { return forward.input_stride(strip_tiles); }
  size_t gradient_stride(size_t strip_tiles) const {
    return PointStride(forward.TilePanels(strip_tiles) * forward.kernels.panel * output_depth);
  }

  WinogradPlan forward;
  size_t lanes, output_depth;
  size_t channel_vectors, output_vectors, output_panels;
  size_t sums_stride;
};

/// How the work is split among threads: parts with strips and sums of their own, or one part whose
/// strips all threads transform, and whose blocks they share.
struct GradientSplit {
  GradientSplit(const GradientPlan& plan, size_t threads) {
    const WinogradPlan& s = plan.forward;
    const size_t sums = plan.blocks() * plan.block_floats();
    const size_t tile = s.points * (s.g.depth + plan.output_depth) * sizeof(float);
    const size_t own_tiles = std::max(kOwnStrip / tile, s.kernels.panel);
    if (sums * sizeof(float) <= kOwnSums && s.tiles >= threads * own_tiles) {
      parts = threads;
      strips = RoundUp(CeilDiv(s.tiles, own_tiles), parts);
    } else {
      shared = true;
      // With a single strip blocks need not be kept until the next.
      strips = s.tiles < 2 * kStripTiles ? 1 : CeilDiv(s.tiles, kStripTiles);
      workers = threads;
    }
    strip_tiles = CeilDiv(s.tiles, strips);
    input = s.points * plan.input_stride(strip_tiles);
    gradients = s.points * plan.gradient_stride(strip_tiles);
    kept_sums = shared && strips == 1 ? workers * plan.block_floats() : sums;
    bias = RoundUp(plan.output_depth, size_t(16));
  }

  size_t part_floats() const { return input + gradients + kept_sums + bias; }
  size_t pitch() const { return part_floats() + kBetweenThreads / sizeof(float); }
  size_t floats() const { return (parts - 1) * pitch() + part_floats(); }

  bool shared = false;
  size_t parts = 1, workers = 1;
  size_t strips = 1, strip_tiles = 0;
  size_t input = 0, gradients = 0, kept_sums = 0, bias = 0;  // floats of a part's scratch memory
};

/// The scratch memory of a part.
struct PartScratch {
  PartScratch(const GradientSplit& split, float* memory)
      : input(memory),
        gradients(input + split.input),
        sums(gradients + split.gradients),
        bias(sums + split.kept_sums) {}
  float *input, *gradients, *sums, *bias;
};

/// One call of Run.
struct GradientCall {
  const GradientPlan& plan;
  const GradientSplit& split;
  const Numbers x, dy;
  float* const d_weights;

  WinogradStrip StripOf(size_t index) const {
    const size_t tiles = plan.forward.tiles;
    const size_t begin = tiles * index / split.strips, end = tiles * (index + 1) / split.strips;
    return {begin, end - begin, plan.forward.TilePanels(end - begin)};
  }

  /// Vectors of channels first, those of outputs behind them.
  void Transform(const WinogradStrip& strip, size_t begin, size_t end,
                 const PartScratch& scratch) const {
    const WinogradPlan& s = plan.forward;
    const size_t channels = plan.channel_vectors, lanes = plan.lanes;
    if (begin < channels) {
      s.loops.input[StorageOf(x.type)](s.g, strip, x.data, 0, strip.panels, begin * lanes,
                                       std::min(end, channels) * lanes, scratch.input,
                                       plan.input_stride(split.strip_tiles));
    }
    if (end > channels) {
      s.loops.output_gradient[StorageOf(dy.type)](
          s.g, strip, dy.data, (std::max(begin, channels) - channels) * lanes,
          (end - channels) * lanes, scratch.gradients, plan.gradient_stride(split.strip_tiles),
          scratch.bias);
    }
  }

  /// The sums of a block, added to those of earlier strips.
  void Multiply(const WinogradStrip& strip, size_t block, bool accumulate,
                const PartScratch& scratch, float* sums) const {
    const WinogradPlan& s = plan.forward;
    const size_t channel = block % plan.channel_vectors * plan.lanes;
    const size_t panel = block / plan.channel_vectors, first = plan.FirstVector(panel);
    const size_t row = s.kernels.panel, rows = std::min(plan.lanes, s.g.channels - channel);
    for (size_t point = 0; point < s.points; ++point) {
      s.kernels.multiply_gradient(
          strip, scratch.input + point * plan.input_stride(split.strip_tiles) + channel * row,
          s.g.depth * row,
          scratch.gradients + point * plan.gradient_stride(split.strip_tiles) +
              first * plan.lanes * row,
          plan.output_depth * row, rows, plan.FirstVector(panel + 1) - first, accumulate,
          sums + point * plan.sums_stride);
    }
  }

  void AddGradients(size_t block, const float* sums) const {
    const WinogradPlan& s = plan.forward;
    const size_t channel = block % plan.channel_vectors * plan.lanes;
    const size_t panel = block / plan.channel_vectors, first = plan.FirstVector(panel);
    const size_t vectors = plan.FirstVector(panel + 1) - first, output = first * plan.lanes;
    const size_t taps = s.taps, pitch = s.g.channels * taps;
    s.loops.weights_gradient(sums, plan.sums_stride, std::min(plan.lanes, s.g.channels - channel),
                             vectors, std::min(vectors * plan.lanes, s.g.outputs - output), pitch,
                             d_weights + output * pitch + channel * taps);
  }

  /// Each part sums up strips of its own.
  void ByParts(const std::vector<PartScratch>& parts) const {
    const size_t strips = split.strips / split.parts,
                 vectors = plan.channel_vectors + plan.output_vectors;
    ParallelFor(split.parts, 1, [&](size_t begin, size_t end) {
      for (size_t part = begin; part < end; ++part) {
        for (size_t i = 0; i < strips; ++i) {
          const WinogradStrip strip = StripOf(part * strips + i);
          Transform(strip, 0, vectors, parts[part]);
          for (size_t block = 0; block < plan.blocks(); ++block) {
            Multiply(strip, block, i > 0, parts[part], SumsOf(parts[part], block));
          }
        }
      }
    });
    ParallelFor(plan.blocks(), 1, [&](size_t begin, size_t end) {
      for (size_t block = begin; block < end; ++block) {
        float* sums = SumsOf(parts[0], block);
        for (size_t part = 1; part < split.parts; ++part) {
          const float* others = SumsOf(parts[part], block);
          for (size_t i = 0; i < plan.block_floats(); ++i) sums[i] += others[i];
        }
        AddGradients(block, sums);
      }
    });
  }

  /// All threads transform a strip, then each computes some of the blocks.
  void ByBlocks(const PartScratch& scratch) const {
    const size_t vectors = plan.channel_vectors + plan.output_vectors;
    for (size_t i = 0; i < split.strips; ++i) {
      const WinogradStrip strip = StripOf(i);
      ParallelFor(vectors, 1,
                  [&](size_t begin, size_t end) { Transform(strip, begin, end, scratch); });
      ParallelParts(plan.blocks(), 1, [&](size_t worker, size_t begin, size_t end) {
        for (size_t block = begin; block < end; ++block) {
          float* sums = SumsOf(scratch, split.strips == 1 ? worker : block);
          Multiply(strip, block, i > 0, scratch, sums);
          if (i + 1 == split.strips) AddGradients(block, sums);
        }
      });
    }
  }

  float* SumsOf(const PartScratch& scratch, size_t block) const {
    return scratch.sums + block * plan.block_floats();
  }
};

}  // namespace

bool WinogradGradientPays(const WinogradShape& shape, double direct_speed) {
  const GradientPlan plan(shape);
  // The sums of many channels may take four times the room of their weights, and more.
  constexpr size_t kMostOfPart = size_t(128) << 20;
  return GradientSplit(plan, Threads()).part_floats() * sizeof(float) <= kMostOfPart &&
         TakesLessTime(plan.forward, shape, /*pair=*/30, direct_speed);
}

struct WinogradWeightsGradient::Impl {
  explicit Impl(const WinogradShape& shape) : plan(shape), groups(shape.groups) {}
  const GradientPlan plan;  // of one group
  const size_t groups;
};

WinogradWeightsGradient::WinogradWeightsGradient(const WinogradShape& shape)
    : impl_(std::make_unique<Impl>(shape)) {}

WinogradWeightsGradient::~WinogradWeightsGradient() = default;

size_t WinogradWeightsGradient::scratch_bytes() const {
  return sizeof(float) * GradientSplit(impl_->plan, Threads()).floats();
}

void WinogradWeightsGradient::Run(Numbers x, Numbers dy, float* d_weights, float* d_bias,
                                  void* scratch) const {
  const GradientPlan& plan = impl_->plan;
  if (plan.forward.tiles == 0) return;
  const WinogradGeometry& g = plan.forward.g;
  const GradientSplit split(plan, Threads());
  std::vector<PartScratch> parts;
  for (size_t part = 0; part < split.parts; ++part) {
    parts.emplace_back(split, static_cast<float*>(scratch) + part * split.pitch());
  }
  const size_t group_x = g.channels * g.height * g.width;
  const size_t group_y = g.outputs * g.output_height * g.output_width;
  const size_t group_weights = g.outputs * g.channels * plan.forward.taps;
  for (size_t group = 0; group < impl_->groups; ++group) {
    for (const PartScratch& part : parts) std::fill_n(part.bias, split.bias, 0.f);
    const GradientCall call{plan,
                            split,
                            {x.at(group * group_x), x.type},
                            {dy.at(group * group_y), dy.type},
                            d_weights + group * group_weights};
    if (split.shared) {
      call.ByBlocks(parts[0]);
    } else {
      call.ByParts(parts);
    }
    if (!d_bias) continue;
    for (const PartScratch& part : parts) {
      for (size_t o = 0; o < g.outputs; ++o) d_bias[group * g.outputs + o] += part.bias[o];
    }
  }
}

}  // namespace caffe::kernels
