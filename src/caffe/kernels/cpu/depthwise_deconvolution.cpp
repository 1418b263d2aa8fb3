#include "caffe/kernels/depthwise_deconvolution.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/quantize.hpp"
#include "int8_tiles.hpp"
#include "tile_runs.hpp"

// Outputs that are a stride apart see the same taps, `stride` positions of the kernel apart, on
// neighbouring pixels of the input: each such phase of the outputs is a depthwise convolution with
// stride 1. The sums are those of 8-bit convolutions, whose inputs and weights are floats too.
namespace caffe {
namespace kernels {
namespace {

constexpr size_t kBandFloats = 8 << 10;  // of the input, widened
constexpr size_t kGrain = 1 << 14;       // products below which work stays on one thread

/// One axis: output `phase + stride j` sees input `j + shift` by the tap of that shift.
struct Axis {
  struct Tap {
    int kernel, shift;
  };
  std::vector<std::vector<Tap>> taps;  ///< of each phase
  int lowest = 0, highest = 0;         ///< shifts

  Axis(int kernel, int stride, int pad, int dilation) : taps(stride) {
    bool first = true;
    for (int phase = 0; phase < stride; ++phase) {
      for (int k = 0; k < kernel; ++k) {
        const int place = phase + pad - k * dilation;
        if (place % stride != 0) continue;
        taps[phase].push_back({k, place / stride});
        lowest = first ? place / stride : std::min(lowest, place / stride);
        highest = first ? place / stride : std::max(highest, place / stride);
        first = false;
      }
    }
  }
  /// Inputs that so many outputs, of all phases, reach.
  int Reach(int outputs, int stride) const { return (outputs - 1) / stride + 1 + highest - lowest; }
};

/// The outputs of a band that see the same taps.
struct Phase {
  int columns = 0;  ///< of its outputs
  std::vector<int> taps;
  std::vector<int32_t> steps, windows;
  std::vector<size_t> targets;
};

template <typename X>
void Widen(size_t n, const X* x, float* y) {
  const Int8Tiles& tiles = ChosenInt8Tiles();
  if constexpr (std::is_same<X, int8_t>::value) {
    tiles.float_signed(n, x, y);
  } else if constexpr (std::is_same<X, uint8_t>::value) {
    tiles.float_unsigned(n, x, y);
  } else {
    Convert(n, x, y);
  }
}

template <typename Y>
constexpr Int8Tiles::Kind kKindOf = std::is_same<Y, int8_t>::value    ? Int8Tiles::INT8
                                    : std::is_same<Y, uint8_t>::value ? Int8Tiles::UINT8
                                                                      : Int8Tiles::FLOAT;
/// Those of 16 bits are written by way of floats.
template <typename Y>
constexpr bool kIsHalf = sizeof(Y) == 2;

class Deconvolver {
 public:
  explicit Deconvolver(const DepthwiseDeconvolutionShape& s)
      : s_(s),
        tiles_(ChosenInt8Tiles()),
        block_(tiles_.block),
        blocks_(Divide(s.channels, block_)),
        rows_(s.kernel[0], s.stride[0], s.pad[0], s.dilation[0]),
        columns_(s.kernel[1], s.stride[1], s.pad[1], s.dilation[1]),
        width_(columns_.Reach(s.out_width, s.stride[1])) {
    band_ = s.stride[0];
    while (band_ < s.out_height && Floats(band_ + s.stride[0]) <= kBandFloats) {
      band_ += s.stride[0];
    }
    for (int row = 0; row < s.stride[0]; ++row) {
      for (int column = 0; column < s.stride[1]; ++column) {
        phases_.push_back(PhaseOf(row, column));
      }
    }
  }

