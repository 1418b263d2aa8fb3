#ifndef CAFFE_UTIL_UPGRADE_PROTO_HPP_
#define CAFFE_UTIL_UPGRADE_PROTO_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

// Files of older forms become what this version works with:
//   V0 (2013)          layers { layer { type: "conv" ... } }, padding layers
//   V1 (2014)          layers { type: CONVOLUTION ... }
//   data transforms    scale, mean_file, crop_size, mirror in data layers of V1
//   inputs             input, input_shape, input_dim
//   BatchNorm          three ParamSpecs with learning rates
//   solvers            solver_type: NESTEROV
// Functions that return bool return false if something was left out, which they have logged.

namespace caffe {

/// True if UpgradeNetAsNeeded would change the net.
bool NetNeedsUpgrade(const NetParameter& net_param);

/// Carries out all upgrades that the net needs. `param_file` is for the log.
bool UpgradeNetAsNeeded(const std::string& param_file, NetParameter* param);

/// Reads a net and upgrades it. Throws Error (see caffe/util/io.hpp).
void ReadNetParamsFromTextFileOrDie(const std::string& param_file, NetParameter* param);
void ReadNetParamsFromBinaryFileOrDie(const std::string& param_file, NetParameter* param);

bool NetNeedsV0ToV1Upgrade(const NetParameter& net_param);
bool UpgradeV0Net(const NetParameter& v0_net_param, NetParameter* net_param);

/// Turns padding layers into the `pad` of the convolution or pooling layers after them. Throws
/// Error if another layer reads padded data.
void UpgradeV0PaddingLayers(const NetParameter& param, NetParameter* param_upgraded_pad);

/// Upgrades one connection (a V1 layer with a V0 layer inside).
bool UpgradeV0LayerParameter(const V1LayerParameter& v0_layer_connection,
                             V1LayerParameter* layer_param);

/// Throws Error if V0 had no such type.
V1LayerParameter_LayerType UpgradeV0LayerType(const std::string& type);

bool NetNeedsDataUpgrade(const NetParameter& net_param);
void UpgradeNetDataTransformation(NetParameter* net_param);

bool NetNeedsV1ToV2Upgrade(const NetParameter& net_param);
bool UpgradeV1Net(const NetParameter& v1_net_param, NetParameter* net_param);
bool UpgradeV1LayerParameter(const V1LayerParameter& v1_layer_param, LayerParameter* layer_param);
const char* UpgradeV1LayerType(const V1LayerParameter_LayerType type);

bool NetNeedsInputUpgrade(const NetParameter& net_param);
/// Throws Error if the shapes are not one for each input.
void UpgradeNetInput(NetParameter* net_param);

bool NetNeedsBatchNormUpgrade(const NetParameter& net_param);
void UpgradeNetBatchNorm(NetParameter* net_param);

bool SolverNeedsTypeUpgrade(const SolverParameter& solver_param);
/// Throws Error if both `type` and `solver_type` are set.
bool UpgradeSolverType(SolverParameter* solver_param);
bool UpgradeSolverAsNeeded(const std::string& param_file, SolverParameter* param);

/// An unset or empty snapshot_prefix becomes the solver file's path without its extension; a
/// directory gets the solver file's name without extension appended.
void UpgradeSnapshotPrefixProperty(const std::string& param_file, SolverParameter* param);

/// Reads a solver and upgrades it, snapshot_prefix included. Throws Error.
void ReadSolverParamsFromTextFileOrDie(const std::string& param_file, SolverParameter* param);

}  // namespace caffe

#endif  // CAFFE_UTIL_UPGRADE_PROTO_HPP_
