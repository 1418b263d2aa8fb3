#include "packed_convolution_runner.hpp"

#include "absorbed_layers.hpp"
#include "caffe/as_stored.hpp"
#include "caffe/context.hpp"
#include "caffe/kernels/convert.hpp"

namespace caffe {
namespace {

/// Channels up to which a bottom in Caffe's order is read so: those of pictures.
constexpr int kPlainChannels = 4;

}  // namespace

bool SameShape(const kernels::ConvolutionShape& a, const kernels::ConvolutionShape& b) {
  return a.channels == b.channels && a.outputs == b.outputs && a.group == b.group &&
         a.input == b.input && a.output == b.output && a.kernel == b.kernel &&
         a.stride == b.stride && a.pad == b.pad && a.dilation == b.dilation;
}

void FoldBias(const Pointwise& pointwise, vector<float>* bias) {
  if (pointwise.scale.empty()) return;
  bias->resize(pointwise.scale.size(), 0.f);
  for (size_t o = 0; o < bias->size(); ++o) {
    (*bias)[o] = (*bias)[o] * pointwise.scale[o] + pointwise.shift[o];
  }
}

template <typename Dtype>
bool PackedConvolutionRunner<Dtype>::Prepare(const kernels::ConvolutionShape& shape,
                                             const Blob<Dtype>& bottom) {
  const Layout layout = LayoutFor<float16>(bottom.data_tensor(), bottom.shape());
  const bool plain =
      layout.kind == Layout::PLAIN && shape.group == 1 && shape.channels <= kPlainChannels;
  if (convolution_ && plain == convolution_->plain_input() && SameShape(shape, shape_)) return true;
  // Weights are packed alike for images of all sizes.
  if (convolution_ && plain != convolution_->plain_input()) stamp_ = 0;
  convolution_ = kernels::PackedConvolution::Make(shape, plain);
  shape_ = shape;
  return convolution_ != nullptr;
}

template <typename Dtype>
void PackedConvolutionRunner<Dtype>::SetWeights(const Blobs& blobs, uint64_t stamp,
                                                const Pointwise& pointwise) {
  for (const auto& blob : blobs) stamp = Mix(stamp, WriteStamp(*blob));
  activation_ = pointwise.activation;
  if (stamp == stamp_) return;
  bias_.clear();
  if (blobs.size() > 1) {
    bias_.resize(blobs[1]->count());
    kernels::Convert(bias_.size(), blobs[1]->template cpu_data_as<float16>(), bias_.data());
  }
  FoldBias(pointwise, &bias_);
  Blob<Dtype>& blob = *blobs[0];
  const bool folds = !pointwise.scale.empty();
  auto packed =
      std::make_shared<SyncedMemory>(convolution_->packed_size() * SizeOf(ElementType::FLOAT16));
  convolution_->PackWeights(blob.template cpu_data_as<float16>(),
                            folds ? pointwise.scale.data() : nullptr,
                            static_cast<float16*>(packed->overwrite_cpu_data()));
  weights_ = packed;
  stamp_ = stamp;
  if (folds || blob.shares_data()) return;
  blob.data_tensor().Replace(ElementType::FLOAT16, [packed, unpack = convolution_](void* weights) {
    unpack->UnpackWeights(static_cast<const float16*>(packed->cpu_data()),
                          static_cast<float16*>(weights));
  });
}

template <typename Dtype>
void PackedConvolutionRunner<Dtype>::Forward(int num, const Blob<Dtype>& bottom,
                                             Blob<Dtype>* top) const {
  const int block = convolution_->block();
  const Layout source =
      convolution_->plain_input()
          ? Layout()
          : Layout::ChannelsBlocked(block, num, shape_.channels, shape_.input_spatial());
  const Layout target =
      Layout::ChannelsBlocked(block, num, shape_.outputs, shape_.output_spatial());
  const float16* x = ReadAs<float16>(bottom.data_tensor(), source);
  float16* y = OverwriteAs<float16>(top->data_tensor(), target);
  Workspace::Buffer<float> scratch(Context::Current().workspace(), convolution_->scratch_size(num));
  convolution_->Forward(num, x, static_cast<const float16*>(weights_->cpu_data()),
                        bias_.empty() ? nullptr : bias_.data(), activation_, scratch.get(), y);
}

template class PackedConvolutionRunner<float>;
template class PackedConvolutionRunner<double>;

}  // namespace caffe
