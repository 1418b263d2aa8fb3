#include "quantized_training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "caffe/kernels/parallel.hpp"
#include "caffe/layers/batch_norm_layer.hpp"
#include "caffe/layers/convolution/fused_followers.hpp"
#include "caffe/layers/elementwise/fake_quantization_layer.hpp"
#include "caffe/net/integer_grids.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/listed.hpp"
#include "integer_pass.hpp"

namespace caffe {
namespace {

using inference::TrainingPositions;

/// Names for the versions that a blob goes through: before the first FakeQuantization layer on it,
/// behind that one, ...
class BlobVersions {
 public:
  BlobVersions(const NetParameter& net, const TrainingPositions& positions) {
    for (const TrainingPositions::RoundedBlob& blob : positions.blobs) {
      rounded_[{blob.layer, blob.top}] = &blob;
    }
    for (const LayerParameter& layer : net.layer()) {
      for (int i = 0; i < layer.top_size(); ++i) {
        const std::string& name = layer.top(i);
        if (layer.bottom_size() == 0) fed_.insert(name);
        if (const auto* blob = Find(layer, i)) names_[name].push_back(blob->name);
      }
    }
    for (auto& versions : names_) {
      for (std::string& name : versions.second) name += "_before_quantization";
      versions.second.push_back(versions.first);
      if (!fed_.count(versions.first)) continue;
      versions.second.front() = versions.first;
      versions.second.back() += "_quantized";
    }
  }

  const TrainingPositions::RoundedBlob* Find(const LayerParameter& layer, int top) const {
    const auto found = rounded_.find({layer.name(), top});
    return found == rounded_.end() ? nullptr : found->second;
  }
  std::string Newest(const std::string& blob) const {
    const auto names = names_.find(blob);
    if (names == names_.end()) return blob;
    const auto version = newest_.find(blob);
    return names->second[version == newest_.end() ? 0 : version->second];
  }
  void Advance(const std::string& blob) { ++newest_[blob]; }

 private:
  std::map<std::pair<std::string, int>, const TrainingPositions::RoundedBlob*> rounded_;
  std::set<std::string> fed_;  // blobs that layers without bottoms make
  std::map<std::string, std::vector<std::string>> names_;
  std::map<std::string, size_t> newest_;
};

void CopyTypes(const LayerParameter& from, LayerParameter* to) {
  if (from.has_forward_type()) to->set_forward_type(from.forward_type());
  if (from.has_backward_type()) to->set_backward_type(from.backward_type());
}

}  // namespace

NetParameter InsertFakeQuantization(const NetParameter& net, const TrainingPositions& positions) {
  std::set<std::string> layers;
  for (const LayerParameter& layer : net.layer()) layers.insert(layer.name());
  std::map<std::string, int> sizes;  // of groups
  for (const TrainingPositions::RoundedBlob& blob : positions.blobs) ++sizes[blob.group];
  BlobVersions versions(net, positions);
  NetParameter inserted = net;
  inserted.clear_layer();
  for (const LayerParameter& original : net.layer()) {
    LayerParameter* layer = inserted.add_layer();
    *layer = original;
    for (std::string& bottom : *layer->mutable_bottom()) bottom = versions.Newest(bottom);
    for (std::string& top : *layer->mutable_top()) top = versions.Newest(top);
    for (int i = 0; i < original.top_size(); ++i) {
      const TrainingPositions::RoundedBlob* blob = versions.Find(original, i);
      if (!blob) continue;
      LayerParameter* rounding = inserted.add_layer();
      rounding->set_name(blob->name + "_quantization");
      Require(layers.insert(rounding->name()).second, "quantized_training: the net has a layer '",
              rounding->name(), "' already, which is the name of one that is inserted",
              Error::Remedy{"rename it"});
      rounding->set_type("FakeQuantization");
      CopyTypes(original, rounding);
      rounding->add_bottom(versions.Newest(original.top(i)));
      versions.Advance(original.top(i));
      rounding->add_top(versions.Newest(original.top(i)));
      FakeQuantizationParameter* param = rounding->mutable_fake_quantization_param();
      *param->mutable_quantization() = net.quantized_training();
      param->set_blob(blob->name);
      if (sizes[blob->group] > 1) param->set_group(blob->group);
      if (!blob->is_stated) continue;
      param->set_minimum(blob->minimum);
      param->set_maximum(blob->maximum);
    }
  }
  return inserted;
}

namespace {

/// Where the weights of each output lie: rows of `inner` weights, `rows` of them `outer` times.
struct WeightRows {
  explicit WeightRows(const LayerParameter& layer, const vector<int>& shape) {
    size_t count = 1;
    for (const int extent : shape) count *= extent;
    const bool is_product = layer.type() == "InnerProduct";
    outputs = is_product ? layer.inner_product_param().num_output()
                         : layer.convolution_param().num_output();
    if (count == 0) {  // no channels
      outer = rows = inner = 0;
      return;
    }
    if (is_product) {
      const InnerProductParameter& param = layer.inner_product_param();
      rows = outputs;
      transposed = param.transpose();
      outer = transposed ? count / rows : 1;
      inner = transposed ? 1 : count / rows;
      return;
    }
    groups = layer.convolution_param().group();
    kernel = count / shape[0] / shape[1];
    transposed = layer.type() == "Deconvolution";
    outer = transposed ? shape[0] : 1;
    rows = transposed ? shape[1] : outputs;
    inner = count / outer / rows;
  }

