// Layers written outside of the library: an activation, one with a parameter, one on top of
// Caffe's convolution, and one that is registered with a creator function.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/filler.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/layers/conv_layer.hpp"
#include "caffe/layers/neuron_layer.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {

template <typename Dtype>
class SquareLayer : public NeuronLayer<Dtype> {
 public:
  explicit SquareLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "Square"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom);
  virtual void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom);
};

template <typename Dtype>
void SquareLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const Dtype* bottom_data = bottom[0]->cpu_data();
  Dtype* top_data = top[0]->mutable_cpu_data();
  caffe_sqr(bottom[0]->count(), bottom_data, top_data);
}

template <typename Dtype>
void SquareLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (propagate_down[0]) {
    const Dtype* bottom_data = bottom[0]->cpu_data();
    const Dtype* top_diff = top[0]->cpu_diff();
    Dtype* bottom_diff = bottom[0]->mutable_cpu_diff();
    const int count = bottom[0]->count();
    caffe_mul(count, top_diff, bottom_data, bottom_diff);
    caffe_scal(count, Dtype(2), bottom_diff);
  }
}

#ifdef CPU_ONLY
STUB_GPU(SquareLayer);
#else
template <typename Dtype>
void SquareLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const Dtype* bottom_data = bottom[0]->gpu_data();
  caffe_gpu_mul(bottom[0]->count(), bottom_data, bottom_data, top[0]->mutable_gpu_data());
}

template <typename Dtype>
void SquareLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (propagate_down[0]) {
    Dtype* bottom_diff = bottom[0]->mutable_gpu_diff();
    const int count = bottom[0]->count();
    caffe_gpu_mul(count, top[0]->gpu_diff(), bottom[0]->gpu_data(), bottom_diff);
    caffe_gpu_scal(count, Dtype(2), bottom_diff);
  }
}
#endif

INSTANTIATE_CLASS(SquareLayer);
REGISTER_LAYER_CLASS(Square);

// y = gain[channel] * x
template <typename Dtype>
class ChannelGainLayer : public Layer<Dtype> {
 public:
  explicit ChannelGainLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    const ScaleParameter& param = this->layer_param_.scale_param();
    if (this->blobs_.size() > 0) {
      LOG(INFO) << "Skipping parameter initialization";
    } else {
      this->blobs_.resize(1);
      this->blobs_[0].reset(new Blob<Dtype>(vector<int>(1, bottom[0]->channels())));
      shared_ptr<Filler<Dtype> > filler(GetFiller<Dtype>(param.filler()));
      filler->Fill(this->blobs_[0].get());
    }
    this->param_propagate_down_.resize(this->blobs_.size(), true);
  }
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    CHECK_GE(bottom[0]->num_axes(), 2) << "Number of axes of bottom blob must be >=2.";
    top[0]->ReshapeLike(*bottom[0]);
    CHECK_EQ(this->blobs_[0]->count(), bottom[0]->channels());
  }
  virtual inline const char* type() const { return "ChannelGain"; }
  virtual inline int ExactNumBottomBlobs() const { return 1; }
  virtual inline int ExactNumTopBlobs() const { return 1; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    const Dtype* gain = this->blobs_[0]->cpu_data();
    for (int n = 0; n < bottom[0]->num(); ++n) {
      for (int c = 0; c < bottom[0]->channels(); ++c) {
        caffe_cpu_scale(bottom[0]->count(2), gain[c],
                        bottom[0]->cpu_data() + bottom[0]->offset(n, c),
                        top[0]->mutable_cpu_data() + top[0]->offset(n, c));
      }
    }
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    const Dtype* gain = this->blobs_[0]->cpu_data();
    for (int n = 0; n < bottom[0]->num(); ++n) {
      for (int c = 0; c < bottom[0]->channels(); ++c) {
        const int offset = bottom[0]->offset(n, c);
        const Dtype* top_diff = top[0]->cpu_diff() + offset;
        if (this->param_propagate_down_[0]) {
          this->blobs_[0]->mutable_cpu_diff()[c] +=
              caffe_cpu_dot(bottom[0]->count(2), top_diff, bottom[0]->cpu_data() + offset);
        }
        if (propagate_down[0]) {
          caffe_cpu_scale(bottom[0]->count(2), gain[c], top_diff,
                          bottom[0]->mutable_cpu_diff() + offset);
        }
      }
    }
  }
};

INSTANTIATE_CLASS(ChannelGainLayer);
REGISTER_LAYER_CLASS(ChannelGain);

