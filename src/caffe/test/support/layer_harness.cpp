#include "caffe/test/support/layer_harness.hpp"

#include <google/protobuf/text_format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <regex>

#include "caffe/allocator.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/layer.hpp"
#include "caffe/onednn/onednn.hpp"
#include "caffe/test/support/fake_device.hpp"
#include "seeds.hpp"
#ifndef CPU_ONLY
#include "caffe/kernels/cuda/convolution.hpp"
#endif

namespace caffe {

std::ostream& operator<<(std::ostream& stream, const LayerCase& c) { return stream << c.prototxt; }
std::ostream& operator<<(std::ostream& stream, const BadLayerCase& c) {
  return stream << c.prototxt;
}

namespace {

using Values = std::vector<double>;

/// `c` with numbers in place of OddExtents.
LayerCase Drawn(LayerCase c, unsigned seed) {
  constexpr int kOdd[] = {1, 2, 3, 5, 7, 9, 11};
  std::mt19937 random(seed);
  const auto draw = [&] {
    std::map<int, int> drawn;
    for (int name : {kOddN, kOddC, kOddH, kOddW}) drawn[name] = kOdd[random() % std::size(kOdd)];
    return drawn;
  };
  const std::map<int, int> drawn = draw(), redrawn = draw();
  for (Bottom& bottom : c.bottoms) {
    for (int& extent : bottom.shape) extent = extent < 0 ? drawn.at(extent) : extent;
    if (bottom.labels < 0) bottom.labels = drawn.at(bottom.labels);
  }
  for (std::vector<int>& shape : c.detour) {
    for (int& extent : shape) extent = extent < 0 ? redrawn.at(extent) : extent;
  }
  return c;
}

std::string Describe(const LayerCase& c, unsigned seed) {
  std::string text = Join(c.name, " { ", c.prototxt, " }");
  for (const Bottom& bottom : c.bottoms)
    text += Join(", bottom of shape ", ShapeString(bottom.shape));
  return Join(text, ", CAFFE_TEST_SEED=", seed);
}

}  // namespace

LayerCases::LayerCases()
    : seed_(TestSeed()),
      case_(Drawn(GetParam(), seed_)),
      trace_(__FILE__, __LINE__, Describe(case_, seed_)) {}

namespace {

LayerParameter ParseLayer(const std::string& prototxt, int bottoms, int tops) {
  LayerParameter param;
  param.set_phase(TRAIN);
  if (!google::protobuf::TextFormat::MergeFromString(prototxt, &param)) {
    ADD_FAILURE() << "no LayerParameter: " << prototxt;
  }
  param.set_name("tested");
  for (int i = 0; i < bottoms; ++i) param.add_bottom(Join("bottom", i));
  for (int i = 0; i < tops; ++i) param.add_top(Join("top", i));
  return param;
}

size_t CountOf(const std::vector<int>& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t(1), std::multiplies<size_t>());
}

/// Halves of odd numbers in random order: none is zero, all are FLOAT16 numbers.
Values DistinctValues(size_t count, std::mt19937* random) {
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = (double(i) - double(count / 2) + 0.5) / 16;
  std::shuffle(values.begin(), values.end(), *random);
  return values;
}

Values MakeValues(const Bottom& bottom, std::mt19937* random) {
  const size_t count = CountOf(bottom.shape);
  if (!bottom.values.empty()) return bottom.values;
  if (bottom.fill == Fill::DISTINCT) return DistinctValues(count, random);
  std::normal_distribution<double> gaussian;
  std::uniform_real_distribution<double> positive(0.5, 1.5);
  Values values(count);
  for (double& value : values) {
    value = bottom.fill == Fill::GAUSSIAN   ? gaussian(*random)
            : bottom.fill == Fill::POSITIVE ? positive(*random)
                                            : (*random)() % bottom.labels;
  }
  return values;
}

/// Both types that a layer's arithmetic reads, so that what is measured is the layer's own error.
void RoundToHalf(Values* values) {
  for (double& value : *values) value = float(float16(value));
}

template <typename Dtype>
void Put(const Values& values, Dtype* to) {
  for (size_t i = 0; i < values.size(); ++i) to[i] = static_cast<Dtype>(values[i]);
}

template <typename Dtype>
Values Get(const Dtype* from, size_t count) {
  return Values(from, from + count);
}

/// All that a run takes: the same for every type.
struct Inputs {
  unsigned seed;
  std::vector<Values> bottoms;
  std::vector<Values> parameters;  // empty: as the fillers leave them
  std::vector<Values> top_diffs;
};

struct Results {
  std::vector<Values> tops, bottom_diffs, parameter_diffs, parameters;
};

struct RunOptions {
  bool in_place = false;
  const char* engine = nullptr;  // instead of the one that the case states
  bool detour = false;           // through another shape first
  int set_ups = 1;               // how often the layer is set up,
  bool used_between = false;     // each time behind a forward and a backward pass
  bool on_device = false;        // bottoms and gradients come from there,
  bool channels_last = false;    // bottoms in this order,
  bool gradients_last = false;   // gradients in this order
  int block = 1;                 // bottoms and gradients come with channels in blocks of this many
  bool test_phase = false;
  double old_gradient = 0;  // what parameter diffs hold before
  bool fixed_parameters = false;
  std::vector<bool> propagate = {};  // empty: to all bottoms that have a gradient
};

/// Sets the engine: that of the layer's own parameters where they have one, else the layer's.
void UseEngine(const char* chosen, LayerParameter* param) {
  param->set_engine(chosen);
  std::string wanted = param->type() + "Param";
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), ::tolower);
  if (wanted.find("convolution") != std::string::npos) wanted = "convolutionparam";
  for (int i = 0; i < param->GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = param->GetDescriptor()->field(i);
    std::string name = field->name();
    name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
    if (name != wanted) continue;
    // Looked up in the type: touching the message would make has_..._param() true.
    const auto* engine =
        field->message_type() ? field->message_type()->FindFieldByName("engine") : nullptr;
    if (!engine || !engine->enum_type()) return;
    google::protobuf::Message* own = param->GetReflection()->MutableMessage(param, field);
    own->GetReflection()->SetEnum(own, engine, engine->enum_type()->FindValueByName(chosen));
    return;
  }
}