  size_t Output(size_t a, size_t row) const {
    return outer == 1 ? row : a / (outer / groups) * rows + row;
  }
  /// The channel of the input, which has `channels`, that a weight is multiplied with.
  size_t Channel(size_t channels, size_t a, size_t row, size_t place) const {
    if (transposed) return a / (outer / channels);
    if (kernel == 0) return place / (inner / channels);
    return row / (outputs / groups) * (inner / kernel) + place / kernel;
  }

  size_t outputs = 1, groups = 1, outer = 1, rows = 1, inner = 1;
  size_t kernel = 0;  // of a convolution
  bool transposed = false;
};

/// What a layer that is folded into weights multiplies each channel with: one number a channel, or
/// one for all.
template <typename Dtype>
vector<double> FactorsOf(Layer<Dtype>& layer) {
  const auto values = [&](int i) {
    const Blob<Dtype>& blob = *layer.blobs()[i];
    const Dtype* data = blob.template cpu_data_as<Dtype>();
    return vector<double>(data, data + blob.count());
  };
  const string type = layer.type();
  if (type == "Power") return {layer.layer_param().power_param().scale()};
  if (type == "Scale") return values(0);
  if (type != "BatchNorm") return {1};  // Bias
  vector<double> factors = values(1);
  const double weight = values(2)[0];
  const double eps = layer.layer_param().batch_norm_param().eps();
  for (double& factor : factors) factor = 1 / std::sqrt((weight == 0 ? 0 : factor / weight) + eps);
  if (layer.blobs().size() < 4) return factors;
  const vector<double> scale = values(3);
  for (size_t c = 0; c < factors.size(); ++c) factors[c] *= scale[c];
  return factors;
}

void MultiplyInto(vector<double>* product, const vector<double>& factors) {
  if (product->size() < factors.size()) product->resize(factors.size(), product->front());
  for (size_t c = 0; c < product->size(); ++c) {
    (*product)[c] *= factors[factors.size() == 1 ? 0 : c];
  }
}

}  // namespace

template <typename Dtype>
struct QuantizedTraining<Dtype>::WeightLayer {
  WeightLayer(Layer<Dtype>* owner, const string& rounded_with)
      : layer(owner),
        group(rounded_with),
        rows(owner->layer_param(), owner->blobs()[0]->shape()),
        other(new Blob<Dtype>(owner->blobs()[0]->shape())) {}

