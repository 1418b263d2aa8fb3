
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "caffe/caffe.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/gpu_fallback.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/parallel/mpi/launcher.hpp"
#include "caffe/ranks.hpp"
#include "caffe/util/signal_handler.h"
#include "caffe/util/system/termination_notice.hpp"
#include "commands.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(string, solver, "", "FILE", "the solver definition (prototxt)");
CAFFE_FLAG(string, snapshot, "", "FILE", "the .solverstate to resume training from");
CAFFE_FLAG(string, sigint_effect, "stop", "snapshot|stop|none", "what SIGINT does while training");
CAFFE_FLAG(string, sighup_effect, "snapshot", "snapshot|stop|none",
           "what SIGHUP does while training");
CAFFE_FLAG(string, quantize, "", "[OPTIONS]",
           "simulate the integers of an INT8 engine while training, whatever the net says; OPTIONS "
           "are fields of quantized_training, as in \"weight_bits: 4 start_iter: 100\"");
CAFFE_FLAG(string, batch_per, "device", "device|host",
           "with several GPUs, or started by mpirun: batch_size is that of each rank (default), or "
           "of all ranks together");
CAFFE_FLAG(
    int32, rank_timeout, caffe::kLongestWaitForRanks.count(), "SECONDS",
    "started by mpirun: how long a rank waits for the others before it ends with an error; 0 "
    "waits for ever");

