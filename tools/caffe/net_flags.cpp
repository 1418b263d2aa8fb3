#include "net_flags.hpp"

#include <algorithm>
#include <iomanip>

#include "caffe/caffe.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/core/layer_plugin.hpp"
#include "caffe/gpu_fallback.hpp"
#include "caffe/util/upgrade_proto.hpp"

CAFFE_FLAG(string, model, "", "FILE", "the net definition (prototxt)");
CAFFE_FLAG(string, weights, "", "FILE[,FILE]",
           "trained weights, .caffemodel or .caffemodel.h5, several separated by ','");
CAFFE_FLAG(string, plan, "", "FILE", "an engine that caffe build has written");
CAFFE_FLAG(int32, level, 0, "N", "the net's level, for include and exclude rules");
CAFFE_FLAG(string, stage, "", "A,B", "the net's stages, likewise");
CAFFE_FLAG(int32, iterations, 50, "N", "how many iterations to run");
CAFFE_FLAG(bool, json, false, "", "print JSON instead of tables");
CAFFE_FLAG(bool, peaks, true, "",
           "measure how fast the processor multiplies (-peaks=false: do not)");
CAFFE_FLAG(string, plugins, "", "FILE[,FILE]",
           "load shared libraries with layers of your own, several separated by ','");
CAFFE_FLAG(bool, verbose, false, "",
           "show what nets log; caffe build: and what could compute each layer");
CAFFE_FLAG(string, gpu, "", "0|0,1|all", "the GPUs to use; the CPU when not given, or -1");
CAFFE_FLAG(string, gpus, "", "0|0,1|all", "the same as -gpu");
CAFFE_FLAG(string, forward_type, "", "FLOAT|FLOAT16|DOUBLE",
           "storage of activations and parameters, whatever the prototxt says");
CAFFE_FLAG(string, backward_type, "", "FLOAT|FLOAT16|DOUBLE",
           "storage of the activations' gradients, likewise");
CAFFE_FLAG(string, forward_math, "", "FLOAT|FLOAT16|BFLOAT16|DOUBLE",
           "what layers multiply in, forward, likewise");
CAFFE_FLAG(string, backward_math, "", "FLOAT|FLOAT16|BFLOAT16|DOUBLE",
           "what layers multiply in, backward, likewise");
CAFFE_FLAG(string, engine, "", "CAFFE|ONEDNN|CUDNN|REFERENCE",
           "what computes nets that name no engine (MKLDNN is ONEDNN)");

namespace caffe {
namespace {

/// Throws Error for what is not a type that layers store, or with `math` multiply in.
Type ComputedTypeNamed(const std::string& flag, const std::string& name, bool math = false) {
  Type type;
  const bool known = Type_Parse(name, &type);
  Require(
      known && (type == FLOAT || type == FLOAT16 || type == DOUBLE || (math && type == BFLOAT16)),
      flag, " ", name.empty() ? "\"\"" : name,
      math ? ": valid are FLOAT, FLOAT16, BFLOAT16 and DOUBLE"
           : ": valid are FLOAT, FLOAT16 and DOUBLE");
  return type;
}

/// The net of a file in the state that the command line gives.
NetParameter ReadNet(const std::string& file, Phase phase) {
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(file, &param);
  param.mutable_state()->set_phase(phase);
  param.mutable_state()->set_level(FLAGS_level);
  for (const std::string& stage : Stages()) param.mutable_state()->add_stage(stage);
  return param;
}

/// Gives the net the command line's types, in place of its own fields and of those of its layers,
/// and its engine, in place of the net's own.
void OverrideNetTypes(NetParameter* net) {
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
    net->set_default_forward_math(
        ComputedTypeNamed("-forward_math", FLAGS_forward_math, /*math=*/true));
    for (LayerParameter& layer : *net->mutable_layer()) layer.clear_forward_math();
  }
  if (IsGiven("backward_math")) {
    net->set_default_backward_math(
        ComputedTypeNamed("-backward_math", FLAGS_backward_math, /*math=*/true));
    for (LayerParameter& layer : *net->mutable_layer()) layer.clear_backward_math();
  }
}

bool OverridesTypes() {
  return IsGiven("engine") || IsGiven("forward_type") || IsGiven("backward_type") ||
         IsGiven("forward_math") || IsGiven("backward_math");
}

}  // namespace

FlagGroup SharedFlags() {
  return {"all commands",
          "",
          {"gpu", "gpus", "gpu_fallback", "threads", "ignore_unknown_fields", "limits", "plugins",
           "verbose"},
          "  -help, -version       this text, the version\n"};
}

FlagGroup TypeFlags() {
  return {"types of the net",
          "",
          {"forward_type", "backward_type", "forward_math", "backward_math", "engine"},
          ""};
}

void LoadPlugins() {
  for (const std::string& file : SplitFiles(FLAGS_plugins)) {
    WithContext([] { return "-plugins"; }, [&] { LoadLayerPlugin(file); });
  }
}

std::vector<std::string> Stages() { return SplitAtCommas(FLAGS_stage); }

std::vector<std::string> WeightFiles() { return SplitFiles(FLAGS_weights); }

