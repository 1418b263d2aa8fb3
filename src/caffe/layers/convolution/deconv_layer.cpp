#include "caffe/layers/deconv_layer.hpp"

namespace caffe {
namespace {

vector<int> OutputExtents(const ConvolutionGeometry& g, const vector<int>& input) {
  vector<int> output;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t window = int64_t(g.dilation[i]) * (g.kernel[i] - 1) + 1;
    const int64_t extent = int64_t(g.stride[i]) * (input[i] - 1) + window - 2 * int64_t(g.pad[i]);
    Require(extent >= 1, "convolution_param: on spatial axis ", i, " the output has ",
            extent + 2 * int64_t(g.pad[i]), " positions, of which pad takes off ", g.pad[i],
            " on each side: reduce pad");
    Require(extent <= std::numeric_limits<int>::max(), "convolution_param: on spatial axis ", i,
            " the output has ", extent, " positions: reduce stride or dilation");
    output.push_back(static_cast<int>(extent));
  }
  return output;
}

std::vector<Shape> TopShapesOfDeconv(const LayerParameter& layer,
                                     const std::vector<Shape>& bottoms) {
  return ConvolutionTopShapes(layer.convolution_param(), bottoms, OutputExtents);
}

const bool deconv_registered =
    OperationTable::Add(Operation("Deconvolution")
                            .Multiplies(Operation::Weights::DECONVOLUTION)
                            .Shapes(TopShapesOfDeconv)
                            .BackwardReads(Operation::kBottomData)
                            .Native()
                            .Quantizable());

}  // namespace

template <typename Dtype>
void DeconvolutionLayer<Dtype>::compute_output_shape() {
  this->output_shape_ = OutputExtents(this->geometry(), this->input_extents());
}

template <typename Dtype>
void DeconvolutionLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  this->ForwardAll(bottom, top, /*fused=*/false);
}

template <typename Dtype>
void DeconvolutionLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  this->BackwardAll(top, propagate_down, bottom);
}

INSTANTIATE_CLASS(DeconvolutionLayer);
REGISTER_LAYER_CLASS(Deconvolution);

}  // namespace caffe
