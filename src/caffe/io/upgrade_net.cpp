#include <glog/logging.h>

#include <algorithm>
#include <string>

#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/io/proto_binary.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

namespace {

constexpr int kInputAxes = 4;       // of an input given by input_dim
constexpr int kBatchNormBlobs = 3;  // mean, variance, factor

/// Says, or leaves unsaid, that statistics are learned.
bool LearnsStatistics(const LayerParameter& layer) {
  return layer.type() == "BatchNorm" && layer.param_size() == kBatchNormBlobs &&
         std::any_of(layer.param().begin(), layer.param().end(), [](const ParamSpec& spec) {
           return spec.lr_mult() != 0 || spec.decay_mult() != 0;
         });
}

BlobShape InputShape(const NetParameter& net, int input) {
  if (net.input_shape_size() > 0) return net.input_shape(input);
  BlobShape shape;
  for (int axis = 0; axis < kInputAxes; ++axis) {
    shape.add_dim(net.input_dim(kInputAxes * input + axis));
  }
  return shape;
}

bool HasHoles(const ConvolutionParameter& param) {
  return param.has_hole() || param.has_hole_h() || param.has_hole_w();
}

/// DeepLab's names become today's.
void UpgradeHoles(const std::string& layer, ConvolutionParameter* param) {
  const bool both = param->has_hole_h() || param->has_hole_w();
  Require(param->dilation_size() == 0 && !(param->has_hole() && both), "layer '",
          Error::Layer{layer}, "': ", Error::Field{"convolution_param"},
          " has several of dilation, hole, and hole_h with hole_w",
          Error::Remedy{"give one of them"});
  if (both) {
    param->add_dilation(param->has_hole_h() ? param->hole_h() : 1);
    param->add_dilation(param->has_hole_w() ? param->hole_w() : 1);
  } else {
    param->add_dilation(param->hole());
  }
  param->clear_hole();
  param->clear_hole_h();
  param->clear_hole_w();
}

template <typename Layers>
bool AnyHasHoles(const Layers& layers) {
  return std::any_of(layers.begin(), layers.end(),
                     [](const auto& layer) { return HasHoles(layer.convolution_param()); });
}

void CheckInputs(const NetParameter& net) {
  Require(net.input_shape_size() == 0 || net.input_dim_size() == 0, "net '", net.name(),
          "': has both input_shape and input_dim; remove one of them");
  Require(net.input_shape_size() == 0 || net.input_shape_size() == net.input_size(), "net '",
          net.name(), "': has ", net.input_size(), " inputs and ", net.input_shape_size(),
          " times input_shape; each input needs one");
  Require(net.input_dim_size() == 0 || net.input_dim_size() == kInputAxes * net.input_size(),
          "net '", net.name(), "': has ", net.input_size(), " inputs and ", net.input_dim_size(),
          " numbers input_dim; each input needs four (batch, channels, height, width)");
}

bool UpgradeFlatLayers(const std::string& file, NetParameter* net) {
  LOG(INFO) << "Attempting to upgrade input file specified using deprecated V0LayerParameter: "
            << file;
  const bool complete = UpgradeV0Net(NetParameter(*net), net);
  if (complete) {
    LOG(INFO) << "Successfully upgraded file specified using deprecated V0LayerParameter";
  } else {
    LOG(ERROR) << "Warning: had one or more problems upgrading V0NetParameter to NetParameter "
                  "(see above); continuing anyway.";
  }
  return complete;
}

void UpgradeData(const std::string& file, NetParameter* net) {
  LOG(INFO) << "Attempting to upgrade input file specified using deprecated transformation "
               "parameters: "
            << file;
  UpgradeNetDataTransformation(net);
  LOG(INFO) << "Successfully upgraded file specified using deprecated data transformation "
               "parameters.";
  LOG(WARNING) << "Note that future Caffe releases will only support transform_param messages for "
                  "transformation fields.";
}

bool UpgradeTypes(const std::string& file, NetParameter* net) {
  LOG(INFO) << "Attempting to upgrade input file specified using deprecated V1LayerParameter: "
            << file;
  const bool complete = UpgradeV1Net(NetParameter(*net), net);
  if (complete) {
    LOG(INFO) << "Successfully upgraded file specified using deprecated V1LayerParameter";
  } else {
    LOG(ERROR) << "Warning: had one or more problems upgrading V1LayerParameter (see above); "
                  "continuing anyway.";
  }
  return complete;
}

void UpgradeInputs(const std::string& file, NetParameter* net) {
  LOG(INFO) << "Attempting to upgrade input file specified using deprecated input fields: " << file;
  UpgradeNetInput(net);
  LOG(INFO) << "Successfully upgraded file specified using deprecated input fields.";
  LOG(WARNING) << "Note that future Caffe releases will only support input layers and not input "
                  "fields.";
}

void UpgradeBatchNorms(const std::string& file, NetParameter* net) {
  LOG(INFO) << "Attempting to upgrade batch norm layers using deprecated params: " << file;
  UpgradeNetBatchNorm(net);
  LOG(INFO) << "Successfully upgraded batch norm layers using deprecated params.";
}

}  // namespace

