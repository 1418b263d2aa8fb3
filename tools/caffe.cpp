// The program `caffe`: trains, tests and times nets from their prototxt files.
#include <gflags/gflags.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "build_plan.hpp"
#include "caffe/caffe.hpp"
#include "caffe/gpu_fallback.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/ranks.hpp"
#include "caffe/util/detection_scores.hpp"
#include "caffe/util/edit_distance.hpp"
#include "caffe/util/signal_handler.h"
#include "calibrate.hpp"
#include "check_fp16.hpp"
#include "command_line.hpp"
#include "compare.hpp"
#include "gpu_fallback_flag.hpp"
#include "infer.hpp"
#include "test_plan.hpp"
#include "type_flags.hpp"
#include "unknown_fields_flag.hpp"
#include "use_plan.hpp"

DEFINE_string(gpu, "", "Run on these GPUs, '0' or '0,1' or 'all'; on the CPU when empty or -1.");
DEFINE_string(gpus, "", "The same as -gpu.");
DEFINE_string(solver, "", "The solver definition (prototxt): train.");
DEFINE_string(model, "", "The net definition (prototxt).");
DEFINE_string(phase, "", "TRAIN or TEST: the phase that `time` runs the net in (default TRAIN).");
DEFINE_int32(level, 0, "The net's level: decides on layers with include/exclude rules.");
DEFINE_string(stage, "", "The net's stages, separated by ',': decide on layers likewise.");
DEFINE_string(snapshot, "", "The .solverstate to resume training from.");
DEFINE_string(weights, "",
              "Trained weights to start from, .caffemodel or .caffemodel.h5, several separated by "
              "','. Not together with -snapshot.");
DEFINE_int32(iterations, 50, "How many iterations to run: test, time.");
DEFINE_string(sigint_effect, "stop", "What SIGINT does while training: snapshot, stop or none.");
DEFINE_string(sighup_effect, "snapshot",
              "What SIGHUP does while training: snapshot, stop or none.");
DEFINE_string(ap_version, "11point",
              "How test_detection averages precision: 11point, MaxIntegral or Integral.");
DEFINE_bool(show_per_class_result, true, "test_detection shows each class's average precision.");
DEFINE_string(batch_per, "device",
              "What batch_size is with several ranks: device, of each; host, of all together.");
DEFINE_bool(forward_only, false, "`time` leaves out the backward pass.");
DEFINE_bool(detection, false, "`test` computes average precisions, as test_detection does.");

namespace {

using caffe::Blob;
using caffe::Caffe;
using caffe::Fail;
using caffe::Layer;
using caffe::Net;
using caffe::Require;
using caffe::Timer;
using std::string;
using std::vector;

const char kUsage[] = R"(caffe: trains, tests and times nets from their prototxt files.

usage: caffe <command> <flags>

commands:
  train           train or finetune a net           -solver FILE [-snapshot FILE | -weights FILE]
                  on several machines or CPUs       mpirun -n RANKS caffe train ... [-batch_per host]
  test            score a net on its data           -model FILE -weights FILE [-iterations N]
                  or a plan                   -plan FILE (-model FILE | -data DB | -images LIST)
  test_detection  a detector's mean average precision  -model FILE (-weights FILE | -plan FILE)
  time            time a net, layer by layer        -model FILE [-iterations N] [-phase TEST]
                  or a plan                         -plan FILE [-batch N] [-iterations N]
  device_query    show what computes here           [-gpu 0|all]
  layers          list the layer types there are, as a table for docs/layers.md
  check_fp16      which numbers FP16 does not hold, and a cure; `caffe check_fp16 --help`
  calibrate       the ranges that INT8 needs to know; `caffe calibrate --help`
  build           optimize a net and write it as a plan; `caffe build --help`
  inspect         show what a plan holds; `caffe inspect --help`
  infer           pictures in, classes or boxes out; `caffe infer --help`
  compare         what an engine computes beside its net in FP32; `caffe compare --help`

flags:
  -solver FILE          the solver definition
  -model FILE           the net definition
  -weights FILE[,FILE]  trained weights, .caffemodel or .caffemodel.h5
  -plan FILE            an engine that caffe build has written
  -snapshot FILE        the .solverstate to resume from
  -iterations N         iterations of test and time (default 50)
  -phase TRAIN|TEST     the phase that `time` uses (default TRAIN)
  -level N, -stage A,B  the net's state, for include and exclude rules
  -forward_type, -backward_type, -forward_math, -backward_math  FLOAT|FLOAT16|DOUBLE
                        run the net in these types whatever its prototxt says: train, test, time
  -gpu 0|0,1|all        the GPUs to use (also -gpus); the CPU when not given
  -gpu_fallback         compute on the CPU where a GPU is asked for and none can be used, as
                        CAFFE_GPU_FALLBACK=1 in the environment does; otherwise that is an error
  -sigint_effect, -sighup_effect  snapshot|stop|none: what these signals do while training
  -batch_per device|host  train on several GPUs, or started by mpirun: batch_size is that of each
                        rank (default), or of all ranks together
  -engine NAME          CAFFE, ONEDNN (MKLDNN), CUDNN or REFERENCE: of nets that name none
  -forward_only         `time` leaves out the backward pass
  -detection            `test` does what test_detection does
  -ap_version 11point|MaxIntegral|Integral, -show_per_class_result  of test_detection
  -ignore_unknown_fields  warn of fields that prototxt files should not have, and leave them out
  -version              print the version

example:
  caffe train -solver models/lenet/solver.prototxt
  caffe train -solver models/lenet/solver.prototxt -snapshot lenet_iter_500.solverstate
  caffe test -model models/lenet/lenet_train_test.prototxt -weights lenet_iter_1000.caffemodel
  caffe build -model models/lenet/lenet.prototxt -weights lenet_iter_1000.caffemodel \
    -plan lenet.plan -max_batch 100
  caffe test -model models/lenet/lenet_train_test.prototxt -plan lenet.plan
  caffe time -plan lenet.plan -batch 1
)";

