#include "inner_product.hpp"

namespace caffe::algorithms {
namespace {

/// Measured by benchmarks/engines: few rows go once through the weights as Caffe stores them; many
/// gain up to a fifth by packed ones, but not where weights are packed in every pass, nor where
/// there are many of them.
bool OneDnnIsFaster(const InnerProductProblem& p) {
  constexpr int kFewRows = 16;
  constexpr size_t kManyWeights = size_t(1) << 22;
  return p.settings.phase == TEST && p.rows > kFewRows &&
         size_t(p.inputs) * p.outputs <= kManyWeights;
}

AlgorithmPtr ChooseOneDnnProduct(const InnerProductProblem& p) {
  if (!p.settings.wants_onednn(OneDnnIsFaster(p))) return nullptr;
  onednn::InnerProduct::Options options;
  options.bias = p.bias;
  options.training = p.settings.phase == TRAIN;
  return OneDnnInnerProduct(p.rows, p.inputs, p.outputs, p.transposed, p.source, options);
}

// Not where what fills up blocks makes the packed weights larger by more than a fiftieth.
AlgorithmPtr ChooseNativeHalfProduct(const InnerProductProblem& p) {
  if (!p.settings.is_native_half() || p.transposed || p.rows == 0 || p.inputs == 0) return nullptr;
  const AlgorithmPtr packed = PackedInnerProduct(p.rows, p.inputs, p.outputs);
  const size_t count = size_t(p.inputs) * p.outputs;
  return packed->packed_size() <= count + count / 50 ? packed : nullptr;
}

/// Few rows, for which weights and their gradients are most of what goes through memory.
bool TilesPay(const InnerProductProblem& p) {
  constexpr int kMostRows = 64;
  constexpr size_t kLeastWeights = 1 << 16;
  return p.settings.wants_tiles() && p.settings.phase == TRAIN && p.rows <= kMostRows &&
         size_t(p.inputs) * p.outputs >= kLeastWeights;
}

/// Both directions in products of BFLOAT16. Measured: rounding the weights in each pass of training
/// takes what fewer rows gain.
AlgorithmPtr ChooseBFloat16Product(const InnerProductProblem& p) {
  constexpr int kMinRows = 256, kMinOutputs = 64;
  const Settings& settings = p.settings;
  if (p.rows < kMinRows || p.outputs < kMinOutputs || !settings.forward_in_bfloat16() ||
      (settings.phase == TRAIN && !settings.backward_in_bfloat16())) {
    return nullptr;
  }
  onednn::InnerProduct::Options options;
  options.bias = p.bias;
  options.training = settings.phase == TRAIN;
  options.type = ElementType::BFLOAT16;
  return OneDnnInnerProduct(p.rows, p.inputs, p.outputs, p.transposed, p.source, options);
}

AlgorithmPtr ProductInStoredTypes(const InnerProductProblem& p) {
  if (AlgorithmPtr onednn = ChooseOneDnnProduct(p)) return onednn;
  if (AlgorithmPtr packed = ChooseNativeHalfProduct(p)) return packed;
  if (TilesPay(p)) {
    if (AlgorithmPtr tiles = TileInnerProduct(p)) return tiles;
  }
  return Plain(p);
}

}  // namespace

bool InnerProductProblem::operator==(const InnerProductProblem& other) const {
  return rows == other.rows && inputs == other.inputs && outputs == other.outputs &&
         transposed == other.transposed && source == other.source && bias == other.bias &&
         settings == other.settings;
}

AlgorithmPtr Choose(const InnerProductProblem& problem) {
  if (AlgorithmPtr in_bfloat16 = ChooseBFloat16Product(problem)) return in_bfloat16;
  InnerProductProblem stored = problem;
  stored.settings = problem.settings.WithoutBFloat16();
  return ProductInStoredTypes(stored);
}

}  // namespace caffe::algorithms