/// Makes `type` in blocks of channels what was written to `tensor` last, if the shape has channels.
void MoveToBlocks(int block, const std::vector<int>& shape, ElementType type, Tensor* tensor) {
  if (block == 1 || shape.size() < 3 || tensor->count() == 0) return;
  const size_t num = shape[0], channels = shape[1];
  const Layout layout =
      Layout::ChannelsBlocked(block, num, channels, tensor->count() / (num * channels));
  tensor->Read(type, layout);
  tensor->Write(type, layout).mutable_cpu_data();
}

/// The same with channels last, on the device or on the host.
void MoveToChannelsLast(const std::vector<int>& shape, ElementType type, bool on_device,
                        Tensor* tensor) {
  if (shape.size() < 3 || tensor->count() == 0) return;
  const size_t num = shape[0], channels = shape[1];
  const Layout layout = Layout::ChannelsLast(num, channels, tensor->count() / (num * channels));
  SyncedMemory& memory = tensor->Write(type, layout);
  on_device ? memory.mutable_gpu_data() : memory.mutable_cpu_data();
}

/// A layer with its blobs.
template <typename Dtype>
class Runner {
 public:
  Runner(const LayerCase& c, const LayerTypes& types, const Inputs& inputs,
         const RunOptions& options)
      : case_(c), inputs_(inputs), options_(options) {
    LayerParameter param = ParseLayer(c.prototxt, c.bottoms.size(), c.tops);
    if (options.engine) UseEngine(options.engine, &param);
    if (options.test_phase) param.set_phase(TEST);
    Caffe::set_random_seed(inputs.seed);
    layer_ = LayerRegistry<Dtype>::CreateLayer(param);
    layer_->set_types(types);
    for (const Bottom& bottom : c.bottoms) {
      blobs_.emplace_back(new Blob<Dtype>(bottom.shape));
      bottoms_.push_back(blobs_.back().get());
    }
    for (int i = 0; i < c.tops; ++i) {
      if (options.in_place && i == 0) {
        tops_.push_back(bottoms_[0]);
        continue;
      }
      blobs_.emplace_back(new Blob<Dtype>());
      tops_.push_back(blobs_.back().get());
    }
    for (int i = 0; i < options.set_ups; ++i) {
      if (i > 0 && options.used_between) Use();
      layer_->SetUp(bottoms_, tops_);
      SetParameters();
    }
    if (options.detour) Detour();
  }

  void Forward() {
    for (size_t i = 0; i < bottoms_.size(); ++i) {
      Put(inputs_.bottoms[i], bottoms_[i]->mutable_cpu_data());
      if (options_.on_device) bottoms_[i]->mutable_gpu_data();
      if (options_.channels_last) {
        MoveToChannelsLast(bottoms_[i]->shape(), layer_->forward_type(), options_.on_device,
                           &bottoms_[i]->data_tensor());
      }
      MoveToBlocks(options_.block, bottoms_[i]->shape(), layer_->forward_type(),
                   &bottoms_[i]->data_tensor());
    }
    Caffe::set_random_seed(inputs_.seed);
    layer_->Forward(bottoms_, tops_);
    // Not so where it would bring what lies with channels last into Caffe's order.
    for (Blob<Dtype>* top : tops_) {
      if (options_.on_device && !options_.channels_last) top->mutable_gpu_data();
    }
  }

  void Backward() {
    for (size_t i = 0; i < tops_.size(); ++i) {
      Put(inputs_.top_diffs[i], tops_[i]->mutable_cpu_diff());
      if (options_.on_device) tops_[i]->mutable_gpu_diff();
      if (options_.gradients_last) {
        MoveToChannelsLast(tops_[i]->shape(), layer_->backward_type(), options_.on_device,
                           &tops_[i]->diff_tensor());
      }
      MoveToBlocks(options_.block, tops_[i]->shape(), layer_->backward_type(),
                   &tops_[i]->diff_tensor());
    }
    for (size_t i = 0; i < layer_->blobs().size(); ++i) {
      Blob<Dtype>& blob = *layer_->blobs()[i];
      std::fill_n(blob.mutable_cpu_diff(), blob.count(), Dtype(options_.old_gradient));
      if (options_.fixed_parameters) layer_->set_param_propagate_down(i, false);
    }
    PropagateDown();
  }

  /// Both passes with bottoms of other shapes, which the layer may refuse.
  void PassWith(const std::vector<Shape>& shapes) {
    std::mt19937 random(inputs_.seed);
    try {
      for (size_t i = 0; i < bottoms_.size(); ++i) {
        Bottom bottom = case_.bottoms[i];
        if (bottom.shape != shapes[i]) bottom.values.clear();
        bottom.shape = shapes[i];
        bottoms_[i]->Reshape(shapes[i]);
        Put(MakeValues(bottom, &random), bottoms_[i]->mutable_cpu_data());
      }
      layer_->Forward(bottoms_, tops_);
      if (!case_.gradients) return;
      for (Blob<Dtype>* top : tops_) std::fill_n(top->mutable_cpu_diff(), top->count(), Dtype(1));
      PropagateDown();
    } catch (const Error&) {
    }
  }

  /// The shapes and parameters of the case again.
  void Reset() {
    for (size_t i = 0; i < bottoms_.size(); ++i) bottoms_[i]->Reshape(case_.bottoms[i].shape);
    SetParameters();
  }

  Results Take(bool backward) const {
    Results results;
    for (const Blob<Dtype>* top : tops_) results.tops.push_back(Get(top->cpu_data(), top->count()));
    if (!backward) return results;
    for (const Blob<Dtype>* bottom : bottoms_) {
      results.bottom_diffs.push_back(Get(bottom->cpu_diff(), bottom->count()));
    }
    for (const auto& blob : layer_->blobs()) {
      results.parameter_diffs.push_back(Get(blob->cpu_diff(), blob->count()));
    }
    return results;
  }