const char kTestUsage[] = R"(caffe test: scores a net, or an engine, on labelled data.

usage: caffe test -model FILE -weights FILE[,FILE] [-iterations N]
       caffe test -plan FILE -model FILE [-iterations N]
       caffe test -plan FILE (-data DB | -images LIST) [-iterations N] [input flags]

Logs what the net's TEST phase puts out, batch by batch, and then the means.

  -model FILE           the net with its data and Accuracy layers (train_val.prototxt)
  -weights FILE[,FILE]  trained weights, .caffemodel or .caffemodel.h5
  -plan FILE            an engine (caffe build) computes instead of the net: its data goes in, and
                        what comes out is scored by the net's Accuracy and loss layers
  -iterations N         batches (default 50; of a list of pictures all)
  -level N, -stage A,B  the net's state, for include and exclude rules
  -forward_type, -forward_math  FLOAT|FLOAT16|DOUBLE: types of the net
  -detection            average precisions of a detector, as caffe test_detection
  -gpu N                the GPU that computes

)";
const char kTestExample[] =
    R"(Records and lines without a label are refused; accuracy and accuracy_top5 are logged.

example:
  caffe test -model lenet_train_test.prototxt -plan lenet.plan -iterations 100
  caffe test -plan squeezenet.plan -data val_lmdb -mean 104,117,123 -resize 256x256
)";

const char kTimeUsage[] = R"(caffe time: times a net or a plan, layer by layer.

usage: caffe time -model FILE [-weights FILE] [-iterations N] [-phase TRAIN|TEST]
       caffe time -plan FILE [-batch N] [-iterations N] [-gpu N]

A net is timed forward and backward, in the phase TRAIN where nothing else is said, on the data or
the inputs that its prototxt has. A plan is run on noise: latency of a run (the smallest, the mean,
the median, and what 99 of 100 do not exceed), items a second, and then the time of each layer.

  -model FILE           the net definition
  -plan FILE            an engine that caffe build has written
  -batch N              items a run (default: the largest batch that the plan is built for)
  -gpu N                the GPU that the net runs on, or that the plan was built on (default 0)
  -iterations N         runs (default 50)
  -phase TRAIN|TEST     of a net
  -forward_only         leave out the backward pass of a net
  -engine NAME          what computes a net that names no engine
  -level N, -stage A,B  the net's state, for include and exclude rules
  -forward_type, -backward_type, -forward_math, -backward_math  FLOAT|FLOAT16|DOUBLE: types of a net

example:
  caffe time -model deploy.prototxt -phase TEST -iterations 10
  caffe time -plan net.plan -batch 1 -iterations 200
)";