  /// The weights as an engine has them in floats, and the factors that made them so.
  void Fold() {
    const Blob<Dtype>& weights = *layer->blobs()[0];
    const Dtype* w = weights.template cpu_data_as<Dtype>();
    vector<double> behind = {1}, before = {1};
    for (Layer<Dtype>* folded : folded_behind) MultiplyInto(&behind, FactorsOf(*folded));
    for (Layer<Dtype>* folded : folded_before) MultiplyInto(&before, FactorsOf(*folded));
    factors.assign(rows.outputs, static_cast<Dtype>(behind[0]));
    if (behind.size() > 1) std::copy(behind.begin(), behind.end(), factors.begin());
    channel_factors.clear();
    if (!folded_before.empty()) channel_factors.assign(before.begin(), before.end());
    minima.assign(rows.outputs, 0);
    maxima.assign(rows.outputs, 0);
    ForEachRow([&](size_t a, size_t row, size_t offset) {
      const size_t output = rows.Output(a, row);
      Dtype least = 0, most = 0;
      for (size_t i = 0; i < rows.inner; ++i) {
        const Dtype value = w[offset + i] * ChannelFactor(a, row, i);
        least = value < least ? value : least;
        most = value > most ? value : most;
      }
      const Dtype f = factors[output];
      minima[output] = std::min<double>(minima[output], f < 0 ? most * f : least * f);
      maxima[output] = std::max<double>(maxima[output], f < 0 ? least * f : most * f);
    });
  }

  /// Rounds them and takes the factors out again. A factor of 0 leaves weights that are multiplied
  /// with it as they are.
  void Round(const QuantizedTrainingParameter& param) {
    const Blob<Dtype>& weights = *layer->blobs()[0];
    const Dtype* w = weights.template cpu_data_as<Dtype>();
    other->ReshapeLike(weights);
    other->set_data_type(weights.data_type());
    Dtype* y = other->template overwrite_cpu_data_as<Dtype>();
    ForEachRow([&](size_t a, size_t row, size_t offset) {
      const size_t output = rows.Output(a, row);
      const Dtype* from = w + offset;
      Dtype* to = y + offset;
      const auto grid = WeightGrid(param, minima[output], maxima[output]);
      const bool finite = std::isfinite(minima[output]) && std::isfinite(maxima[output]);
      if (!finite || factors[output] == 0) {
        std::copy_n(from, rows.inner, to);
        return;
      }
      for (size_t i = 0; i < rows.inner; ++i) {
        to[i] = from[i] * ChannelFactor(a, row, i) * factors[output];
      }
      kernels::FakeQuantize(rows.inner, grid, to, to);
      for (size_t i = 0; i < rows.inner; ++i) {
        const Dtype factor = ChannelFactor(a, row, i) * factors[output];
        to[i] = factor == 0 ? from[i] : to[i] / factor;
      }
    });
    other->data_tensor().ForgetPointers();
  }

  uint64_t Stamp() const {
    uint64_t stamp = WriteStamp(*layer->blobs()[0]);
    for (const auto* folded : {&folded_behind, &folded_before}) {
      for (Layer<Dtype>* part : *folded) {
        for (const auto& blob : part->blobs()) stamp = Mix(stamp, WriteStamp(*blob));
      }
    }
    return stamp;
  }

  template <typename Function>
  void ForEachRow(Function&& f) const {
    // Rows belong to different outputs, so that no two threads share one.
    const size_t grain = std::max<size_t>(1, 16384 / std::max<size_t>(1, rows.inner * rows.outer));
    kernels::ParallelFor(rows.rows, grain, [&](size_t begin, size_t end) {
      for (size_t a = 0; a < rows.outer; ++a) {
        for (size_t row = begin; row < end; ++row) f(a, row, (a * rows.rows + row) * rows.inner);
      }
    });
  }

  Dtype ChannelFactor(size_t a, size_t row, size_t place) const {
    if (channel_factors.empty()) return 1;
    const size_t channels = channel_factors.size();
    return channel_factors[channels == 1 ? 0 : rows.Channel(channels, a, row, place)];
  }

