#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/ctc.hpp"
#include "caffe/layers/ctc_loss_layer.hpp"

namespace caffe {

// Labels and indicators come from the host; what they say is read there.
template <typename Dtype>
cuda::CtcTargets CTCLossLayer<Dtype>::GpuTargets(const vector<Blob<Dtype>*>& bottom) {
  const int sequences = bottom[0]->shape(1);
  vector<Target> targets;
  size_t most = 1;
  for (int n = 0; n < sequences; ++n) {
    targets.push_back(TargetOf(bottom, n));
    most = std::max(most, targets.back().labels.size());
  }
  gpu_lengths_.Reshape({2, sequences});
  gpu_labels_.Reshape({sequences, static_cast<int>(most)});
  int* steps = gpu_lengths_.mutable_cpu_data();
  int* lengths = steps + sequences;
  int* labels = gpu_labels_.mutable_cpu_data();
  for (int n = 0; n < sequences; ++n) {
    steps[n] = targets[n].steps;
    lengths[n] = static_cast<int>(targets[n].labels.size());
    std::copy(targets[n].labels.begin(), targets[n].labels.end(), labels + n * most);
  }
  const int blank = static_cast<int>(this->layer_param_.ctc_loss_param().blank_label());
  const int* on_device = gpu_lengths_.gpu_data();
  return {sequences, static_cast<int>(most), blank,
          on_device, on_device + sequences,  gpu_labels_.gpu_data()};
}

template <typename Dtype>
void CTCLossLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const Blob<Dtype>& x = *bottom[0];
  cuda::CtcLoss(cuda::CurrentStream(), x.shape(0), x.count(2), x.gpu_data(), GpuTargets(bottom),
                top[0]->template overwrite_gpu_data_as<Dtype>());
}

template <typename Dtype>
void CTCLossLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  this->NoGradientFor(bottom.size() > 2 ? "continuation indicators" : "labels", 1, propagate_down);
  this->NoGradientFor("labels", 2, propagate_down);
  if (!propagate_down[0]) return;
  const Blob<Dtype>& x = *bottom[0];
  cuda::CtcLossGradient(cuda::CurrentStream(), x.shape(0), x.count(2), x.gpu_data(),
                        GpuTargets(bottom), GradientNormalizer(x.shape(1)), top[0]->gpu_diff(),
                        bottom[0]->template overwrite_gpu_diff_as<Dtype>());
}

INSTANTIATE_LAYER_GPU_FUNCS(CTCLossLayer);

}  // namespace caffe
