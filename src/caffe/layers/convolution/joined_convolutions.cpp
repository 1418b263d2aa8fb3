#include "joined_convolutions.hpp"

#include <algorithm>
#include <utility>

#include "block_split.hpp"
#include "caffe/context.hpp"
#include "convolution_products.hpp"

namespace caffe {
namespace {

using kernels::ConvolutionShape;
using kernels::SeparableBlock;

/// Whether the middle has so many of the input's channels that it pays: a block that expands less
/// has less between to keep in a cache. Measured on two cores, blocks that do not expand take up
/// to 1.2 times as long as their layers one by one; those that double, 0.7 to 1.05 times; those
/// that make less than 96 channels of 16, 1.06 to 1.2 times.
bool ExpandsEnough(const ConvolutionShape& expand) {
  constexpr int kLeast = 2, kFewInputs = 16, kLeastOfFew = 6;
  return expand.outputs >= expand.channels * (expand.channels > kFewInputs ? kLeast : kLeastOfFew);
}

}  // namespace

template <typename Dtype>
const ConvolutionShape& JoinedConvolutions<Dtype>::ShapeOf(size_t index) const {
  return layers_[index]->products_->problem.shape;
}

template <typename Dtype>
bool JoinedConvolutions<Dtype>::Join(const vector<Convolution*>& layers) {
  if (layers.size() != 3) return false;
  for (const Convolution* layer : layers) {
    if (!layer || layer->channel_axis_ != 1 || layer->num_spatial_axes_ != 2) return false;
    const algorithms::Settings settings =
        SettingsOf<Dtype>(layer->types(), layer->phase_, layer->engine_);
    if (!settings.fuses() || settings.engine != Engine::DEFAULT ||
        layer->forward_type() != ElementType::FLOAT ||
        layer->forward_math() != ElementType::FLOAT) {
      return false;
    }
  }
  const auto shape = [&](size_t i) -> const ConvolutionShape& {
    return layers[i]->products_->problem.shape;
  };
  if (!ExpandsEnough(shape(0)) ||
      !SeparableBlock::Make({shape(0), shape(1), shape(2)}, SeparableBlock::Split::ROWS)) {
    return false;
  }
  layers_ = layers;
  return true;
}

template <typename Dtype>
bool JoinedConvolutions<Dtype>::FindKernel() {
  Situation now = {ShapeOf(0).input, layers_[0]->num_, Caffe::threads()};
  if (now == chosen_for_) return kernel_ != nullptr;
  const SeparableBlock::Shapes shapes = {ShapeOf(0), ShapeOf(1), ShapeOf(2)};
  const auto split = ChooseBlockSplit(shapes, now.num, now.threads);
  kernel_ = split ? SeparableBlock::Make(shapes, *split) : nullptr;
  chosen_for_ = std::move(now);
  return kernel_ != nullptr;
}

template <typename Dtype>
void JoinedConvolutions<Dtype>::Pack(const WeightBlobs<Dtype>& blobs, const Pointwise& behind,
                                     const SeparableBlock::Packing& packing, Packed* packed) const {
  Tensor& tensor = blobs.values->data_tensor();
  const auto values =
      static_cast<const float*>(tensor.Read(ElementType::FLOAT, Layout()).cpu_data());
  const vector<float>& scale = behind.scale;
  const size_t of_output = blobs.values->count() / blobs.outputs;
  const auto weights = std::make_shared<SyncedMemory>(packing.size * sizeof(float));
  const auto to = static_cast<float*>(weights->overwrite_cpu_data());
  std::fill_n(to, packing.size, 0.f);
  packing.for_each([&](size_t place, size_t index) {
    to[place] = values[index] * (scale.empty() ? 1.f : scale[index / of_output]);
  });
  packed->bias = FoldedBias(blobs, behind);
  packed->weights = weights;
  if (!scale.empty() || blobs.values->shares_data()) return;
  // As PackedWeights does. The kernel knows which weight is where.
  tensor.Replace(ElementType::FLOAT, [kernel = kernel_, packing, weights](void* plain) {
    const auto from = static_cast<const float*>(weights->cpu_data());
    packing.for_each(
        [&](size_t place, size_t index) { static_cast<float*>(plain)[index] = from[place]; });
  });
}

template <typename Dtype>
SeparableBlock::Layer JoinedConvolutions<Dtype>::LayerOf(size_t index,
                                                         const SeparableBlock::Packing& packing) {
  Convolution& layer = *layers_[index];
  Packed& packed = packed_[index];
  const auto behind = layer.products_->followers.DescribeOnce(layer.num_output_);
  const WeightBlobs<Dtype> blobs = {layer.blobs_[0].get(),
                                    layer.bias_term_ ? layer.blobs_[1].get() : nullptr,
                                    static_cast<size_t>(layer.num_output_), ElementType::FLOAT};
  uint64_t stamp = Mix(behind.stamp, WriteStamp(*blobs.values));
  if (blobs.bias) stamp = Mix(stamp, WriteStamp(*blobs.bias));
  if (!packed.weights || packed.stamp != stamp) Pack(blobs, behind.pointwise, packing, &packed);
  packed.stamp = stamp;
  return {{packed.weights->cpu_data(), ElementType::FLOAT},
          kernels::PostOps(packed.bias.data(), {}, behind.pointwise.activation)};
}

// Weights are packed in the same order for all extents and whatever threads share.
template <typename Dtype>
bool JoinedConvolutions<Dtype>::Forward(const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  if (layers_.empty()) return false;
  has_declined_ = !FindKernel();
  if (has_declined_) return false;
  const SeparableBlock::Layers layers = {LayerOf(0, kernel_->expand_packing()),
                                         LayerOf(1, kernel_->depthwise_packing()),
                                         LayerOf(2, kernel_->project_packing())};
  const int num = layers_[0]->num_;
  const auto blocks = [&](int channels, size_t spatial) {
    return Layout::ChannelsBlocked(kernel_->block(), num, channels, spatial);
  };
  const Layout source = blocks(ShapeOf(0).channels, ShapeOf(0).input_spatial());
  const Layout target = blocks(ShapeOf(2).outputs, ShapeOf(2).output_spatial());
  const Workspace::Buffer<char> scratch(Context::Current().workspace(),
                                        kernel_->scratch_size(num) * sizeof(float));
  const void* const x = bottom.data_tensor().Read(ElementType::FLOAT, source).cpu_data();
  void* const y = top->data_tensor().Overwrite(ElementType::FLOAT, target).overwrite_cpu_data();
  kernel_->Forward(num, {x, ElementType::FLOAT}, layers, reinterpret_cast<float*>(scratch.get()),
                   {y, ElementType::FLOAT});
  for (Convolution* layer : layers_) layer->products_->ran_joined = true;
  return true;
}

template <typename Dtype>
void JoinedConvolutions<Dtype>::RanApart() {
  if (has_declined_ || layers_.empty()) return;
  for (Packed& packed : packed_) packed = Packed();
}

template class JoinedConvolutions<float>;
template class JoinedConvolutions<double>;

}  // namespace caffe