vector<string> SplitAtCommas(const string& text) {
  vector<string> parts;
  std::istringstream stream(text);
  for (string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

vector<string> Stages() { return SplitAtCommas(FLAGS_stage); }

caffe::Phase PhaseOr(caffe::Phase otherwise) {
  if (FLAGS_phase.empty()) return otherwise;
  caffe::Phase phase;
  Require(caffe::Phase_Parse(FLAGS_phase, &phase), "-phase ", FLAGS_phase,
          ": valid are TRAIN and TEST");
  return phase;
}

caffe::SolverAction::Enum ActionOf(const string& flag, const string& value) {
  if (value == "stop") return caffe::SolverAction::STOP;
  if (value == "snapshot") return caffe::SolverAction::SNAPSHOT;
  if (value == "none") return caffe::SolverAction::NONE;
  Fail(flag, " ", value, ": valid are snapshot, stop and none");
}

// Names of flags that other Caffes have: -gpus, and -gpu -1 for the CPU.
void TranslateOldFlags() {
  Require(FLAGS_gpus.empty() || FLAGS_gpu.empty() || FLAGS_gpus == FLAGS_gpu, "-gpu ", FLAGS_gpu,
          " and -gpus ", FLAGS_gpus, " are two names of one flag");
  if (FLAGS_gpu.empty()) FLAGS_gpu = FLAGS_gpus;
  if (FLAGS_gpu == "-1") FLAGS_gpu.clear();
}

// The numbers that -gpu names; none if it is not given, or if the CPU is to compute in their place,
// and -gpu counts as not given then.
vector<int> GpusOfFlag() {
  vector<int> gpus;
  if (FLAGS_gpu == "all") {
    if (caffe::RequireGpu("-gpu all")) {
      for (int id = 0; id < caffe::Device::Count(); ++id) gpus.push_back(id);
    } else {
      FLAGS_gpu.clear();
    }
    return gpus;
  }
  for (const string& id : SplitAtCommas(FLAGS_gpu)) {
    Require(id.find_first_not_of("0123456789") == string::npos && id.size() < 6, "-gpu ", FLAGS_gpu,
            ": valid are a number such as 0, several such as 0,1, and all");
    Require(std::count(gpus.begin(), gpus.end(), std::stoi(id)) == 0, "-gpu ", FLAGS_gpu,
            " names GPU ", id, " twice");
    gpus.push_back(std::stoi(id));
  }
  if (!gpus.empty() && !caffe::RequireGpu("-gpu " + FLAGS_gpu)) {
    gpus.clear();
    FLAGS_gpu.clear();
  }
  return gpus;
}

void UseGpu(int id) {
  Caffe::SetDevice(id);
  Caffe::set_mode(Caffe::GPU);
  LOG(INFO) << "Use GPU with device ID " << id << ": " << caffe::Device::Get().name();
}

// The first GPU of -gpu, or the CPU.
void ChooseDevice() {
  const vector<int> gpus = GpusOfFlag();
  if (!gpus.empty()) return UseGpu(gpus[0]);
  LOG(INFO) << "Use CPU.";
  Caffe::set_mode(Caffe::CPU);
}

// The GPU of -gpu is the one that engines are built for and run on; what is done beside them is
// done on the CPU.
void ChooseEngineDevice() {
  const vector<int> gpus = GpusOfFlag();
  if (gpus.empty()) return;
  Require(gpus.size() == 1, "-gpu ", FLAGS_gpu, ": an engine is for one GPU");
  Caffe::SetDevice(gpus[0]);
  LOG(INFO) << "Engines use the GPU with device ID " << gpus[0] << ": "
            << caffe::Device::Get().name();
}

// Of the ranks that one machine has, each takes one of the GPUs of -gpu.
void ChooseDeviceOfRank(int rank) {
  const vector<int> gpus = GpusOfFlag();
  if (gpus.empty()) return ChooseDevice();
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (const char* local = std::getenv(variable)) {
      rank = std::atoi(local);
      break;
    }
  }
  UseGpu(gpus[rank % gpus.size()]);
}

// The command line's level and stages are joined to those of the solver's train_state.
void MergeNetState(caffe::SolverParameter* param) {
  caffe::NetState* state = param->mutable_train_state();
  if (!gflags::GetCommandLineFlagInfoOrDie("level").is_default) state->set_level(FLAGS_level);
  for (const string& stage : Stages()) state->add_stage(stage);
}

// The solver that the flags describe.
caffe::SolverParameter TrainedSolver() {
  Require(!FLAGS_solver.empty(), "train needs a solver definition: -solver FILE");
  Require(FLAGS_snapshot.empty() || FLAGS_weights.empty(),
          "give -snapshot to resume training or -weights to finetune, not both");
  caffe::SolverParameter param;
  caffe::ReadSolverParamsFromTextFileOrDie(FLAGS_solver, &param);
  MergeNetState(&param);
  caffe::OverrideTypes(&param);
  const bool flag_decides = caffe::IsGiven("gpu") || caffe::IsGiven("gpus");  // -1 is the CPU
  if (!flag_decides && param.solver_mode() == caffe::SolverParameter_SolverMode_GPU) {
    if (caffe::Device::available()) {
      FLAGS_gpu = std::to_string(param.device_id());
    } else if (param.has_solver_mode()) {
      caffe::RequireGpu(FLAGS_solver + ": solver_mode: GPU");
    }
  }
  if (FLAGS_snapshot.empty()) {
    for (const string& weights : SplitAtCommas(FLAGS_weights)) param.add_weights(weights);
  }
  return param;
}

caffe::BatchPer BatchPerOfFlag() {
  if (FLAGS_batch_per == "device") return caffe::BatchPer::RANK;
  if (FLAGS_batch_per == "host") return caffe::BatchPer::ALL_RANKS;
  Fail("-batch_per ", FLAGS_batch_per, ": valid are device and host");
}

using SolverPointer = caffe::shared_ptr<caffe::Solver<float>>;

void RestoreSnapshot(caffe::Solver<float>* solver) {
  LOG(INFO) << "Resuming from " << FLAGS_snapshot;
  solver->Restore(FLAGS_snapshot.c_str(), /*data_positions=*/true);
}

void Optimize(caffe::Solver<float>* solver) {
  LOG(INFO) << "Starting Optimization";
  solver->Solve();
  LOG(INFO) << "Optimization Done.";
}

int TrainAlone() {
  const caffe::SolverParameter param = TrainedSolver();
  BatchPerOfFlag();
  ChooseDevice();
  caffe::SignalHandler signals(ActionOf("-sigint_effect", FLAGS_sigint_effect),
                               ActionOf("-sighup_effect", FLAGS_sighup_effect));
  const SolverPointer solver(caffe::SolverRegistry<float>::CreateSolver(param));
  solver->SetActionFunction(signals.GetActionFunction());
  if (!FLAGS_snapshot.empty()) RestoreSnapshot(solver.get());
  Optimize(solver.get());
  return 0;
}

// What all ranks can fail at together ends with one line; what one of them meets while it trains
// ends the others too.
int TrainTogether(caffe::Communicator* communicator, bool takes_signals) {
  const bool root = communicator->rank() == 0;
  const auto all = [&](const std::function<void()>& work) {
    caffe::AllOf(communicator, work, caffe::TellError);
  };
  std::unique_ptr<caffe::SignalHandler> signals;
  SolverPointer solver;
  std::unique_ptr<caffe::Ranks<float>> ranks;
  try {
    caffe::SolverParameter param;
    all([&] {
      if (root) param = TrainedSolver();
      BatchPerOfFlag();
      ChooseDeviceOfRank(communicator->rank());
      const auto on_interrupt = ActionOf("-sigint_effect", FLAGS_sigint_effect);
      const auto on_hangup = ActionOf("-sighup_effect", FLAGS_sighup_effect);
      if (takes_signals) signals.reset(new caffe::SignalHandler(on_interrupt, on_hangup));
    });
    caffe::JoinRanks(communicator, BatchPerOfFlag(), &param);
    all([&] { solver.reset(caffe::SolverRegistry<float>::CreateSolver(param)); });
    ranks.reset(new caffe::Ranks<float>(solver, communicator));
    const caffe::ActionCallback none = [] { return caffe::SolverAction::NONE; };
    solver->SetActionFunction(ranks->Agreed(signals ? signals->GetActionFunction() : none));
    if (!FLAGS_snapshot.empty()) {
      all([&] {
        if (root) RestoreSnapshot(solver.get());
      });
      ranks->BroadcastState();
    }
    Optimize(solver.get());
    return 0;
  } catch (const caffe::RanksFailed&) {
    return 1;
  } catch (const std::exception& error) {
    caffe::TellError(error.what());
    communicator->Abort();
    return 1;
  }
}

// A thread for each GPU. What one meets while it trains may leave the others waiting on their GPUs
// for ever: they get a few seconds.
int TrainOnGpus(size_t gpus) {
  const vector<std::unique_ptr<caffe::Communicator>> ranks = caffe::ThreadCommunicators(gpus);
  std::mutex mutex;
  std::condition_variable changed;
  size_t ended = 0;
  bool failed = false;
  vector<std::thread> threads;
  for (const auto& communicator : ranks) {
    threads.emplace_back([&, communicator = communicator.get()] {
      const int status = TrainTogether(communicator, communicator->rank() == 0);
      const std::lock_guard<std::mutex> lock(mutex);
      failed = failed || status != 0;
      ++ended;
      changed.notify_all();
    });
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return failed || ended == gpus; });
    const auto all = [&] { return ended == gpus; };
    if (!changed.wait_for(lock, std::chrono::seconds(5), all)) {
      google::FlushLogFiles(google::INFO);
      std::_Exit(1);
    }
  }
  for (std::thread& thread : threads) thread.join();
  return failed ? 1 : 0;
}

