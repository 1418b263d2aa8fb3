#include "caffe/layers/concat_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"
#include "caffe/onednn/for_shape.hpp"
#include "on_host.hpp"
#include "rows.hpp"

namespace caffe {
namespace {

int ConcatAxis(const ConcatParameter& param, const Shape& bottom) {
  Require(!(param.has_axis() && param.has_concat_dim()), Error::Field{"concat_param"},
          Error::Remedy{"give axis or concat_dim (its old name), not both"});
  const int axis = param.has_concat_dim() ? static_cast<int>(param.concat_dim()) : param.axis();
  return CheckedAxis("concat_param: axis", axis, bottom);
}

std::vector<Shape> TopShapesOfConcat(const LayerParameter& layer,
                                     const std::vector<Shape>& bottoms) {
  Shape top = bottoms.at(0);
  const int axis = ConcatAxis(layer.concat_param(), top);
  int64_t extent = top[axis];
  for (size_t i = 1; i < bottoms.size(); ++i) {
    Shape fitting = bottoms[i];
    if (fitting.size() == top.size()) fitting[axis] = bottoms[0][axis];
    Require(fitting == bottoms[0], "Concat needs bottoms that differ on axis ", axis,
            " only: bottom 0 is ", ShapeString(bottoms[0]), ", bottom ", i, " is ",
            ShapeString(bottoms[i]));
    extent += bottoms[i][axis];
  }
  Require(extent <= INT_MAX, "Concat: the top would have ", extent, " entries on axis ", axis,
          ", more than 2^31 - 1");
  top[axis] = static_cast<int>(extent);
  return {top};
}

const bool concat_registered = OperationTable::Add(Operation("Concat")
                                                       .Shapes(TopShapesOfConcat)
                                                       .BackwardReads(Operation::kNothing)
                                                       .SharesBottom()
                                                       .Native()
                                                       .Homogeneous()
                                                       .TypeAgnostic());

/// Measured by benchmarks/engines: ours are.
constexpr bool kOneDnnIsFaster = false;

}  // namespace

template <typename Dtype>
void ConcatLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  concat_axis_ = ConcatAxis(this->layer_param_.concat_param(), bottom[0]->shape());
  top[0]->Reshape(TopShapesOfConcat(this->layer_param_, ShapesOf(bottom))[0]);
  if (bottom.size() == 1) {
    top[0]->ShareData(*bottom[0]);
    top[0]->ShareDiff(*bottom[0]);
  }
}

// Each bottom but the last has to fill its blocks.
template <typename Dtype>
int ConcatLayer<Dtype>::Block(const Layout& stored, const vector<Blob<Dtype>*>& bottom) const {
  if (stored.kind != Layout::CHANNELS_BLOCKED || concat_axis_ != 1) return 1;
  for (size_t i = 0; i + 1 < bottom.size(); ++i) {
    if (bottom[i]->shape(1) % stored.block != 0) return 1;
  }
  return stored.block;
}

template <typename Dtype>
bool ConcatLayer<Dtype>::ForwardOneDnn(const vector<Blob<Dtype>*>& bottom, Blob<Dtype>* top) {
  if (!onednn::IsWanted<Dtype>(engine_, this->types(), kOneDnnIsFaster)) return false;
  const int block =
      Block(BlockedLayoutFor<float>(bottom[0]->data_tensor(), bottom[0]->shape()), bottom);
  const HostRows rows(concat_axis_, block, /*channels_last=*/false);
  std::vector<int> channels;
  for (const Blob<Dtype>* blob : bottom) channels.push_back(blob->shape(concat_axis_));
  std::vector<int> key = top->shape();  // and what the parts are
  key.insert(key.end(), channels.begin(), channels.end());
  if (!onednn_) onednn_ = std::make_shared<onednn::ForShape<onednn::Concat>>();
  onednn::Concat* primitive = onednn_->Get(key, rows(*bottom[0]).layout, [&] {
    return onednn::Concat::Make(top->count(0, concat_axis_), channels, top->count(concat_axis_ + 1),
                                block);
  });
  if (!primitive) return false;
  std::vector<const float*> x;
  for (const Blob<Dtype>* blob : bottom) {
    x.push_back(ReadAs<float>(blob->data_tensor(), rows(*blob).layout));
  }
  primitive->Forward(x, OverwriteAs<float>(top->data_tensor(), rows(*top).layout));
  return true;
}

template <typename Dtype>
void ConcatLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  by_onednn_ = bottom.size() > 1 && ForwardOneDnn(bottom, top[0]);
  if (bottom.size() == 1 || by_onednn_) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const Layout stored = LayoutFor<T>(bottom[0]->data_tensor(), bottom[0]->shape());
    const HostRows rows(concat_axis_, Block(stored, bottom),
                        concat_axis_ == 1 && AnyChannelsLast<T>(bottom));
    JoinRows<OnHost, T>(rows, Side::DATA, bottom, *top[0]);
  });
}

template <typename Dtype>
void ConcatLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (bottom.size() == 1) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const Layout stored = LayoutFor<D>(top[0]->diff_tensor(), top[0]->shape());
    const HostRows rows(concat_axis_, Block(stored, bottom),
                        concat_axis_ == 1 && AnyChannelsLast<T>(top));
    CutRows<OnHost, D>(rows, Side::DIFF, *top[0], propagate_down, bottom);
  });
}

INSTANTIATE_CLASS(ConcatLayer);
REGISTER_LAYER_CLASS(Concat);

}  // namespace caffe
