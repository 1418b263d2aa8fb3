#include "caffe/layers/dummy_data_layer.hpp"

#include "caffe/core/blob_payload.hpp"

namespace caffe {
namespace {

/// Value number `i` of a field that is given once for all tops or once each.
template <typename Field>
const auto& OnceOrEach(const char* name, const Field& field, int tops, int i) {
  Require(field.size() == 1 || field.size() == tops, Error::Field{"dummy_data_param"}, ": ", name,
          " is given ", field.size(), " times for ", tops, " tops",
          Error::Remedy{"give it once, or once per top"});
  return field.Get(field.size() == 1 ? 0 : i);
}

int OldExtent(const char* name, const google::protobuf::RepeatedField<uint32_t>& field, int tops,
              int i) {
  const uint32_t extent = OnceOrEach(name, field, tops, i);
  Require(extent <= 0x7fffffff, Error::Field{"dummy_data_param"}, ": ", name, " ", extent,
          " is too large");
  return static_cast<int>(extent);
}

std::vector<Shape> DummyShapes(const DummyDataParameter& param, int tops) {
  const bool old_form =
      param.num_size() || param.channels_size() || param.height_size() || param.width_size();
  Require(!param.shape_size() || !old_form, Error::Field{"dummy_data_param"},
          Error::Remedy{"give shape, or num, channels, height and width, not both"});
  std::vector<Shape> shapes;
  for (int i = 0; i < tops; ++i) {
    if (old_form) {
      shapes.push_back({OldExtent("num", param.num(), tops, i),
                        OldExtent("channels", param.channels(), tops, i),
                        OldExtent("height", param.height(), tops, i),
                        OldExtent("width", param.width(), tops, i)});
    } else {
      shapes.push_back(payload::Extents(OnceOrEach("shape", param.shape(), tops, i)));
    }
  }
  return shapes;
}

std::vector<Shape> TopShapesOfDummyData(const LayerParameter& layer, const std::vector<Shape>&) {
  return DummyShapes(layer.dummy_data_param(), layer.top_size());
}

// Labels come from here too: tops are written in Dtype and stay so.
const bool dummy_data_registered = OperationTable::Add(Operation("DummyData")
                                                           .CpuOnly(kMadeOnHost)
                                                           .Shapes(TopShapesOfDummyData)
                                                           .BackwardReads(Operation::kNothing)
                                                           .Source());

}  // namespace

template <typename Dtype>
void DummyDataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                       const vector<Blob<Dtype>*>& top) {
  const DummyDataParameter& param = this->layer_param_.dummy_data_param();
  const int tops = static_cast<int>(top.size()), fillers = param.data_filler_size();
  Require(fillers == 0 || fillers == 1 || fillers == tops, Error::Field{"dummy_data_param"},
          ": data_filler is given ", fillers, " times for ", tops, " tops",
          Error::Remedy{"give it once, or once per top"});
  const std::vector<Shape> shapes = DummyShapes(param, tops);
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
