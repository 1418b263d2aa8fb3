#ifndef CAFFE_TOOLS_CAFFE_NET_FLAGS_HPP_
#define CAFFE_TOOLS_CAFFE_NET_FLAGS_HPP_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../common/command.hpp"
#include "../common/command_line.hpp"
#include "caffe/net.hpp"

// Flags that say which net or plan a command works on, in which state, in which types and on which
// device.

DECLARE_string(model);
DECLARE_string(weights);
DECLARE_string(plan);
DECLARE_int32(level);
DECLARE_int32(iterations);
DECLARE_string(gpu);
DECLARE_bool(json);
DECLARE_bool(peaks);

/// LOG(INFO) in the name of Caffe's own source of the program: scripts look for "caffe.cpp:".
#define PROGRAM_LOG() google::LogMessage("caffe.cpp", __LINE__).stream()

namespace caffe {

/// Flags of every command.
FlagGroup SharedFlags();
/// Loads the libraries of -plugins.
void LoadPlugins();
/// Types and engine of a net.
FlagGroup TypeFlags();

/// The stages that -stage names.
std::vector<std::string> Stages();
/// The files that -weights names.
std::vector<std::string> WeightFiles();
/// Throws Error unless -iterations is positive.
void RequireIterations();

/// Throws Error for flags that say how a plan is run, where a net is.
void RequireNoPlanFlags();
/// Throws Error for flags that say how a net is run, where a plan is.
void RequireNoNetFlags();

/// -gpus and `-gpu -1`, as other Caffes have them, become -gpu.
void TranslateOldFlags();
/// The GPUs that -gpu names; none if it is not given, or if the CPU is to compute in their place,
/// and -gpu counts as not given then.
std::vector<int> GpusOfFlag();
void UseGpu(int id);
/// Computes on the first GPU of -gpu, or on the CPU.
void ChooseDevice();
/// The GPU of -gpu is the one that engines are built for and run on; the net itself runs on the
/// CPU.
void ChooseEngineDevice();

/// The net of -model in the TEST phase and the state that the command line gives.
NetParameter TestPhaseNet(const std::string& command);

/// Calls `change` for each net of a solver; nets are read here where it names their files.
void ChangeNets(SolverParameter* solver, const std::function<void(NetParameter*)>& change);
/// Gives all nets of a solver the command line's types and engine, in place of their own.
void OverrideTypes(SolverParameter* solver);
/// The net of -model with the command line's types.
std::unique_ptr<Net<float>> NetWithTypes(Phase phase);
/// Logs each layer's types, and what computed its latest forward pass.
void LogTypes(const Net<float>& net);

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_NET_FLAGS_HPP_
