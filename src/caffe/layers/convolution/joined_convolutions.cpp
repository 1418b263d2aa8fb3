#include "joined_convolutions.hpp"

#include "caffe/context.hpp"
#include "convolution_products.hpp"

namespace caffe {
namespace {

using kernels::SeparableBlock;

// Of few rows threads would expand too many twice.
constexpr int kFewRows = 8;

std::shared_ptr<const SeparableBlock> InvertedResidual(const kernels::ConvolutionShape& expand,
                                                       const kernels::ConvolutionShape& depthwise,
                                                       const kernels::ConvolutionShape& project) {
  const bool has_few = depthwise.output[0] <= kFewRows;
  return SeparableBlock::Make({expand, depthwise, project}, has_few
                                                                ? SeparableBlock::Split::CHANNELS
                                                                : SeparableBlock::Split::ROWS);
}

}  // namespace

template <typename Dtype>
const kernels::ConvolutionShape& JoinedConvolutions<Dtype>::ShapeOf(size_t index) const {
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
  layers_ = layers;
  return InvertedResidual(ShapeOf(0), ShapeOf(1), ShapeOf(2)) != nullptr;
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
  if (packed.weights.empty() || packed.stamp != stamp) {
    const auto values = static_cast<const float*>(
        blobs.values->data_tensor().Read(ElementType::FLOAT, Layout()).cpu_data());
    const vector<float>& scale = behind.pointwise.scale;
    const size_t of_output = blobs.values->count() / blobs.outputs;
    packed.weights.assign(packing.size, 0.f);
    packing.for_each([&](size_t to, size_t from) {
      packed.weights[to] = values[from] * (scale.empty() ? 1.f : scale[from / of_output]);
    });
    packed.bias = FoldedBias(blobs, behind.pointwise);
    packed.stamp = stamp;
  }
  return {packed.weights.data(),
          kernels::PostOps(packed.bias.data(), {}, behind.pointwise.activation)};
}

template <typename Dtype>
bool JoinedConvolutions<Dtype>::Forward(const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  if (!kernel_ || input_ != ShapeOf(0).input) {
    kernel_ = InvertedResidual(ShapeOf(0), ShapeOf(1), ShapeOf(2));
    input_ = ShapeOf(0).input;
    for (Packed& packed : packed_) packed.weights.clear();
  }
  if (!kernel_) return false;
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
  return true;
}

template class JoinedConvolutions<float>;
template class JoinedConvolutions<double>;

}  // namespace caffe
