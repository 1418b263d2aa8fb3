// Runs one engine from many threads for a while, and compares the bits of every output with those
// of the first run on the same input. Contexts live as long as the program, for some runs, or in a
// thread of their own; some threads read the plan again, which is written again meanwhile. In the
// end there are as many descriptors as in the beginning. What happens to memory is seen from
// outside: scripts/soak.sh.
#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "../../tools/common/command_line.hpp"
#include "caffe/caffe.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/evaluation/latency.hpp"
#include "caffe/util/system/joined_threads.hpp"

DEFINE_string(plan, "", "The engine, written by caffe build; it is written again and again.");
DEFINE_int32(callers, 64, "Threads that run it.");
DEFINE_double(seconds, 60, "How long.");

namespace {

using caffe::Require;
using namespace caffe::inference;
using Clock = std::chrono::steady_clock;
using Values = std::map<std::string, std::vector<float>>;  // by input or output

const char kUsage[] =
    R"(engine_soak: runs one engine from many threads and compares all outputs' bits.

usage: engine_soak -plan FILE [-callers N] [-seconds S]

Ends with status 1 at the first bit that differs, and if a descriptor is still open in the end.
)";

constexpr int kInputs = 4;
constexpr int kMostThreads = 2;  // of a context

/// What a run computes on: the bits of an output depend on nothing else.
using Work = std::tuple<int, int, int>;  // number of the input, batch, threads

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

Values Outputs(ExecutionContext* context) {
  Values values;
  for (const std::string& name : context->engine().outputs()) {
    const float* output = context->Output(name);
    values[name].assign(output, output + CountOf(context->OutputShape(name)));
  }
  return values;
}

class Soak {
 public:
  Soak(std::string plan, double seconds)
      : plan_(std::move(plan)),
        engine_(Engine::Load(plan_)),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {
    for (int threads = 1; threads <= kMostThreads; ++threads) {
      ExecutionContext context(engine_, threads);
      for (int batch = 1; batch <= engine_->max_batch(); ++batch) {
        for (int input = 0; input < kInputs; ++input) {
          context.SetBatch(batch);
          FillWithNoise(static_cast<unsigned>(input), &context);
          Values& inputs = inputs_[{input, batch}];
          for (const std::string& name : engine_->inputs()) {
            const float* values = context.Input(name);
            inputs[name].assign(values, values + CountOf(context.InputShape(name)));
          }
          context.Run();
          expected_[{input, batch, threads}] = Outputs(&context);
        }
      }
    }
  }

  /// The loop of one of the threads.
  void Call(int caller) {
    try {
      std::mt19937 random(static_cast<unsigned>(caller));
      while (GoesOn()) Live(caller, &random);
    } catch (const std::exception& error) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (failure_.empty()) failure_ = caffe::Join("thread ", caller, ": ", error.what());
      fails_ = true;
    }
  }

  /// Writes the plan again from time to time until the end.
  void Rewrite() {
    const auto pause =
        std::min<Clock::duration>(std::chrono::seconds(5), (end_ - Clock::now()) / 4);
    while (GoesOn()) {
      std::this_thread::sleep_for(pause);
      engine_->Save(plan_);
      ++rewritten_;
    }
  }

  /// Throws Error if an output was another one or a thread failed.
  void Report() const {
    std::printf(
        "engine_soak: %ld runs in %ld contexts, plan read %ld times and written %ld times\n",
        runs_.load(), contexts_.load(), loads_.load(), rewritten_.load());
    Require(failure_.empty(), failure_);
  }

 private:
  bool GoesOn() const { return !fails_ && Clock::now() < end_; }

  /// The life of a context, whose kind depends on the thread.
  void Live(int caller, std::mt19937* random) {
    const int some = 1 + static_cast<int>((*random)() % 20);
    switch (caller % 8) {
      case 4:
        return Use(engine_, 1, some, false, random);
      case 5:
        return Use(engine_, kMostThreads, some, true, random);
      case 6: {
        ++loads_;
        return Use(Engine::Load(plan_), 1, some, false, random);
      }
      case 7: {
        std::exception_ptr error;
        std::thread([&] {
          try {
            Use(engine_, kMostThreads, some, false, random);
          } catch (...) {
            error = std::current_exception();
          }
        }).join();
        if (error) std::rethrow_exception(error);
        return;
      }
      default:
        return Use(engine_, 1, -1, false, random);
    }
  }

  /// Runs a new context `runs` times, or to the end where that is negative.
  void Use(const std::shared_ptr<const Engine>& engine, int threads, int runs, bool enqueues,
           std::mt19937* random) {
    ExecutionContext context(engine, threads);
    ++contexts_;
    for (int run = 0; run != runs && GoesOn(); ++run) {
      const int input = static_cast<int>((*random)() % kInputs);
      const int batch = 1 + static_cast<int>((*random)() % engine->max_batch());
      if (context.batch() != batch) context.SetBatch(batch);
      for (const auto& [name, values] : inputs_.at({input, batch})) {
        std::copy(values.begin(), values.end(), context.Input(name));
      }
      if (enqueues) {
        context.Enqueue().get();
      } else {
        context.Run();
      }
      ++runs_;
      Compare({input, batch, threads}, &context);
    }
  }

  void Compare(const Work& work, ExecutionContext* context) const {
    for (const auto& [name, expected] : expected_.at(work)) {
      const size_t count = CountOf(context->OutputShape(name));
      const bool same =
          count == expected.size() &&
          std::memcmp(context->Output(name), expected.data(), count * sizeof(float)) == 0;
      Require(same, "output '", name, "' of input ", std::get<0>(work), ", batch ",
              std::get<1>(work), ", ", std::get<2>(work), " threads is not what it was at first");
    }
  }

  const std::string plan_;
  const std::shared_ptr<const Engine> engine_;
  const Clock::time_point end_;
  std::map<std::pair<int, int>, Values> inputs_;  // by number and batch
  std::map<Work, Values> expected_;
  std::atomic<long> runs_{0}, contexts_{0}, loads_{0}, rewritten_{0};
  std::atomic<bool> fails_{false};
  std::mutex mutex_;
  std::string failure_;  // the first one; under mutex_
};

int Run(int argc, char**) {
  Require(argc == 1 && !FLAGS_plan.empty(), "give -plan FILE; --help shows how");
  Require(FLAGS_callers > 0 && FLAGS_seconds > 0, "-callers and -seconds must be positive");
  const size_t descriptors = OpenDescriptors();
  {
    Soak soak(FLAGS_plan, FLAGS_seconds);
    {
      caffe::JoinedThreads callers;
      for (int i = 0; i < FLAGS_callers; ++i) callers.Start(&Soak::Call, &soak, i);
      soak.Rewrite();
    }
    soak.Report();
  }
  const size_t left = OpenDescriptors();
  Require(left == descriptors, left, " descriptors are open in the end, ", descriptors,
          " were in the beginning");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, Run); }
