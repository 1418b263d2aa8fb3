#include "caffe/kernels/winograd.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/parallel.hpp"
#include "winograd_plan.hpp"
#include "work_items.hpp"

namespace caffe::kernels {
namespace {

/// How the work is split among threads.
struct WinogradSplit {
  size_t threads;
  bool shared;                  // threads share a strip and take output panels; else a strip each
  size_t strips;                // of all tiles, equal
  size_t strip_tiles;           // of the largest strip
  size_t input, weights, sums;  // floats of scratch: transformed input, and of each thread

  size_t shared_floats() const { return shared ? input : 0; }
  /// Of one thread.
  size_t own_floats() const { return (shared ? 0 : input) + weights + sums; }
  /// From one thread's memory to the next one's.
  size_t own_stride() const { return own_floats() + kBetweenThreads / sizeof(float); }
  size_t floats() const { return shared_floats() + (threads - 1) * own_stride() + own_floats(); }
};

// Tiles of a strip. Weights are transformed again for each strip, which takes as long as the
// products of 5 tiles: negligible with kLargeStrip, an eighth with kFairStrip. A thread's own strip
// has room for fewer tiles than a shared one, but with shared strips the threads wait for each
// other twice per strip, which costs more if the machine has other work, and read what others have
// transformed: where each thread gets one strip, of kEvenStrip tiles or more, that takes longer
// than transforming weights again.
constexpr size_t kLargeStrip = 96;
constexpr size_t kFairStrip = 40;
constexpr size_t kEvenStrip = 20;

WinogradSplit SplitFor(const WinogradPlan& s, size_t max_scratch, bool shared) {
  WinogradSplit split;
  split.threads = Threads();
  split.shared = shared;
  split.weights = s.slice_weights();
  split.strips = std::max<size_t>(1, s.tiles / (shared ? 2 * kLargeStrip : kLargeStrip));
  if (!shared && split.threads > 1) {
    split.strips = std::max(split.strips, std::min(4 * split.threads, s.tiles / kFairStrip));
    const bool evenly = split.strips < 2 * split.threads && s.tiles >= split.threads * kEvenStrip;
    if (evenly) split.strips = split.threads;
  }
  for (;; split.strips += std::max<size_t>(1, split.strips / 8)) {
    split.strip_tiles = CeilDiv(s.tiles, split.strips);
    split.input = s.points * s.input_stride(split.strip_tiles);
    split.sums = s.points * s.sums_stride(split.strip_tiles);
    if (split.floats() * sizeof(float) <= split.threads * max_scratch) return split;
    if (split.strip_tiles <= s.kernels.panel) return split;
  }
}

WinogradSplit MakeSplit(const WinogradPlan& s, size_t max_scratch) {
  const WinogradSplit own = SplitFor(s, max_scratch, false);
  const bool fair = own.strips == own.threads
                        ? own.strip_tiles >= kEvenStrip
                        : own.strips >= 2 * own.threads && own.strip_tiles >= kFairStrip;
  return own.threads == 1 || fair ? own : SplitFor(s, max_scratch, true);
}

/// The scratch memory of a split, in parts.
class SplitScratch {
 public:
  SplitScratch(const WinogradSplit& split, void* memory)
      : split_(split), memory_(static_cast<float*>(memory)) {}
  float* weights(size_t thread) const {
    return memory_ + split_.shared_floats() + thread * split_.own_stride();
  }
  float* sums(size_t thread) const { return weights(thread) + split_.weights; }
  float* input(size_t thread) const { return split_.shared ? memory_ : sums(thread) + split_.sums; }

