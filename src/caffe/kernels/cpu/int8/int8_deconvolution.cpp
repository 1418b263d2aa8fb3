#include "caffe/kernels/int8_deconvolution.hpp"

#include <algorithm>
#include <cstring>

#include "caffe/kernels/cpu/convolution/axis_phase.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/integer_reference.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

constexpr int64_t kMaxPhases = 256;  // up to here, a kernel call for a few outputs each pays
constexpr size_t kGrain = 1 << 14;   // bytes worth a thread

/// An axis of a deconvolution is that of the convolution whose gradient it is.
BandAxis AxisOf(const ConvolutionShape& s, int axis) {
  return {s.output[axis], s.input[axis], s.kernel[axis],
          s.stride[axis], s.pad[axis],   s.dilation[axis]};
}

/// Kernels for one position without padding assume equal input and output extents.
bool IsConvolution(const AxisPhase& phase, int input) {
  return phase.taps > 0 && phase.pad >= 0 &&
         (phase.taps > 1 || phase.pad > 0 || phase.count == input);
}

}  // namespace

std::shared_ptr<const Int8Deconvolution> Int8Deconvolution::Make(const ConvolutionShape& shape) {
  if (shape.axes() != 2 || shape.output_spatial() == 0 || shape.weight_count() == 0 ||
      !OffsetsFit(shape)) {
    return nullptr;
  }
  const int rows = std::min(shape.stride[0], shape.output[0]);
  const int columns = std::min(shape.stride[1], shape.output[1]);
  if (int64_t{rows} * columns > kMaxPhases) return nullptr;
  const BandAxis down = AxisOf(shape, 0), across = AxisOf(shape, 1);
  auto made = std::make_shared<Int8Deconvolution>();
  made->shape_ = shape;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const AxisPhase axes[2] = {AxisPhase(down, (row + down.pad) % down.stride),
                                 AxisPhase(across, (column + across.pad) % across.stride)};
      Phase phase = {{row, column}, shape, {}, nullptr};
      for (int i = 0; i < 2; ++i) {
        if (!IsConvolution(axes[i], shape.input[i])) return nullptr;
        phase.shape.output[i] = axes[i].count;
        phase.shape.kernel[i] = axes[i].taps;
        phase.shape.stride[i] = 1;
        phase.shape.pad[i] = axes[i].pad;
        phase.shape.dilation[i] = axes[i].dilation;
      }
      for (int r = 0; r < axes[0].taps; ++r) {
        for (int c = 0; c < axes[1].taps; ++c) {
          phase.taps.push_back(size_t(axes[0].Tap(r)) * shape.kernel[1] + axes[1].Tap(c));
        }
      }
      phase.convolution = Int8Convolution::Make(phase.shape, false);
      if (!phase.convolution) return nullptr;
      made->phases_.push_back(std::move(phase));
    }
  }
  return made;
}

size_t Int8Deconvolution::packed_size() const {
  size_t size = 0;
  for (const Phase& phase : phases_) size += RoundUp(phase.convolution->packed_size(), 64);
  return size;
}

std::vector<int8_t> Int8Deconvolution::Transposed(const int8_t* weights) const {
  std::vector<int8_t> transposed(shape_.weight_count());
  TransposeDeconvolution(shape_, weights, transposed.data());
  return transposed;
}

std::vector<int8_t> Int8Deconvolution::WeightsOf(const Phase& phase,
                                                 const int8_t* transposed) const {
  std::vector<int8_t> weights;
  const size_t taps = shape_.kernel_size(), kernels = shape_.weight_count() / taps;
  for (size_t i = 0; i < kernels; ++i) {
    for (const size_t tap : phase.taps) weights.push_back(transposed[i * taps + tap]);
  }
  return weights;
}

void Int8Deconvolution::PackWeights(const int8_t* weights, int8_t* packed) const {
  const std::vector<int8_t> transposed = Transposed(weights);
  for (const Phase& phase : phases_) {
    phase.convolution->PackWeights(WeightsOf(phase, transposed.data()).data(), packed);
    packed += RoundUp(phase.convolution->packed_size(), 64);
  }
}