  Layer<Dtype>* const layer;
  const string group;
  const WeightRows rows;
  vector<Layer<Dtype>*> folded_behind, folded_before;
  shared_ptr<Blob<Dtype>> other;  // the rounded weights, or the weights while these are in place
  vector<Dtype> factors;          // of each output
  vector<Dtype> channel_factors;  // of each channel of the input; none: 1
  vector<double> minima, maxima;  // of each output
};

template <typename Dtype>
QuantizedTraining<Dtype>::QuantizedTraining(const NetParameter& net,
                                            const TrainingPositions& positions,
                                            const Layers& layers)
    : param_(net.quantized_training()),
      trains_(!layers.empty() && layers[0]->layer_param().phase() == TRAIN) {
  std::map<string, vector<const FakeQuantizationLayer<Dtype>*>> groups;
  for (const auto& layer : layers) {
    if (auto* range = dynamic_cast<FakeQuantizationLayer<Dtype>*>(layer.get())) {
      ranges_.push_back(range);
      groups[range->layer_param().fake_quantization_param().group()].push_back(range);
    }
    auto* normalization = dynamic_cast<BatchNormLayer<Dtype>*>(layer.get());
    if (normalization && !normalization->use_global_stats()) {
      normalizations_.push_back(normalization);
    }
  }
  for (FakeQuantizationLayer<Dtype>* range : ranges_) {
    const string& group = range->layer_param().fake_quantization_param().group();
    if (!group.empty()) range->set_group(groups[group]);
  }
  FindMeans(positions, layers);
  FindWeights(positions, layers);
  if (trains_) return;
  if (auto part = inference::TrainedPartOf(net, positions)) {
    integers_ = std::make_unique<IntegerPass<Dtype>>(std::move(*part), layers);
  }
}

template <typename Dtype>
QuantizedTraining<Dtype>::~QuantizedTraining() = default;

template <typename Dtype>
void QuantizedTraining<Dtype>::FindMeans(const TrainingPositions& positions, const Layers& layers) {
  std::set<string> makers, means;
  for (const auto& layer : layers) {
    const LayerParameter& param = layer->layer_param();
    if (param.type() == "Pooling" &&
        param.pooling_param().pool() == PoolingParameter_PoolMethod_AVE) {
      makers.insert(param.name());
    }
  }
  for (const TrainingPositions::RoundedBlob& blob : positions.blobs) {
    if (makers.count(blob.layer)) means.insert(blob.name);
  }
  for (FakeQuantizationLayer<Dtype>* range : ranges_) {
    range->set_rounds_means(means.count(range->layer_param().fake_quantization_param().blob()) > 0);
  }
}

template <typename Dtype>
void QuantizedTraining<Dtype>::FindWeights(const TrainingPositions& positions,
                                           const Layers& layers) {
  std::map<string, size_t> places;
  for (size_t i = 0; i < layers.size(); ++i) places[layers[i]->layer_param().name()] = i;
  for (const TrainingPositions::RoundedWeights& rounded : positions.weights) {
    const size_t place = places.at(rounded.layer);
    weights_.push_back(
        shared_ptr<WeightLayer>(new WeightLayer(layers[place].get(), rounded.group)));
    if (!param_.fold_batch_norm()) continue;
    for (const string& name : rounded.folded) {
      const auto folded = places.find(name);
      if (folded == places.end()) continue;
      auto* list = folded->second > place ? &weights_.back()->folded_behind
                                          : &weights_.back()->folded_before;
      list->push_back(layers[folded->second].get());
    }
  }
}

template <typename Dtype>
void QuantizedTraining<Dtype>::SetIteration(int iteration) {
  using Range = FakeQuantizationLayer<Dtype>;
  const int64_t start = param_.start_iter();
  const auto stage = iteration < start                               ? Range::COPY
                     : iteration < start + param_.activation_delay() ? Range::OBSERVE
                                                                     : Range::ROUND;
  for (Range* range : ranges_) range->set_stage(stage);
  const int freeze = param_.freeze_batch_norm_iter();
  const bool frozen = trains_ && freeze > 0 && iteration >= freeze;
  if (trains_) {
    for (BatchNormLayer<Dtype>* layer : normalizations_) layer->set_use_global_stats(frozen);
  }
  const bool logs = trains_ && Caffe::root_solver();
  if (logs && stage != stage_) {
    const string& scheme = QuantizedTrainingParameter_Scheme_Name(param_.scheme());
    StringWriter weights;
    weights << "weights of " << weights_.size() << " layers are rounded to " << param_.weight_bits()
            << " bits (" << scheme << ")";
    LOG_IF(INFO, stage == Range::COPY)
        << "Iteration " << iteration << ": quantized training "
        << "begins at iteration " << start << ", until then in float";
    LOG_IF(INFO, stage == Range::OBSERVE)
        << "Iteration " << iteration << ": " << weights.str() << ", the ranges of "
        << ranges_.size() << " blobs are observed until iteration "
        << start + param_.activation_delay();
    LOG_IF(INFO, stage == Range::ROUND)
        << "Iteration " << iteration << ": " << weights.str() << ", " << ranges_.size()
        << " blobs to " << param_.activation_bits() << " bits";
  }
  LOG_IF(INFO, logs && frozen && !frozen_)
      << "Iteration " << iteration << ": the statistics of " << normalizations_.size()
      << " BatchNorm layers are frozen";
  stage_ = stage;
  frozen_ = frozen;
}

template <typename Dtype>
void QuantizedTraining<Dtype>::RoundWeights() {
  for (const auto& weights : weights_) weights->Fold();
  if (HasOneWeightGrid(param_)) {
    std::map<string, std::pair<double, double>> ranges;
    for (const auto& weights : weights_) {
      auto& range = ranges[weights->group];
      for (const double minimum : weights->minima) range.first = std::min(range.first, minimum);
      for (const double maximum : weights->maxima) range.second = std::max(range.second, maximum);
    }
    for (const auto& weights : weights_) {
      weights->minima.assign(weights->minima.size(), ranges[weights->group].first);
      weights->maxima.assign(weights->maxima.size(), ranges[weights->group].second);
    }
  }
  for (const auto& weights : weights_) weights->Round(param_);
}

template <typename Dtype>
void QuantizedTraining<Dtype>::Swap() {
  for (const auto& weights : weights_) std::swap(weights->layer->blobs()[0], weights->other);
  is_swapped_ = !is_swapped_;
}

// A net that no solver trains has the ranges that were loaded.
template <typename Dtype>
void QuantizedTraining<Dtype>::WarnOfMissingRanges() {
  if (warned_ || trains_ || stage_ >= 0) return;
  warned_ = true;
  vector<string> missing;
  for (const FakeQuantizationLayer<Dtype>* range : ranges_) {
    double minimum, maximum;
    if (range->Range(&minimum, &maximum)) continue;
    missing.push_back(range->layer_param().fake_quantization_param().blob());
  }
  LOG_IF(WARNING, !missing.empty() && Caffe::root_solver())
      << "Weights are rounded, but these blobs have no ranges and are not: " << Listed(missing)
      << ". Were the weights trained with quantized_training?";
}

template <typename Dtype>
void QuantizedTraining<Dtype>::BeginIntegers(Pass pass) {
  if (!integers_ || pass == Pass::SAME) return;
  const bool rounds = std::all_of(ranges_.begin(), ranges_.end(), [](const auto* range) {
    double minimum, maximum;
    return range->stage() == FakeQuantizationLayer<Dtype>::ROUND &&
           range->Range(&minimum, &maximum);
  });
  if (rounds && pass == Pass::FORWARD && Caffe::mode() == Caffe::CPU) {
    integers_->Begin();
  } else {
    integers_->End();
  }
}

template <typename Dtype>
QuantizedTraining<Dtype>::Rounded::Rounded(QuantizedTraining* training, Pass pass) {
  if (!training || training->is_swapped_ || training->ranges_.empty()) return;
  training->BeginIntegers(pass);
  if (training->ranges_[0]->stage() == FakeQuantizationLayer<Dtype>::COPY) return;
  const bool again = pass != Pass::SAME;
  if (again) training->WarnOfMissingRanges();
  uint64_t stamp = 1;
  for (const auto& weights : training->weights_) stamp = Mix(stamp, weights->Stamp());
  if (training->rounded_stamp_ == 0 || (again && stamp != training->rounded_stamp_)) {
    training->RoundWeights();
    training->rounded_stamp_ = stamp;
  }
  for (const auto& weights : training->weights_) {
    weights->other->ShareDiff(*weights->layer->blobs()[0]);
  }
  training->Swap();
  training_ = training;
}

template <typename Dtype>
QuantizedTraining<Dtype>::Rounded::~Rounded() {
  if (training_) training_->Swap();
}

template class QuantizedTraining<float>;
template class QuantizedTraining<double>;

}  // namespace caffe