int Train() {
  if (const std::unique_ptr<caffe::Communicator> communicator = caffe::MpiCommunicator()) {
    std::signal(SIGTERM, SIG_DFL);  // mpirun ends the others by it: no crash, no stack to show
    if (communicator->rank() > 0) {
      FLAGS_minloglevel = std::max<int>(FLAGS_minloglevel, google::WARNING);
    }
    return TrainTogether(communicator.get(), /*takes_signals=*/true);
  }
  const size_t gpus = GpusOfFlag().size();
  return gpus > 1 ? TrainOnGpus(gpus) : TrainAlone();
}

// Sums of every value of every output over the iterations.
class Scores {
 public:
  explicit Scores(const Net<float>& net) : net_(net) {}

  void Add(const vector<Blob<float>*>& outputs, int iteration) {
    size_t index = 0;
    for (size_t j = 0; j < outputs.size(); ++j) {
      const string& name = net_.blob_names()[net_.output_blob_indices()[j]];
      const float* values = outputs[j]->cpu_data();
      for (int k = 0; k < outputs[j]->count(); ++k, ++index) {
        if (index == sums_.size()) {
          sums_.push_back(0);
          output_.push_back(j);
        }
        sums_[index] += values[k];
        LOG(INFO) << "Batch " << iteration << ", " << name << " = " << values[k];
      }
    }
  }

