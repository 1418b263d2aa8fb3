#include "caffe/layers/conv_layer.hpp"

#include "convolution_products.hpp"

namespace caffe {

vector<int> ConvolutionOutputExtents(const ConvolutionGeometry& g, const vector<int>& input) {
  vector<int> output;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t window = int64_t(g.dilation[i]) * (g.kernel[i] - 1) + 1;
    const int64_t padded = input[i] + 2 * int64_t(g.pad[i]);
    Require(padded >= window, "convolution_param: on spatial axis ", i, " the kernel covers ",
            window, " positions, the padded bottom has ", padded);
    const int64_t extent = (padded - window) / g.stride[i] + 1;
    Require(extent <= std::numeric_limits<int>::max(), "convolution_param: on spatial axis ", i,
            " the output has ", extent, " positions: reduce pad");
    output.push_back(static_cast<int>(extent));
  }
  return output;
}

namespace {

std::vector<Shape> TopShapesOfConv(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  return ConvolutionTopShapes(layer.convolution_param(), bottoms, ConvolutionOutputExtents);
}

const bool conv_registered = OperationTable::Add(Operation("Convolution")
                                                     .Multiplies(Operation::Weights::CONVOLUTION)
                                                     .Shapes(TopShapesOfConv)
                                                     .BackwardReads(Operation::kBottomData)
                                                     .Native()
                                                     .Quantizable());

}  // namespace

// Layers behind take axis 1 for the channels, which need not be that of the outputs.
template <typename Dtype>
int ConvolutionLayer<Dtype>::FuseFollowers(const vector<Layer<Dtype>*>& followers) {
  const algorithms::Settings settings =
      SettingsOf<Dtype>(this->types(), this->phase_, this->engine_);
  if (!settings.fuses() || this->channel_axis_ != 1) return 0;
  return this->products_->followers.Take(followers, this->forward_type(), this->num_output_);
}

// An inverted residual: what expands an image, its depthwise convolution, what brings it together.
template <typename Dtype>
bool ConvolutionLayer<Dtype>::JoinLayers(const vector<Layer<Dtype>*>& next) {
  vector<ConvolutionLayer*> layers = {this};
  for (Layer<Dtype>* const layer : next) {
    layers.push_back(dynamic_cast<ConvolutionLayer*>(layer));  // null: Deconvolution, for one
  }
  return this->products_->joined.Join(layers);
}

template <typename Dtype>
bool ConvolutionLayer<Dtype>::ForwardJoined(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  return this->products_->joined.Forward(*bottom[0], top[0]);
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::compute_output_shape() {
  this->output_shape_ = ConvolutionOutputExtents(this->geometry(), this->input_extents());
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  this->ForwardAll(bottom, top, /*fused=*/false);
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Forward_fused(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  this->ForwardAll(bottom, top, /*fused=*/true);
}

template <typename Dtype>
void ConvolutionLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down,
                                           const vector<Blob<Dtype>*>& bottom) {
  this->BackwardAll(top, propagate_down, bottom);
}

INSTANTIATE_CLASS(ConvolutionLayer);
REGISTER_LAYER_CLASS(Convolution);

}  // namespace caffe
