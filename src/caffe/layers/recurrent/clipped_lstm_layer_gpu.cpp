#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/recurrent.hpp"
#include "caffe/layers/recurrent/clipped_lstm_layer.hpp"

namespace caffe {

template <typename Dtype>
const Dtype* LstmLayer<Dtype>::GpuContinuation(const vector<Blob<Dtype>*>& bottom) {
  cont_.Reshape({this->T_, this->N_});
  const Dtype* given = bottom.size() > 1 ? bottom[1]->gpu_data() : nullptr;
  Dtype* cont = cont_.template overwrite_gpu_data_as<Dtype>();
  cuda::MakeCont(cuda::CurrentStream(), this->T_, this->N_, given, cont);
  return cont;
}

template const float* LstmLayer<float>::GpuContinuation(const vector<Blob<float>*>&);
template const double* LstmLayer<double>::GpuContinuation(const vector<Blob<double>*>&);

}  // namespace caffe
