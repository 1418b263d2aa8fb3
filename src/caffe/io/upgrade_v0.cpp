#include <glog/logging.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "caffe/error.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

namespace {

using OldLayer = V1LayerParameter;

struct V0TypeName {
  const char* v0;
  V1LayerParameter_LayerType v1;
};

constexpr V0TypeName kV0Types[] = {
    {"accuracy", OldLayer::ACCURACY},
    {"bnll", OldLayer::BNLL},
    {"concat", OldLayer::CONCAT},
    {"conv", OldLayer::CONVOLUTION},
    {"data", OldLayer::DATA},
    {"dropout", OldLayer::DROPOUT},
    {"euclidean_loss", OldLayer::EUCLIDEAN_LOSS},
    {"flatten", OldLayer::FLATTEN},
    {"hdf5_data", OldLayer::HDF5_DATA},
    {"hdf5_output", OldLayer::HDF5_OUTPUT},
    {"im2col", OldLayer::IM2COL},
    {"images", OldLayer::IMAGE_DATA},
    {"infogain_loss", OldLayer::INFOGAIN_LOSS},
    {"innerproduct", OldLayer::INNER_PRODUCT},
    {"lrn", OldLayer::LRN},
    {"multinomial_logistic_loss", OldLayer::MULTINOMIAL_LOGISTIC_LOSS},
    {"pool", OldLayer::POOLING},
    {"relu", OldLayer::RELU},
    {"sigmoid", OldLayer::SIGMOID},
    {"softmax", OldLayer::SOFTMAX},
    {"softmax_loss", OldLayer::SOFTMAX_LOSS},
    {"split", OldLayer::SPLIT},
    {"tanh", OldLayer::TANH},
    {"window_data", OldLayer::WINDOW_DATA},
};

/// Moves the flat parameters of one V0 layer to the messages of its V1 form. Each Put names the
/// field and says, per layer type, where its value goes; a type without a place is an error.
class V0LayerUpgrade {
 public:
  V0LayerUpgrade(const V0LayerParameter& from, OldLayer* to) : from_(from), to_(to) {}

  bool Run() {
    MoveLearned();
    MoveWindows();
    MoveNormalization();
    MoveSources();
    MoveTransform();
    return complete_;
  }

 private:
  using Targets = std::map<std::string, std::function<void()>>;

  void Put(bool is_set, const char* field, const Targets& targets) {
    if (!is_set) return;
    const auto target = targets.find(from_.type());
    if (target != targets.end()) return target->second();
    LOG(ERROR) << "Unknown parameter " << field << " for layer type " << from_.type();
    complete_ = false;
  }

  ConvolutionParameter* conv() { return to_->mutable_convolution_param(); }
  PoolingParameter* pool() { return to_->mutable_pooling_param(); }
  InnerProductParameter* product() { return to_->mutable_inner_product_param(); }
  LRNParameter* lrn() { return to_->mutable_lrn_param(); }
  DataParameter* data() { return to_->mutable_data_param(); }
  ImageDataParameter* images() { return to_->mutable_image_data_param(); }
  WindowDataParameter* windows() { return to_->mutable_window_data_param(); }
  HDF5DataParameter* hdf5() { return to_->mutable_hdf5_data_param(); }

  void MoveLearned() {
    const V0LayerParameter& v0 = from_;
    Put(v0.has_num_output(), "num_output",
        {{"conv", [&] { conv()->set_num_output(v0.num_output()); }},
         {"innerproduct", [&] { product()->set_num_output(v0.num_output()); }}});
    Put(v0.has_biasterm(), "biasterm",
        {{"conv", [&] { conv()->set_bias_term(v0.biasterm()); }},
         {"innerproduct", [&] { product()->set_bias_term(v0.biasterm()); }}});
    Put(v0.has_weight_filler(), "weight_filler",
        {{"conv", [&] { *conv()->mutable_weight_filler() = v0.weight_filler(); }},
         {"innerproduct", [&] { *product()->mutable_weight_filler() = v0.weight_filler(); }}});
    Put(v0.has_bias_filler(), "bias_filler",
        {{"conv", [&] { *conv()->mutable_bias_filler() = v0.bias_filler(); }},
         {"innerproduct", [&] { *product()->mutable_bias_filler() = v0.bias_filler(); }}});
    Put(v0.has_group(), "group", {{"conv", [&] { conv()->set_group(v0.group()); }}});
    Put(v0.has_dropout_ratio(), "dropout_ratio",
        {{"dropout",
          [&] { to_->mutable_dropout_param()->set_dropout_ratio(v0.dropout_ratio()); }}});
    Put(v0.has_concat_dim(), "concat_dim",
        {{"concat", [&] { to_->mutable_concat_param()->set_concat_dim(v0.concat_dim()); }}});
  }