void Int8Deconvolution::FoldZeroPoint(const int8_t* weights, int32_t zero_point,
                                      const int32_t* bias, int32_t* folded) const {
  const std::vector<int8_t> transposed = Transposed(weights);
  for (const Phase& phase : phases_) {
    const std::vector<int8_t> own = WeightsOf(phase, transposed.data());
    const size_t terms = own.size() / shape_.outputs;
    for (int o = 0; o < shape_.outputs; ++o) {
      *folded++ = kernels::FoldZeroPoint(terms, own.data() + o * terms, 0, zero_point, bias[o]);
    }
  }
}

size_t Int8Deconvolution::OutputBytes(const Phase& phase, int num) const {
  const size_t block = phase.convolution->block();
  return num * RoundUp(shape_.outputs, block) * phase.shape.output_spatial();
}

size_t Int8Deconvolution::scratch_bytes(int num) const {
  size_t outputs = 0, own = 0;
  for (const Phase& phase : phases_) {
    outputs = std::max(outputs, OutputBytes(phase, num));
    own = std::max(own, phase.convolution->scratch_bytes(num));
  }
  Pieces pieces;
  if (phases_.size() > 1) pieces.Take<char>(outputs);
  pieces.Take<char>(own);
  return pieces.bytes();
}

Int8Deconvolution::Rows Int8Deconvolution::Prepare(const Rescaling& by, ElementType type) const {
  Rescaling of_phase = by;
  Rows rows;
  for (const Phase& phase : phases_) {
    rows.push_back(phase.convolution->Prepare(of_phase, type));
    of_phase.bias += shape_.outputs;
  }
  return rows;
}

template <typename X, typename Y>
void Int8Deconvolution::Forward(int num, const X* x, const int8_t* packed, const Rescaling& by,
                                void* scratch, Y* y, const Rows& prepared) const {
  if (prepared.empty()) {
    return Forward(num, x, packed, by, scratch, y, Prepare(by, kElementType<Y>));
  }
  size_t outputs = 0;
  for (const Phase& phase : phases_) outputs = std::max(outputs, OutputBytes(phase, num));
  Pieces pieces(scratch);
  Y* const made = phases_.size() > 1 ? pieces.Take<Y>(outputs) : y;
  void* const own = pieces.Take<char>(0);
  for (size_t i = 0; i < phases_.size(); ++i) {
    const Phase& phase = phases_[i];
    phase.convolution->Forward(num, x, packed, by, own, made, nullptr, prepared[i].get());
    packed += RoundUp(phase.convolution->packed_size(), 64);
    if (made == y) return;
    const size_t block = phase.convolution->block(), planes = num * CeilDiv(shape_.outputs, block);
    const size_t rows = phase.shape.output[0], columns = phase.shape.output[1];
    const size_t bytes = columns * block;
    ParallelFor(planes * rows, std::max<size_t>(1, kGrain / bytes), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t row =
            i / rows * shape_.output[0] + phase.first[0] + i % rows * shape_.stride[0];
        Y* to = y + (row * shape_.output[1] + phase.first[1]) * block;
        for (size_t column = 0; column < columns; ++column, to += shape_.stride[1] * block) {
          std::memcpy(to, made + i * bytes + column * block, block);
        }
      }
    });
  }
}

#define CAFFE_INT8_DECONVOLUTION(X, Y)                                                            \
  template void Int8Deconvolution::Forward(int, const X*, const int8_t*, const Rescaling&, void*, \
                                           Y*, const Rows&) const
CAFFE_INT8_DECONVOLUTION(int8_t, int8_t);
CAFFE_INT8_DECONVOLUTION(int8_t, uint8_t);
CAFFE_INT8_DECONVOLUTION(uint8_t, int8_t);
CAFFE_INT8_DECONVOLUTION(uint8_t, uint8_t);
#undef CAFFE_INT8_DECONVOLUTION

}  // namespace caffe::kernels
