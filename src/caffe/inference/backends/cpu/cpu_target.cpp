#include "cpu_target.hpp"

#include <omp.h>

#include <chrono>
#include <limits>

#include "caffe/core/unsupported.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/kernel_revision.hpp"
#include "caffe/inference/plan_file.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/onednn/onednn.hpp"

namespace caffe::inference::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// Operands with memory of their own for every value of a node.
class BenchmarkOperands {
 public:
  BenchmarkOperands(const Graph& graph, const Node& node) {
    for (const int input : node.inputs) binding_.inputs.push_back(Made(graph.values[input]));
    for (const Epilogue& step : node.epilogue) {
      binding_.operands.push_back(step.operand < 0 ? Operand() : Made(graph.values[step.operand]));
    }
    for (const int output : node.outputs) binding_.outputs.push_back(Made(graph.values[output]));
  }
  const Binding& binding() const { return binding_; }

 private:
  Operand Made(const Value& value) {
    Operand operand = Described(value, value.shape);
    memory_.push_back(NewConstant(operand.type, operand.elements()));
    operand.data = const_cast<void*>(memory_.back().data.get());
    FillLikeActivations(operand.type, operand.elements(), operand.data);
    return operand;
  }

  std::vector<Constant> memory_;
  Binding binding_;
};

constexpr char kOtherFormat[] = "computes this layer in another type or layout";

class Cpu : public Target {
 public:
  const char* name() const override { return ""; }

  const std::vector<const Implementation*>& implementations() const override {
    static const std::vector<const Implementation*> all = {&WinogradConvolution(),
                                                           &PackedConvolution(),
                                                           &PairConvolution(),
                                                           &ChannelsLastConvolution(),
                                                           &OneDnnConvolution(),
                                                           &OneDnnBFloat16Convolution(),
                                                           &Int8Winograd(),
                                                           &Int8SmallPairs(),
                                                           &Int8Convolution(),
                                                           &Int8ChannelsLast(),
                                                           &Deconvolution(),
                                                           &PackedDeconvolution(),
                                                           &InnerProduct(),
                                                           &Int8InnerProduct(),
                                                           &BlasInnerProduct(),
                                                           &OneDnnBFloat16InnerProduct(),
                                                           &Pooling(),
                                                           &AcrossChannels(),
                                                           &Int8Lrn(),
                                                           &Int8Eltwise(),
                                                           &Int8Activation(),
                                                           &Crop(),
                                                           &Upsample(),
                                                           &IntegerOperation(),
                                                           &IntegerDefinition(),
                                                           &Moving(),
                                                           &Reorder(),
                                                           &AnyLayer()};
    return all;
  }
  const Implementation& reorder() const override { return Reorder(); }
  const Implementation& any_layer() const override { return AnyLayer(); }
  std::vector<const Implementation*> joining() const override {
    return {&SeparableBlock(), &Int8Chain(), &PackedChain()};
  }
  const std::vector<Layout::Kind>& layouts() const override {
    static const std::vector<Layout::Kind> all = {kBlocked, kChannelsLast};
    return all;
  }
  int block(ElementType) const override { return ChannelBlock(); }
  size_t alignment() const override { return 1; }
  bool takes_unsigned() const override { return true; }
  bool fuses_integer_sums() const override { return true; }

  std::string TimingKey() const override {
    const char* const version = onednn::Enabled() ? onednn::Version() : "none";
    return Join(PlanFingerprint(), " kernels ", CpuKernelRevision(), " oneDNN ", version, " ",
                omp_get_max_threads(), " threads");
  }

  // A layer that computes in another type or layout than it was given is not a candidate for it.
  double Measure(const Graph& graph, const Node& node, int iterations,
                 size_t max_workspace) const override {
    const kernels::FlushDenormals flush_denormals;
    const auto step = ImplementationOf(*this, node.implementation).Make(graph, node);
    const LayerStep* layer = dynamic_cast<LayerStep*>(step.get());
    const bool plain_layer =
        layer && node.math == ElementType::FLOAT &&
        graph.values[node.outputs.empty() ? node.inputs[0] : node.outputs[0]].layout == kPlain;
    const bool may_run = iterations == 0 && (!layer || plain_layer);
    if (may_run && max_workspace == 0) return 0;
    const BenchmarkOperands operands(graph, node);
    step->Bind(operands.binding());
    RequireWorkspace(step->scratch_bytes(), max_workspace);
    if (may_run) return 0;
    const Constant scratch = NewConstant(ElementType::INT8, step->scratch_bytes());
    double least = std::numeric_limits<double>::infinity();
    const auto start = Clock::now();
    // A short one is run more often, since its time is disturbed more easily; a slow one needs
    // fewer runs to be told from the others.
    const auto ends = [&](int runs) {
      const double spent = MicrosecondsSince(start);
      return runs > 3 &&
             (spent > 200'000 || (runs >= iterations && spent > 2'000) || runs >= 10 * iterations);
    };
    for (int runs = 0; !ends(runs); ++runs) {
      const auto begin = Clock::now();
      step->Run(Elements<void>(scratch));
      const double took = MicrosecondsSince(begin);
      if (layer && !plain_layer && !layer->native()) throw Unsupported(kOtherFormat);
      if (iterations == 0) return 0;
      if (runs > 0) least = std::min(least, took);
    }
    return least;
  }

  // The measured speed of kernels, relative to oneDNN's.
  double RelativeTime(const Candidate& candidate) const override {
    const std::string name = candidate.implementation->name();
    if (name == "winograd") return 0.5;
    if (name == "packed") return candidate.math == ElementType::FLOAT ? 1.1 : 1;
    if (name == "packed_bf16") return kernels::HasBFloat16Products() ? 0.5 : 3;
    if (name == "onednn_bf16") return onednn::MultipliesBFloat16() ? 0.5 : 3;
    if (name == "channels_last") return candidate.math == ElementType::BFLOAT16 ? 0.15 : 0.6;
    if (name == "int8_channels_last") return 0.1;
    const bool sums_bytes = kernels::HasByteProducts();
    if (name == "int8_small_pairs") return 0.5;
    if (name == "int8") return sums_bytes ? 0.26 : 0.7;
    if (name == "int8_winograd") return sums_bytes ? 0.22 : 0.4;
    if (name == "deconvolution") return 0.2;
    if (name == "packed_deconvolution") return 0.5;
    if (name == "move" || name == "crop" || name == "upsample" || name == "integers") return 0.01;
    if (name == "integer_definition") return 10;
    if (name != "layer") return 1;
    return candidate.outputs.empty() || candidate.outputs[0].layout != kPlain ? 1.5 : 2;
  }
};

}  // namespace

int ChannelBlock() { return kernels::BlockChannels(); }

const Target& CpuTarget() {
  static const Cpu target;
  return target;
}

}  // namespace caffe::inference::cpu