  void Print(int iterations) const {
    for (size_t i = 0; i < sums_.size(); ++i) {
      const int blob = net_.output_blob_indices()[output_[i]];
      const float mean = static_cast<float>(sums_[i] / iterations);
      const float weight = net_.blob_loss_weights()[blob];
      std::ostringstream loss;
      if (weight != 0) loss << " (* " << weight << " = " << weight * mean << " loss)";
      LOG(INFO) << net_.blob_names()[blob] << " = " << mean << loss.str();
    }
  }

 private:
  const Net<float>& net_;
  vector<double> sums_;
  vector<size_t> output_;
};

// The net that a test command scores, with its weights.
std::unique_ptr<Net<float>> TestedNet(const char* command) {
  Require(!FLAGS_model.empty(), command, " needs a net definition: -model FILE");
  Require(!FLAGS_weights.empty(), command, " needs trained weights: -weights FILE");
  Require(FLAGS_iterations > 0, "-iterations must be positive, got ", FLAGS_iterations);
  ChooseDevice();
  std::unique_ptr<Net<float>> net =
      caffe::NetWithTypes(FLAGS_model, caffe::TEST, FLAGS_level, Stages());
  for (const string& weights : SplitAtCommas(FLAGS_weights)) net->CopyTrainedLayersFrom(weights);
  LOG(INFO) << "Running for " << FLAGS_iterations << " iterations.";
  return net;
}

// Scores `iterations` batches: forward() runs one and returns the outputs of `net`.
template <typename Forward>
void LogScores(const Net<float>& net, Forward&& forward) {
  Scores scores(net);
  double loss = 0;
  for (int i = 0; i < FLAGS_iterations; ++i) {
    float iteration_loss = 0;
    scores.Add(forward(&iteration_loss), i);
    loss += iteration_loss;
  }
  LOG(INFO) << "Loss: " << loss / FLAGS_iterations;
  scores.Print(FLAGS_iterations);
}

// The same for detectors: average precisions.
template <typename Forward>
void LogAveragePrecisions(const Net<float>& net, Forward&& forward) {
  vector<caffe::DetectionScores> scores(net.num_outputs());
  double loss = 0;
  for (int i = 0; i < FLAGS_iterations; ++i) {
    float iteration_loss = 0;
    const vector<Blob<float>*>& outputs = forward(&iteration_loss);
    loss += iteration_loss;
    for (size_t j = 0; j < outputs.size(); ++j) scores[j].Add(*outputs[j]);
  }
  LOG(INFO) << "Test loss: " << loss / FLAGS_iterations;
  for (size_t j = 0; j < scores.size(); ++j) {
    LogDetectionScores(scores[j], FLAGS_ap_version, FLAGS_show_per_class_result, j,
                       net.blob_names()[net.output_blob_indices()[j]]);
  }
}

// The net of -model in the TEST phase and the state that the command line gives.
caffe::NetParameter TestPhaseNet(const char* command) {
  Require(!FLAGS_model.empty(), command, " needs a net definition: -model FILE");
  caffe::NetParameter param;
  caffe::ReadNetParamsFromTextFileOrDie(FLAGS_model, &param);
  param.mutable_state()->set_phase(caffe::TEST);
  param.mutable_state()->set_level(FLAGS_level);
  for (const string& stage : Stages()) param.mutable_state()->add_stage(stage);
  return param;
}

