#ifndef CAFFE_TOOLS_TYPE_FLAGS_HPP_
#define CAFFE_TOOLS_TYPE_FLAGS_HPP_

#include <gflags/gflags.h>

#include <functional>
#include <string>

#include "caffe/caffe.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "command_line.hpp"

// Flags that run a net in other types, or on another engine, than its prototxt says.

DEFINE_string(forward_type, "", "Storage of activations and parameters, FLOAT, FLOAT16 or DOUBLE.");
DEFINE_string(backward_type, "", "Storage of the activations' gradients, likewise.");
DEFINE_string(forward_math, "", "What layers multiply in, forward, likewise.");
DEFINE_string(backward_math, "", "What layers multiply in, backward, likewise.");
DEFINE_string(engine, "", "What computes layers that name no engine: CAFFE, CUDNN, ONEDNN, ...");

namespace caffe {

/// True if the command line overrides a type or the engine.
inline bool OverridesTypes() {
  return IsGiven("engine") || IsGiven("forward_type") || IsGiven("backward_type") ||
         IsGiven("forward_math") || IsGiven("backward_math");
}

/// Throws Error for what is no type that layers compute in.
inline Type ComputedTypeNamed(const std::string& flag, const std::string& name) {
  Type type;
  const bool known = Type_Parse(name, &type);
  Require(known && (type == FLOAT || type == FLOAT16 || type == DOUBLE), flag, " ",
          name.empty() ? "\"\"" : name, ": valid are FLOAT, FLOAT16 and DOUBLE");
  return type;
}

/// Gives the net the command line's types, in place of its own fields and of those of its layers,
/// and its engine, in place of the net's own.
inline void OverrideTypes(NetParameter* net) {
  if (IsGiven("engine")) net->set_engine(FLAGS_engine);
  if (IsGiven("forward_type")) {
    net->set_default_forward_type(ComputedTypeNamed("-forward_type", FLAGS_forward_type));
    for (LayerParameter& layer : *net->mutable_layer()) layer.clear_forward_type();
  }
  if (IsGiven("backward_type")) {
    net->set_default_backward_type(ComputedTypeNamed("-backward_type", FLAGS_backward_type));
    for (LayerParameter& layer : *net->mutable_layer()) layer.clear_backward_type();
  }
  if (IsGiven("forward_math")) {
    net->set_default_forward_math(ComputedTypeNamed("-forward_math", FLAGS_forward_math));
    for (LayerParameter& layer : *net->mutable_layer()) layer.clear_forward_math();
  }
  if (IsGiven("backward_math")) {
    net->set_default_backward_math(ComputedTypeNamed("-backward_math", FLAGS_backward_math));
    for (LayerParameter& layer : *net->mutable_layer()) layer.clear_backward_math();
  }
}

/// Likewise for all nets of a solver, which are read here where it names their files.
inline void OverrideTypes(SolverParameter* solver) {
  if (!OverridesTypes()) return;
  const auto read = [](const std::string& file, NetParameter* net) {
    ReadNetParamsFromTextFileOrDie(file, net);
  };
  if (solver->has_net()) read(solver->net(), solver->mutable_net_param());
  if (solver->has_train_net()) read(solver->train_net(), solver->mutable_train_net_param());
  for (const std::string& file : solver->test_net()) read(file, solver->add_test_net_param());
  solver->clear_net();
  solver->clear_train_net();
  solver->clear_test_net();
  if (solver->has_net_param()) OverrideTypes(solver->mutable_net_param());
  if (solver->has_train_net_param()) OverrideTypes(solver->mutable_train_net_param());
  for (NetParameter& net : *solver->mutable_test_net_param()) OverrideTypes(&net);
}

/// The net of a file, with the command line's types.
inline std::unique_ptr<Net<float>> NetWithTypes(const std::string& file, Phase phase, int level,
                                                const std::vector<std::string>& stages) {
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(file, &param);
  NetState* state = param.mutable_state();
  state->set_phase(phase);
  state->set_level(level);
  for (const std::string& stage : stages) state->add_stage(stage);
  OverrideTypes(&param);
  try {
    return std::make_unique<Net<float>>(param);
  } catch (Error& error) {
    error.AddContext(file);
    throw;
  }
}

/// Logs each layer's types, and what computed its latest forward pass.
inline void LogTypes(const Net<float>& net) {
  LOG(INFO) << "Types per layer: ";
  for (const auto& layer : net.layers()) {
    LOG(INFO) << std::setfill(' ') << std::setw(10) << layer->layer_param().name()
              << "\tforward: " << Name(layer->forward_type()) << " (math "
              << Name(layer->forward_math()) << ")\tbackward: " << Name(layer->backward_type())
              << " (math " << Name(layer->backward_math())
              << ")\tengine: " << layer->forward_engine();
  }
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_TYPE_FLAGS_HPP_
