#include "caffe/layers/input_layer.hpp"

#include "caffe/util/blob_payload.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>&) {
  const InputParameter& param = layer.input_param();
  const int tops = layer.top_size(), shapes = param.shape_size();
  Require(shapes == 0 || shapes == 1 || shapes == tops, "input_param: shape is given ", shapes,
          " times for ", tops, " tops: give it once, or once per top");
  std::vector<Shape> result;
  for (int i = 0; i < tops && shapes > 0; ++i) {
    result.push_back(payload::Extents(param.shape(shapes == 1 ? 0 : i)));
  }
  return result;
}

const bool registered = OperationTable::Add(
    Operation("Input").Shapes(TopShapes).BackwardReads(Operation::kNothing).Native().Source());

}  // namespace

template <typename Dtype>
void InputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) {
  const InputParameter& param = this->layer_param_.input_param();
  const int shapes = param.shape_size();
  Require(shapes == 0 || shapes == 1 || shapes == static_cast<int>(top.size()),
          "input_param: shape is given ", shapes, " times for ", top.size(),
          " tops: give it once, or once per top");
  for (size_t i = 0; i < top.size() && shapes > 0; ++i) {
    top[i]->Reshape(param.shape(shapes == 1 ? 0 : i));
  }
}

INSTANTIATE_CLASS(InputLayer);
REGISTER_LAYER_CLASS(Input);

}  // namespace caffe