 private:
  const WinogradSplit& split_;
  float* memory_;
};

/// One call of Run, for one group.
struct Call {
  const WinogradPlan& s;
  const WinogradSplit& split;
  const void* x;
  const void* packed;
  PostOps post;  // of the group's first output
  void* y;
  Storage input_type, weights_type, output_type;
};

WinogradStrip StripOf(const Call& call, size_t strip) {
  const size_t begin = call.s.tiles * strip / call.split.strips;
  const size_t end = call.s.tiles * (strip + 1) / call.split.strips;
  return {begin, end - begin, call.s.TilePanels(end - begin)};
}

WinogradPostOps WinogradPostOpsOf(const Call& call, const float* bias, const float* slopes) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Activation& activation = call.post.activation;
  WinogradPostOps writing = {bias,   call.post.residual.data, 1, -kInfinity, kInfinity, nullptr,
                             nullptr};
  switch (activation.kind) {
    case Activation::NONE:
      break;
    case Activation::CLIP:
      writing.least = static_cast<float>(activation.a);
      writing.most = static_cast<float>(activation.b);
      break;
    case Activation::RELU:
      if (activation.a == 0) {
        writing.least = 0;
      } else {
        writing.slope = static_cast<float>(activation.a);
      }
      break;
    case Activation::PRELU:
      writing.slopes = slopes;
      break;
    default:
      writing.smooth = &activation;
  }
  return writing;
}

/// The outputs of one output panel for some tile panels of a strip.
bool ComputePanel(const Call& call, const WinogradStrip& strip, size_t output_panel,
                  size_t panel_begin, size_t panel_end, const float* v, float* u, float* m) {
  const WinogradPlan& s = call.s;
  const size_t v_stride = s.input_stride(call.split.strip_tiles);
  const size_t m_stride = s.sums_stride(call.split.strip_tiles);
  for (size_t slice = 0; slice < s.slices; ++slice) {
    const size_t begin = slice * s.g.slice;
    const size_t end = std::min(s.g.depth, begin + s.g.slice);
    s.loops.weights[call.weights_type](s.g, call.packed, output_panel, begin, end, u,
                                       s.weights_stride);
    for (size_t point = 0; point < s.points; ++point) {
      s.kernels.multiply(strip, panel_begin, panel_end, std::min(end, s.g.channels) - begin,
                         v + point * v_stride + begin * strip.panels * s.kernels.panel,
                         u + point * s.weights_stride, s.vectors(output_panel), slice > 0,
                         m + point * m_stride);
    }
  }
  float bias[32] = {}, slopes[32] = {};
  // A panel may lie past the last output, in the padding of its block.
  const size_t o = std::min(output_panel * s.pair, s.g.outputs);
  const size_t outputs = std::min(s.pair, s.g.outputs - o);
  const PostOps& post = call.post;
  if (post.bias) std::copy_n(post.bias + o, outputs, bias);
  if (post.activation.slopes) std::copy_n(post.activation.slopes + o, outputs, slopes);
  return s.loops.output[call.output_type](s.g, strip, strip.begin(panel_begin),
                                          strip.begin(panel_end), m, m_stride, output_panel,
                                          WinogradPostOpsOf(call, bias, slopes), call.y);
}

/// Each thread takes strips of its own, a new one when it has finished the last.
bool ForwardByStrips(const Call& call, const SplitScratch& scratch) {
  const WinogradPlan& s = call.s;
  std::atomic<bool> finite{true};
  std::atomic<size_t> next{0};
  ParallelFor(std::min(call.split.strips, call.split.threads), 1, [&](size_t thread, size_t) {
    float* v = scratch.input(thread);
    for (size_t i = next++; i < call.split.strips; i = next++) {
      const WinogradStrip strip = StripOf(call, i);
      s.loops.input[call.input_type](s.g, strip, call.x, 0, strip.panels, 0, s.g.depth, v,
                                     s.input_stride(call.split.strip_tiles));
      for (size_t panel = 0; panel < s.output_panels; ++panel) {
        if (!ComputePanel(call, strip, panel, 0, strip.panels, v, scratch.weights(thread),
                          scratch.sums(thread))) {
          finite = false;
        }
      }
    }
  });
  return finite;
}

/// The threads transform a strip together and share its outputs.
bool ForwardByOutputs(const Call& call, const SplitScratch& scratch) {
  const WinogradPlan& s = call.s;
  const size_t v_stride = s.input_stride(call.split.strip_tiles);
  float* v = scratch.input(0);
  std::atomic<bool> finite{true};
  for (size_t i = 0; i < call.split.strips; ++i) {
    const WinogradStrip strip = StripOf(call, i);
    const size_t lanes = s.kernels.lanes, vectors = s.g.depth / lanes;
    const bool by_channels = vectors >= 2 * call.split.threads;
    ParallelFor(by_channels ? vectors : strip.panels, 1, [&](size_t begin, size_t end) {
      if (by_channels) {
        s.loops.input[call.input_type](s.g, strip, call.x, 0, strip.panels, begin * lanes,
                                       end * lanes, v, v_stride);
      } else {
        s.loops.input[call.input_type](s.g, strip, call.x, begin, end, 0, s.g.depth, v, v_stride);
      }
    });
    // Where there are fewer output panels than threads, several share one.
    const size_t shares = std::clamp<size_t>(call.split.threads / s.output_panels, 1, strip.panels);
    ParallelParts(s.output_panels * shares, 1, [&](size_t thread, size_t begin, size_t end) {
      for (size_t part = begin; part < end; ++part) {
        const size_t share = part % shares;
        if (!ComputePanel(call, strip, part / shares, strip.panels * share / shares,
                          strip.panels * (share + 1) / shares, v, scratch.weights(thread),
                          scratch.sums(thread))) {
          finite = false;
        }
      }
    });
  }
  return finite;
}

bool Forward(const Call& call, void* scratch) {
  const SplitScratch parts(call.split, scratch);
  return call.split.shared ? ForwardByOutputs(call, parts) : ForwardByStrips(call, parts);
}

}  // namespace

