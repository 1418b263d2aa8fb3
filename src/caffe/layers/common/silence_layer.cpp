#include "caffe/layers/silence_layer.hpp"

#include "caffe/kernels/elementwise.hpp"

namespace caffe {
namespace {

std::vector<Shape> NoTops(const LayerParameter&, const std::vector<Shape>&) { return {}; }

const bool silence_registered = OperationTable::Add(
    Operation("Silence").Shapes(NoTops).BackwardReads(Operation::kNothing).Native().TypeAgnostic());

}  // namespace

template <typename Dtype>
void SilenceLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>&,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (propagate_down[i]) {
        kernels::Set<D>(bottom[i]->count(), 0, bottom[i]->template overwrite_cpu_diff_as<D>());
      }
    }
  });
}

INSTANTIATE_CLASS(SilenceLayer);
REGISTER_LAYER_CLASS(Silence);

}  // namespace caffe