  void MoveWindows() {
    const V0LayerParameter& v0 = from_;
    Put(v0.has_pad(), "pad",
        {{"conv", [&] { conv()->add_pad(v0.pad()); }},
         {"pool", [&] { pool()->set_pad(v0.pad()); }}});
    Put(v0.has_kernelsize(), "kernelsize",
        {{"conv", [&] { conv()->add_kernel_size(v0.kernelsize()); }},
         {"pool", [&] { pool()->set_kernel_size(v0.kernelsize()); }}});
    Put(v0.has_stride(), "stride",
        {{"conv", [&] { conv()->add_stride(v0.stride()); }},
         {"pool", [&] { pool()->set_stride(v0.stride()); }}});
    // The two enums have the same numbers.
    Put(v0.has_pool(), "pool",
        {{"pool",
          [&] { pool()->set_pool(static_cast<PoolingParameter::PoolMethod>(v0.pool())); }}});
  }

  void MoveNormalization() {
    const V0LayerParameter& v0 = from_;
    Put(v0.has_local_size(), "local_size",
        {{"lrn", [&] { lrn()->set_local_size(v0.local_size()); }}});
    Put(v0.has_alpha(), "alpha", {{"lrn", [&] { lrn()->set_alpha(v0.alpha()); }}});
    Put(v0.has_beta(), "beta", {{"lrn", [&] { lrn()->set_beta(v0.beta()); }}});
    Put(v0.has_k(), "k", {{"lrn", [&] { lrn()->set_k(v0.k()); }}});
  }

  void MoveSources() {
    const V0LayerParameter& v0 = from_;
    Put(v0.has_source(), "source",
        {{"data", [&] { data()->set_source(v0.source()); }},
         {"hdf5_data", [&] { hdf5()->set_source(v0.source()); }},
         {"images", [&] { images()->set_source(v0.source()); }},
         {"window_data", [&] { windows()->set_source(v0.source()); }},
         {"infogain_loss", [&] { to_->mutable_infogain_loss_param()->set_source(v0.source()); }}});
    Put(v0.has_batchsize(), "batchsize",
        {{"data", [&] { data()->set_batch_size(v0.batchsize()); }},
         {"hdf5_data", [&] { hdf5()->set_batch_size(v0.batchsize()); }},
         {"images", [&] { images()->set_batch_size(v0.batchsize()); }},
         {"window_data", [&] { windows()->set_batch_size(v0.batchsize()); }}});
    Put(v0.has_rand_skip(), "rand_skip",
        {{"data", [&] { data()->set_rand_skip(v0.rand_skip()); }},
         {"images", [&] { images()->set_rand_skip(v0.rand_skip()); }}});
    Put(v0.has_shuffle_images(), "shuffle",
        {{"images", [&] { images()->set_shuffle(v0.shuffle_images()); }}});
    Put(v0.has_new_height(), "new_height",
        {{"images", [&] { images()->set_new_height(v0.new_height()); }}});
    Put(v0.has_new_width(), "new_width",
        {{"images", [&] { images()->set_new_width(v0.new_width()); }}});
    Put(v0.has_hdf5_output_param(), "hdf5_output_param",
        {{"hdf5_output", [&] { *to_->mutable_hdf5_output_param() = v0.hdf5_output_param(); }}});
    MoveDetection();
  }

  void MoveDetection() {
    const V0LayerParameter& v0 = from_;
    Put(v0.has_det_fg_threshold(), "det_fg_threshold",
        {{"window_data", [&] { windows()->set_fg_threshold(v0.det_fg_threshold()); }}});
    Put(v0.has_det_bg_threshold(), "det_bg_threshold",
        {{"window_data", [&] { windows()->set_bg_threshold(v0.det_bg_threshold()); }}});
    Put(v0.has_det_fg_fraction(), "det_fg_fraction",
        {{"window_data", [&] { windows()->set_fg_fraction(v0.det_fg_fraction()); }}});
    Put(v0.has_det_context_pad(), "det_context_pad",
        {{"window_data", [&] { windows()->set_context_pad(v0.det_context_pad()); }}});
    Put(v0.has_det_crop_mode(), "det_crop_mode",
        {{"window_data", [&] { windows()->set_crop_mode(v0.det_crop_mode()); }}});
  }

