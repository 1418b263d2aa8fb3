#include "caffe/kernels/data_gradient.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/simd/amx_tiles.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "convolution_bands.hpp"

namespace caffe::kernels {
namespace {

/// The numbers of dx whose place, counted with the padding, leaves the same remainder when divided
/// by the stride; and the taps of the kernel that reach them.
struct AxisPhase {
  AxisPhase(const BandAxis& axis, int remainder) {
    const int common = std::gcd(axis.stride, axis.dilation);
    tap_step = axis.stride / common;
    dilation = axis.dilation / common;
    first = ((remainder - axis.pad) % axis.stride + axis.stride) % axis.stride;
    all = first < axis.input ? (axis.input - first - 1) / axis.stride + 1 : 0;
    while (tap < axis.kernel && tap * axis.dilation % axis.stride != remainder) ++tap;
    if (tap == axis.kernel) return;
    taps = (axis.kernel - tap - 1) / tap_step + 1;
    // The output that the first number gets from the first tap; its window in dy ends there.
    const int output = (first + axis.pad - tap * axis.dilation) / axis.stride;
    pad = (taps - 1) * dilation - output;
    count = std::clamp(axis.output + pad, 0, all);
  }
  int last_tap() const { return tap + (taps - 1) * tap_step; }

  int first, all;                   ///< of the numbers
  int count = 0;                    ///< of those whose windows reach into dy
  int tap = 0, taps = 0, tap_step;  ///< the first one, how many, and from one to the next
  int dilation, pad = 0;            ///< of the convolution of dy; a negative pad skips numbers
};

class TileDataGradient : public DataGradient {
 public:
  explicit TileDataGradient(const ConvolutionShape& shape) : shape_(shape), bands_(shape) {
    const BandAxis &rows = bands_.rows(), &columns = bands_.columns();
    for (int r = 0; r < rows.stride; ++r) {
      for (int c = 0; c < columns.stride; ++c) {
        const AxisPhase down(rows, r), across(columns, c);
        if (down.all > 0 && across.all > 0) phases_.push_back(PhaseOf(down, across));
      }
    }
  }

  size_t scratch_bytes(int num, ElementType dx) const override {
    size_t most = 0;
    for (const Phase& phase : phases_) {
      most = std::max(most, BytesOfPieces<Buffers>(*this, phase, num, dx));
    }
    return most;
  }
  void Run(int num, const Numbers& dy, const Numbers& weights, void* scratch,
           const Destination& dx) const override;

 private:
  struct Phase {
    AxisPhase down, across;
    ConvolutionShape shape;
    std::shared_ptr<const PackedConvolution> kernel;  // null: dx is zero
  };
  struct Buffers {
    Buffers(const TileDataGradient& self, const Phase& phase, int num, ElementType dx,
            Pieces* pieces)
        : weights(pieces->Take<uint16_t>(phase.kernel ? phase.kernel->packed_size() : 0)),
          scratch(pieces->Take<float>(phase.kernel ? phase.kernel->scratch_size(num) : 0)),
          pixels(pieces->Take<char>(
              self.IsDirect() ? 0 : num * phase.shape.output_size() * SizeOf(dx))) {}
    uint16_t* weights;
    float* scratch;
    char* pixels;  // of the phase
  };

  /// True if the only phase is dx itself.
  bool IsDirect() const {
    return phases_.size() == 1 && phases_[0].down.count == bands_.rows().input &&
           phases_[0].across.count == bands_.columns().input;
  }