// The engine of -plan on the data of -model, scored by the layers of -model.
caffe::inference::EngineScoring TestedPlan(const char* command) {
  Require(FLAGS_weights.empty(), "a plan has its weights: leave out -weights");
  ChooseEngineDevice();
  Require(FLAGS_iterations > 0, "-iterations must be positive, got ", FLAGS_iterations);
  caffe::inference::EngineScoring scoring(TestPhaseNet(command),
                                          caffe::inference::Engine::Load(FLAGS_plan));
  for (const string& layer : scoring.left_out()) {
    LOG(INFO) << "Layer " << layer << " is left out: the engine does not have what it scores.";
  }
  LOG(INFO) << "Running for " << FLAGS_iterations << " iterations.";
  return scoring;
}

int TestPlan() {
  if (caffe::engine_flags::DataIsGiven()) {
    Require(FLAGS_model.empty(), "give -model with data of its own, or one of ", caffe::kInputFlags,
            ", not both");
    Require(FLAGS_npy.empty(), "NumPy files have no labels: give -data or -images");
    ChooseEngineDevice();
    Require(FLAGS_iterations > 0, "-iterations must be positive, got ", FLAGS_iterations);
    return caffe::TestPlanOnPictures(caffe::inference::Engine::Load(FLAGS_plan));
  }
  Require(!FLAGS_model.empty(),
          "what shall the plan be tested on? Give -model FILE with data and Accuracy layers, or "
          "labelled pictures with -data DB or -images LIST");
  caffe::inference::EngineScoring scoring = TestedPlan("test");
  LogScores(scoring.net(), [&](float* loss) { return scoring.Forward(loss); });
  return 0;
}

int TestDetection() {
  if (!FLAGS_plan.empty()) {
    caffe::inference::EngineScoring scoring = TestedPlan("test_detection");
    LogAveragePrecisions(scoring.net(), [&](float* loss) { return scoring.Forward(loss); });
    return 0;
  }
  const std::unique_ptr<Net<float>> net = TestedNet("test_detection");
  LogAveragePrecisions(*net, [&](float* loss) { return net->Forward(loss); });
  return 0;
}

int Test() {
  if (FLAGS_detection) return TestDetection();
  if (!FLAGS_plan.empty()) return TestPlan();
  const std::unique_ptr<Net<float>> tested = TestedNet("test");
  Net<float>& net = *tested;
  LogScores(net, [&](float* loss) { return net.Forward(loss); });
  return 0;
}

// Milliseconds per layer, added up over the iterations.
struct LayerTimes {
  vector<double> forward, backward;
  double forward_total = 0, backward_total = 0;
};

void RunOnce(Net<float>* net, LayerTimes* times) {
  const auto& layers = net->layers();
  Timer timer;
  Timer pass;
  pass.Start();
  for (size_t i = 0; i < layers.size(); ++i) {
    timer.Start();
    layers[i]->Forward(net->bottom_vecs()[i], net->top_vecs()[i]);
    times->forward[i] += timer.MicroSeconds() / 1000.0;
  }
  times->forward_total += pass.MicroSeconds() / 1000.0;
  if (FLAGS_forward_only) return;
  pass.Start();
  for (int i = static_cast<int>(layers.size()) - 1; i >= 0; --i) {
    timer.Start();
    try {
      layers[i]->Backward(net->top_vecs()[i], net->bottom_need_backward()[i],
                          net->bottom_vecs()[i]);
    } catch (caffe::Error& error) {
      const caffe::LayerParameter& param = layers[i]->layer_param();
      error.AddContext(caffe::Join("layer '", param.name(), "' (", param.type(), ")"));
      throw;
    }
    times->backward[i] += timer.MicroSeconds() / 1000.0;
  }
  times->backward_total += pass.MicroSeconds() / 1000.0;
}

void PrintTimes(const Net<float>& net, const LayerTimes& times, double total) {
  const double n = FLAGS_iterations;
  LOG(INFO) << "Average time per layer: ";
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const string& name = net.layers()[i]->layer_param().name();
    LOG(INFO) << std::setfill(' ') << std::setw(10) << name << "\tforward: " << times.forward[i] / n
              << " ms.";
    if (FLAGS_forward_only) continue;
    LOG(INFO) << std::setfill(' ') << std::setw(10) << name
              << "\tbackward: " << times.backward[i] / n << " ms.";
  }
  LOG(INFO) << "Average Forward pass: " << times.forward_total / n << " ms.";
  if (!FLAGS_forward_only) {
    LOG(INFO) << "Average Backward pass: " << times.backward_total / n << " ms.";
    LOG(INFO) << "Average Forward-Backward: " << total / n << " ms.";
  }
  LOG(INFO) << "Total Time: " << total << " ms.";
}