void RequireIterations() {
  Require(FLAGS_iterations > 0, Error::Field{"-iterations"}, " must be positive, got ",
          FLAGS_iterations);
}

void RequireNoPlanFlags() {
  RequireNotGiven({"batch", "shape", "hint"}, "is for a plan",
                  "give -plan FILE; a net runs in the shapes of its prototxt");
}

void RequireNoNetFlags() {
  std::vector<FlagUse> flags = TypeFlags().flags;
  flags.insert(flags.end(), {"weights", "phase", "forward_only", "level", "stage"});
  RequireNotGiven(flags, "is for a net, and a plan is as it was built", "leave it out");
}

void TranslateOldFlags() {
  Require(FLAGS_gpus.empty() || FLAGS_gpu.empty() || FLAGS_gpus == FLAGS_gpu, Error::Field{"-gpu"},
          " ", FLAGS_gpu, " and -gpus ", FLAGS_gpus, " are two names of one flag");
  if (FLAGS_gpu.empty()) FLAGS_gpu = FLAGS_gpus;
  if (FLAGS_gpu == "-1") FLAGS_gpu.clear();
}

std::vector<int> GpusOfFlag() {
  std::vector<int> gpus;
  if (FLAGS_gpu == "all") {
    if (RequireGpu("-gpu all")) {
      for (int id = 0; id < Device::Count(); ++id) gpus.push_back(id);
    } else {
      FLAGS_gpu.clear();
    }
    return gpus;
  }
  for (const std::string& id : SplitAtCommas(FLAGS_gpu)) {
    Require(id.find_first_not_of("0123456789") == std::string::npos && id.size() < 6,
            Error::Field{"-gpu"}, " ", FLAGS_gpu,
            ": valid are a number such as 0, several such as 0,1, and all");
    Require(std::count(gpus.begin(), gpus.end(), std::stoi(id)) == 0, Error::Field{"-gpu"}, " ",
            FLAGS_gpu, " names GPU ", id, " twice");
    gpus.push_back(std::stoi(id));
  }
  if (!gpus.empty() && !RequireGpu("-gpu " + FLAGS_gpu)) {
    gpus.clear();
    FLAGS_gpu.clear();
  }
  return gpus;
}

void UseGpu(int id) {
  Caffe::SetDevice(id);
  Caffe::set_mode(Caffe::GPU);
  PROGRAM_LOG() << "Use GPU with device ID " << id << ": " << Device::Get().name();
}

void ChooseDevice() {
  const std::vector<int> gpus = GpusOfFlag();
  if (!gpus.empty()) return UseGpu(gpus[0]);
  PROGRAM_LOG() << "Use CPU.";
  Caffe::set_mode(Caffe::CPU);
}

void ChooseEngineDevice() {
  const std::vector<int> gpus = GpusOfFlag();
  if (gpus.empty()) return;
  Require(gpus.size() == 1, Error::Field{"-gpu"}, " ", FLAGS_gpu, ": an engine is for one GPU");
  Caffe::SetDevice(gpus[0]);
  PROGRAM_LOG() << "Engines use the GPU with device ID " << gpus[0] << ": " << Device::Get().name();
}

NetParameter TestPhaseNet(const std::string& command) {
  Require(!FLAGS_model.empty(), command, " needs a net definition: -model FILE");
  return ReadNet(FLAGS_model, TEST);
}

void ChangeNets(SolverParameter* solver, const std::function<void(NetParameter*)>& change) {
  const auto read = [](const std::string& file, NetParameter* net) {
    ReadNetParamsFromTextFileOrDie(file, net);
  };
  if (solver->has_net()) read(solver->net(), solver->mutable_net_param());
  if (solver->has_train_net()) read(solver->train_net(), solver->mutable_train_net_param());
  for (const std::string& file : solver->test_net()) read(file, solver->add_test_net_param());
  solver->clear_net();
  solver->clear_train_net();
  solver->clear_test_net();
  if (solver->has_net_param()) change(solver->mutable_net_param());
  if (solver->has_train_net_param()) change(solver->mutable_train_net_param());
  for (NetParameter& net : *solver->mutable_test_net_param()) change(&net);
}

void OverrideTypes(SolverParameter* solver) {
  if (!OverridesTypes()) return;
  ChangeNets(solver, [](NetParameter* net) { OverrideNetTypes(net); });
}

std::unique_ptr<Net<float>> NetWithTypes(Phase phase) {
  NetParameter param = ReadNet(FLAGS_model, phase);
  OverrideNetTypes(&param);
  return WithFile(FLAGS_model, [&] { return std::make_unique<Net<float>>(param); });
}

void LogTypes(const Net<float>& net) {
  PROGRAM_LOG() << "Types per layer: ";
  for (const auto& layer : net.layers()) {
    PROGRAM_LOG() << std::setfill(' ') << std::setw(10) << layer->layer_param().name()
                  << "\tforward: " << Name(layer->forward_type()) << " (math "
                  << Name(layer->forward_math()) << ")\tbackward: " << Name(layer->backward_type())
                  << " (math " << Name(layer->backward_math())
                  << ")\tengine: " << layer->forward_engine();
  }
}

}  // namespace caffe
