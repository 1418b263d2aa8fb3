#include <algorithm>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "convolution.hpp"

namespace caffe::algorithms {
namespace {

bool HasWinograd(const ConvolutionProblem& p) {
  return !p.transposed && p.num * p.shape.input_size() > 0 && kernels::HasWinograd(p.shape);
}

/// Outputs per side of Winograd's tiles. With kernels of 5 sums in tiles of 4 round 4 to 16 times
/// as much as direct ones: FLOAT math takes tiles of 2, with the points of kernels of 3.
int WinogradTile(const ConvolutionProblem& p) {
  const LayerTypes& types = p.settings.types;
  const bool is_half_math = IsHalfWidth(types.forward_math) &&
                            (p.settings.phase == TEST || IsHalfWidth(types.backward_math));
  return p.shape.kernel[0] == 3 || is_half_math ? 4 : 2;
}

/// Winograd's algorithm, where it is allowed and faster.
AlgorithmPtr ChooseWinograd(const ConvolutionProblem& p, double direct_speed = 1) {
  if (!p.settings.may_use_winograd() || p.plain_source || !HasWinograd(p)) return nullptr;
  return WinogradIfItPays(p.shape, p.num, WinogradTile(p), direct_speed);
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

// Weights are packed one by one, which is too slow for each pass of training. Where few outputs
// leave much of a block to padding, oneDNN is faster; with AVX-512 the two have not been compared
// in FLOAT.
AlgorithmPtr ChoosePackedDeconvolution(const ConvolutionProblem& p) {
  const Settings& s = p.settings;
  const int block = kernels::BlockChannels();
  const bool is_float = s.types == LayerTypes::All(ElementType::FLOAT) && block <= 8;
  if (!p.transposed || s.phase != TEST || s.engine != Engine::DEFAULT || p.num == 0 ||
      !(is_float || s.is_native_half()) ||
      5 * p.shape.channels < 3 * kernels::RoundUp(p.shape.channels, block)) {
    return nullptr;
  }
  return PackedDeconvolution(p.shape, p.num, s.types.forward_math);
}

// oneDNN computes in float and in BFLOAT16. Images of another type are converted a few at a time,
// so that what is converted stays in the cache.
int ImagesAtATime(const ConvolutionProblem& p) {
  size_t most = size_t(1) << 20;
  // In training weights are packed, and their gradients added up, each time.
  if (p.settings.phase == TRAIN) most = std::max(most, 4 * p.shape.weight_count());
  const size_t image = p.shape.input_size() + p.shape.output_size();
  const bool converts = p.settings.types.forward_type != ElementType::FLOAT ||
                        p.settings.forward_in_bfloat16() || p.settings.backward_in_bfloat16();
  if (!converts || p.num == 0 || image == 0) return p.num;
  int images = std::min<int>(p.num, std::max<size_t>(1, most / image));
  while (p.num % images != 0) --images;
  return images;
}

bool MayUseOneDnn(const ConvolutionProblem& p) {
  // Measured by benchmarks/engines: deconvolutions are 1.2 to 4.7 times as fast.
  return p.transposed ? p.settings.wants_onednn(/*faster=*/true)
                      : p.settings.may_convolve_by_onednn();
}

OneDnnOptions OptionsOf(const ConvolutionProblem& p) {
  OneDnnOptions options;
  options.bias = p.bias || p.folds;
  options.training = p.settings.phase == TRAIN;
  options.activation = p.activation;
  options.images = ImagesAtATime(p);
  return options;
}

/// In training, within the same bounds. `direct_speed`: of products of the options' type, relative
/// to those of floats.
AlgorithmPtr ChooseWinogradTraining(const ConvolutionProblem& p, OneDnnOptions options,
                                    double direct_speed = 1) {
  if (!p.settings.may_train_by_winograd() || !HasWinograd(p) || !MayUseOneDnn(p)) return nullptr;
  options.in_blocks = true;
  return WinogradTrainingOf(p.shape, p.num, WinogradTile(p),
                            OneDnnConvolution(p.shape, p.num, false, options), direct_speed);
}

AlgorithmPtr ChooseOneDnnConvolution(const ConvolutionProblem& p) {
  return MayUseOneDnn(p) ? OneDnnConvolution(p.shape, p.num, p.transposed, OptionsOf(p)) : nullptr;
}

/// One algorithm forward, another one's gradients.
class TwoAlgorithms : public AroundAlgorithm {
 public:
  TwoAlgorithms(AlgorithmPtr forward, AlgorithmPtr backward)
      : AroundAlgorithm(std::move(forward)), backward_(std::move(backward)) {}

  const Gradients* gradients() const override { return backward_->gradients(); }

 private:
  const AlgorithmPtr backward_;
};

/// Both directions of products of BFLOAT16; Winograd's algorithm in float, which is more exact,
/// where it takes less time.
AlgorithmPtr ChooseBFloat16(const ConvolutionProblem& p) {
  if (p.transposed) return nullptr;
  // A vector has twice as many products, a tile 16 times, of which memory leaves a half.
  const double speed = kernels::CpuInstructionSet().has_tiles() ? 8 : 2;
  OneDnnOptions options = OptionsOf(p);
  options.type = ElementType::BFLOAT16;
  AlgorithmPtr winograd = p.settings.phase == TRAIN ? ChooseWinogradTraining(p, options, speed)
                                                    : ChooseWinograd(p, speed);
  return winograd ? winograd : OneDnnConvolution(p.shape, p.num, false, options);
}

AlgorithmPtr ConvolutionInStoredTypes(const ConvolutionProblem& p) {
  AlgorithmPtr algorithm;
  if (p.settings.wants_tiles()) algorithm = TileConvolution(p);
  if (!algorithm) algorithm = ChoosePackedDeconvolution(p);
  if (!algorithm && p.settings.is_native_half() && !p.transposed) {
    algorithm = ChooseNativeHalfConvolution(p);
  }
  if (!algorithm && p.settings.types.forward_type == ElementType::FLOAT) {
    algorithm = ChooseWinograd(p);
  }
  if (!algorithm) algorithm = ChooseWinogradTraining(p, OptionsOf(p));
  if (!algorithm) algorithm = ChooseOneDnnConvolution(p);
  return algorithm ? algorithm : Plain(p);
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
  const bool forward = problem.settings.forward_in_bfloat16();
  const bool backward = problem.settings.backward_in_bfloat16();
  AlgorithmPtr in_bfloat16;
  if (forward || backward) in_bfloat16 = ChooseBFloat16(problem);
  const bool has_both = forward && (backward || problem.settings.phase == TEST);
  if (in_bfloat16 && has_both) return in_bfloat16;

  ConvolutionProblem stored = problem;
  stored.settings = problem.settings.WithoutBFloat16();
  AlgorithmPtr in_stored_types = ConvolutionInStoredTypes(stored);
  if (!in_bfloat16) return in_stored_types;
  return forward ? std::make_shared<TwoAlgorithms>(in_bfloat16, in_stored_types)
                 : std::make_shared<TwoAlgorithms>(in_stored_types, in_bfloat16);
}

}  // namespace caffe::algorithms
