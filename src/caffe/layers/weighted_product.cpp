#include "weighted_product.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "caffe/context.hpp"
#include "caffe/core/pieces.hpp"
#include "caffe/layers/convolution/fused_followers.hpp"
#include "caffe/onednn/onednn.hpp"

namespace caffe {
namespace {

using algorithms::Algorithm;
using algorithms::AlgorithmPtr;
using algorithms::Gradients;
using algorithms::Weights;
using kernels::Destination;
using kernels::Numbers;

Numbers ReadFrom(Tensor& tensor, ElementType type, const Layout& layout = Layout()) {
  return {tensor.Read(type, layout).cpu_data(), type};
}
Destination OverwriteIn(Tensor& tensor, ElementType type, const Layout& layout) {
  return {tensor.Overwrite(type, layout).overwrite_cpu_data(), type};
}

/// As Dispatch(data, diff) has them.
struct TypePair {
  TypePair(ElementType forward, ElementType backward) : data(forward), diff(backward) {
    if (data == ElementType::DOUBLE || diff == ElementType::DOUBLE) {
      data = diff = ElementType::DOUBLE;
    }
  }
  ElementType data, diff;
};

}  // namespace

template <typename Dtype>
vector<float> FoldedBias(const WeightBlobs<Dtype>& blobs, const Pointwise& pointwise) {
  vector<float> bias(blobs.outputs, 0.f);
  if (blobs.bias) {
    const FloatValues given(ReadFrom(blobs.bias->data_tensor(), blobs.type), bias.size());
    std::copy_n(given.data(), bias.size(), bias.begin());
  }
  if (pointwise.scale.empty()) return bias;
  for (size_t o = 0; o < bias.size(); ++o) {
    bias[o] = bias[o] * pointwise.scale[o] + pointwise.shift[o];
  }
  return bias;
}

template <typename Dtype>
Weights PackedWeights<Dtype>::Get(const AlgorithmPtr& algorithm, const WeightBlobs<Dtype>& blobs,
                                  const Pointwise& pointwise, uint64_t stamp) {
  stamp = Mix(stamp, WriteStamp(*blobs.values));
  if (blobs.bias) stamp = Mix(stamp, WriteStamp(*blobs.bias));
  if (!packed_by_ || stamp != stamp_ || !algorithm->PacksAs(*packed_by_)) {
    Pack(algorithm, blobs, pointwise);
  }
  stamp_ = stamp;
  return {{values_->cpu_data(), algorithm->KeptType(blobs.type)}, bias_.data()};
}

template <typename Dtype>
void PackedWeights<Dtype>::Pack(const AlgorithmPtr& algorithm, const WeightBlobs<Dtype>& blobs,
                                const Pointwise& pointwise) {
  const ElementType type = blobs.type, packed_type = algorithm->KeptType(type);
  Tensor& values = blobs.values->data_tensor();
  const bool folds = !pointwise.scale.empty();
  const auto packed =
      std::make_shared<SyncedMemory>(algorithm->packed_size() * SizeOf(packed_type));
  bias_ = FoldedBias(blobs, pointwise);
  algorithm->Pack(ReadFrom(values, type), folds ? pointwise.scale.data() : nullptr,
                  {packed->overwrite_cpu_data(), packed_type});
  values_ = packed;
  packed_by_ = algorithm;
  if (folds || packed_type != type || blobs.values->shares_data()) return;
  values.Replace(type, [algorithm, type, packed](void* weights) {
    algorithm->Unpack({packed->cpu_data(), type}, {weights, type});
  });
}

template <typename Dtype, typename Problem>
const AlgorithmPtr& WeightedProduct<Dtype, Problem>::For(const Problem& problem) {
  if (algorithm_ && problem == problem_) return algorithm_;
  AlgorithmPtr chosen = algorithms::Choose(problem);
  Problem chosen_for = problem;
  algorithm_ = std::move(chosen);  // both or, where memory ends, none
  problem_ = std::move(chosen_for);
  return algorithm_;
}

template <typename Dtype, typename Problem>
bool WeightedProduct<Dtype, Problem>::Forward(const Problem& problem, const Blobs& blobs,
                                              const Pointwise& pointwise, uint64_t stamp,
                                              const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  const AlgorithmPtr& algorithm = For(problem);
  const ElementType type = problem.settings.types.forward_type;
  // In training the weights are others in each pass: no memory is kept for packed ones.
  const bool for_one_pass = algorithm->packs() && problem.settings.phase == TRAIN;
  std::unique_ptr<Workspace::Buffer<char>> packed;
  vector<float> bias;
  const WeightBlobs<Dtype> given = {blobs[0].get(), problem.bias ? blobs[1].get() : nullptr,
                                    static_cast<size_t>(problem.output_count()), type};
  Weights weights;
  if (for_one_pass) {
    const ElementType packed_type = algorithm->PackedType(type);
    packed = std::make_unique<Workspace::Buffer<char>>(
        Context::Current().workspace(), algorithm->packed_size() * SizeOf(packed_type));
    algorithm->Pack(ReadFrom(given.values->data_tensor(), type), nullptr,
                    {packed->get(), packed_type});
    bias = FoldedBias(given, pointwise);
    weights = {{packed->get(), packed_type}, bias.data()};
  } else if (algorithm->packs()) {
    weights = weights_.Get(algorithm, given, pointwise, stamp);
  } else {
    weights.values = ReadFrom(given.values->data_tensor(), type);
    if (given.bias) weights.bias = ReadFrom(given.bias->data_tensor(), type);
  }
  std::unique_ptr<Workspace::Buffer<char>> scratch;
  if (const size_t bytes = algorithm->scratch_bytes()) {
    scratch = std::make_unique<Workspace::Buffer<char>>(Context::Current().workspace(), bytes);
  }
  kernels::PostOps post;
  post.activation = pointwise.activation;
  for (size_t i = 0; i < bottom.size(); ++i) {
    Tensor& source = bottom[i]->data_tensor();
    const Numbers x =
        ReadFrom(source, algorithm->SourceType(type, source.newest_type()), algorithm->source());
    algorithm->Run(x, weights, post, scratch ? scratch->get() : nullptr,
                   OverwriteIn(top[i]->data_tensor(), type, algorithm->target()));
  }
  return algorithm->packs();
}

template <typename Dtype, typename Problem>
void WeightedProduct<Dtype, Problem>::Backward(const Problem& problem, const Blobs& blobs,
                                               const vector<bool>& wanted,
                                               const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  const bool weights_wanted = wanted[0], bias_wanted = problem.bias && wanted[1];
  AlgorithmPtr algorithm = problem.settings.phase == TRAIN ? For(problem) : nullptr;
  if (!algorithm || !algorithm->gradients() ||
      (bias_wanted && !weights_wanted && !algorithm->gradients()->has_bias_alone())) {
    algorithm = algorithms::Plain(problem);
  }
  const Gradients& gradients = *algorithm->gradients();
  const LayerTypes& types = problem.settings.types;
  const TypePair type(types.forward_type, types.backward_type);
  const auto parameter = [&](int i) -> void* {
    const ElementType sums =
        type.diff == ElementType::DOUBLE ? ElementType::DOUBLE : ElementType::FLOAT;
    return blobs[i]->diff_tensor().mutable_cpu_data(sums);
  };
  for (size_t i = 0; i < top.size(); ++i) {
    Tensor& dy = top[i]->diff_tensor();
    if (weights_wanted || bias_wanted) {
      const Gradients::Layouts in = gradients.weights_layouts();
      Numbers x(nullptr, type.data);
      if (weights_wanted) x = ReadFrom(bottom[i]->data_tensor(), type.data, in.bottom);
      gradients.Parameters(x, ReadFrom(dy, type.diff, in.top),
                           weights_wanted ? parameter(0) : nullptr,
                           bias_wanted ? parameter(1) : nullptr);
    }
    if (propagate_down[i]) {
      const Gradients::Layouts in = gradients.data_layouts();
      gradients.Data(ReadFrom(dy, type.diff, in.top), ReadFrom(blobs[0]->data_tensor(), type.data),
                     OverwriteIn(bottom[i]->diff_tensor(), type.diff, in.bottom));
    }
  }
}

template <typename Dtype>
algorithms::Settings SettingsOf(const LayerTypes& types, Phase phase, Engine engine) {
  return {types, phase, engine, onednn::Enabled() && std::is_same<Dtype, float>::value};
}

template class WeightedProduct<float, algorithms::ConvolutionProblem>;
template class WeightedProduct<double, algorithms::ConvolutionProblem>;
template class WeightedProduct<float, algorithms::InnerProductProblem>;
template class WeightedProduct<double, algorithms::InnerProductProblem>;
template vector<float> FoldedBias(const WeightBlobs<float>&, const Pointwise&);
template vector<float> FoldedBias(const WeightBlobs<double>&, const Pointwise&);
template algorithms::Settings SettingsOf<float>(const LayerTypes&, Phase, Engine);
template algorithms::Settings SettingsOf<double>(const LayerTypes&, Phase, Engine);

}  // namespace caffe
