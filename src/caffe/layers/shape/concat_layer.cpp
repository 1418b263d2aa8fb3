#include "caffe/layers/concat_layer.hpp"

#include <cstring>

#include "caffe/core/as_stored.hpp"
#include "caffe/onednn/for_shape.hpp"

namespace caffe {
namespace {

int ConcatAxis(const ConcatParameter& param, const Shape& bottom) {
  Require(!(param.has_axis() && param.has_concat_dim()),
          "concat_param: give axis or concat_dim (its old name), not both");
  const int axes = static_cast<int>(bottom.size());
  const int axis = param.has_concat_dim() ? static_cast<int>(param.concat_dim()) : param.axis();
  Require(axis >= -axes && axis < axes, "concat_param: axis ", axis,
          " is out of range for a bottom of shape ", ShapeString(bottom));
  return axis < 0 ? axis + axes : axis;
}

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
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

const bool registered = OperationTable::Add(Operation("Concat")
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kNothing)
                                                .Native()
                                                .Homogeneous()
                                                .TypeAgnostic());

/// Measured by benchmarks/engines: ours are.
constexpr bool kOneDnnIsFaster = false;

}  // namespace

template <typename Dtype>
void ConcatLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  std::vector<Shape> shapes;
  for (const Blob<Dtype>* blob : bottom) shapes.push_back(blob->shape());
  concat_axis_ = ConcatAxis(this->layer_param_.concat_param(), shapes[0]);
  top[0]->Reshape(TopShapes(this->layer_param_, shapes)[0]);
  if (bottom.size() == 1) {
    top[0]->ShareData(*bottom[0]);
    top[0]->ShareDiff(*bottom[0]);
  }
}

// Channels that lie in blocks are copied as they lie, if each bottom but the last fills its blocks.
template <typename Dtype>
bool ConcatLayer<Dtype>::BlocksFit(int block, const vector<Blob<Dtype>*>& bottom) const {
  if (concat_axis_ != 1) return false;
  for (size_t i = 0; i + 1 < bottom.size(); ++i) {
    if (bottom[i]->shape(1) % block != 0) return false;
  }
  return true;
}

template <typename Dtype>
template <typename T>
bool ConcatLayer<Dtype>::ConcatBlocked(const vector<Blob<Dtype>*>& bottom, Blob<Dtype>* top) const {
  const Layout first = LayoutFor<T>(bottom[0]->data_tensor(), bottom[0]->shape());
  if (first.kind != Layout::CHANNELS_BLOCKED || !BlocksFit(first.block, bottom)) return false;
  const size_t num = first.num, spatial = first.spatial;
  const auto blocked = [&](const Blob<Dtype>& blob) {
    return Layout::ChannelsBlocked(first.block, num, blob.shape(1), spatial);
  };
  T* y = OverwriteAs<T>(top->data_tensor(), blocked(*top));
  const size_t row = blocked(*top).extent(0) / num;
  size_t offset = 0;
  for (const Blob<Dtype>* blob : bottom) {
    const T* x = ReadAs<T>(blob->data_tensor(), blocked(*blob));
    const size_t piece = blocked(*blob).extent(0) / num;
    for (size_t n = 0; n < num; ++n) {
      std::memcpy(y + n * row + offset, x + n * piece, piece * sizeof(T));
    }
    offset += piece;
  }
  return true;
}