LayerTimes NoTimes(const Net<float>& net) {
  LayerTimes times;
  times.forward.resize(net.layers().size());
  times.backward.resize(net.layers().size());
  return times;
}

/// Passes before the clock starts: memory is allocated at the first use, and where a whole pass
/// joins layers, each one computes by itself then. A net in the TEST phase may lack what backward
/// passes need: then says so, and only forward passes are timed.
void WarmUp(Net<float>* net) {
  LOG(INFO) << "Performing Forward";
  float initial_loss = 0;
  net->Forward(&initial_loss);
  LOG(INFO) << "Initial loss: " << initial_loss;
  LayerTimes first = NoTimes(*net);
  try {
    if (!FLAGS_forward_only) {
      LOG(INFO) << "Performing Backward";
      net->Backward();
    }
    RunOnce(net, &first);
  } catch (const caffe::Error& error) {
    if (FLAGS_forward_only || net->phase() != caffe::TEST) throw;
    LOG(INFO) << "Only forward passes are timed: " << error.what();
    FLAGS_forward_only = true;
  }
}

int Time() {
  if (!FLAGS_plan.empty()) {
    Require(FLAGS_model.empty(), "give -model or -plan to time, not both");
    ChooseEngineDevice();
    return caffe::TimePlan();
  }
  Require(!FLAGS_model.empty(), "time needs a net definition: -model FILE");
  Require(FLAGS_iterations > 0, "-iterations must be positive, got ", FLAGS_iterations);
  const caffe::Phase phase = PhaseOr(caffe::TRAIN);
  ChooseDevice();
  const std::unique_ptr<Net<float>> timed =
      caffe::NetWithTypes(FLAGS_model, phase, FLAGS_level, Stages());
  Net<float>& net = *timed;
  for (const string& weights : SplitAtCommas(FLAGS_weights)) net.CopyTrainedLayersFrom(weights);

  WarmUp(&net);
  LayerTimes times = NoTimes(net);
  caffe::LogTypes(net);
  LOG(INFO) << "*** Benchmark begins ***";
  LOG(INFO) << "Testing for " << FLAGS_iterations << " iterations.";
  caffe::kernels::FlushDenormals flush_denormals;
  Timer total;
  total.Start();
  for (int i = 0; i < FLAGS_iterations; ++i) {
    Timer iteration;
    iteration.Start();
    RunOnce(&net, &times);
    LOG(INFO) << "Iteration: " << i + 1
              << (FLAGS_forward_only ? " forward time: " : " forward-backward time: ")
              << iteration.MilliSeconds() << " ms.";
  }
  PrintTimes(net, times, total.MicroSeconds() / 1000.0);
  if (phase == caffe::TEST) {
    Timer joined;
    joined.Start();
    for (int i = 0; i < FLAGS_iterations; ++i) net.Forward();
    LOG(INFO) << "Average Forward pass of the whole net, layers joined where they can be: "
              << joined.MicroSeconds() / 1000.0 / FLAGS_iterations << " ms.";
  }
  LOG(INFO) << "*** Benchmark ends ***";
  return 0;
}

// In Markdown, from the registry and the operation table.
int Layers() {
  const auto yes = [](bool value) { return value ? "yes" : ""; };
  std::cout << "| type | FLOAT16 natively | in place | loss | data | always on the CPU, because |\n"
            << "| --- | --- | --- | --- | --- | --- |\n";
  for (const string& type : caffe::LayerRegistry<float>::LayerTypeList()) {
    const caffe::Operation* operation = caffe::OperationTable::Find(type);
    const caffe::Operation plain(type);
    const caffe::Operation& known = operation ? *operation : plain;
    std::cout << "| " << type << " | " << yes(known.native) << " | " << yes(known.in_place) << " | "
              << yes(known.loss) << " | " << yes(known.source) << " | " << known.cpu_only << " |\n";
  }
  return 0;
}

int Build() {
  if (FLAGS_list_passes) {
    caffe::build_plan::ListPasses();
    return 0;
  }
  const caffe::NetParameter net = TestPhaseNet("build");
  Require(!FLAGS_weights.empty(), "build needs trained weights: -weights FILE");
  Require(!FLAGS_plan.empty(), "build needs a plan to write: -plan FILE");
  ChooseEngineDevice();
  return caffe::BuildPlan(net, FLAGS_model, SplitAtCommas(FLAGS_weights));
}

