#include "integer_pass.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "caffe/error.hpp"
#include "caffe/layers/convolution/fused_followers.hpp"
#include "caffe/layers/elementwise/fake_quantization_layer.hpp"

namespace caffe {

template <typename Dtype>
IntegerPass<Dtype>::IntegerPass(inference::TrainedPart part, const Layers& layers)
    : part_(std::move(part)) {
  std::set<string> of_part;
  for (const LayerParameter& layer : part_.net.layer()) of_part.insert(layer.name());
  const auto is = [](const std::vector<string>& names, const string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& layer : layers) {
    auto* rounding = dynamic_cast<FakeQuantizationLayer<Dtype>*>(layer.get());
    if (rounding || of_part.count(layer->layer_param().name())) layers_.push_back(layer.get());
    if (!rounding) continue;
    const string blob = rounding->layer_param().fake_quantization_param().blob();
    const bool is_input = is(part_.inputs, blob);
    if (!is_input && !is(part_.outputs, blob)) continue;
    hooked_.push_back(rounding);
    rounding->set_instead([=](const Blob<Dtype>& bottom, Blob<Dtype>* top) {
      if (is_input && is_on_) Take(blob, bottom);
      return !is_input && is_on_ && Give(blob, top);
    });
  }
}

template <typename Dtype>
IntegerPass<Dtype>::~IntegerPass() {
  for (FakeQuantizationLayer<Dtype>* layer : hooked_) layer->set_instead(nullptr);
}

template <typename Dtype>
uint64_t IntegerPass<Dtype>::Stamp() const {
  uint64_t stamp = 1;
  for (Layer<Dtype>* layer : layers_) {
    for (const auto& blob : layer->blobs()) {
      stamp = Mix(stamp, WriteStamp(*blob));
    }
  }
  return stamp;
}

// Stamps change whenever a program that holds a pointer might have written.
template <typename Dtype>
uint64_t IntegerPass<Dtype>::Contents() const {
  uint64_t contents = 1;
  for (Layer<Dtype>* layer : layers_) {
    for (const auto& blob : layer->blobs()) {
      const Dtype* values = blob->template cpu_data_as<Dtype>();
      for (int i = 0; i < blob->count(); ++i) {
        uint64_t bits = 0;
        std::memcpy(&bits, values + i, sizeof(Dtype));
        contents = Mix(contents, bits);
      }
    }
  }
  return contents;
}

template <typename Dtype>
void IntegerPass<Dtype>::Begin() {
  is_on_ = true;
  const uint64_t stamp = Stamp();
  if (stamp == stamp_) return;
  const uint64_t contents = Contents();
  if (contents != contents_) {
    NetParameter weights;
    for (Layer<Dtype>* layer : layers_) layer->ToProto(weights.add_layer());
    weights_.Swap(&weights);
    context_.reset();
    failed_ = false;
    contents_ = contents;
  }
  stamp_ = stamp;
}

template <typename Dtype>
void IntegerPass<Dtype>::Take(const string& input, const Blob<Dtype>& blob) {
  const Dtype* values = blob.cpu_data();
  inputs_[input].assign(values, values + blob.count());
  has_run_ = false;
  if (shapes_[input] == blob.shape()) return;
  shapes_[input] = blob.shape();
  context_.reset();
}

template <typename Dtype>
bool IntegerPass<Dtype>::MakeEngine() {
  if (context_ || failed_) return !failed_;
  try {
    const auto engine = inference::BuildTrained(part_, weights_, shapes_);
    for (const string& output : part_.outputs) {
      Require(engine->OutputAffine(output).has_value(), "floats compute blob '", output, "'");
    }
    context_ = std::make_unique<inference::ExecutionContext>(engine);
    has_run_ = false;
  } catch (const Error& error) {
    failed_ = true;
    LOG_IF(WARNING, Caffe::root_solver())
        << "Scores of the TEST phase are simulated in floats, as there is no engine of integers: "
        << error.what();
  }
  return !failed_;
}

template <typename Dtype>
bool IntegerPass<Dtype>::Give(const string& output, Blob<Dtype>* blob) {
  if (shapes_.size() < part_.inputs.size() || !MakeEngine()) return false;
  if (!has_run_) {
    for (const auto& [input, values] : inputs_) {
      std::copy(values.begin(), values.end(), context_->Input(input));
    }
    context_->Run();
    has_run_ = true;
  }
  std::copy_n(context_->Output(output), blob->count(), blob->mutable_cpu_data());
  return true;
}

template class IntegerPass<float>;
template class IntegerPass<double>;

}  // namespace caffe