  std::vector<Values> Parameters() const {
    std::vector<Values> parameters;
    for (const auto& blob : layer_->blobs()) {
      parameters.push_back(Get(blob->cpu_data(), blob->count()));
    }
    return parameters;
  }

  Layer<Dtype>& layer() { return *layer_; }
  const vector<Blob<Dtype>*>& tops() const { return tops_; }
  const vector<Blob<Dtype>*>& bottoms() const { return bottoms_; }

 private:
  void PropagateDown() {
    std::vector<bool> propagate = options_.propagate;
    if (propagate.empty()) {
      for (const Bottom& bottom : case_.bottoms) propagate.push_back(bottom.gradient);
    }
    layer_->Backward(tops_, propagate, bottoms_);
  }

  void SetParameters() {
    for (size_t i = 0; i < inputs_.parameters.size(); ++i) {
      Put(inputs_.parameters[i], layer_->blobs()[i]->mutable_cpu_data());
    }
  }

  // Both passes, with other values than those of the test.
  void Use() {
    std::mt19937 random(inputs_.seed + 1);
    for (size_t i = 0; i < bottoms_.size(); ++i) {
      Put(MakeValues(case_.bottoms[i], &random), bottoms_[i]->mutable_cpu_data());
    }
    layer_->Forward(bottoms_, tops_);
    if (case_.gradients) Backward();
  }

  std::vector<int> DetourShape(size_t bottom) const {
    if (!case_.detour.empty()) return case_.detour[bottom];
    std::vector<int> twice = case_.bottoms[bottom].shape;
    twice[0] *= 2;
    return twice;
  }

  // One pass with other shapes.
  void Detour() {
    std::mt19937 random(inputs_.seed);
    for (size_t i = 0; i < bottoms_.size(); ++i) {
      Bottom bottom = case_.bottoms[i];
      bottom.shape = DetourShape(i);
      bottom.values.clear();
      bottoms_[i]->Reshape(bottom.shape);
      Put(MakeValues(bottom, &random), bottoms_[i]->mutable_cpu_data());
    }
    const std::vector<Values> parameters = Parameters();
    layer_->Forward(bottoms_, tops_);
    for (size_t i = 0; i < bottoms_.size(); ++i) bottoms_[i]->Reshape(case_.bottoms[i].shape);
    for (size_t i = 0; i < parameters.size(); ++i) {  // BatchNorm keeps statistics
      Put(parameters[i], layer_->blobs()[i]->mutable_cpu_data());
    }
  }

  const LayerCase& case_;
  const Inputs& inputs_;
  const RunOptions options_;
  shared_ptr<Layer<Dtype>> layer_;
  std::vector<std::unique_ptr<Blob<Dtype>>> blobs_;
  vector<Blob<Dtype>*> bottoms_, tops_;
};

template <typename Dtype>
Results RunLayer(const LayerCase& c, const LayerTypes& types, const Inputs& inputs,
                 const RunOptions& options = RunOptions()) {
  Runner<Dtype> runner(c, types, inputs, options);
  runner.Forward();
  if (c.gradients) runner.Backward();
  return runner.Take(c.gradients);
}

Inputs MakeInputs(const LayerCase& c, unsigned seed) {
  std::mt19937 random(seed);
  Inputs inputs;
  inputs.seed = seed;
  for (const Bottom& bottom : c.bottoms) {
    inputs.bottoms.push_back(MakeValues(bottom, &random));
    RoundToHalf(&inputs.bottoms.back());
  }
  Runner<double> probe(c, LayerTypes::All(ElementType::DOUBLE), inputs, RunOptions());
  inputs.parameters = probe.Parameters();
  for (Values& parameter : inputs.parameters) RoundToHalf(&parameter);
  for (const Blob<double>* top : probe.tops()) {
    const Bottom like(top->shape());
    Values diffs = MakeValues(like, &random);
    // Nearly 0 for a loss, it would make all gradients subnormal in FLOAT16.
    if (diffs.size() == 1 && std::fabs(diffs[0]) < 0.5) diffs[0] += std::copysign(0.5, diffs[0]);
    RoundToHalf(&diffs);
    inputs.top_diffs.push_back(std::move(diffs));
  }
  return inputs;
}

void ExpectNear(const std::vector<Values>& expected, const std::vector<Values>& actual,
                double bound, const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  for (size_t blob = 0; blob < expected.size(); ++blob) {
    ASSERT_EQ(expected[blob].size(), actual[blob].size()) << what << " " << blob;
    double largest = 1e-30;
    for (double value : expected[blob]) largest = std::max(largest, std::fabs(value));
    size_t worst = 0;
    double error = 0;
    for (size_t i = 0; i < expected[blob].size(); ++i) {
      const double here = std::fabs(expected[blob][i] - actual[blob][i]);
      if (!(here <= error)) {
        error = here;
        worst = i;
      }
    }
    EXPECT_LE(error, bound * largest)
        << what << " " << blob << ", element " << worst << ": " << actual[blob][worst] << " where "
        << expected[blob][worst] << " is right";
  }
}

/// Half the distance of 1 and the next number: the largest relative error of one rounding.
double RoundingOf(ElementType type) {
  return type == ElementType::DOUBLE ? 0x1p-53 : type == ElementType::FLOAT ? 0x1p-24 : 0x1p-11;
}

/// What results may be off by, relative to the largest: a few roundings to their own type, and for
/// each term of a sum one to the type that sums are kept in.
double Bound(const LayerCase& c, ElementType type) {
  size_t terms = 0;
  for (const Bottom& bottom : c.bottoms) terms = std::max(terms, CountOf(bottom.shape));
  if (c.terms >= 0) terms = c.terms;
  const ElementType sums = type == ElementType::DOUBLE ? type : ElementType::FLOAT;
  return c.tolerance * (8 * RoundingOf(type) + (64 + double(terms)) * RoundingOf(sums));
}

void ExpectSame(const Results& expected, const Results& actual, double forward, double backward) {
  ExpectNear(expected.tops, actual.tops, forward, "top");
  ExpectNear(expected.bottom_diffs, actual.bottom_diffs, backward, "gradient of bottom");
  ExpectNear(expected.parameter_diffs, actual.parameter_diffs, backward, "gradient of parameter");
}

