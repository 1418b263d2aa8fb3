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

}  // namespace

bool InnerProductProblem::operator==(const InnerProductProblem& other) const {
  return rows == other.rows && inputs == other.inputs && outputs == other.outputs &&
         transposed == other.transposed && source == other.source && bias == other.bias &&
         settings == other.settings;
}

AlgorithmPtr Choose(const InnerProductProblem& problem) {
  if (AlgorithmPtr onednn = ChooseOneDnnProduct(problem)) return onednn;
  if (AlgorithmPtr packed = ChooseNativeHalfProduct(problem)) return packed;
  if (TilesPay(problem)) {
    if (AlgorithmPtr tiles = TileInnerProduct(problem)) return tiles;
  }
  return Plain(problem);
}

}  // namespace caffe::algorithms
