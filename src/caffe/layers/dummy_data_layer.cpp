#include "caffe/layers/dummy_data_layer.hpp"

#include "caffe/util/blob_payload.hpp"

namespace caffe {
namespace {

std::vector<Shape> ReadShapes(const DummyDataParameter& param, int tops) {
  const int old_form = param.num_size();
  Require(param.shape_size() == 0 || old_form == 0,
          "dummy_data_param: give shape, or num, channels, height and width, not both");
  const int given = old_form ? old_form : param.shape_size();
  Require(given == 1 || given == tops, "dummy_data_param: the shape is given ", given,
          " times for ", tops, " tops: give it once, or once per top");
  if (old_form) {
    Require(param.channels_size() == given && param.height_size() == given &&
                param.width_size() == given,
            "dummy_data_param: num, channels, height and width go together");
  }
  std::vector<Shape> shapes;
  for (int i = 0; i < tops; ++i) {
    const int k = given == 1 ? 0 : i;
    if (old_form) {
      shapes.push_back({static_cast<int>(param.num(k)), static_cast<int>(param.channels(k)),
                        static_cast<int>(param.height(k)), static_cast<int>(param.width(k))});
    } else {
      shapes.push_back(payload::Extents(param.shape(k)));
    }
  }
  return shapes;
}

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>&) {
  return ReadShapes(layer.dummy_data_param(), layer.top_size());
}

// Labels come from here too: tops are written in Dtype and stay so.
const bool registered = OperationTable::Add(
    Operation("DummyData").Shapes(TopShapes).BackwardReads(Operation::kNothing).Source());

}  // namespace

template <typename Dtype>
void DummyDataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                       const vector<Blob<Dtype>*>& top) {
  const DummyDataParameter& param = this->layer_param_.dummy_data_param();
  const int tops = static_cast<int>(top.size()), fillers = param.data_filler_size();
  Require(fillers == 0 || fillers == 1 || fillers == tops,
          "dummy_data_param: data_filler is given ", fillers, " times for ", tops,
          " tops: give it once, or once per top");
  const std::vector<Shape> shapes = ReadShapes(param, tops);
  for (int i = 0; i < tops; ++i) top[i]->Reshape(shapes[i]);

  FillerParameter zero;
  zero.set_type("constant");
  zero.set_value(0);
  fillers_.clear();
  for (int i = 0; i < std::max(1, fillers); ++i) {
    fillers_.emplace_back(GetFiller<Dtype>(fillers ? param.data_filler(i) : zero));
  }
  // Constant tops are filled now, once; random ones draw in every pass.
  refill_.assign(tops, true);
  const auto is_constant = [&](int i) {
    return fillers == 0 || param.data_filler(fillers == 1 ? 0 : i).type() == "constant";
  };
  for (int i = 0; i < tops; ++i) refill_[i] = is_constant(i);
  Fill(top);
  for (int i = 0; i < tops; ++i) refill_[i] = !is_constant(i);
}

template <typename Dtype>
void DummyDataLayer<Dtype>::Fill(const vector<Blob<Dtype>*>& top) {
  for (size_t i = 0; i < top.size(); ++i) {
    if (refill_[i]) fillers_[fillers_.size() == 1 ? 0 : i]->Fill(top[i]);
  }
}

template <typename Dtype>
void DummyDataLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&,
                                        const vector<Blob<Dtype>*>& top) {
  Fill(top);
}

INSTANTIATE_CLASS(DummyDataLayer);
REGISTER_LAYER_CLASS(DummyData);

}  // namespace caffe
