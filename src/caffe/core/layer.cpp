#include "caffe/layer.hpp"

#include "caffe/kernels/blas.hpp"

namespace caffe {

template <typename Dtype>
Layer<Dtype>::Layer(const LayerParameter& param)
    : layer_param_(param), phase_(param.phase()), types_(LayerTypes::All(kElementType<Dtype>)) {
  types_ = OwnTypes(param, kElementType<Dtype>);
  for (const BlobProto& blob : param.blobs()) {
    blobs_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>()));
    blobs_.back()->FromProto(blob);
  }
}

template <typename Dtype>
void Layer<Dtype>::SetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  CheckBlobCounts(bottom, top);
  LayerSetUp(bottom, top);
  DeclareParameterTypes();
  Reshape(bottom, top);
  SetLossWeights(top);
}

// Gradients of parameters are sums over the batch: they are kept in the net's Dtype, as are
// parameters that are statistics.
template <typename Dtype>
void Layer<Dtype>::DeclareParameterTypes() {
  const Operation* operation = OperationTable::Find(type());
  const bool native = operation && operation->native && !operation->float_parameters;
  for (const shared_ptr<Blob<Dtype>>& blob : blobs_) {
    blob->set_data_type(native ? forward_type() : kElementType<Dtype>);
    blob->set_diff_type(kElementType<Dtype>);
  }
}

template <typename Dtype>
Dtype Layer<Dtype>::Forward(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  Reshape(bottom, top);
  if (Caffe::mode() == Caffe::GPU) {
    Forward_gpu(bottom, top);
  } else {
    Forward_cpu(bottom, top);
  }
  return WeightedLoss(top);
}

template <typename Dtype>
Dtype Layer<Dtype>::ForwardFused(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  Reshape(bottom, top);
  if (Caffe::mode() == Caffe::GPU) {
    Forward_fused_gpu(bottom, top);
  } else {
    Forward_fused(bottom, top);
  }
  return WeightedLoss(top);
}

template <typename Dtype>
void Layer<Dtype>::BackwardFused(const vector<Blob<Dtype>*>& top,
                                 const vector<bool>& propagate_down,
                                 const vector<Blob<Dtype>*>& bottom) {
  if (Caffe::mode() == Caffe::GPU) {
    Backward_fused_gpu(top, propagate_down, bottom);
  } else {
    Backward_fused(top, propagate_down, bottom);
  }
}

template <typename Dtype>
Dtype Layer<Dtype>::WeightedLoss(const vector<Blob<Dtype>*>& top) const {
  Dtype loss = 0;
  for (size_t i = 0; i < top.size(); ++i) {
    if (this->loss(i) == Dtype(0)) continue;
    loss += kernels::Dot(top[i]->count(), top[i]->cpu_data(), top[i]->cpu_diff());
  }
  return loss;
}

template <typename Dtype>
void Layer<Dtype>::Backward(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
  if (Caffe::mode() == Caffe::GPU) {
    Backward_gpu(top, propagate_down, bottom);
  } else {
    Backward_cpu(top, propagate_down, bottom);
  }
}

template <typename Dtype>
void Layer<Dtype>::ToProto(LayerParameter* param, bool write_diff) {
  param->Clear();
  param->CopyFrom(layer_param_);
  param->clear_blobs();
  for (const shared_ptr<Blob<Dtype>>& blob : blobs_) blob->ToProto(param->add_blobs(), write_diff);
}

namespace {

void CheckCount(const char* type, const char* side, int actual, int exact, int least, int most) {
  if (exact >= 0) {
    Require(actual == exact, type, " takes exactly ", exact, " ", side, " blob(s), not ", actual);
  }
  if (least >= 0) {
    Require(actual >= least, type, " takes at least ", least, " ", side, " blob(s), not ", actual);
  }
  if (most >= 0) {
    Require(actual <= most, type, " takes at most ", most, " ", side, " blob(s), not ", actual);
  }
}

}  // namespace

template <typename Dtype>
void Layer<Dtype>::CheckBlobCounts(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  CheckCount(type(), "bottom", bottom.size(), ExactNumBottomBlobs(), MinBottomBlobs(),
             MaxBottomBlobs());
  CheckCount(type(), "top", top.size(), ExactNumTopBlobs(), MinTopBlobs(), MaxTopBlobs());
  if (EqualNumBottomTopBlobs()) {
    Require(bottom.size() == top.size(), type(), " makes one top blob for each bottom blob, not ",
            top.size(), " for ", bottom.size());
  }
}

template <typename Dtype>
void Layer<Dtype>::SetLossWeights(const vector<Blob<Dtype>*>& top) {
  const int count = layer_param_.loss_weight_size();
  if (count == 0) return;
  Require(static_cast<int>(top.size()) == count, "loss_weight is given ", count, " time(s) for ",
          top.size(), " top blob(s): give it once per top, or not at all");
  for (int i = 0; i < count; ++i) {
    const Dtype weight = layer_param_.loss_weight(i);
    if (weight == Dtype(0)) continue;
    set_loss(i, weight);
    std::fill_n(top[i]->template overwrite_cpu_diff_as<Dtype>(), top[i]->count(), weight);
  }
}

INSTANTIATE_CLASS(Layer);

}  // namespace caffe
