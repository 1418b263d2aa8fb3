#include "caffe/layers/filter_layer.hpp"

#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

// The tops' shapes depend on what the selector holds. Bottoms may be labels as well as
// activations: all are copied in Dtype.
const bool filter_registered =
    OperationTable::Add(Operation("Filter").BackwardReads(Operation::kNothing));

}  // namespace

template <typename Dtype>
void FilterLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Require(top.size() + 1 == bottom.size(), "Filter has one top for each bottom but the last, the ",
          "selector: ", bottom.size() - 1, ", not ", top.size());
  set_up_ = false;
}

template <typename Dtype>
void FilterLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const Blob<Dtype>& selector = *bottom.back();
  Require(selector.num_axes() >= 1 && selector.count(1) == 1,
          "Filter takes a selector with one value an item, the last bottom is ",
          ShapeString(selector.shape()));
  for (size_t i = 0; i < top.size(); ++i) {
    Require(bottom[i]->num_axes() >= 1 && bottom[i]->shape(0) == selector.shape(0),
            "Filter takes bottoms of one batch: bottom ", i, " is ",
            ShapeString(bottom[i]->shape()), ", the selector is ", ShapeString(selector.shape()));
  }
  const Dtype* values = selector.cpu_data();
  selected_.clear();
  for (int i = 0; i < selector.shape(0); ++i) {
    if (values[i] != 0 || !set_up_) selected_.push_back(i);
  }
  set_up_ = true;
  for (size_t i = 0; i < top.size(); ++i) {
    vector<int> shape = bottom[i]->shape();
    shape[0] = static_cast<int>(selected_.size());
    top[i]->Reshape(shape);
  }
}

template <typename Dtype>
void FilterLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  for (size_t i = 0; i < top.size(); ++i) {
    const size_t item = bottom[i]->count(1);
    const Dtype* x = bottom[i]->cpu_data();
    Dtype* y = top[i]->template overwrite_cpu_data_as<Dtype>();
    for (const int index : selected_) y = std::copy_n(x + index * item, item, y);
  }
}

template <typename Dtype>
void FilterLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down.back(), "Filter has no gradient for its selector");
  for (size_t i = 0; i < top.size(); ++i) {
    if (!propagate_down[i]) continue;
    const size_t item = bottom[i]->count(1);
    const Dtype* dy = top[i]->cpu_diff();
    Dtype* dx = bottom[i]->template overwrite_cpu_diff_as<Dtype>();
    std::fill_n(dx, bottom[i]->count(), Dtype(0));
    for (const int index : selected_) {
      std::copy_n(dy, item, dx + index * item);
      dy += item;
    }
  }
}

INSTANTIATE_CLASS(FilterLayer);
REGISTER_LAYER_CLASS(Filter);

}  // namespace caffe