namespace caffe {
namespace {

SolverAction::Enum ActionOf(const std::string& flag, const std::string& value) {
  if (value == "stop") return SolverAction::STOP;
  if (value == "snapshot") return SolverAction::SNAPSHOT;
  if (value == "none") return SolverAction::NONE;
  Fail(flag, " ", value, ": valid are snapshot, stop and none");
}

// Of the ranks that one machine has, each takes one of the GPUs of -gpu.
void ChooseDeviceOfRank(int rank) {
  const std::vector<int> gpus = GpusOfFlag();
  if (gpus.empty()) return ChooseDevice();
  UseGpu(gpus[LaunchedLocalRank(rank) % gpus.size()]);
}

// The solver's solver_mode, which rank 0 has turned into -gpu, is that of all processes.
void ShareGpuFlag(Communicator* communicator) {
  const std::string gpus = communicator->BroadcastText(FLAGS_gpu);
  if (!IsGiven("gpu") && !IsGiven("gpus")) FLAGS_gpu = gpus;
}

// The command line's level and stages are joined to those of the solver's train_state.
void MergeNetState(SolverParameter* param) {
  NetState* state = param->mutable_train_state();
  if (IsGiven("level")) state->set_level(FLAGS_level);
  for (const std::string& stage : Stages()) state->add_stage(stage);
}

// What -quantize says takes the place of the nets' own fields.
void Quantize(SolverParameter* param) {
  if (FLAGS_quantize.empty()) return;
  QuantizedTrainingParameter options;
  if (FLAGS_quantize != kGivenWithoutValue) {
    ParseProtoText(FLAGS_quantize, "-quantize", &options);
  }
  ChangeNets(param,
             [&](NetParameter* net) { net->mutable_quantized_training()->MergeFrom(options); });
}

// The solver that the flags describe.
SolverParameter TrainedSolver() {
  Require(!FLAGS_solver.empty(), "train needs a solver definition: -solver FILE");
  Require(FLAGS_snapshot.empty() || FLAGS_weights.empty(),
          "give -snapshot to resume training or -weights to finetune, not both");
  SolverParameter param;
  ReadSolverParamsFromTextFileOrDie(FLAGS_solver, &param);
  MergeNetState(&param);
  OverrideTypes(&param);
  Quantize(&param);
  const bool flag_decides = IsGiven("gpu") || IsGiven("gpus");  // -1 is the CPU
  if (!flag_decides && param.solver_mode() == SolverParameter_SolverMode_GPU) {
    if (Device::available()) {
      FLAGS_gpu = LaunchedRanks() > 1 ? "all" : std::to_string(param.device_id());
    } else if (param.has_solver_mode()) {
      RequireGpu(FLAGS_solver + ": solver_mode: GPU");
    }
  }
  if (FLAGS_snapshot.empty() && FLAGS_weights.empty()) return param;
  param.clear_weights();  // the flags decide what training starts from
  for (const std::string& weights : WeightFiles()) param.add_weights(weights);
  return param;
}

BatchPer BatchPerOfFlag() {
  if (FLAGS_batch_per == "device") return BatchPer::RANK;
  if (FLAGS_batch_per == "host") return BatchPer::ALL_RANKS;
  Fail(Error::Field{"-batch_per"}, " ", FLAGS_batch_per, ": valid are device and host");
}

void CheckRankTimeout() {
  Require(FLAGS_rank_timeout >= 0, Error::Field{"-rank_timeout"}, " ", FLAGS_rank_timeout,
          " is below 0", Error::Remedy{"give the longest wait in seconds, 0 for none"});
}

/// What signals ask for.
struct SignalEffects {
  SolverAction::Enum interrupt = ActionOf("-sigint_effect", FLAGS_sigint_effect);
  SolverAction::Enum hangup = ActionOf("-sighup_effect", FLAGS_sighup_effect);
};

using SolverPointer = shared_ptr<Solver<float>>;

SolverPointer MakeSolver(const SolverParameter& param) {
  const SolverPointer solver(SolverRegistry<float>::CreateSolver(param, FLAGS_solver));
  WithFile(FLAGS_solver, [&] { solver->CheckTraining(); });
  return solver;
}

void RestoreSnapshot(Solver<float>* solver) {
  PROGRAM_LOG() << "Resuming from " << FLAGS_snapshot;
  solver->Restore(FLAGS_snapshot.c_str(), /*data_positions=*/true);
}

void Optimize(Solver<float>* solver) {
  PROGRAM_LOG() << "Starting Optimization";
  solver->Solve();
  PROGRAM_LOG() << "Optimization Done.";
}

int TrainAlone() {
  BatchPerOfFlag();
  CheckRankTimeout();
  const SignalEffects effects;
  const SolverParameter param = TrainedSolver();
  ChooseDevice();
  SignalHandler signals(effects.interrupt, effects.hangup);
  const SolverPointer solver = MakeSolver(param);
  solver->SetActionFunction(signals.GetActionFunction());
  if (!FLAGS_snapshot.empty()) RestoreSnapshot(solver.get());
  Optimize(solver.get());
  return 0;
}

// What all ranks can fail at together ends with one line; what one of them meets while it trains
// ends the others too. Ranks that are processes have a notice, and each takes signals; of threads
// rank 0 does.
int TrainTogether(Communicator* communicator, std::unique_ptr<TerminationNotice> notice) {
  const bool root = communicator->rank() == 0;
  const auto all = [&](const std::function<void()>& work) { AllOf(communicator, work, TellError); };
  std::unique_ptr<SignalHandler> signals;
  SolverPointer solver;
  std::unique_ptr<Ranks<float>> ranks;
  try {
    SolverParameter param;
    std::optional<SignalEffects> effects;
    all([&] {
      BatchPerOfFlag();
      CheckRankTimeout();
      effects.emplace();
      if (root) param = TrainedSolver();
    });
    if (notice) ShareGpuFlag(communicator);
    all([&] {
      ChooseDeviceOfRank(communicator->rank());
      if (notice || root) signals.reset(new SignalHandler(effects->interrupt, effects->hangup));
    });
    JoinRanks(communicator, BatchPerOfFlag(), &param);
    all([&] { solver = MakeSolver(param); });
    ranks.reset(new Ranks<float>(solver, communicator));
    const ActionCallback none = [] { return SolverAction::NONE; };
    solver->SetActionFunction(ranks->Agreed(signals ? signals->GetActionFunction() : none));
    if (!FLAGS_snapshot.empty()) {
      all([&] {
        if (root) RestoreSnapshot(solver.get());
      });
      ranks->BroadcastState();
    }
    if (notice) notice->SetIteration(solver->iter());
    ranks->KeepInformed(notice.get());
    Optimize(solver.get());
    return 0;
  } catch (const RanksFailed&) {
    return 1;
  } catch (const std::exception& error) {
    TellError(error.what());
    notice.reset();  // this rank has said why it ends
    communicator->Abort();
    return 1;
  }
}

// A thread for each GPU. What one meets while it trains may leave the others waiting on their GPUs
// for ever: they get a few seconds.
int TrainOnGpus(size_t gpus) {
  const std::vector<std::unique_ptr<Communicator>> ranks = ThreadCommunicators(gpus);
  std::mutex mutex;
  std::condition_variable changed;
  size_t ended = 0;
  bool failed = false;
  std::vector<std::thread> threads;
  for (const auto& communicator : ranks) {
    threads.emplace_back([&, communicator = communicator.get()] {
      const int status = TrainTogether(communicator, nullptr);
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
  std::unique_ptr<TerminationNotice> notice;
  if (LaunchedRanks() > 1) {
    std::signal(SIGTERM, SIG_DFL);  // mpirun ends the others by it: no crash, no stack to show
    notice.reset(new TerminationNotice(LaunchedRank(), LaunchedRanks(), FLAGS_snapshot));
  }
  const std::chrono::seconds longest_wait(std::max(FLAGS_rank_timeout, 0));
  if (const std::unique_ptr<Communicator> communicator = MpiCommunicator(longest_wait)) {
    if (communicator->rank() > 0) {
      FLAGS_minloglevel = std::max<int>(FLAGS_minloglevel, google::WARNING);
    }
    return TrainTogether(communicator.get(), std::move(notice));
  }
  const size_t gpus = GpusOfFlag().size();
  return gpus > 1 ? TrainOnGpus(gpus) : TrainAlone();
}

}  // namespace

Command TrainCommand() {
  Command command;
  command.name = "train";
  command.summary = "trains or finetunes a net";
  command.usage = {
      "-solver FILE [-snapshot FILE | -weights FILE[,FILE]] [flags]",
      "-solver FILE ...       (as mpirun -n RANKS caffe train ...: several processes)"};
  command.about =
      "Log lines, snapshots and signals are Caffe's. On a terminal the last line shows the\n"
      "progress and the time that is left.\n";
  command.groups = {
      {"what is trained",
       "",
       {"solver",
        "snapshot",
        {"weights", "trained weights to start from; not together with -snapshot"},
        "level",
        "stage",
        "quantize"},
       ""},
      {"while it runs", "", {"sigint_effect", "sighup_effect", "batch_per", "rank_timeout"}, ""},
      TypeFlags()};
  command.examples =
      "  caffe train -solver models/lenet/solver.prototxt\n"
      "  caffe train -solver models/lenet/solver.prototxt -snapshot lenet_iter_500.solverstate\n"
      "  caffe train -solver models/lenet/solver.prototxt -weights lenet_iter_1000.caffemodel "
      "-quantize\n";
  command.is_caffes_own = true;
  command.run = [](const std::vector<std::string>&) { return Train(); };
  return command;
}

}  // namespace caffe
