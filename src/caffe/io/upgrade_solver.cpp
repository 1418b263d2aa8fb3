#include <glog/logging.h>

#include <filesystem>
#include <string>

#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

namespace {

const char* SolverTypeName(SolverParameter_SolverType type) {
  switch (type) {
    case SolverParameter::SGD:
      return "SGD";
    case SolverParameter::NESTEROV:
      return "Nesterov";
    case SolverParameter::ADAGRAD:
      return "AdaGrad";
    case SolverParameter::RMSPROP:
      return "RMSProp";
    case SolverParameter::ADADELTA:
      return "AdaDelta";
    case SolverParameter::ADAM:
      return "Adam";
    case SolverParameter::SAG:
      return "SAG";
  }
  Fail("Unknown SolverParameter solver_type: ", static_cast<int>(type));
}

}  // namespace

bool SolverNeedsTypeUpgrade(const SolverParameter& solver_param) {
  return solver_param.has_solver_type();
}

bool UpgradeSolverType(SolverParameter* solver_param) {
  if (!solver_param->has_solver_type()) return true;
  Require(!solver_param->has_type(),
          "field solver_type: type is set as well; remove solver_type, the deprecated one");
  solver_param->set_type(SolverTypeName(solver_param->solver_type()));
  solver_param->clear_solver_type();
  return true;
}

bool UpgradeSolverAsNeeded(const std::string& param_file, SolverParameter* param) {
  if (!SolverNeedsTypeUpgrade(*param)) return true;
  LOG(INFO) << "Attempting to upgrade input file specified using deprecated 'solver_type' field "
               "(enum)': "
            << param_file;
  WithFile(param_file, [&] { UpgradeSolverType(param); });
  LOG(INFO) << "Successfully upgraded file specified using deprecated 'solver_type' field (enum) "
               "to 'type' field (string).";
  LOG(WARNING) << "Note that future Caffe releases will only support 'type' field (string) for a "
                  "solver's type.";
  return true;
}

void UpgradeSnapshotPrefixProperty(const std::string& param_file, SolverParameter* param) {
  namespace fs = std::filesystem;
  const fs::path solver(param_file);
  if (param->snapshot_prefix().empty()) {
    param->set_snapshot_prefix(fs::path(solver).replace_extension().string());
    LOG(INFO) << "snapshot_prefix was not specified and is set to " << param->snapshot_prefix();
  } else if (fs::is_directory(param->snapshot_prefix())) {
    param->set_snapshot_prefix((fs::path(param->snapshot_prefix()) / solver.stem()).string());
    LOG(INFO) << "snapshot_prefix was a directory and is replaced to " << param->snapshot_prefix();
  }
}

void ReadSolverParamsFromTextFileOrDie(const std::string& param_file, SolverParameter* param) {
  ReadProtoText(param_file, param);
  UpgradeSolverAsNeeded(param_file, param);
  UpgradeSnapshotPrefixProperty(param_file, param);
}

}  // namespace caffe
