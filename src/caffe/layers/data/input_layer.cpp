#include "caffe/layers/input_layer.hpp"

#include "caffe/core/blob_payload.hpp"

namespace caffe {
namespace {

/// Empty if none are given: the program shapes the tops.
std::vector<Shape> InputShapes(const InputParameter& param, int tops) {
  const int shapes = param.shape_size();
  Require(shapes == 0 || shapes == 1 || shapes == tops, Error::Field{"input_param"},
          ": shape is given ", shapes, " times for ", tops, " tops",
          Error::Remedy{"give it once, or once per top"});
  std::vector<Shape> result;
  for (int i = 0; i < tops && shapes > 0; ++i) {
    result.push_back(payload::Extents(param.shape(shapes == 1 ? 0 : i)));
  }
  return result;
}

std::vector<Shape> TopShapesOfInput(const LayerParameter& layer, const std::vector<Shape>&) {
  return InputShapes(layer.input_param(), layer.top_size());
}

const bool input_registered = OperationTable::Add(Operation("Input")
                                                      .CpuOnly(kSharesMemory)
                                                      .Shapes(TopShapesOfInput)
                                                      .BackwardReads(Operation::kNothing)
                                                      .Native()
                                                      .Source());

}  // namespace

template <typename Dtype>
void InputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) {
  const std::vector<Shape> shapes =
      InputShapes(this->layer_param_.input_param(), static_cast<int>(top.size()));
  for (size_t i = 0; i < shapes.size(); ++i) top[i]->Reshape(shapes[i]);
}

template <typename Dtype>
void InputLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) {
  for (size_t i = 0; i < top.size(); ++i) {
    const bool has_shape = top[i]->num_axes() > 0 || top[i]->count() > 0;
    Require(has_shape, "top ", i,
            " has no shape: give input_param { shape { dim: ... } }, or reshape",
            " the blob and the net before the first pass");
  }
}

INSTANTIATE_CLASS(InputLayer);
REGISTER_LAYER_CLASS(Input);

}  // namespace caffe