int Inspect() {
  Require(!FLAGS_plan.empty(), "inspect needs a plan: -plan FILE");
  ChooseEngineDevice();
  return caffe::InspectPlan();
}

int Compare() {
  const caffe::NetParameter net = TestPhaseNet("compare");
  Require(!FLAGS_weights.empty(), "compare needs trained weights: -weights FILE");
  ChooseEngineDevice();
  return caffe::Compare(net, FLAGS_model, SplitAtCommas(FLAGS_weights));
}

// With what is left of the command line: pictures.
int Infer(const vector<string>& pictures) {
  Require(FLAGS_plan.empty() || (FLAGS_model.empty() && FLAGS_weights.empty()),
          "give -plan FILE, or -model and -weights to build an engine, not both");
  ChooseEngineDevice();
  if (!FLAGS_plan.empty()) return caffe::Infer(nullptr, {}, pictures);
  Require(!FLAGS_model.empty(),
          "infer needs an engine: -plan FILE, or -model and -weights to build one");
  Require(!FLAGS_weights.empty(), "infer needs trained weights: -weights FILE");
  const caffe::NetParameter net = TestPhaseNet("infer");
  return caffe::Infer(&net, SplitAtCommas(FLAGS_weights), pictures);
}

// With what is left of the command line behind the command.
int CheckFp16(const vector<string>& rest) {
  const caffe::NetParameter net = TestPhaseNet("check_fp16");
  Require(!FLAGS_weights.empty(), "check_fp16 needs trained weights: -weights FILE");
  Require(FLAGS_iterations > 0, "-iterations must be positive, got ", FLAGS_iterations);
  ChooseDevice();
  return caffe::CheckFp16(net, FLAGS_model, SplitAtCommas(FLAGS_weights), FLAGS_iterations, rest);
}

int Calibrate() {
  ChooseDevice();
  return caffe::CalibrateNet(TestPhaseNet("calibrate"), FLAGS_model, SplitAtCommas(FLAGS_weights));
}

int DeviceQuery() {
  LOG(INFO) << "Querying GPUs " << (FLAGS_gpu.empty() ? "none (-gpu not given)" : FLAGS_gpu);
  LOG(INFO) << "CPU instruction set:           "
            << caffe::kernels::Name(caffe::kernels::CpuInstructionSet());
  LOG(INFO) << "CPU threads:                   " << omp_get_max_threads();
  for (const int id : GpusOfFlag()) {
    Caffe::SetDevice(id);
    Caffe::DeviceQuery();
  }
  return 0;
}

int Run(int argc, char** argv) {
  const vector<string> rest(argv + std::min(argc, 2), argv + argc);
  const auto check_fp16 = [&] { return CheckFp16(rest); };
  const auto infer = [&] { return Infer(rest); };
  const std::map<string, std::function<int()>> commands = {
      {"train", Train},         {"test", Test},     {"test_detection", TestDetection},
      {"time", Time},           {"layers", Layers}, {"device_query", DeviceQuery},
      {"calibrate", Calibrate}, {"build", Build},   {"inspect", Inspect},
      {"compare", Compare},     {"infer", infer},   {"check_fp16", check_fp16}};
  vector<string> names;
  for (const auto& command : commands) names.push_back(command.first);
  const bool takes_files =
      argc > 2 && (string(argv[1]) == "check_fp16" || string(argv[1]) == "infer");
  Require(argc == 2 || takes_files,
          "give one command, train, test, time or device_query; caffe --help shows how");
  const auto command = commands.find(argv[1]);
  Require(command != commands.end(), "unknown command '", argv[1], "'",
          caffe::DidYouMean(argv[1], names),
          " Valid are train, test, test_detection, time, device_query, layers, check_fp16, "
          "calibrate, build, inspect, infer and compare");
  TranslateOldFlags();
  caffe::ApplyGpuFallbackFlag();
  caffe::ApplyUnknownFieldsFlag();
  return command->second();
}

}  // namespace

int main(int argc, char** argv) {
  const string command = argc > 1 ? argv[1] : "";
  const std::map<string, string> usages = {
      {"check_fp16", caffe::kCheckFp16Usage},
      {"calibrate", caffe::kCalibrateUsage},
      {"build", caffe::kBuildUsage},
      {"inspect", caffe::kInspectUsage},
      {"infer", caffe::kInferUsage},
      {"compare", caffe::kCompareUsage},
      {"time", kTimeUsage},
      {"test", string(kTestUsage) + caffe::kInputUsage + kTestExample}};
  const auto usage = usages.find(command);
  return caffe::RunTool(argc, argv, usage == usages.end() ? kUsage : usage->second, Run);
}
