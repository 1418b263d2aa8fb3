#include "caffe/layers/batch_reindex_layer.hpp"

#include "caffe/context.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfBatchReindex(const LayerParameter&,
                                           const std::vector<Shape>& bottoms) {
  Require(!bottoms.at(0).empty(), "BatchReindex takes a bottom 0 of 1 axis or more");
  Require(bottoms.at(1).size() == 1, "BatchReindex takes indices of 1 axis, bottom 1 is ",
          ShapeString(bottoms[1]));
  Shape top = bottoms[0];
  top[0] = bottoms[1][0];
  return {top};
}

const bool batch_reindex_registered = OperationTable::Add(Operation("BatchReindex")
                                                              .Shapes(TopShapesOfBatchReindex)
                                                              .BackwardReads(Operation::kBottomData)
                                                              .Native()
                                                              .FloatBottoms({1})
                                                              .Homogeneous());

}  // namespace

template <typename Dtype>
void BatchReindexLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfBatchReindex(this->layer_param_, ShapesOf(bottom))[0]);
}

template <typename Dtype>
size_t BatchReindexLayer<Dtype>::Index(const Dtype* indices, int i, int items) const {
  const Dtype index = indices[i];
  Require(index >= 0 && index < items && index == std::floor(index), "BatchReindex: index ", index,
          " at place ", i, " is not a whole number in [0, ", items, "), the items of bottom 0");
  return static_cast<size_t>(index);
}

template <typename Dtype>
void BatchReindexLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  const Dtype* indices = bottom[1]->cpu_data();
  const size_t item = bottom[0]->count(1);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    for (int i = 0; i < top[0]->shape(0); ++i) {
      y = std::copy_n(x + Index(indices, i, bottom[0]->shape(0)) * item, item, y);
    }
  });
}

template <typename Dtype>
void BatchReindexLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down[1], "BatchReindex has no gradient for its indices");
  if (!propagate_down[0]) return;
  const Dtype* indices = bottom[1]->cpu_data();
  const size_t item = bottom[0]->count(1), count = bottom[0]->count();
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using G = AccumulatorType<D>;
    const D* dy = top[0]->template cpu_diff_as<D>();
    Workspace::Buffer<G> sum(Context::Current().workspace(), count);
    kernels::Set<G>(count, 0, sum.get());
    for (int i = 0; i < top[0]->shape(0); ++i) {
      G* to = sum.get() + Index(indices, i, bottom[0]->shape(0)) * item;
      kernels::Axpy(item, G(1), dy + i * item, to);
    }
    kernels::Affine(count, G(1), G(0), sum.get(), bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(BatchReindexLayer);
REGISTER_LAYER_CLASS(BatchReindex);

}  // namespace caffe