struct TypedRun {
  const char* name;
  ElementType forward, backward;
};

std::vector<TypedRun> TypedRuns() {
  std::vector<TypedRun> runs = {{"FLOAT", ElementType::FLOAT, ElementType::FLOAT}};
#ifdef TEST_FP16
  runs.push_back({"FLOAT16", ElementType::FLOAT16, ElementType::FLOAT16});
  runs.push_back({"FLOAT16 forward, FLOAT backward", ElementType::FLOAT16, ElementType::FLOAT});
  runs.push_back({"FLOAT forward, FLOAT16 backward", ElementType::FLOAT, ElementType::FLOAT16});
#endif
  return runs;
}

/// The engines that may differ in these types.
std::vector<const char*> EnginesFor(const TypedRun& run) {
  const bool all_float = run.forward == ElementType::FLOAT && run.backward == ElementType::FLOAT;
  if (all_float && onednn::Enabled()) return {"DEFAULT", "ONEDNN"};
  return {"DEFAULT"};
}

const LayerTypes kDouble = LayerTypes::All(ElementType::DOUBLE);

Results Oracle(const LayerCase& c, const Inputs& inputs) {
  RunOptions options;
  options.engine = "REFERENCE";
  return RunLayer<double>(c, kDouble, inputs, options);
}

}  // namespace

namespace {

/// A run in `run`'s types against the oracle. A gradient computed from FLOAT16 activations carries
/// their error.
void CheckTypes(const LayerCase& c, const Inputs& inputs, const Results& oracle,
                const TypedRun& run, const char* engine) {
  SCOPED_TRACE(Join(run.name, engine ? " on engine " : "", engine ? engine : ""));
  const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
  const double forward = Bound(c, run.forward);
  RunOptions options;
  options.engine = engine;
  ExpectSame(oracle, RunLayer<float>(c, types, inputs, options), forward,
             std::max(forward, Bound(c, run.backward)));
}

}  // namespace

TEST_P(LayerCases, AgreesWithDoubleInEveryTypeAndInstructionSet) {
  const LayerCase& c = case_;
  const Inputs inputs = MakeInputs(c, seed_);
  const Results oracle = Oracle(c, inputs);
  const double bound = Bound(c, ElementType::DOUBLE);
  const kernels::InstructionSet chosen = kernels::CpuInstructionSet();
  for (kernels::InstructionSet set : kernels::FloatInstructionSets()) {
    kernels::SetCpuInstructionSet(set);
    SCOPED_TRACE(kernels::Name(set));
    ExpectSame(oracle, RunLayer<double>(c, kDouble, inputs), bound, bound);
    for (const TypedRun& run : TypedRuns()) {
      for (const char* engine : {static_cast<const char*>(nullptr), "REFERENCE"}) {
        CheckTypes(c, inputs, oracle, run, engine);
      }
    }
  }
  kernels::SetCpuInstructionSet(chosen);
  if (!onednn::Enabled()) return;
  CheckTypes(c, inputs, oracle, TypedRuns()[0], "ONEDNN");
  SCOPED_TRACE("without oneDNN");
  onednn::SetEnabled(false);
  CheckTypes(c, inputs, oracle, TypedRuns()[0], nullptr);
  onednn::SetEnabled(true);
}

namespace {

/// Sum over all tops of top times its diff: what the gradients are of.
double Objective(Runner<double>* runner, const Inputs& inputs) {
  runner->Forward();
  double sum = 0;
  for (size_t i = 0; i < runner->tops().size(); ++i) {
    const double* top = runner->tops()[i]->cpu_data();
    for (size_t k = 0; k < inputs.top_diffs[i].size(); ++k) sum += top[k] * inputs.top_diffs[i][k];
  }
  return sum;
}

/// The slope of the objective at values[i], from its values `step` to both sides.
double NumericGradient(const LayerCase& c, const Inputs& inputs, double* value, double step) {
  const double old = *value;
  double objective[2];
  for (int side = 0; side < 2; ++side) {
    *value = old + (side ? step : -step);
    Runner<double> runner(c, kDouble, inputs, RunOptions());
    objective[side] = Objective(&runner, inputs);
  }
  *value = old;
  return (objective[1] - objective[0]) / (2 * step);
}

/// Compares `gradient` with differences of the objective when `values` change. Random inputs may
/// come within the step of a bend or a jump (a penalty's kink, two scores that change ranks): there
/// a step a hundred times smaller decides.
void CheckNumerically(const LayerCase& c, Inputs* inputs, Values* values, const Values& gradient,
                      const std::string& what) {
  double scale = 1e-3;
  for (double g : gradient) scale = std::max(scale, std::fabs(g));
  for (size_t i = 0; i < values->size(); ++i) {
    double* value = &(*values)[i];
    double numeric = NumericGradient(c, *inputs, value, 1e-4);
    if (std::fabs(gradient[i] - numeric) > 1e-5 * scale) {
      numeric = NumericGradient(c, *inputs, value, 1e-6);
    }
    ASSERT_NEAR(gradient[i], numeric, 1e-5 * scale) << what << ", element " << i;
  }
}

}  // namespace

TEST_P(LayerCases, GradientsAreNumericallyRight) {
  const LayerCase& c = case_;
  if (!c.gradients) return;
  Inputs inputs = MakeInputs(c, seed_);
  Runner<double> runner(c, kDouble, inputs, RunOptions());
  runner.Forward();
  runner.Backward();
  const Results results = runner.Take(true);
  for (size_t i = 0; i < c.bottoms.size(); ++i) {
    if (!c.bottoms[i].gradient) continue;
    CheckNumerically(c, &inputs, &inputs.bottoms[i], results.bottom_diffs[i], Join("bottom ", i));
  }
  const LayerParameter& param = runner.layer().layer_param();
  for (size_t i = 0; i < inputs.parameters.size(); ++i) {
    // Statistics and frozen parameters say so.
    if (static_cast<int>(i) < param.param_size() && param.param(i).lr_mult() == 0) continue;
    CheckNumerically(c, &inputs, &inputs.parameters[i], results.parameter_diffs[i],
                     Join("parameter ", i));
  }
}