bool NetNeedsInputUpgrade(const NetParameter& net_param) { return net_param.input_size() > 0; }

void UpgradeNetInput(NetParameter* net_param) {
  CheckInputs(*net_param);
  if (net_param->input_shape_size() > 0 || net_param->input_dim_size() > 0) {
    LayerParameter layer;
    layer.set_name("input");
    layer.set_type("Input");
    for (int i = 0; i < net_param->input_size(); ++i) {
      layer.add_top(net_param->input(i));
      *layer.mutable_input_param()->add_shape() = InputShape(*net_param, i);
    }
    net_param->add_layer()->Swap(&layer);
    auto layers = net_param->mutable_layer()->pointer_begin();
    std::rotate(layers, layers + net_param->layer_size() - 1, layers + net_param->layer_size());
  }
  net_param->clear_input();
  net_param->clear_input_shape();
  net_param->clear_input_dim();
}

bool NetNeedsBatchNormUpgrade(const NetParameter& net_param) {
  const auto& layers = net_param.layer();
  return std::any_of(layers.begin(), layers.end(), LearnsStatistics);
}

void UpgradeNetBatchNorm(NetParameter* net_param) {
  for (LayerParameter& layer : *net_param->mutable_layer()) {
    if (!LearnsStatistics(layer)) continue;
    // Statistics are measured, not learned.
    for (ParamSpec& spec : *layer.mutable_param()) {
      spec.set_lr_mult(0);
      spec.set_decay_mult(0);
    }
  }
}

bool NetNeedsUpgrade(const NetParameter& net_param) {
  return NetNeedsV0ToV1Upgrade(net_param) || NetNeedsV1ToV2Upgrade(net_param) ||
         NetNeedsDataUpgrade(net_param) || NetNeedsInputUpgrade(net_param) ||
         NetNeedsBatchNormUpgrade(net_param) || AnyHasHoles(net_param.layer()) ||
         AnyHasHoles(net_param.layers());
}

namespace {

bool Upgrade(const std::string& name, NetParameter* param) {
  bool complete = true;
  if (NetNeedsV0ToV1Upgrade(*param)) complete &= UpgradeFlatLayers(name, param);
  if (NetNeedsDataUpgrade(*param)) UpgradeData(name, param);
  if (NetNeedsV1ToV2Upgrade(*param)) complete &= UpgradeTypes(name, param);
  for (LayerParameter& layer : *param->mutable_layer()) {
    if (!HasHoles(layer.convolution_param())) continue;
    UpgradeHoles(layer.name(), layer.mutable_convolution_param());
  }
  if (NetNeedsInputUpgrade(*param)) UpgradeInputs(name, param);
  if (NetNeedsBatchNormUpgrade(*param)) UpgradeBatchNorms(name, param);
  return complete;
}

}  // namespace

// What is upgraded need not be a file.
bool UpgradeNetAsNeeded(const std::string& param_file, NetParameter* param) {
  return WithContext([&] { return param_file; }, [&] { return Upgrade(param_file, param); });
}

void ReadNetParamsFromTextFileOrDie(const std::string& param_file, NetParameter* param) {
  ReadProtoText(param_file, param);
  WithFile(param_file, [&] { Upgrade(param_file, param); });
}

void ReadNetParamsFromBinaryFileOrDie(const std::string& param_file, NetParameter* param) {
  ReadProtoBinary(param_file, param);
  WithFile(param_file, [&] { Upgrade(param_file, param); });
}

}  // namespace caffe