bool WinogradPays(const WinogradShape& shape, double direct_speed) {
  return TakesLessTime(WinogradPlan(shape, kWinogradScratch), shape, /*pair=*/14, direct_speed);
}

size_t WinogradPackedSize(const WinogradShape& s) {
  return RoundUp(s.outputs, s.block) * (s.channels / s.groups) * Taps(s);
}

template <typename From, typename To>
void WinogradPackWeights(const WinogradShape& s, const From* weights, To* packed) {
  // Of one output, so that what is read and written stays in the cache.
  constexpr size_t kTogether = 128;
  const size_t block = s.block, row = s.channels / s.groups * Taps(s);
  ParallelFor(CeilDiv(s.outputs, s.block), 1, [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) {
      for (size_t first = 0; first < row; first += kTogether) {
        const size_t last = std::min(row, first + kTogether);
        for (size_t lane = 0; lane < block; ++lane) {
          const size_t o = b * block + lane;
          To* to = packed + b * row * block + lane;
          for (size_t i = first; i < last; ++i) {
            to[i * block] = o < size_t(s.outputs)
                                ? static_cast<To>(static_cast<float>(weights[o * row + i]))
                                : To(0.f);
          }
        }
      }
    }
  });
}

template <typename From>
void WinogradPackTurned(const WinogradShape& s, const From* weights, float* packed) {
  const size_t block = s.block, taps = Taps(s);
  const size_t channels = s.channels / s.groups, outputs = s.outputs / s.groups;
  ParallelFor(CeilDiv(s.outputs, s.block), 1, [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) {
      const size_t group = b * block / outputs, first = b * block % outputs;
      const size_t lanes = std::min(block, outputs - first);
      for (size_t c = 0; c < channels; ++c) {
        const From* from = weights + ((group * channels + c) * outputs + first) * taps;
        float* to = packed + (b * channels + c) * taps * block;
        if (lanes < block) std::fill_n(to, taps * block, 0.f);
        for (size_t lane = 0; lane < lanes; ++lane, from += taps) {
          for (size_t k = 0; k < taps; ++k) {
            to[k * block + lane] = static_cast<float>(from[taps - 1 - k]);
          }
        }
      }
    }
  });
}
template void WinogradPackTurned(const WinogradShape&, const float*, float*);
template void WinogradPackTurned(const WinogradShape&, const float16*, float*);
template void WinogradPackTurned(const WinogradShape&, const bfloat16*, float*);

template <typename From, typename To>
void WinogradUnpackWeights(const WinogradShape& s, const From* packed, To* weights) {
  const size_t block = s.block, row = s.channels / s.groups * Taps(s);
  ParallelFor(s.outputs, 1, [&](size_t begin, size_t end) {
    for (size_t o = begin; o < end; ++o) {
      const From* from = packed + o / block * row * block + o % block;
      for (size_t i = 0; i < row; ++i)
        weights[o * row + i] = static_cast<To>(static_cast<float>(from[i * block]));
    }
  });
}