// As a script may ask for it; what the gradients are then is not said.
TEST_P(LayerCases, BackwardBeforeForwardEndsInAnErrorOrGradients) {
  if (!case_.gradients) return;
  const Inputs inputs = MakeInputs(case_, seed_);
  Runner<float> runner(case_, LayerTypes::All(ElementType::FLOAT), inputs, RunOptions());
  try {
    runner.Backward();
  } catch (const Error&) {
  }
  runner.Forward();
  runner.Backward();
}

TEST_P(LayerCases, AddsToGradientsOfParameters) {
  if (!case_.gradients) return;
  const Inputs inputs = MakeInputs(case_, seed_);
  Results expected = RunLayer<double>(case_, kDouble, inputs);
  RunOptions options;
  options.old_gradient = 5;
  const Results actual = RunLayer<double>(case_, kDouble, inputs, options);
  for (Values& diff : expected.parameter_diffs) {
    for (double& value : diff) value += 5;
  }
  ExpectSame(expected, actual, 1e-12, 1e-12);
}

TEST_P(LayerCases, LeavesGradientsOfFixedParametersAlone) {
  if (!case_.gradients) return;
  const Inputs inputs = MakeInputs(case_, seed_);
  RunOptions options;
  options.old_gradient = 5;
  options.fixed_parameters = true;
  for (const Values& diff : RunLayer<double>(case_, kDouble, inputs, options).parameter_diffs) {
    EXPECT_EQ(diff, Values(diff.size(), 5));
  }
}

// Each bottom alone, then none.
TEST_P(LayerCases, LeavesGradientsAloneThatNobodyAskedFor) {
  const LayerCase& c = case_;
  if (!c.gradients) return;
  const Inputs inputs = MakeInputs(c, seed_);
  const Results all = RunLayer<double>(c, kDouble, inputs);
  for (size_t wanted = 0; wanted <= c.bottoms.size(); ++wanted) {
    if (wanted < c.bottoms.size() && !c.bottoms[wanted].gradient) continue;
    RunOptions options;
    options.propagate.assign(c.bottoms.size(), false);
    if (wanted < c.bottoms.size()) options.propagate[wanted] = true;
    Runner<double> runner(c, kDouble, inputs, options);
    runner.Forward();
    for (Blob<double>* bottom : runner.bottoms()) {
      std::fill_n(bottom->mutable_cpu_diff(), bottom->count(), 7.);
    }
    runner.Backward();
    const Results some = runner.Take(true);
    for (size_t i = 0; i < c.bottoms.size(); ++i) {
      const Values& diff = some.bottom_diffs[i];
      EXPECT_EQ(diff, i == wanted ? all.bottom_diffs[i] : Values(diff.size(), 7)) << "bottom " << i;
    }
  }
}

// Solvers ask labels, regions and the like for gradients when layers with parameters make them: a
// layer refuses, as Caffe's losses do, or leaves theirs alone and computes the others.
TEST_P(LayerCases, AskingForAMissingGradientChangesNoOther) {
  const LayerCase& c = case_;
  if (!c.gradients) return;
  const Inputs inputs = MakeInputs(c, seed_);
  const Results expected = RunLayer<double>(c, kDouble, inputs);
  for (size_t without = 0; without < c.bottoms.size(); ++without) {
    if (c.bottoms[without].gradient) continue;
    RunOptions options;
    for (const Bottom& bottom : c.bottoms) options.propagate.push_back(bottom.gradient);
    options.propagate[without] = true;
    Results actual;
    try {
      actual = RunLayer<double>(c, kDouble, inputs, options);
    } catch (const Error& error) {
      EXPECT_TRUE(std::regex_search(error.what(), std::regex("no gradient"))) << error.what();
      continue;
    }
    for (size_t i = 0; i < c.bottoms.size(); ++i) {
      if (i == without) continue;
      EXPECT_EQ(actual.bottom_diffs[i], expected.bottom_diffs[i]) << "bottom " << i;
    }
    EXPECT_EQ(actual.parameter_diffs, expected.parameter_diffs);
  }
}

TEST_P(LayerCases, InPlaceGivesTheSame) {
  if (!case_.in_place) return;
  const Inputs inputs = MakeInputs(case_, seed_);
  RunOptions options;
  options.in_place = true;
  ExpectSame(RunLayer<double>(case_, kDouble, inputs),
             RunLayer<double>(case_, kDouble, inputs, options), 1e-12, 1e-12);
  for (const TypedRun& run : TypedRuns()) {
    SCOPED_TRACE(run.name);
    const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
    const double bound = std::max(Bound(case_, run.forward), Bound(case_, run.backward));
    const Results expected = RunLayer<float>(case_, types, inputs);
    for (const char* engine : EnginesFor(run)) {
      SCOPED_TRACE(engine);
      options.engine = engine;
      ExpectSame(expected, RunLayer<float>(case_, types, inputs, options), bound, bound);
    }
  }
}

TEST_P(LayerCases, ReshapingToAndFroGivesTheSame) {
  // Without a detour the first extent of every bottom is doubled, which then has to be the batch.
  for (const Bottom& bottom : case_.bottoms) {
    if (bottom.shape.empty()) return;
    if (case_.detour.empty() && bottom.shape[0] != case_.bottoms[0].shape[0]) return;
  }
  const Inputs inputs = MakeInputs(case_, seed_);
  RunOptions options;
  options.detour = true;
  ExpectSame(RunLayer<double>(case_, kDouble, inputs),
             RunLayer<double>(case_, kDouble, inputs, options), 1e-12, 1e-12);
  const TypedRun run = TypedRuns()[0];
  const double bound = Bound(case_, run.forward);
  const LayerTypes types = LayerTypes::All(run.forward);
  const Results expected = RunLayer<float>(case_, types, inputs);
  for (const char* engine : EnginesFor(run)) {
    SCOPED_TRACE(engine);
    options.engine = engine;
    ExpectSame(expected, RunLayer<float>(case_, types, inputs, options), bound, bound);
  }
}