  /// These were allowed in every layer, and every layer has a transform_param to hold them.
  void MoveTransform() {
    const V0LayerParameter& v0 = from_;
    if (v0.has_scale()) to_->mutable_transform_param()->set_scale(v0.scale());
    if (v0.has_meanfile()) to_->mutable_transform_param()->set_mean_file(v0.meanfile());
    if (v0.has_cropsize()) to_->mutable_transform_param()->set_crop_size(v0.cropsize());
    if (v0.has_mirror()) to_->mutable_transform_param()->set_mirror(v0.mirror());
  }

  const V0LayerParameter& from_;
  OldLayer* to_;
  bool complete_ = true;
};

/// Reads past the padding layer that makes the layer's bottom, if there is one.
void AbsorbPadding(const std::map<std::string, const OldLayer*>& padding, OldLayer* layer) {
  for (std::string& bottom : *layer->mutable_bottom()) {
    const auto found = padding.find(bottom);
    if (found == padding.end()) continue;
    const std::string& type = layer->layer().type();
    Require(type == "conv" || type == "pool", "layer '", layer->layer().name(), "' (", type,
            "): reads padded data, which in V0 nets only conv and pool layers can");
    Require(layer->bottom_size() == 1, "layer '", layer->layer().name(), "' (", type, "): has ",
            layer->bottom_size(), " bottoms; padded data needs exactly one");
    layer->mutable_layer()->set_pad(found->second->layer().pad());
    bottom = found->second->bottom(0);
  }
}

}  // namespace

V1LayerParameter_LayerType UpgradeV0LayerType(const std::string& type) {
  for (const V0TypeName& name : kV0Types) {
    if (type == name.v0) return name.v1;
  }
  Fail("Unknown layer name: '", type, "' is not a layer type of the V0 form");
}

bool NetNeedsV0ToV1Upgrade(const NetParameter& net_param) {
  for (const OldLayer& layer : net_param.layers()) {
    if (layer.has_layer()) return true;
  }
  return false;
}

void UpgradeV0PaddingLayers(const NetParameter& param, NetParameter* param_upgraded_pad) {
  NetParameter upgraded(param);
  upgraded.clear_layers();
  std::map<std::string, const OldLayer*> padding;  // by top
  for (const OldLayer& layer : param.layers()) {
    if (layer.layer().type() == "padding") {
      Require(layer.bottom_size() == 1 && layer.top_size() == 1, "layer '", layer.layer().name(),
              "' (padding): has ", layer.bottom_size(), " bottoms and ", layer.top_size(),
              " tops; one of each is needed");
      padding[layer.top(0)] = &layer;
      continue;
    }
    OldLayer* kept = upgraded.add_layers();
    *kept = layer;
    AbsorbPadding(padding, kept);
    for (const std::string& top : layer.top()) padding.erase(top);
  }
  *param_upgraded_pad = std::move(upgraded);
}

bool UpgradeV0LayerParameter(const V1LayerParameter& v0_layer_connection,
                             V1LayerParameter* layer_param) {
  const V0LayerParameter& v0 = v0_layer_connection.layer();
  OldLayer upgraded;
  *upgraded.mutable_bottom() = v0_layer_connection.bottom();
  *upgraded.mutable_top() = v0_layer_connection.top();
  if (v0.has_name()) upgraded.set_name(v0.name());
  if (v0.has_type()) upgraded.set_type(UpgradeV0LayerType(v0.type()));
  *upgraded.mutable_blobs() = v0.blobs();
  *upgraded.mutable_blobs_lr() = v0.blobs_lr();
  *upgraded.mutable_weight_decay() = v0.weight_decay();
  const bool complete = V0LayerUpgrade(v0, &upgraded).Run();
  *layer_param = std::move(upgraded);
  return complete;
}

bool UpgradeV0Net(const NetParameter& v0_net_param, NetParameter* net_param) {
  NetParameter padded;
  UpgradeV0PaddingLayers(v0_net_param, &padded);
  bool complete = true;
  for (int i = 0; i < padded.layers_size(); ++i) {
    if (!padded.layers(i).has_layer()) continue;
    complete &= UpgradeV0LayerParameter(padded.layers(i), padded.mutable_layers(i));
  }
  *net_param = std::move(padded);
  return complete;
}

}  // namespace caffe
