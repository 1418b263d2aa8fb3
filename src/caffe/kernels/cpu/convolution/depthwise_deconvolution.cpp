#include "caffe/kernels/depthwise_deconvolution.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "axis_phase.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/cpu/int8/int8_rescaling.hpp"
#include "caffe/kernels/cpu/int8/int8_tiles.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"

// Outputs that are a stride apart see the same taps, `stride` positions of the kernel apart, on
// neighbouring pixels of the input: each such phase of the outputs is a depthwise convolution with
// stride 1. Sums are computed by the kernels of 8-bit depthwise convolutions, whose inputs and
// weights are floats too.
namespace caffe::kernels {
namespace {

constexpr size_t kBandFloats = 8 << 10;  // of the input, widened
constexpr int kMaxDeconvolutionBlock = 16;
constexpr int kMinRows = 4;                      // of each phase, for wide rows
constexpr size_t kDeconvolutionGrain = 1 << 14;  // products below which work stays on one thread

/// One axis: output `phase + stride j` sees input `j + shift` through the tap of that shift.
struct DeconvolutionAxis {
  struct Tap {
    int kernel, shift;
  };
  std::vector<std::vector<Tap>> taps;  ///< of each phase that has outputs
  int lowest = 0, highest = 0;         ///< shifts

  DeconvolutionAxis(int kernel, int stride, int pad, int dilation, int input, int output)
      : taps(std::min(stride, output)) {
    const BandAxis axis = {output, input, kernel, stride, pad, dilation};
    bool first = true;
    for (int phase = 0; phase < int(taps.size()); ++phase) {
      const AxisPhase at(axis, (phase + pad) % stride);
      for (int i = at.taps - 1; i >= 0; --i) {
        const int shift = i * at.dilation - at.pad;
        // Other taps see no input for any output.
        if (shift >= input || shift + at.count <= 0) continue;
        taps[phase].push_back({at.Tap(i), shift});
        lowest = first ? shift : std::min(lowest, shift);
        highest = first ? shift : std::max(highest, shift);
        first = false;
      }
    }
  }
  /// Inputs that `outputs` outputs, of all phases, see.
  int Reach(int outputs, int stride) const { return (outputs - 1) / stride + 1 + highest - lowest; }
};

/// The outputs of a band that see the same taps.
struct Phase {
  int columns = 0;  ///< of its outputs
  std::vector<int> taps;
  std::vector<int32_t> steps, windows;
  std::vector<size_t> targets;
};

/// y = the numbers in x; for bytes minus their zero point.
template <typename X>
void Widen(size_t n, const X* x, int zero_point, float* y) {
  if constexpr (std::is_same<X, int8_t>::value) {
    ChosenKernels().quantize.from_int8(n, 1, zero_point, x, y);
  } else if constexpr (std::is_same<X, uint8_t>::value) {
    ChosenKernels().quantize.from_uint8(n, 1, zero_point, x, y);
  } else {
    Convert(n, x, y);
  }
}

/// The maximum number of products in an output's sum.
size_t MostTerms(const DepthwiseDeconvolutionShape& s) {
  size_t terms = 1;
  for (int i = 0; i < 2; ++i) {
    // Positions of the kernel this far apart contribute to the same outputs.
    const int apart = s.stride[i] / std::gcd(s.stride[i], s.dilation[i]);
    terms *= CeilDiv(s.kernel[i], apart);
  }
  return terms;
}

/// 16-bit outputs are written through floats.
template <typename Y>
constexpr bool kIsHalf = sizeof(Y) == 2;
template <typename Y>
constexpr ElementType kTileType = kIsHalf<Y> ? ElementType::FLOAT : kElementType<Y>;

}  // namespace

class DepthwiseDeconvolution::Plan {
 public:
  Plan(const DepthwiseDeconvolutionShape& s, bool to_16_bits)
      : s_(s),
        to_16_bits_(to_16_bits),
        tiles_(ChosenInt8Tiles()),
        block_(tiles_.block),
        blocks_(CeilDiv(s.channels, block_)),
        rows_(s.kernel[0], s.stride[0], s.pad[0], s.dilation[0], s.height, s.out_height),
        columns_(s.kernel[1], s.stride[1], s.pad[1], s.dilation[1], s.width, s.out_width),
        width_(columns_.Reach(s.out_width, s.stride[1])),
        band_(BandSize()) {
    for (size_t row = 0; row < rows_.taps.size(); ++row) {
      for (size_t column = 0; column < columns_.taps.size(); ++column) {
        phases_.push_back(PhaseOf(row, column));
      }
    }
  }

