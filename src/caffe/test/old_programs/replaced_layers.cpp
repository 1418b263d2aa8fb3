// Layers of this program's own that have the names of layers which this Caffe has and BVLC's has
// not. They compute something else, so that one taken for the other shows.
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/inference/builder.hpp"

using caffe::Blob;
using caffe::Net;
using std::vector;

namespace caffe {

/// x to 3 x.
template <typename Dtype>
class TripleLayer : public Layer<Dtype> {
 public:
  explicit TripleLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    for (int i = 0; i < top[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = 3 * bottom[0]->cpu_data()[i];
    }
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                            const vector<Blob<Dtype>*>&) {
    NOT_IMPLEMENTED;
  }
};

// One with weights, one that convolutions would compute with their results, one that moves values.
template <typename Dtype>
class DepthwiseConvolutionLayer : public TripleLayer<Dtype> {
 public:
  explicit DepthwiseConvolutionLayer(const LayerParameter& param) : TripleLayer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
    this->blobs_.resize(1);
    this->blobs_[0].reset(new Blob<Dtype>(1, 1, 1, 1));
  }
  virtual inline const char* type() const { return "DepthwiseConvolution"; }
};

template <typename Dtype>
class Relu6Layer : public TripleLayer<Dtype> {
 public:
  explicit Relu6Layer(const LayerParameter& param) : TripleLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "ReLU6"; }
};

template <typename Dtype>
class PermuteLayer : public TripleLayer<Dtype> {
 public:
  explicit PermuteLayer(const LayerParameter& param) : TripleLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "Permute"; }
};

INSTANTIATE_CLASS(DepthwiseConvolutionLayer);
REGISTER_LAYER_CLASS(DepthwiseConvolution);

template <typename Dtype>
shared_ptr<Layer<Dtype> > GetRelu6Layer(const LayerParameter& param) {
  return shared_ptr<Layer<Dtype> >(new Relu6Layer<Dtype>(param));
}
REGISTER_LAYER_CREATOR(ReLU6, GetRelu6Layer);

REGISTER_LAYER_CLASS(Permute);

}  // namespace caffe

namespace {

// The convolution's weights are 1: each output is 27 times the 2 inputs of 0.5 that it sees.
void Check(const float* output, int count) {
  for (int i = 0; i < count; ++i) CHECK_EQ(output[i], 27) << i;
}

}  // namespace

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 2) << "usage: replaced_layers net.prototxt";
  Net<float> net(argv[1], caffe::TEST);
  Blob<float>* input = net.input_blobs()[0];
  for (int i = 0; i < input->count(); ++i) input->mutable_cpu_data()[i] = 0.5f;
  const Blob<float>* output = net.Forward()[0];
  Check(output->cpu_data(), output->count());

  // An engine, too, knows nothing of these layers.
  using namespace caffe::inference;
  const std::string plan = "replaced_layers.plan";
  Builder().Build(NetworkDefinition::FromCaffe(argv[1], {}))->Save(plan);
  ExecutionContext context(Engine::Load(plan));
  std::fill_n(context.Input("data"), input->count(), 0.5f);
  context.Run();
  Check(context.Output("permuted"), output->count());
  return 0;
}