// To the bit, whatever was computed between.
TEST_P(LayerCases, SettingUpTwiceGivesTheSame) {
  const Inputs inputs = MakeInputs(case_, seed_);
  RunOptions twice;
  twice.set_ups = 2;
  for (const bool used : {false, true}) {
    SCOPED_TRACE(used ? "with a pass between" : "");
    twice.used_between = used;
    ExpectSame(RunLayer<double>(case_, kDouble, inputs),
               RunLayer<double>(case_, kDouble, inputs, twice), 0, 0);
    for (const TypedRun& run : TypedRuns()) {
      SCOPED_TRACE(run.name);
      const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
      ExpectSame(RunLayer<float>(case_, types, inputs),
                 RunLayer<float>(case_, types, inputs, twice), 0, 0);
    }
  }
}

namespace {

struct GpuMode {
  GpuMode() { Caffe::set_mode(Caffe::GPU); }
  ~GpuMode() { Caffe::set_mode(Caffe::CPU); }
};

#ifndef CPU_ONLY
/// True for a layer that draws random numbers, on a device others than on the host.
bool Draws(const LayerCase& c) {
  const LayerParameter param = ParseLayer(c.prototxt, c.bottoms.size(), c.tops);
  return param.type() == "Dropout" &&
         (param.phase() == TRAIN || param.dropout_param().sample_weights_test());
}
#endif

/// What the layer computes in GPU mode on the present device, in every type.
void CheckOnDevice(const LayerCase& c, const Inputs& inputs, const Results& oracle,
                   const RunOptions& options) {
  const double bound = Bound(c, ElementType::DOUBLE);
  ExpectSame(oracle, RunLayer<double>(c, kDouble, inputs, options), bound, bound);
  for (const TypedRun& run : TypedRuns()) {
    SCOPED_TRACE(run.name);
    const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
    const double forward = Bound(c, run.forward);
    ExpectSame(oracle, RunLayer<float>(c, types, inputs, options), forward,
               std::max(forward, Bound(c, run.backward)));
  }
}

/// In Caffe's order and with channels last, which convolutions then do not leave.
void CheckDevice(const LayerCase& c, const Inputs& inputs, const Results& oracle) {
  const GpuMode gpu_mode;
  RunOptions options;
  options.on_device = true;
  for (const bool channels_last : {false, true}) {
#ifndef CPU_ONLY
    const cuda::ChannelsLastScope chosen(channels_last ? cuda::ChannelsLastUse::ALWAYS
                                                       : cuda::ChannelsLastUse::NEVER);
#endif
    for (const bool in_place : {false, true}) {
      if (in_place && !c.in_place) continue;
      SCOPED_TRACE(Join(channels_last ? "channels last" : "", in_place ? " in place" : ""));
      options.channels_last = channels_last;
      options.gradients_last = channels_last;
      options.in_place = in_place;
      CheckOnDevice(c, inputs, oracle, options);
    }
  }
}

}  // namespace

// In a build with CUDA these are the GPU's kernels: run by the host, on memory that behaves as a
// GPU's may, and by the GPU if there is one. Without CUDA, and for layers without kernels for the
// GPU, what lies on the device is fetched, and what was computed goes back.
TEST_P(LayerCases, ADeviceGivesTheSame) {
#ifndef CPU_ONLY
  if (Draws(case_)) return;
#endif
  const Inputs inputs = MakeInputs(case_, seed_);
  const Results oracle = Oracle(case_, inputs);
  {
    const FakeDevice::Installed device;
    CheckDevice(case_, inputs, oracle);
  }
  if (!Device::available()) return;
  SCOPED_TRACE(Device::Get().name());
  CheckDevice(case_, inputs, oracle);
}

// Whatever the layout in which neighbours hand over their results; in both phases.
TEST_P(LayerCases, BlocksOfChannelsGiveTheSame) {
  const Inputs inputs = MakeInputs(case_, seed_);
  for (const TypedRun& run : TypedRuns()) {
    SCOPED_TRACE(run.name);
    const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
    const double forward = Bound(case_, run.forward);
    for (bool test_phase : {false, true}) {
      RunOptions options;
      options.test_phase = test_phase;
      LayerCase c = case_;
      c.gradients &= !test_phase;
      const Results expected = RunLayer<float>(c, types, inputs, options);
      for (const char* engine : EnginesFor(run)) {
        for (int block : {1, 8, 16}) {
          SCOPED_TRACE(
              Join(test_phase ? "TEST" : "TRAIN", ", blocks of ", block, ", engine ", engine));
          options.block = block;
          options.engine = engine;
          ExpectSame(expected, RunLayer<float>(c, types, inputs, options), forward,
                     std::max(forward, Bound(case_, run.backward)));
        }
      }
    }
  }
}

// The same for channels last, in which values come, or gradients, or both.
TEST_P(LayerCases, ChannelsLastGivesTheSame) {
  const Inputs inputs = MakeInputs(case_, seed_);
  for (const TypedRun& run : TypedRuns()) {
    SCOPED_TRACE(run.name);
    const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
    const double forward = Bound(case_, run.forward);
    for (const bool test_phase : {false, true}) {
      RunOptions options;
      options.test_phase = test_phase;
      LayerCase c = case_;
      c.gradients &= !test_phase;
      const Results expected = RunLayer<float>(c, types, inputs, options);
      for (const bool in_place : {false, true}) {
        if (in_place && !c.in_place) continue;
        options.in_place = in_place;
        for (const auto& [values, gradients] :
             {std::pair(true, true), {true, false}, {false, true}}) {
          SCOPED_TRACE(Join(test_phase ? "TEST" : "TRAIN", in_place ? ", in place" : "",
                            values ? ", values" : "", gradients ? ", gradients" : ""));
          options.channels_last = values;
          options.gradients_last = gradients;
          ExpectSame(expected, RunLayer<float>(c, types, inputs, options), forward,
                     std::max(forward, Bound(case_, run.backward)));
        }
      }
    }
  }
}