  size_t scratch_bytes() const { return std::min(Threads(), items()) * bytes(); }

  template <typename X, typename Y>
  void Run(float x_scale, const X* x, const float* weights, const PostOps& post, Y* y,
           void* scratch) const {
    float factors[kMaxDeconvolutionBlock];
    std::fill_n(factors, block_, x_scale);
    Int8Tiles::TilePostOps writing;
    writing.scale = factors;
    writing.bias = post.bias;
    writing.activation = post.activation;
    writing.factor = post.factor;
    writing.type = kTileType<Y>;
    writing.may_be_nan = true;
    Int8Tiles::SetRange(&writing);
    RunBands(0, x, weights, writing, y, scratch);
  }

  std::shared_ptr<const RescalingRows> Prepare(const Rescaling& by, ElementType type) const {
    // Twice as many terms: weights may be 255.
    return std::make_shared<RescalingRows>(by, tiles_, type, s_.channels, blocks_ * block_,
                                           2 * MostTerms(s_));
  }

  template <typename X, typename Y>
  void Run(const X* x, const float* weights, int zero_point, const RescalingRows& rows, Y* y,
           void* scratch) const {
    Int8Tiles::TilePostOps writing;
    writing.type = kTileType<Y>;
    writing.rescaled = rows.get();
    RunBands(zero_point, x, weights, writing, y, scratch);
  }

 private:
  /// A thread's scratch memory.
  struct Buffers {
    Buffers(const Plan& self, Pieces* pieces)
        : input(pieces->Take<float>(self.Floats(self.band_))),
          taps(pieces->Take<float>(size_t(self.s_.kernel[0]) * self.s_.kernel[1] * self.block_)),
          wide(pieces->Take<float>(self.to_16_bits_ ? self.band_ * self.row() : 0)) {}
    float *input, *taps, *wide;
  };
  size_t bytes() const { return BytesOfPieces<Buffers>(*this) + kBetweenThreads; }

  size_t items() const { return s_.num * blocks_ * CeilDiv(s_.out_height, band_); }

  /// `writing` is that of the first block, without y.
  template <typename X, typename Y>
  void RunBands(int zero_point, const X* x, const float* weights,
                const Int8Tiles::TilePostOps& of_first, Y* y, void* scratch) const {
    const size_t bands = CeilDiv(s_.out_height, band_);
    const size_t products = Floats(band_) * s_.kernel[0] * s_.kernel[1];
    const size_t grain = std::max<size_t>(1, kDeconvolutionGrain / std::max<size_t>(1, products));
    ParallelParts(items(), grain, [&](size_t part, size_t begin, size_t last) {
      Pieces pieces(static_cast<char*>(scratch) + part * bytes());
      const Buffers own(*this, &pieces);
      for (size_t item = begin; item < last; ++item) {
        const size_t plane = item / bands, b = plane % blocks_;
        const int first = static_cast<int>(item % bands) * band_;
        const int outputs = std::min(band_, s_.out_height - first);
        Fill(first / s_.stride[0], x + plane * s_.height * s_.width * block_, zero_point,
             own.input);
        Y* to = y + (plane * s_.out_height + first) * row();
        Int8Tiles::TilePostOps writing = of_first;
        if (writing.rescaled.rows) {
          writing.rescaled.rows += b * Int8Tiles::RESCALING_ROWS * block_;
        } else {
          writing.bias += b * block_;
        }
        if (writing.activation.slopes) writing.activation.slopes += b * block_;
        writing.y = kIsHalf<Y> ? static_cast<void*>(own.wide) : to;
        const size_t kernel = b * s_.kernel[0] * s_.kernel[1] * block_;
        Compute(outputs, own.input, weights + kernel, writing, own.taps);
        if constexpr (kIsHalf<Y>) Convert(outputs * row(), own.wide, to);
        ClearPadding(b, outputs * row(), to);
      }
    });
  }

