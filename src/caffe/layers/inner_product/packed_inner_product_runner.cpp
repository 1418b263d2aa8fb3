#include "packed_inner_product_runner.hpp"

#include "caffe/context.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/layers/convolution/fused_followers.hpp"

namespace caffe {

template <typename Dtype>
bool PackedInnerProductRunner<Dtype>::Prepare(int inputs, int outputs) {
  if (!product_ || inputs != inputs_ || outputs != outputs_) {
    product_ = std::make_shared<kernels::InnerProduct>(inputs, outputs);
    inputs_ = inputs;
    outputs_ = outputs;
    stamp_ = 0;
  }
  const size_t count = size_t(inputs) * outputs;
  return product_->packed_size() <= count + count / 50;
}

template <typename Dtype>
void PackedInnerProductRunner<Dtype>::SetWeights(const Blobs& blobs) {
  uint64_t stamp = 1;
  for (const auto& blob : blobs) stamp = Mix(stamp, WriteStamp(*blob));
  if (stamp == stamp_) return;
  bias_.assign(outputs_, 0.f);
  if (blobs.size() > 1) {
    kernels::Convert(bias_.size(), blobs[1]->template cpu_data_as<float16>(), bias_.data());
  }
  Blob<Dtype>& blob = *blobs[0];
  const auto packed = std::make_shared<SyncedMemory>(product_->packed_size() * sizeof(float16));
  product_->PackWeights(blob.template cpu_data_as<float16>(), nullptr,
                        static_cast<float16*>(packed->overwrite_cpu_data()));
  weights_ = packed;
  stamp_ = stamp;
  if (blob.shares_data()) return;
  blob.data_tensor().Replace(ElementType::FLOAT16, [packed, product = product_](void* weights) {
    product->UnpackWeights(static_cast<const float16*>(packed->cpu_data()),
                           static_cast<float16*>(weights));
  });
}

template <typename Dtype>
void PackedInnerProductRunner<Dtype>::Forward(const Blobs& blobs, int rows,
                                              const kernels::Activation& activation,
                                              const Blob<Dtype>& bottom, Blob<Dtype>* top) {
  SetWeights(blobs);
  const float16* x = bottom.template cpu_data_as<float16>();
  float16* y = top->template overwrite_cpu_data_as<float16>();
  kernels::PostOps post;
  post.bias = bias_.data();
  post.activation = activation;
  Workspace::Buffer<char> scratch(Context::Current().workspace(), product_->scratch_bytes(rows));
  product_->Forward(rows, x, static_cast<const float16*>(weights_->cpu_data()), post, scratch.get(),
                    y);
}

template class PackedInnerProductRunner<float>;
template class PackedInnerProductRunner<double>;

}  // namespace caffe