struct WinogradConvolution::Impl {
  Impl(const WinogradShape& s, size_t max_scratch)
      : shape(s), most(max_scratch), plan(s, max_scratch) {}
  const WinogradSplit& split() const {
    return splits.For(shape.num, [this](int) { return MakeSplit(plan, most); });
  }

  const WinogradShape shape;
  const size_t most;  // bytes of scratch memory per thread
  const WinogradPlan plan;
  const Plans<WinogradSplit> splits;
};

WinogradConvolution::WinogradConvolution(const WinogradShape& shape, size_t max_scratch)
    : impl_(std::make_unique<Impl>(shape, max_scratch)) {}

WinogradConvolution::~WinogradConvolution() = default;

size_t WinogradConvolution::scratch_bytes() const {
  return sizeof(float) * impl_->split().floats();
}

bool WinogradConvolution::Run(Numbers x, Numbers packed, const PostOps& post, Destination y,
                              void* scratch) const {
  const WinogradPlan s = impl_->plan.At(y.strides, post.residual.data != nullptr);
  if (s.tiles == 0) return true;
  const size_t groups = impl_->shape.groups;
  const size_t group_x = s.g.channels * s.g.height * s.g.width;
  const size_t group_y = s.g.outputs * s.g.output_height * s.g.output_width;
  const size_t group_weights = WinogradPackedSize(impl_->shape) / groups;
  bool finite = true;
  for (size_t group = 0; group < groups; ++group) {
    const size_t o = group * s.g.outputs;
    Call call = {s,
                 impl_->split(),
                 x.at(group * group_x),
                 packed.at(group * group_weights),
                 post,
                 static_cast<char*>(y.y) + group * group_y * SizeOf(y.type),
                 StorageOf(x.type),
                 StorageOf(packed.type),
                 StorageOf(y.type)};
    if (post.bias) call.post.bias += o;
    if (post.activation.slopes) call.post.activation.slopes += o;
    if (post.residual.data) call.post.residual.data = post.residual.at(group * group_y);
    if (!Forward(call, scratch)) finite = false;
  }
  return finite;
}

#define CAFFE_INSTANTIATE_WEIGHTS(A, B)                                  \
  template void WinogradPackWeights(const WinogradShape&, const A*, B*); \
  template void WinogradUnpackWeights(const WinogradShape&, const A*, B*);
CAFFE_INSTANTIATE_WEIGHTS(float, float)
CAFFE_INSTANTIATE_WEIGHTS(float, float16)
CAFFE_INSTANTIATE_WEIGHTS(float, bfloat16)
CAFFE_INSTANTIATE_WEIGHTS(float16, float)
CAFFE_INSTANTIATE_WEIGHTS(float16, float16)
CAFFE_INSTANTIATE_WEIGHTS(float16, bfloat16)
CAFFE_INSTANTIATE_WEIGHTS(bfloat16, float)
CAFFE_INSTANTIATE_WEIGHTS(bfloat16, float16)
CAFFE_INSTANTIATE_WEIGHTS(bfloat16, bfloat16)
#undef CAFFE_INSTANTIATE_WEIGHTS

WinogradShape WinogradShapeOf(const ConvolutionShape& s, int num, int block, int tile) {
  WinogradShape w;
  w.num = num;
  w.channels = s.channels;
  w.outputs = s.outputs;
  w.groups = s.group;
  w.height = s.input[0];
  w.width = s.input[1];
  w.kernel = s.kernel[0];
  w.pad_h = s.pad[0];
  w.pad_w = s.pad[1];
  w.block = block;
  w.tile = tile;
  return w;
}

bool HasWinograd(const ConvolutionShape& s) {
  const std::vector<int> ones = {1, 1};
  if (s.axes() != 2 || s.stride != ones || s.dilation != ones) return false;
  const int unit = s.group * 16;  // whole blocks, of 8 or 16
  if (s.group < 1) return false;
  if (s.group > 1 && (s.channels % unit != 0 || s.outputs % unit != 0)) return false;
  const int kernel = s.kernel[0];
  return (kernel == 3 || kernel == 5) && s.kernel[1] == kernel && s.pad[0] < kernel &&
         s.pad[1] < kernel;
}

}  // namespace caffe::kernels