template <typename Dtype>
bool ConcatLayer<Dtype>::ForwardOneDnn(const vector<Blob<Dtype>*>& bottom, Blob<Dtype>* top) {
  if (!onednn::IsWanted<Dtype>(engine_, this->types(), kOneDnnIsFaster)) return false;
  const Layout first = BlockedLayoutFor<float>(bottom[0]->data_tensor(), bottom[0]->shape());
  const bool blocked = first.kind != Layout::PLAIN && BlocksFit(first.block, bottom);
  const int outer = top->count(0, concat_axis_), inner = top->count(concat_axis_ + 1);
  const auto layout = [&](const Blob<Dtype>& blob) {
    return blocked ? Layout::ChannelsBlocked(first.block, outer, blob.shape(1), inner) : Layout();
  };
  std::vector<int> channels;
  for (const Blob<Dtype>* blob : bottom) channels.push_back(blob->shape(concat_axis_));
  std::vector<int> key = top->shape();  // and what the parts are
  key.insert(key.end(), channels.begin(), channels.end());
  if (!onednn_) onednn_ = std::make_shared<onednn::ForShape<onednn::Concat>>();
  onednn::Concat* primitive = onednn_->Get(key, layout(*bottom[0]), [&] {
    return onednn::Concat::Make(outer, channels, inner, blocked ? first.block : 1);
  });
  if (!primitive) return false;
  std::vector<const float*> x;
  for (const Blob<Dtype>* blob : bottom) {
    x.push_back(ReadAs<float>(blob->data_tensor(), layout(*blob)));
  }
  primitive->Forward(x, OverwriteAs<float>(top->data_tensor(), layout(*top)));
  return true;
}

template <typename Dtype>
void ConcatLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  by_onednn_ = bottom.size() > 1 && ForwardOneDnn(bottom, top[0]);
  if (bottom.size() == 1 || by_onednn_) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    if (ConcatBlocked<T>(bottom, top[0])) return;
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    const size_t outer = top[0]->count(0, concat_axis_);
    const size_t row = top[0]->count(concat_axis_);
    size_t offset = 0;
    for (const Blob<Dtype>* blob : bottom) {
      const size_t piece = blob->count(concat_axis_);
      const T* x = blob->template cpu_data_as<T>();
      for (size_t n = 0; n < outer; ++n) {
        std::memcpy(y + n * row + offset, x + n * piece, piece * sizeof(T));
      }
      offset += piece;
    }
  });
}

template <typename Dtype>
template <typename D>
bool ConcatLayer<Dtype>::BackwardBlocked(const Blob<Dtype>& top, const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) const {
  const Layout whole = LayoutFor<D>(top.diff_tensor(), top.shape());
  if (whole.kind != Layout::CHANNELS_BLOCKED || !BlocksFit(whole.block, bottom)) return false;
  const D* dy = ReadAs<D>(top.diff_tensor(), whole);
  const size_t row = whole.extent(0) / whole.num;
  size_t offset = 0;
  for (size_t i = 0; i < bottom.size(); ++i) {
    const Layout part =
        Layout::ChannelsBlocked(whole.block, whole.num, bottom[i]->shape(1), whole.spatial);
    const size_t piece = part.extent(0) / whole.num;
    if (propagate_down[i]) {
      D* dx = OverwriteAs<D>(bottom[i]->diff_tensor(), part);
      for (size_t n = 0; n < whole.num; ++n) {
        std::memcpy(dx + n * piece, dy + n * row + offset, piece * sizeof(D));
      }
    }
    offset += piece;
  }
  return true;
}

template <typename Dtype>
void ConcatLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (bottom.size() == 1) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    if (BackwardBlocked<D>(*top[0], propagate_down, bottom)) return;
    const D* dy = top[0]->template cpu_diff_as<D>();
    const size_t outer = top[0]->count(0, concat_axis_);
    const size_t row = top[0]->count(concat_axis_);
    size_t offset = 0;
    for (size_t i = 0; i < bottom.size(); ++i) {
      const size_t piece = bottom[i]->count(concat_axis_);
      if (propagate_down[i]) {
        D* dx = bottom[i]->template overwrite_cpu_diff_as<D>();
        for (size_t n = 0; n < outer; ++n) {
          std::memcpy(dx + n * piece, dy + n * row + offset, piece * sizeof(D));
        }
      }
      offset += piece;
    }
  });
}

INSTANTIATE_CLASS(ConcatLayer);
REGISTER_LAYER_CLASS(Concat);

}  // namespace caffe