namespace {

using Shapes = std::vector<Shape>;

/// `shapes` with extent 0 in turn in each axis: of all bottoms that share the extent of the first
/// one there, and of each bottom alone; and in all spatial axes together.
std::vector<Shapes> EmptyShapes(const Shapes& shapes) {
  std::vector<Shapes> empty;
  const auto add = [&](size_t first, size_t end, const std::function<bool(size_t)>& takes_part) {
    Shapes changed = shapes;
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (!takes_part(i)) continue;
      for (size_t axis = first; axis < std::min(end, shapes[i].size()); ++axis)
        changed[i][axis] = 0;
    }
    if (changed != shapes && std::count(empty.begin(), empty.end(), changed) == 0) {
      empty.push_back(changed);
    }
  };
  size_t axes = 0;
  for (const Shape& shape : shapes) axes = std::max(axes, shape.size());
  for (size_t axis = 0; axis < axes; ++axis) {
    add(axis, axis + 1, [&](size_t i) {
      return axis < shapes[0].size() && axis < shapes[i].size() &&
             shapes[i][axis] == shapes[0][axis];
    });
    for (size_t alone = 0; alone < shapes.size(); ++alone) {
      add(axis, axis + 1, [&](size_t i) { return i == alone; });
    }
  }
  add(2, axes, [](size_t) { return true; });
  return empty;
}

/// The heap, but memory for nothing is a page that can neither be read nor written.
class NothingIsUntouchable : public Allocator {
 public:
  NothingIsUntouchable()
      : page_(mmap(nullptr, 1 << 12, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    CHECK(page_ != MAP_FAILED);
  }
  void* Allocate(size_t size) override { return size == 0 ? page_ : heap_.Allocate(size); }
  void Free(void* pointer, size_t size) noexcept override {
    if (size > 0) heap_.Free(pointer, size);
  }
  bool counts_itself() const override { return heap_.counts_itself(); }

  /// While it lives, blobs without elements have that page. What outlives it keeps the allocator.
  struct Installed {
    Installed() {
      static auto* const allocator = new NothingIsUntouchable();
      Allocator::Set(allocator);
    }
    ~Installed() { Allocator::Set(nullptr); }
  };

 private:
  Allocator& heap_ = Allocator::Get();
  void* const page_;
};

Shapes ShapesOf(const LayerCase& c) {
  Shapes shapes;
  for (const Bottom& bottom : c.bottoms) shapes.push_back(bottom.shape);
  return shapes;
}

LayerCase WithShapes(LayerCase c, const Shapes& shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (c.bottoms[i].shape != shapes[i]) c.bottoms[i].values.clear();
    c.bottoms[i].shape = shapes[i];
  }
  return c;
}

std::string Describe(const Shapes& shapes) {
  std::string text = "bottoms of shapes";
  for (const Shape& shape : shapes) text += Join(" ", ShapeString(shape));
  return text;
}

/// What a layer says to its bottoms: results, or why it refuses.
struct Answer {
  std::string refusal;
  Shapes tops;
  Results results;
};

std::ostream& operator<<(std::ostream& stream, const Answer& answer) {
  return stream << (answer.refusal.empty() ? "an answer" : answer.refusal);
}

template <typename Dtype>
Answer Ask(const LayerCase& c, const LayerTypes& types, unsigned seed, const RunOptions& options) {
  Answer answer;
  try {
    const Inputs inputs = MakeInputs(c, seed);
    Runner<Dtype> runner(c, types, inputs, options);
    for (const Blob<Dtype>* top : runner.tops()) answer.tops.push_back(top->shape());
    runner.Forward();
    if (c.gradients) runner.Backward();
    answer.results = runner.Take(c.gradients);
  } catch (const Error& error) {
    answer.refusal = error.what();
  }
  return answer;
}

bool HasNan(const std::vector<Values>& blobs) {
  return std::any_of(blobs.begin(), blobs.end(), [](const Values& values) {
    return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  });
}

/// Undefined numbers, such as the mean or the maximum of nothing, are undefined in both.
void ExpectSameOrBothNan(std::vector<Values> expected, std::vector<Values> actual, double bound,
                         const std::string& what) {
  for (size_t blob = 0; blob < std::min(expected.size(), actual.size()); ++blob) {
    for (size_t i = 0; i < std::min(expected[blob].size(), actual[blob].size()); ++i) {
      double &wanted = expected[blob][i], &found = actual[blob][i];
      const bool maximum = wanted == std::numeric_limits<double>::lowest() && found <= -65504;
      if (maximum || (std::isnan(wanted) && std::isnan(found))) wanted = found = 0;
    }
  }
  ExpectNear(expected, actual, bound, what);
}

void ExpectSameAnswer(const Answer& expected, const Answer& actual, double bound) {
  ASSERT_EQ(expected.refusal.empty(), actual.refusal.empty())
      << expected << " of the reference, but " << actual;
  if (!expected.refusal.empty()) return;
  EXPECT_EQ(expected.tops, actual.tops);
  ExpectSameOrBothNan(expected.results.tops, actual.results.tops, bound, "top");
  ExpectSameOrBothNan(expected.results.bottom_diffs, actual.results.bottom_diffs, bound,
                      "gradient of bottom");
  ExpectSameOrBothNan(expected.results.parameter_diffs, actual.results.parameter_diffs, bound,
                      "gradient of parameter");
}

/// What the operation table says of the tops: their shapes, or why it refuses the bottoms.
void ExpectTheTableSaysSo(const LayerCase& c, const Answer& answer) {
  const LayerParameter param = ParseLayer(c.prototxt, c.bottoms.size(), c.tops);
  const Operation* operation = OperationTable::Find(param.type());
  if (!operation || !operation->top_shapes) return;
  try {
    const Shapes tops = operation->top_shapes(param, ShapesOf(c));
    if (answer.refusal.empty()) {
      EXPECT_EQ(tops, answer.tops);
    }
  } catch (const Error& error) {
    EXPECT_FALSE(answer.refusal.empty()) << "the operation table: " << error.what();
  }
}

}  // namespace