  /// Rows of the output at a time: what fits the L1 cache, with a part for each thread; a multiple
  /// of the stride, or all.
  int BandSize() const {
    const int stride = std::min(s_.stride[0], s_.out_height);
    const size_t parts = CeilDiv(Threads(), std::max<size_t>(1, s_.num * blocks_));
    const int most = static_cast<int>(CeilDiv(s_.out_height, parts));
    int band = stride;
    while (band < most && (Floats(band + stride) <= kBandFloats || band < kMinRows * stride)) {
      band += stride;
    }
    return band;
  }
  size_t row() const { return size_t(s_.out_width) * block_; }  ///< elements of y
  size_t Floats(int outputs) const {
    return size_t(rows_.Reach(outputs, s_.stride[0])) * width_ * block_;
  }

  Phase PhaseOf(size_t row, size_t column) const {
    Phase phase;
    for (const DeconvolutionAxis::Tap& r : rows_.taps[row]) {
      for (const DeconvolutionAxis::Tap& c : columns_.taps[column]) {
        phase.taps.push_back(r.kernel * s_.kernel[1] + c.kernel);
        phase.steps.push_back(((r.shift - rows_.lowest) * width_ + c.shift - columns_.lowest) *
                              block_);
      }
    }
    const int rows = std::min(band_, s_.out_height);
    for (size_t i = row; i < size_t(rows); i += s_.stride[0]) {
      phase.columns = 0;
      for (size_t j = column; j < size_t(s_.out_width); j += s_.stride[1], ++phase.columns) {
        phase.windows.push_back((i / s_.stride[0] * width_ + j / s_.stride[1]) * block_);
        phase.targets.push_back((i * s_.out_width + j) * block_);
      }
    }
    return phase;
  }

  /// The input of a band whose first outputs see row `first` with shift 0, minus the zero point;
  /// zeros around the plane.
  template <typename X>
  void Fill(int first, const X* plane, int zero_point, float* input) const {
    const int left = std::min(width_, std::max(0, -columns_.lowest));
    const int begin = left + columns_.lowest;  // of the input's columns
    const int used = std::max(0, std::min(s_.width - begin, width_ - left));
    const size_t pitch = size_t(width_) * block_;
    const int rows = rows_.Reach(band_, s_.stride[0]);
    for (int i = 0; i < rows; ++i, input += pitch) {
      const int from = first + rows_.lowest + i;
      if (from < 0 || from >= s_.height) {
        std::fill_n(input, pitch, 0.f);
        continue;
      }
      std::fill_n(input, left * block_, 0.f);
      Widen(size_t(used) * block_, plane + (ptrdiff_t(from) * s_.width + begin) * block_,
            zero_point, input + left * block_);
      std::fill(input + (left + used) * block_, input + pitch, 0.f);
    }
  }

  void Compute(int outputs, const float* input, const float* weights,
               const Int8Tiles::TilePostOps& writing, float* taps) const {
    for (size_t p = 0; p < phases_.size(); ++p) {
      const Phase& phase = phases_[p];
      const int row = static_cast<int>(p / columns_.taps.size());
      if (outputs <= row) continue;
      const int pixels =
          static_cast<int>(CeilDiv(size_t(outputs - row), s_.stride[0])) * phase.columns;
      for (size_t t = 0; t < phase.taps.size(); ++t) {
        std::copy_n(weights + phase.taps[t] * block_, block_, taps + t * block_);
      }
      Int8Tiles::DepthwiseWork work;
      work.x = input;
      work.steps = phase.steps.data();
      work.steps_count = static_cast<int>(phase.steps.size());
      work.windows = phase.windows.data();
      work.weights = taps;
      work.writing = &writing;
      work.targets = phase.targets.data();
      work.residual_targets = phase.targets.data();
      RunTiles(tiles_.depthwise, kMaxInt8Pixels, pixels, work);
    }
  }

  /// Activations may have made the padding of channels nonzero.
  template <typename Y>
  void ClearPadding(size_t b, size_t elements, Y* y) const {
    const size_t used = std::min<size_t>(block_, s_.channels - b * block_);
    if (used < size_t(block_)) ClearLanes(y, elements / block_, block_, used, sizeof(Y));
  }

