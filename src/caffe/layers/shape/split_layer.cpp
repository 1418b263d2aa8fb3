#include "caffe/layers/split_layer.hpp"

#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"

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
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using F = AccumulatorType<D>;
    const Layout layout = LayoutFor<D>(top[0]->diff_tensor(), top[0]->shape());
    const size_t count = layout.extent(bottom[0]->count());
    const auto dy = [&](size_t i) { return ReadAs<D>(top[i]->diff_tensor(), layout); };
    D* dx = OverwriteAs<D>(bottom[0]->diff_tensor(), layout);
    if (top.size() == 1) {
      std::copy(dy(0), dy(0) + count, dx);
    } else if (top.size() == 2) {
      kernels::Add(count, dy(0), dy(1), dx);
    } else {
      Workspace::Buffer<F> sum(Context::Current().workspace(), count);
      kernels::Add(count, dy(0), dy(1), sum.get());
      for (size_t i = 2; i + 1 < top.size(); ++i) kernels::Axpy(count, F(1), dy(i), sum.get());
      kernels::Add(count, sum.get(), dy(top.size() - 1), dx);
    }
  });
}

INSTANTIATE_CLASS(SplitLayer);
REGISTER_LAYER_CLASS(Split);

}  // namespace caffe