  template <typename X, typename Y>
  void Run(float x_scale, const X* x, const float* weights, const DepthwiseDeconvolutionEnd& end,
           Y* y) const {
    const size_t bands = Divide(s_.out_height, band_);
    const size_t products = Floats(band_) * s_.kernel[0] * s_.kernel[1];
    const std::vector<float> factors(block_, x_scale);
    const size_t grain = std::max<size_t>(1, kGrain / products);
    ParallelFor(s_.num * blocks_ * bands, grain, [&](size_t begin, size_t last) {
      std::vector<float> input(Floats(band_)), taps(size_t(s_.kernel[0]) * s_.kernel[1] * block_);
      std::vector<float> wide(kIsHalf<Y> ? band_ * row() : 0);
      for (size_t item = begin; item < last; ++item) {
        const size_t plane = item / bands, b = plane % blocks_;
        const int first = static_cast<int>(item % bands) * band_;
        const int outputs = std::min(band_, s_.out_height - first);
        Fill(first / s_.stride[0], x + plane * s_.height * s_.width * block_, input.data());
        Y* to = y + (plane * s_.out_height + first) * row();
        Int8Tiles::Writing writing = {};
        writing.scale = factors.data();
        writing.bias = end.bias + b * block_;
        writing.activation = end.activation;
        writing.function = end.function;
        if (end.function.slopes) writing.function.slopes += b * block_;
        writing.factor = end.factor;
        writing.kind = kKindOf<Y>;
        writing.y = kIsHalf<Y> ? static_cast<void*>(wide.data()) : to;
        Int8Tiles::SetRange(&writing);
        const size_t kernel = b * s_.kernel[0] * s_.kernel[1] * block_;
        Compute(outputs, input.data(), weights + kernel, writing, taps.data());
        if constexpr (kIsHalf<Y>) Convert(outputs * row(), wide.data(), to);
        ClearPadding(b, outputs * row(), to);
      }
    });
  }

 private:
  size_t row() const { return size_t(s_.out_width) * block_; }  ///< elements of y
  size_t Floats(int outputs) const {
    return size_t(rows_.Reach(outputs, s_.stride[0])) * width_ * block_;
  }

  Phase PhaseOf(int row, int column) const {
    Phase phase;
    for (const Axis::Tap& r : rows_.taps[row]) {
      for (const Axis::Tap& c : columns_.taps[column]) {
        phase.taps.push_back(r.kernel * s_.kernel[1] + c.kernel);
        phase.steps.push_back(((r.shift - rows_.lowest) * width_ + c.shift - columns_.lowest) *
                              block_);
      }
    }
    for (int i = row; i < band_; i += s_.stride[0]) {
      phase.columns = 0;
      for (int j = column; j < s_.out_width; j += s_.stride[1], ++phase.columns) {
        phase.windows.push_back((i / s_.stride[0] * width_ + j / s_.stride[1]) * block_);
        phase.targets.push_back((size_t(i) * s_.out_width + j) * block_);
      }
    }
    return phase;
  }

  /// What a band reaches whose first outputs see row `first` with shift 0, zeros around the plane.
  template <typename X>
  void Fill(int first, const X* plane, float* input) const {
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
            input + left * block_);
      std::fill(input + (left + used) * block_, input + pitch, 0.f);
    }
  }

  void Compute(int outputs, const float* input, const float* weights,
               const Int8Tiles::Writing& writing, float* taps) const {
    for (size_t p = 0; p < phases_.size(); ++p) {
      const Phase& phase = phases_[p];
      const int row = static_cast<int>(p) / s_.stride[1];
      const int pixels = (outputs - row + s_.stride[0] - 1) / s_.stride[0] * phase.columns;
      if (outputs <= row || pixels == 0) continue;
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
      RunTiles(tiles_.depthwise, kMostInt8Pixels, pixels, work);
    }
  }

  /// Activations may have left something where there is no channel.
  template <typename Y>
  void ClearPadding(size_t b, size_t elements, Y* y) const {
    const size_t used = std::min<size_t>(block_, s_.channels - b * block_);
    if (used == size_t(block_)) return;
    for (size_t i = 0; i < elements; i += block_) {
      std::memset(static_cast<void*>(y + i + used), 0, (block_ - used) * sizeof(Y));
    }
  }

  const DepthwiseDeconvolutionShape& s_;
  const Int8Tiles& tiles_;
  const int block_;
  const size_t blocks_;
  const Axis rows_, columns_;
  const int width_;  ///< pixels of a row of the widened input
  int band_;         ///< rows of the output at a time, a multiple of the stride
  std::vector<Phase> phases_;
};

}  // namespace

template <typename X, typename Y>
void DepthwiseDeconvolution(const DepthwiseDeconvolutionShape& shape, float x_scale, const X* x,
                            const float* weights, const DepthwiseDeconvolutionEnd& end, Y* y) {
  Deconvolver(shape).Run(x_scale, x, weights, end, y);
}

#define CAFFE_DECONVOLUTION(X, Y)                                                           \
  template void DepthwiseDeconvolution(const DepthwiseDeconvolutionShape&, float, const X*, \
                                       const float*, const DepthwiseDeconvolutionEnd&, Y*)
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

}  // namespace kernels
}  // namespace caffe