// Nothing was found, nothing is left of a crop: what has no elements gives the same shapes and
// numbers in every type and on every engine, in both phases, or is refused by all of them.
TEST_P(LayerCases, EmptyBottomsAreAnsweredOrRefused) {
  const NothingIsUntouchable::Installed allocator;
  for (const Shapes& shapes : EmptyShapes(ShapesOf(case_))) {
    const LayerCase c = WithShapes(case_, shapes);
    for (const bool test_phase : {false, true}) {
      SCOPED_TRACE(Join(Describe(shapes), test_phase ? ", TEST" : ", TRAIN"));
      RunOptions options;
      options.test_phase = test_phase;
      options.engine = "REFERENCE";
      const Answer expected = Ask<double>(c, kDouble, seed_, options);
      if (!test_phase) ExpectTheTableSaysSo(c, expected);
      for (const TypedRun& run : TypedRuns()) {
        const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
        const double bound = std::max(Bound(c, run.forward), Bound(c, run.backward));
        for (const char* engine : EnginesFor(run)) {
          SCOPED_TRACE(Join(run.name, " on engine ", engine));
          options.engine = engine;
          ExpectSameAnswer(expected, Ask<float>(c, types, seed_, options), bound);
        }
      }
    }
  }
}

TEST_P(LayerCases, EmptyBottomsGiveADeviceTheSame) {
#ifndef CPU_ONLY
  if (Draws(case_)) return;
#endif
  const NothingIsUntouchable::Installed allocator;
  const FakeDevice::Installed device;
  for (const Shapes& shapes : EmptyShapes(ShapesOf(case_))) {
    const LayerCase c = WithShapes(case_, shapes);
    RunOptions options;
    options.engine = "REFERENCE";
    const Answer expected = Ask<double>(c, kDouble, seed_, options);
    const GpuMode gpu_mode;
    options.engine = nullptr;
    options.on_device = true;
    for (const TypedRun& run : TypedRuns()) {
      SCOPED_TRACE(Join(Describe(shapes), ", ", run.name));
      const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
      const Answer answer = Ask<float>(c, types, seed_, options);
      if (!expected.refusal.empty()) continue;  // for an index, which a device does not check
      ExpectSameAnswer(expected, answer, std::max(Bound(c, run.forward), Bound(c, run.backward)));
    }
  }
}

// A layer that was set up for something, and gets nothing for a while.
TEST_P(LayerCases, EmptyBottomsBetweenPassesLeaveNoTrace) {
  const NothingIsUntouchable::Installed allocator;
  const Inputs inputs = MakeInputs(case_, seed_);
  const Shapes full = ShapesOf(case_);
  for (const TypedRun& run : TypedRuns()) {
    const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
    for (const char* engine : EnginesFor(run)) {
      RunOptions options;
      options.engine = engine;
      const Results expected = RunLayer<float>(case_, types, inputs, options);
      for (const Shapes& empty : EmptyShapes(full)) {
        SCOPED_TRACE(Join(run.name, " on engine ", engine, ", ", Describe(empty)));
        Runner<float> runner(case_, types, inputs, options);
        runner.PassWith(empty);
        EXPECT_TRUE(HasNan(inputs.parameters) || !HasNan(runner.Parameters())) << "parameters";
        runner.Reset();
        runner.Forward();
        if (case_.gradients) runner.Backward();
        ExpectSame(expected, runner.Take(case_.gradients), 0, 0);
      }
    }
  }
}

TEST_P(LayerCases, TheOperationTableKnowsItsShapes) {
  const LayerParameter param = ParseLayer(case_.prototxt, case_.bottoms.size(), case_.tops);
  const Operation* operation = OperationTable::Find(param.type());
  ASSERT_NE(operation, nullptr) << param.type();
  if (!operation->top_shapes) return;
  std::vector<Shape> bottoms, tops;
  for (const Bottom& bottom : case_.bottoms) bottoms.push_back(bottom.shape);
  const Inputs inputs = MakeInputs(case_, seed_);
  Runner<float> runner(case_, LayerTypes::All(ElementType::FLOAT), inputs, RunOptions());
  for (const Blob<float>* top : runner.tops()) tops.push_back(top->shape());
  EXPECT_EQ(operation->top_shapes(param, bottoms), tops);
}

// Where only some of the tests are built (TEST_PARTS), no file may have cases.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LayerCases);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BadLayerCases);

TEST_P(BadLayerCases, AreRefusedInPlainWords) {
  const BadLayerCase& c = GetParam();
  const LayerParameter param = ParseLayer(c.prototxt, c.bottoms.size(), c.tops);
  std::vector<std::unique_ptr<Blob<float>>> blobs;
  vector<Blob<float>*> bottoms, tops;
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed));
  std::mt19937 random(seed);
  try {
    for (const Bottom& bottom : c.bottoms) {
      blobs.emplace_back(new Blob<float>(bottom.shape));
      bottoms.push_back(blobs.back().get());
      Put(MakeValues(bottom, &random), bottoms.back()->mutable_cpu_data());
    }
    for (int i = 0; i < c.tops; ++i) {
      blobs.emplace_back(new Blob<float>());
      tops.push_back(blobs.back().get());
    }
    shared_ptr<Layer<float>> layer = LayerRegistry<float>::CreateLayer(param);
    layer->SetUp(bottoms, tops);
    if (c.forward) layer->Forward(bottoms, tops);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_TRUE(std::regex_search(error.what(), std::regex(c.wanted))) << error.what();
  }
}

TEST(LayerRegistry, MakesEveryTypeFromAnEmptyLayerParameter) {
  for (const string& type : LayerRegistry<float>::LayerTypeList()) {
    LayerParameter param;
    param.set_type(type);
    const shared_ptr<Layer<float>> layer = LayerRegistry<float>::CreateLayer(param);
    // Other tests register layers that derive from the library's, and keep their type().
    if (layer->is_built_in()) {
      EXPECT_EQ(layer->type(), type);
    }
  }
}

TEST(LayerRegistry, AnUnknownTypeIsAnErrorWithTheNearestNames) {
  LayerParameter param;
  param.set_type("Convolutoin");
  try {
    LayerRegistry<float>::CreateLayer(param);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'Convolution'"), std::string::npos);
  }
}

}  // namespace caffe
