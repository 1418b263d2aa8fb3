#include <algorithm>

#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "convolution.hpp"

namespace caffe::algorithms {
namespace {

/// Winograd's algorithm, where it is allowed and faster. With kernels of 5 sums in tiles of 4 round
/// 4 to 16 times as much as direct ones: FLOAT math takes tiles of 2, with the points of kernels
/// of 3.
AlgorithmPtr ChooseWinograd(const ConvolutionProblem& p) {
  if (!p.settings.may_use_winograd() || p.transposed || p.plain_source ||
      p.num * p.shape.input_size() == 0 || !kernels::HasWinograd(p.shape)) {
    return nullptr;
  }
  const bool is_half_math = p.settings.types.forward_math == ElementType::FLOAT16;
  const int tile = p.shape.kernel[0] == 3 || is_half_math ? 4 : 2;
  return WinogradIfItPays(p.shape, p.num, tile);
}

// The tiles of AMX do three products in less time than vectors the quarter that Winograd leaves of
// one, going by what either can do at most.
AlgorithmPtr ChooseNativeHalfConvolution(const ConvolutionProblem& p) {
  const AlgorithmPtr packed =
      PackedConvolution(p.shape, p.num, p.plain_source, p.settings.types.forward_math);
  if (!packed || kernels::CpuInstructionSet().has_tiles()) return packed;
  const AlgorithmPtr winograd = ChooseWinograd(p);
  return winograd ? winograd : packed;
}

// oneDNN computes in float. FLOAT16 images are widened a few at a time, so that what is wide stays
// in the cache.
int ImagesAtATime(const ConvolutionProblem& p) {
  constexpr size_t kWideFloats = size_t(1) << 20;
  const size_t image = p.shape.input_size() + p.shape.output_size();
  if (p.settings.types.forward_type == ElementType::FLOAT || p.num == 0 || image == 0) return p.num;
  int images = std::min<int>(p.num, std::max<size_t>(1, kWideFloats / image));
  while (p.num % images != 0) --images;
  return images;
}

bool MayUseOneDnn(const ConvolutionProblem& p) {
  // Measured by benchmarks/engines: deconvolutions are 1.2 to 4.7 times as fast.
  if (p.transposed) return p.settings.wants_onednn(/*faster=*/true);
  const auto fits = [](ElementType type) {
    return type == ElementType::FLOAT || type == ElementType::FLOAT16;
  };
  const LayerTypes& types = p.settings.types;
  return p.settings.may_use_onednn && !p.settings.is_reference() && fits(types.forward_type) &&
         (p.settings.phase == TEST || fits(types.backward_type));
}

OneDnnOptions OptionsOf(const ConvolutionProblem& p) {
  OneDnnOptions options;
  options.bias = p.bias || p.folds;
  options.training = p.settings.phase == TRAIN;
  options.activation = p.activation;
  options.images = ImagesAtATime(p);
  return options;
}

/// In training, within the same bounds.
AlgorithmPtr ChooseWinogradTraining(const ConvolutionProblem& p) {
  if (p.transposed || p.num * p.shape.input_size() == 0 || !kernels::HasWinograd(p.shape) ||
      !p.settings.may_train_by_winograd() || !MayUseOneDnn(p)) {
    return nullptr;
  }
  OneDnnOptions options = OptionsOf(p);
  options.in_blocks = true;
  return WinogradTrainingOf(p.shape, p.num, p.shape.kernel[0] == 3 ? 4 : 2,
                            OneDnnConvolution(p.shape, p.num, false, options));
}

AlgorithmPtr ChooseOneDnnConvolution(const ConvolutionProblem& p) {
  return MayUseOneDnn(p) ? OneDnnConvolution(p.shape, p.num, p.transposed, OptionsOf(p)) : nullptr;
}

}  // namespace

bool ConvolutionProblem::operator==(const ConvolutionProblem& other) const {
  const auto& a = shape;
  const auto& b = other.shape;
  return a.channels == b.channels && a.outputs == b.outputs && a.group == b.group &&
         a.input == b.input && a.output == b.output && a.kernel == b.kernel &&
         a.stride == b.stride && a.pad == b.pad && a.dilation == b.dilation &&
         transposed == other.transposed && num == other.num && bias == other.bias &&
         folds == other.folds && activation == other.activation &&
         plain_source == other.plain_source && settings == other.settings;
}

AlgorithmPtr Choose(const ConvolutionProblem& problem) {
  AlgorithmPtr algorithm;
  if (problem.settings.wants_tiles()) algorithm = TileConvolution(problem);
  if (!algorithm && problem.settings.is_native_half() && !problem.transposed) {
    algorithm = ChooseNativeHalfConvolution(problem);
  }
  if (!algorithm && problem.settings.types.forward_type == ElementType::FLOAT) {
    algorithm = ChooseWinograd(problem);
  }
  if (!algorithm) algorithm = ChooseWinogradTraining(problem);
  if (!algorithm) algorithm = ChooseOneDnnConvolution(problem);
  return algorithm ? algorithm : Plain(problem);
}

}  // namespace caffe::algorithms
