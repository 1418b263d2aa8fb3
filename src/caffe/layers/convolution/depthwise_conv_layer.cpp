#include "caffe/layers/depthwise_conv_layer.hpp"

namespace caffe {
namespace {

/// What a depthwise layer stands for: a group for each channel. `own_outputs`: as many outputs as
/// channels, whatever num_output says.
void MakeDepthwise(int channels, bool own_outputs, ConvolutionParameter* param) {
  Require(!param->has_group() || param->group() == static_cast<unsigned>(channels),
          "convolution_param: group is the number of channels, ", channels, ", in a depthwise ",
          "convolution: leave it out, it is ", param->group());
  param->set_group(channels);
  if (own_outputs || !param->has_num_output()) param->set_num_output(channels);
}

std::vector<Shape> DepthwiseTopShapes(const LayerParameter& layer,
                                      const std::vector<Shape>& bottoms) {
  std::vector<Shape> tops;
  for (const Shape& bottom : bottoms) {
    ConvolutionParameter param = layer.convolution_param();
    const int axes = static_cast<int>(bottom.size());
    const int axis = param.axis() < 0 ? param.axis() + axes : param.axis();
    if (axis >= 0 && axis < axes) {
      MakeDepthwise(bottom[axis], layer.type() == "ConvolutionDepthwise", &param);
    }
    tops.push_back(ConvolutionTopShapes(param, {bottom}, ConvolutionOutputExtents)[0]);
  }
  return tops;
}

const bool depthwise_registered = [] {
  for (const char* type : {"DepthwiseConvolution", "ConvolutionDepthwise"}) {
    OperationTable::Add(Operation(type)
                            .Multiplies(Operation::Weights::CONVOLUTION)
                            .Shapes(DepthwiseTopShapes)
                            .BackwardReads(Operation::kBottomData)
                            .Native()
                            .Quantizable());
  }
  return true;
}();

}  // namespace

template <typename Dtype>
void DepthwiseConvolutionLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  ConvolutionParameter* param = this->layer_param_.mutable_convolution_param();
  const int axis = bottom[0]->CanonicalAxisIndex(param->axis());
  MakeDepthwise(bottom[0]->shape(axis), own_outputs(), param);
  ConvolutionLayer<Dtype>::LayerSetUp(bottom, top);
}

INSTANTIATE_CLASS(DepthwiseConvolutionLayer);
REGISTER_LAYER_CLASS(DepthwiseConvolution);
INSTANTIATE_CLASS(ConvolutionDepthwiseLayer);
REGISTER_LAYER_CLASS(ConvolutionDepthwise);

}  // namespace caffe
