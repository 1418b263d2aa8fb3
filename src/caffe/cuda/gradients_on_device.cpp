#include "caffe/parallel/gradients_on_device.hpp"

#include <set>

#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/update.hpp"

namespace caffe {

template <typename Dtype>
bool SumGradientsOnDevice(const Net<Dtype>& net, GradientSums* sums) {
  if (Caffe::mode() != Caffe::GPU) return false;
  Stream& stream = cuda::CurrentStream();
  Device& device = Device::Get();
  static_assert(sizeof(GradientSums) == 2 * sizeof(double), "read as two numbers");
  const cuda::Buffer<double> result(stream, 2);
  device.FillZero(result.get(), sizeof(*sums), stream);
  const typename Net<Dtype>::Arena arena = net.device_gradient_arena();
  const std::set<int> in_arena(arena.params.begin(), arena.params.end());
  for (size_t i = 0; i < net.learnable_params().size(); ++i) {
    const Blob<Dtype>& param = *net.learnable_params()[i];
    const Dtype* gradient = param.gpu_diff();  // of those in the arena, too: now it is up to date
    if (!in_arena.count(i)) cuda::SumGradients(stream, param.count(), gradient, result.get());
  }
  if (arena.data) cuda::SumGradients(stream, arena.count, arena.data, result.get());
  device.CopyToHost(sums, result.get(), sizeof(*sums), stream);
  stream.Synchronize();
  return true;
}

template bool SumGradientsOnDevice(const Net<float>&, GradientSums*);
template bool SumGradientsOnDevice(const Net<double>&, GradientSums*);

}  // namespace caffe
