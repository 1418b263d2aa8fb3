#include "caffe/fp16/net_agreement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace caffe {
namespace {

/// One layer after the other: nothing is joined, so nothing is rounded differently.
template <typename AfterLayer>
void Run(Net<float>* net, AfterLayer&& after) {
  for (int i = 0; i < static_cast<int>(net->layers().size()); ++i) {
    net->ForwardFromTo(i, i);
    after(i);
  }
}

}  // namespace

NetAgreement::NetAgreement(Net<float>* reference, Net<float>* other)
    : reference_(reference), other_(other) {
  for (int index : reference->output_blob_indices()) {
    outputs_.push_back({reference->blob_names()[index], 0, 0, 0});
    Require(other->has_blob(outputs_.back().blob), "the other net has no output '",
            outputs_.back().blob, "'");
  }
}

void NetAgreement::CountNotFinite(int layer) {
  for (const Blob<float>* top : other_->top_vecs()[layer]) {
    const float* x = top->cpu_data();
    const int64_t bad =
        std::count_if(x, x + top->count(), [](float value) { return !std::isfinite(value); });
    if (bad > 0 && not_finite_ == 0) first_not_finite_ = other_->layer_names()[layer];
    not_finite_ += bad;
  }
}

void NetAgreement::Add() {
  Run(reference_, [](int) {});
  Run(other_, [this](int layer) { CountNotFinite(layer); });
  for (OutputAgreement& output : outputs_) {
    const Blob<float>& a = *reference_->blob_by_name(output.blob);
    const Blob<float>& b = *other_->blob_by_name(output.blob);
    if (a.shape() != b.shape()) {
      ++output.other_shapes;
      continue;
    }
    for (int i = 0; i < a.count(); ++i) {
      const double x = a.cpu_data()[i], y = b.cpu_data()[i];
      output.largest = std::max(output.largest, std::abs(x));
      const double difference = std::abs(x - y);
      if (difference > output.difference) output.difference = difference;  // not for NaN
    }
  }
}

double NetAgreement::relative() const {
  double largest = 0;
  for (const OutputAgreement& output : outputs_) {
    if (output.other_shapes > 0) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, output.relative());
  }
  return largest;
}

}  // namespace caffe
