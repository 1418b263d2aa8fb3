#include "caffe/layers/split_layer.hpp"

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/eltwise.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfSplit(const LayerParameter& layer,
                                    const std::vector<Shape>& bottoms) {
  return std::vector<Shape>(layer.top_size(), bottoms.at(0));
}

const bool split_registered = OperationTable::Add(Operation("Split")
                                                      .Shapes(TopShapesOfSplit)
                                                      .BackwardReads(Operation::kNothing)
                                                      .SharesBottom()
                                                      .Native()
                                                      .Homogeneous()
                                                      .TypeAgnostic());

}  // namespace

template <typename Dtype>
void SplitLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  for (Blob<Dtype>* blob : top) {
    Require(blob != bottom[0], "Split cannot work in place",
            Error::Remedy{"name its tops differently"});
    blob->ReshapeLike(*bottom[0]);
  }
}

template <typename Dtype>
void SplitLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  for (Blob<Dtype>* blob : top) blob->ShareData(*bottom[0]);
}

// Added up in float and rounded once.
template <typename Dtype>
void SplitLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using D = decltype(diff_tag);
    const Layout layout = GradientLayout<decltype(data_tag), D>(*bottom[0], top[0]->diff_tensor());
    const size_t count = layout.extent(bottom[0]->count());
    std::vector<const D*> dy;
    for (Blob<Dtype>* blob : top) dy.push_back(ReadAs<D>(blob->diff_tensor(), layout));
    D* dx = OverwriteAs<D>(bottom[0]->diff_tensor(), layout);
    if (top.size() == 1) {
      kernels::Convert(count, dy[0], dx);
    } else {
      kernels::AddArrays(count, dy, dx);
    }
  });
}

INSTANTIATE_CLASS(SplitLayer);
REGISTER_LAYER_CLASS(Split);

}  // namespace caffe