// A convolution with the signs of its weights only.
template <typename Dtype>
class SignConvolutionLayer : public ConvolutionLayer<Dtype> {
 public:
  explicit SignConvolutionLayer(const LayerParameter& param) : ConvolutionLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "SignConvolution"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    sign_.ReshapeLike(*this->blobs_[0]);
    caffe_cpu_sign(sign_.count(), this->blobs_[0]->cpu_data(), sign_.mutable_cpu_data());
    const Dtype* weight = sign_.cpu_data();
    for (int i = 0; i < bottom.size(); ++i) {
      const Dtype* bottom_data = bottom[i]->cpu_data();
      Dtype* top_data = top[i]->mutable_cpu_data();
      for (int n = 0; n < this->num_; ++n) {
        this->forward_cpu_gemm(bottom_data + n * this->bottom_dim_, weight,
                               top_data + n * this->top_dim_);
        if (this->bias_term_) {
          const Dtype* bias = this->blobs_[1]->cpu_data();
          this->forward_cpu_bias(top_data + n * this->top_dim_, bias);
        }
      }
    }
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    const Dtype* weight = sign_.cpu_data();
    Dtype* weight_diff = this->blobs_[0]->mutable_cpu_diff();
    for (int i = 0; i < top.size(); ++i) {
      const Dtype* top_diff = top[i]->cpu_diff();
      const Dtype* bottom_data = bottom[i]->cpu_data();
      Dtype* bottom_diff = bottom[i]->mutable_cpu_diff();
      if (this->bias_term_ && this->param_propagate_down_[1]) {
        Dtype* bias_diff = this->blobs_[1]->mutable_cpu_diff();
        for (int n = 0; n < this->num_; ++n) {
          this->backward_cpu_bias(bias_diff, top_diff + n * this->top_dim_);
        }
      }
      for (int n = 0; n < this->num_; ++n) {
        if (this->param_propagate_down_[0]) {
          this->weight_cpu_gemm(bottom_data + n * this->bottom_dim_, top_diff + n * this->top_dim_,
                                weight_diff);
        }
        if (propagate_down[i]) {
          this->backward_cpu_gemm(top_diff + n * this->top_dim_, weight,
                                  bottom_diff + n * this->bottom_dim_);
        }
      }
    }
  }

  Blob<Dtype> sign_;
};

INSTANTIATE_CLASS(SignConvolutionLayer);
REGISTER_LAYER_CLASS(SignConvolution);

template <typename Dtype>
class TimesLayer : public NeuronLayer<Dtype> {
 public:
  TimesLayer(const LayerParameter& param, Dtype factor)
      : NeuronLayer<Dtype>(param), factor_(factor) {}
  virtual inline const char* type() const { return "Half"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    caffe_copy(bottom[0]->count(), bottom[0]->cpu_data(), top[0]->mutable_cpu_data());
    caffe_scal(top[0]->count(), factor_, top[0]->mutable_cpu_data());
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    caffe_copy(top[0]->count(), top[0]->cpu_diff(), bottom[0]->mutable_cpu_diff());
    caffe_scal(bottom[0]->count(), factor_, bottom[0]->mutable_cpu_diff());
  }

  const Dtype factor_;
};

template <typename Dtype>
shared_ptr<Layer<Dtype> > GetHalfLayer(const LayerParameter& param) {
  return shared_ptr<Layer<Dtype> >(new TimesLayer<Dtype>(param, Dtype(0.5)));
}

INSTANTIATE_CLASS(TimesLayer);
REGISTER_LAYER_CREATOR(Half, GetHalfLayer);

}  // namespace caffe

using namespace caffe;  // NOLINT(build/namespaces)

template <typename Dtype>
void Run(const char* file) {
  Net<Dtype> net(string(file), TRAIN);
  CHECK_EQ(net.num_inputs(), 1);
  Blob<Dtype>* input = net.input_blobs()[0];
  for (int i = 0; i < input->count(); ++i) input->mutable_cpu_data()[i] = (i % 7) - 3;
  const vector<Blob<Dtype>*>& output = net.Forward();
  CHECK_EQ(output.size(), 1);
  CHECK_EQ(output[0]->shape_string(), "2 2 4 4 (64)");
  // Half of the sum over channels of twice the squares.
  for (int n = 0; n < 2; ++n) {
    for (int k = 0; k < 16; ++k) {
      Dtype sum = 0;
      for (int c = 0; c < 3; ++c) {
        const Dtype x = input->cpu_data()[input->offset(n, c) + k];
        sum += x * x;
      }
      for (int c = 0; c < 2; ++c) {
        CHECK_NEAR(output[0]->cpu_data()[output[0]->offset(n, c) + k], sum, 1e-5);
      }
    }
  }
  caffe_set(output[0]->count(), Dtype(1), output[0]->mutable_cpu_diff());
  net.ClearParamDiffs();
  net.Backward();
  // Two outputs, each the half of twice x^2.
  for (int i = 0; i < input->count(); ++i) {
    CHECK_NEAR(input->cpu_diff()[i], 4 * input->cpu_data()[i], 1e-5);
  }
  const shared_ptr<Layer<Dtype> > gain = net.layer_by_name("gain");
  CHECK_EQ(gain->blobs().size(), 1);
  CHECK_GT(gain->blobs()[0]->asum_diff(), 0);
}

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 2) << "usage: custom_layer net.prototxt";
  Caffe::set_mode(Caffe::CPU);
  Run<float>(argv[1]);
  Run<double>(argv[1]);
  return 0;
}
