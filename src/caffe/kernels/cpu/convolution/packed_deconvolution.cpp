#include "caffe/kernels/packed_deconvolution.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "axis_phase.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "convolution_bands.hpp"

namespace caffe::kernels {
namespace {

constexpr int64_t kMaxPhases = 4096;
constexpr size_t kBytesOfThread = 1 << 14;  // bytes to move that are worth a thread

/// A convolution that sees only padding, for a phase that no position of the kernel reaches.
AxisPhase Unreached(AxisPhase phase, int input) {
  phase.taps = 1;
  phase.pad = -input;
  return phase;
}

}  // namespace

/// A thread's scratch memory.
struct PackedDeconvolution::Buffers {
  Buffers(const PackedDeconvolution& self, int num, ElementType y, Pieces* pieces) {
    size_t made_bytes = 0, floats = 0;
    for (const Phase& phase : self.phases_) {
      if (phase.is_empty()) continue;
      made_bytes = std::max(made_bytes, self.Elements(phase, num) * SizeOf(y));
      floats = std::max(floats, phase.kernel->scratch_size(num));
    }
    made = pieces->Take<char>(self.IsDirect() ? 0 : made_bytes);
    scratch = pieces->Take<float>(floats);
  }
  char* made;  // by a phase
  float* scratch;
};

std::shared_ptr<const PackedDeconvolution> PackedDeconvolution::Make(const ConvolutionShape& shape,
                                                                     ElementType math) {
  return Make(shape, false, [math](const ConvolutionShape& phase) {
    return PackedConvolution::Make(phase, false, math);
  });
}

std::shared_ptr<const PackedDeconvolution> PackedDeconvolution::MakeChannelsLast(
    const ConvolutionShape& shape, ElementType math, TileShape tile_shape) {
  return Make(shape, true, [math, tile_shape](const ConvolutionShape& phase) {
    return PackedConvolution::MakeChannelsLast(phase, false, math, tile_shape);
  });
}

std::shared_ptr<const PackedDeconvolution> PackedDeconvolution::Make(
    const ConvolutionShape& shape, bool channels_last, const MakeKernel& make_kernel) {
  if (shape.axes() < 1 || shape.axes() > 2 || shape.weight_count() == 0 ||
      shape.input_spatial() == 0 || shape.output_spatial() == 0 || !OffsetsFit(shape)) {
    return nullptr;
  }
  auto made = std::make_shared<PackedDeconvolution>();
  made->shape_ = shape;
  made->channels_last_ = channels_last;
  return made->AddPhases(make_kernel) ? made : nullptr;
}

bool PackedDeconvolution::AddPhases(const MakeKernel& make_kernel) {
  const Bands bands(shape_);
  const BandAxis axes[2] = {bands.rows(), bands.columns()};
  for (int i = 0; i < 2; ++i) {
    input_[i] = axes[i].input;
    output_[i] = axes[i].output;
    kernel_[i] = axes[i].kernel;
    stride_[i] = axes[i].stride;
  }
  if (int64_t{stride_[0]} * stride_[1] > kMaxPhases) return false;
  // Of many phases most are alike.
  std::map<std::vector<int>, Kernel> kernels;
  for (int row = 0; row < stride_[0]; ++row) {
    for (int column = 0; column < stride_[1]; ++column) {
      AxisPhase at[2] = {AxisPhase(axes[0], row), AxisPhase(axes[1], column)};
      Phase phase = {};
      for (int i = 0; i < 2; ++i) {
        phase.first[i] = at[i].first;
        phase.count[i] = at[i].count;
        phase.first_tap[i] = at[i].Tap(0);
        phase.tap_step[i] = at[i].tap_step;
        phase.taps[i] = at[i].taps;
      }
      if (at[0].taps == 0 || at[1].taps == 0) {
        phase.taps[0] = phase.taps[1] = 0;
        for (int i = 0; i < 2; ++i) at[i] = Unreached(at[i], output_[i]);
      }
      ConvolutionShape s;
      s.channels = shape_.outputs;
      s.outputs = shape_.channels;
      s.group = shape_.group;
      s.input = {output_[0], output_[1]};
      s.output = {std::max(1, at[0].count), std::max(1, at[1].count)};
      s.kernel = {at[0].taps, at[1].taps};
      s.stride = {1, 1};
      s.pad = {at[0].pad, at[1].pad};
      s.dilation = {at[0].dilation, at[1].dilation};
      Kernel& kernel =
          kernels[{s.output[0], s.output[1], s.kernel[0], s.kernel[1], s.pad[0], s.pad[1]}];
      if (!kernel) kernel = make_kernel(s);
      if (!kernel) return false;
      phase.kernel = kernel;
      phase.packed = packed_size_;
      packed_size_ += RoundUp(kernel->packed_size(), 64);
      phases_.push_back(std::move(phase));
    }
  }
  return true;
}

template <typename Function>
void PackedDeconvolution::ForEachWeight(const Phase& phase, Function&& f) const {
  const size_t inputs = shape_.outputs / shape_.group, outputs = shape_.channels / shape_.group;
  size_t own = 0;
  for (size_t o = 0; o < size_t(shape_.channels); ++o) {
    for (size_t i = 0; i < inputs; ++i) {
      const size_t input = o / outputs * inputs + i;
      const size_t plane = (input * outputs + o % outputs) * kernel_[0] * kernel_[1];
      for (int r = 0; r < phase.taps[0]; ++r) {
        const int row = phase.first_tap[0] - r * phase.tap_step[0];
        for (int c = 0; c < phase.taps[1]; ++c, ++own) {
          const int column = phase.first_tap[1] - c * phase.tap_step[1];
          f(own, plane + size_t(row) * kernel_[1] + column);
        }
      }
    }
  }
}

template <typename V, typename W>
void PackedDeconvolution::PackWeights(const V* weights, const float* scale, W* packed) const {
  const size_t pairs = size_t(shape_.channels) * (shape_.outputs / shape_.group);
  std::fill_n(packed, packed_size_, W(0.f));
  std::vector<V> own;
  for (const Phase& phase : phases_) {
    own.assign(pairs * std::max(1, phase.taps[0] * phase.taps[1]), V(0.f));
    ForEachWeight(phase, [&](size_t to, size_t from) { own[to] = weights[from]; });
    phase.kernel->PackWeights(own.data(), scale, packed + phase.packed);
  }
}

template <typename W>
void PackedDeconvolution::UnpackWeights(const W* packed, W* weights) const {
  const size_t pairs = size_t(shape_.channels) * (shape_.outputs / shape_.group);
  std::vector<W> own;
  for (const Phase& phase : phases_) {
    own.assign(pairs * std::max(1, phase.taps[0] * phase.taps[1]), W(0.f));
    phase.kernel->UnpackWeights(packed + phase.packed, own.data());
    ForEachWeight(phase, [&](size_t from, size_t to) { weights[to] = own[from]; });
  }
}

void PackedDeconvolution::PackStrided(const uint16_t* weights, uint16_t* packed) const {
  const ptrdiff_t columns = kernel_[1], taps = columns * kernel_[0];
  const ptrdiff_t of_output = shape_.channels / shape_.group * taps;
  for (const Phase& phase : phases_) {
    if (phase.taps[0] == 0) {
      std::fill_n(packed + phase.packed, phase.kernel->packed_size(), uint16_t{0});
      continue;
    }
    const size_t first = phase.first_tap[0] * columns + phase.first_tap[1];
    phase.kernel->PackStrided(weights + first,
                              {shape_.outputs / shape_.group * of_output, taps, of_output,
                               -phase.tap_step[0] * columns, -phase.tap_step[1]},
                              packed + phase.packed);
  }
}

size_t PackedDeconvolution::Elements(const Phase& phase, int num) const {
  return RoundUp(shape_.channels, block()) * num * phase.count[0] * phase.count[1];
}

// Few phases are shared by the threads, unless each thread has as many.
bool PackedDeconvolution::SharesPhases() const {
  const size_t count = phases_.size(), threads = Threads();
  return count < 4 * threads && count % threads != 0;
}

size_t PackedDeconvolution::PartBytes(int num, ElementType y) const {
  const TeamSize team(static_cast<int>(SharesPhases() ? Threads() : 1));
  return BytesOfPieces<Buffers>(*this, num, y) + kBetweenThreads;
}

size_t PackedDeconvolution::scratch_bytes(int num, ElementType y) const {
  const size_t parts = SharesPhases() ? 1 : ParallelParts(phases_.size(), 1);
  return parts * PartBytes(num, y);
}

void PackedDeconvolution::Forward(int num, const Numbers& x, const Numbers& weights,
                                  const PostOps& post, void* scratch, const Destination& y) const {
  Require(!post.residual.data, "a deconvolution takes no residual");
  if (num == 0) return;
  const size_t pitch = PartBytes(num, y.type);
  const auto run = [&](size_t part, size_t begin, size_t end) {
    Pieces pieces(static_cast<char*>(scratch) + part * pitch);
    const Buffers buffers(*this, num, y.type, &pieces);
    for (size_t i = begin; i < end; ++i) {
      if (!phases_[i].is_empty()) RunPhase(phases_[i], num, x, weights, post, buffers, y);
    }
  };
  if (SharesPhases()) return run(0, 0, phases_.size());
  ParallelParts(phases_.size(), 1, [&](size_t part, size_t begin, size_t end) {
    const TeamSize alone(1);
    run(part, begin, end);
  });
}

void PackedDeconvolution::RunPhase(const Phase& phase, int num, const Numbers& x,
                                   const Numbers& weights, const PostOps& post,
                                   const Buffers& buffers, const Destination& y) const {
  ImageStrides strides;
  strides.x = y.strides.x;
  strides.x_pixel = y.strides.x_pixel;
  if (IsDirect()) {
    strides = y.strides;
  } else if (channels_last_) {
    strides.y_pixel = RoundUp(shape_.channels, block());
  }
  void* const made = IsDirect() ? y.y : buffers.made;
  phase.kernel->Forward(num, x, {weights.at(phase.packed), weights.type}, post, buffers.scratch,
                        {made, y.type, strides});
  if (!IsDirect()) Place(phase, num, buffers.made, y);
}

void PackedDeconvolution::Place(const Phase& phase, int num, const char* made,
                                const Destination& y) const {
  const size_t size = SizeOf(y.type), channels = RoundUp(shape_.channels, block());
  // Channels last are one block of all channels.
  const size_t lanes = channels_last_ ? channels : block(), blocks = channels / lanes;
  const size_t pixel = channels_last_ && y.strides.y_pixel ? y.strides.y_pixel : lanes;
  const size_t plane = size_t(input_[0]) * input_[1] * pixel;
  const size_t image = y.strides.y ? y.strides.y : blocks * plane;
  const size_t rows = phase.count[0], columns = phase.count[1], bytes = lanes * size;
  ParallelFor(
      num * blocks * rows, CeilDiv(kBytesOfThread, columns * bytes), [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const size_t row = phase.first[0] + i % rows * stride_[0];
          const size_t at = i / rows / blocks * image + i / rows % blocks * plane +
                            (row * input_[1] + phase.first[1]) * pixel;
          const char* from = made + i * columns * bytes;
          char* to = static_cast<char*>(y.y) + at * size;
          for (size_t c = 0; c < columns; ++c, from += bytes, to += stride_[1] * pixel * size) {
            std::memcpy(to, from, bytes);
          }
        }
      });
}

template void PackedDeconvolution::PackWeights(const float*, const float*, float*) const;
template void PackedDeconvolution::PackWeights(const float*, const float*, float16*) const;
template void PackedDeconvolution::PackWeights(const float*, const float*, bfloat16*) const;
template void PackedDeconvolution::PackWeights(const float16*, const float*, float*) const;
template void PackedDeconvolution::PackWeights(const float16*, const float*, float16*) const;
template void PackedDeconvolution::PackWeights(const float16*, const float*, bfloat16*) const;
template void PackedDeconvolution::PackWeights(const bfloat16*, const float*, float*) const;
template void PackedDeconvolution::PackWeights(const bfloat16*, const float*, float16*) const;
template void PackedDeconvolution::PackWeights(const bfloat16*, const float*, bfloat16*) const;
template void PackedDeconvolution::UnpackWeights(const float*, float*) const;
template void PackedDeconvolution::UnpackWeights(const float16*, float16*) const;
template void PackedDeconvolution::UnpackWeights(const bfloat16*, bfloat16*) const;

}  // namespace caffe::kernels