  Phase PhaseOf(const AxisPhase& down, const AxisPhase& across) const {
    Phase phase = {down, across, shape_, nullptr};
    ConvolutionShape& s = phase.shape;
    std::swap(s.channels, s.outputs);
    const BandAxis &rows = bands_.rows(), &columns = bands_.columns();
    s.input = {rows.output, columns.output};
    s.output = {down.count, across.count};
    s.kernel = {down.taps, across.taps};
    s.stride = {1, 1};
    s.pad = {down.pad, across.pad};
    s.dilation = {down.dilation, across.dilation};
    if (down.count > 0 && across.count > 0) {
      phase.kernel = PackedConvolution::MakeChannelsLast(s, false, ElementType::FLOAT16,
                                                         TileShape::TWO_BY_TWO);
    }
    return phase;
  }
  /// The first weight that the turned kernel of a phase has, and the way to the others.
  PackedConvolution::WeightStrides Turned(const Phase& phase, size_t* first) const {
    const ptrdiff_t columns = bands_.columns().kernel, kernel = bands_.taps();
    const ptrdiff_t of_output = shape_.channels / shape_.group * kernel;
    *first = phase.down.last_tap() * columns + phase.across.last_tap();
    return {shape_.outputs / shape_.group * of_output, kernel, of_output,
            -phase.down.tap_step * columns, -phase.across.tap_step};
  }
  void PlacePixels(const Phase& phase, int num, const char* pixels, const Destination& dx) const;

  const ConvolutionShape shape_;
  const Bands bands_;
  std::vector<Phase> phases_;
};

/// Writes the pixels of a phase to their places in dx, and zeros behind them.
void TileDataGradient::PlacePixels(const Phase& phase, int num, const char* pixels,
                                   const Destination& dx) const {
  const size_t pixel = shape_.channels * SizeOf(dx.type);
  const BandAxis &rows = bands_.rows(), &columns = bands_.columns();
  const AxisPhase &down = phase.down, &across = phase.across;
  const auto place = [&](size_t image, int row) {
    const size_t first_row = image * rows.input + down.first + row * rows.stride;
    char* to = static_cast<char*>(dx.y) + (first_row * columns.input + across.first) * pixel;
    const int count = row < down.count ? across.count : 0;
    const size_t first = (image * down.count + row) * across.count;
    for (int c = 0; c < across.all; ++c, to += columns.stride * pixel) {
      if (c < count) {
        std::memcpy(to, pixels + (first + c) * pixel, pixel);
      } else {
        std::memset(to, 0, pixel);
      }
    }
  };
  ParallelFor(size_t(num) * down.all, CeilDiv(1 << 14, across.all * pixel),
              [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                  place(i / down.all, static_cast<int>(i % down.all));
                }
              });
}

void TileDataGradient::Run(int num, const Numbers& dy, const Numbers& weights, void* scratch,
                           const Destination& dx) const {
  if (num == 0) return;
  Require(SizeOf(weights.type) == sizeof(uint16_t), "weights of 16 bits, not ", Name(weights.type));
  for (const Phase& phase : phases_) {
    if (!phase.kernel) {
      PlacePixels(phase, num, nullptr, dx);
      continue;
    }
    Pieces pieces(scratch);
    const Buffers buffers(*this, phase, num, dx.type, &pieces);
    size_t first = 0;
    const PackedConvolution::WeightStrides strides = Turned(phase, &first);
    phase.kernel->PackStrided(static_cast<const uint16_t*>(weights.data) + first, strides,
                              buffers.weights);
    ImageStrides pixels;
    pixels.x_pixel = shape_.outputs;
    pixels.y_pixel = shape_.channels;
    void* const y = IsDirect() ? dx.y : buffers.pixels;
    phase.kernel->Forward(num, dy, {buffers.weights, weights.type}, PostOps(), buffers.scratch,
                          {y, dx.type, pixels});
    if (!IsDirect()) PlacePixels(phase, num, buffers.pixels, dx);
  }
}

}  // namespace

std::shared_ptr<const DataGradient> DataGradient::Make(const ConvolutionShape& shape) {
  if (!ChosenAmxTiles() || shape.axes() < 1 || shape.axes() > 2 || shape.weight_count() == 0 ||
      shape.output_spatial() == 0) {
    return nullptr;
  }
  const bool fits = shape.channels / shape.group % kTileOutputs == 0 &&
                    shape.outputs / shape.group % kTileOutputs == 0;
  return fits ? std::make_shared<TileDataGradient>(shape) : nullptr;
}

}  // namespace caffe::kernels