  const DepthwiseDeconvolutionShape s_;
  const bool to_16_bits_;
  const Int8Tiles& tiles_;
  const int block_;
  const size_t blocks_;
  const DeconvolutionAxis rows_, columns_;
  const int width_;  ///< pixels of a row of the widened input
  const int band_;   ///< rows of the output at a time
  std::vector<Phase> phases_;
};

DepthwiseDeconvolution::DepthwiseDeconvolution(const DepthwiseDeconvolutionShape& shape,
                                               bool to_16_bits)
    : plan_(std::make_unique<const Plan>(shape, to_16_bits)) {}
DepthwiseDeconvolution::~DepthwiseDeconvolution() = default;

size_t DepthwiseDeconvolution::packed_size(const DepthwiseDeconvolutionShape& s) {
  const size_t block = ChosenInt8Tiles().block;
  return RoundUp(s.channels, block) * s.kernel[0] * s.kernel[1];
}

void DepthwiseDeconvolution::PackWeights(const DepthwiseDeconvolutionShape& s, const float* weights,
                                         float* packed) {
  std::fill_n(packed, packed_size(s), 0.f);
  ForEachDepthwiseWeight(s.channels, size_t(s.kernel[0]) * s.kernel[1], ChosenInt8Tiles().block,
                         [=](size_t to, size_t from) { packed[to] = weights[from]; });
}

bool DepthwiseDeconvolution::HoldsIntegers(const DepthwiseDeconvolutionShape& s) {
  return MostTerms(s) * 255 * 255 < size_t{1} << 24;
}

size_t DepthwiseDeconvolution::scratch_bytes() const { return plan_->scratch_bytes(); }

template <typename X, typename Y>
void DepthwiseDeconvolution::Run(float x_scale, const X* x, const float* weights,
                                 const PostOps& post, Y* y, void* scratch) const {
  plan_->Run(x_scale, x, weights, post, y, scratch);
}

std::shared_ptr<const RescalingRows> DepthwiseDeconvolution::Prepare(const Rescaling& by,
                                                                     ElementType type) const {
  return plan_->Prepare(by, type);
}

template <typename X, typename Y>
void DepthwiseDeconvolution::Run(const X* x, const float* weights, int input_zero_point,
                                 const RescalingRows& rows, Y* y, void* scratch) const {
  plan_->Run(x, weights, input_zero_point, rows, y, scratch);
}

#define CAFFE_INTEGER_DECONVOLUTION(X, Y)                                                          \
  template void DepthwiseDeconvolution::Run(const X*, const float*, int, const RescalingRows&, Y*, \
                                            void*) const
CAFFE_INTEGER_DECONVOLUTION(int8_t, int8_t);
CAFFE_INTEGER_DECONVOLUTION(int8_t, uint8_t);
CAFFE_INTEGER_DECONVOLUTION(uint8_t, int8_t);
CAFFE_INTEGER_DECONVOLUTION(uint8_t, uint8_t);
#undef CAFFE_INTEGER_DECONVOLUTION

#define CAFFE_DECONVOLUTION(X, Y)                                                              \
  template void DepthwiseDeconvolution::Run(float, const X*, const float*, const PostOps&, Y*, \
                                            void*) const
CAFFE_DECONVOLUTION(float, float);
CAFFE_DECONVOLUTION(float, float16);
CAFFE_DECONVOLUTION(float, bfloat16);
CAFFE_DECONVOLUTION(float16, float);
CAFFE_DECONVOLUTION(float16, float16);
CAFFE_DECONVOLUTION(float16, bfloat16);
CAFFE_DECONVOLUTION(bfloat16, float);
CAFFE_DECONVOLUTION(bfloat16, float16);
CAFFE_DECONVOLUTION(bfloat16, bfloat16);
CAFFE_DECONVOLUTION(int8_t, float);
CAFFE_DECONVOLUTION(int8_t, int8_t);
CAFFE_DECONVOLUTION(int8_t, uint8_t);
CAFFE_DECONVOLUTION(uint8_t, float);
CAFFE_DECONVOLUTION(uint8_t, int8_t);
CAFFE_DECONVOLUTION(uint8_t, uint8_t);
#undef CAFFE_DECONVOLUTION

}  // namespace caffe::kernels
