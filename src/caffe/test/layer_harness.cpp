#include "caffe/test/layer_harness.hpp"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <regex>

#include "caffe/kernels/instruction_set.hpp"
#include "caffe/layer.hpp"

namespace caffe {

std::ostream& operator<<(std::ostream& stream, const LayerCase& c) { return stream << c.prototxt; }
std::ostream& operator<<(std::ostream& stream, const BadLayerCase& c) {
  return stream << c.prototxt;
}

unsigned TestSeed() {
  const char* given = std::getenv("CAFFE_TEST_SEED");
  return given ? static_cast<unsigned>(std::atol(given)) : std::random_device()();
}

namespace {

using Values = std::vector<double>;

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

Values MakeValues(const Bottom& bottom, std::mt19937* random) {
  const size_t count = std::accumulate(bottom.shape.begin(), bottom.shape.end(), size_t(1),
                                       std::multiplies<size_t>());
  Values values(count);
  switch (bottom.fill) {
    case Fill::GAUSSIAN: {
      std::normal_distribution<double> draw;
      for (double& value : values) value = draw(*random);
      break;
    }
    case Fill::POSITIVE: {
      std::uniform_real_distribution<double> draw(0.5, 1.5);
      for (double& value : values) value = draw(*random);
      break;
    }
    case Fill::DISTINCT:
      // Halves of odd numbers in random order: none is zero, all are FLOAT16 numbers.
      for (size_t i = 0; i < count; ++i) values[i] = (double(i) - double(count / 2) + 0.5) / 16;
      std::shuffle(values.begin(), values.end(), *random);
      break;
    case Fill::LABELS:
      for (double& value : values) value = (*random)() % bottom.labels;
      break;
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
  bool reference = false;
  bool detour = false;      // through another shape first
  double old_gradient = 0;  // what parameter diffs hold before
  bool propagate = true;
};

void UseReferenceEngine(LayerParameter* param) {
  if (param->type() == "Convolution") {
    param->mutable_convolution_param()->set_engine(ConvolutionParameter_Engine_REFERENCE);
  }
}

/// A layer with its blobs.
template <typename Dtype>
class Runner {
 public:
  Runner(const LayerCase& c, const LayerTypes& types, const Inputs& inputs,
         const RunOptions& options)
      : case_(c), inputs_(inputs), options_(options) {
    LayerParameter param = ParseLayer(c.prototxt, c.bottoms.size(), c.tops);
    if (options.reference) UseReferenceEngine(&param);
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
    layer_->SetUp(bottoms_, tops_);
    for (size_t i = 0; i < inputs.parameters.size(); ++i) {
      Put(inputs.parameters[i], layer_->blobs()[i]->mutable_cpu_data());
    }
    if (options.detour) Detour();
  }

  void Forward() {
    for (size_t i = 0; i < bottoms_.size(); ++i) {
      Put(inputs_.bottoms[i], bottoms_[i]->mutable_cpu_data());
    }
    Caffe::set_random_seed(inputs_.seed);
    layer_->Forward(bottoms_, tops_);
  }

  void Backward() {
    for (size_t i = 0; i < tops_.size(); ++i) {
      Put(inputs_.top_diffs[i], tops_[i]->mutable_cpu_diff());
    }
    for (const auto& blob : layer_->blobs()) {
      std::fill_n(blob->mutable_cpu_diff(), blob->count(), Dtype(options_.old_gradient));
    }
    std::vector<bool> propagate;
    for (const Bottom& bottom : case_.bottoms) {
      propagate.push_back(bottom.gradient && options_.propagate);
    }
    layer_->Backward(tops_, propagate, bottoms_);
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
  // One pass with twice the batch.
  void Detour() {
    for (size_t i = 0; i < bottoms_.size(); ++i) {
      std::vector<int> shape = case_.bottoms[i].shape;
      shape[0] *= 2;
      bottoms_[i]->Reshape(shape);
      Values twice = inputs_.bottoms[i];
      twice.insert(twice.end(), inputs_.bottoms[i].begin(), inputs_.bottoms[i].end());
      Put(twice, bottoms_[i]->mutable_cpu_data());
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
    Bottom like;
    like.shape = top->shape();
    inputs.top_diffs.push_back(MakeValues(like, &random));
    RoundToHalf(&inputs.top_diffs.back());
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

void ExpectSame(const LayerCase& c, const Results& expected, const Results& actual, double forward,
                double backward) {
  ExpectNear(expected.tops, actual.tops, forward * c.tolerance, "top");
  ExpectNear(expected.bottom_diffs, actual.bottom_diffs, backward * c.tolerance,
             "gradient of bottom");
  ExpectNear(expected.parameter_diffs, actual.parameter_diffs, backward * c.tolerance,
             "gradient of parameter");
}

struct TypedRun {
  const char* name;
  ElementType forward, backward;
  double forward_bound, backward_bound;  // relative to the largest value
};

// A FLOAT16 result is off by half a unit in the last place, 2^-11 of it, and some for what is kept
// in between.
std::vector<TypedRun> TypedRuns() {
  constexpr double kFloat = 2e-5, kHalf = 4e-3;
  std::vector<TypedRun> runs = {{"FLOAT", ElementType::FLOAT, ElementType::FLOAT, kFloat, kFloat}};
#ifdef TEST_FP16
  runs.push_back({"FLOAT16", ElementType::FLOAT16, ElementType::FLOAT16, kHalf, kHalf});
  runs.push_back(
      {"FLOAT16 forward, FLOAT backward", ElementType::FLOAT16, ElementType::FLOAT, kHalf, kHalf});
  runs.push_back(
      {"FLOAT forward, FLOAT16 backward", ElementType::FLOAT, ElementType::FLOAT16, kFloat, kHalf});
#endif
  return runs;
}

const LayerTypes kDouble = LayerTypes::All(ElementType::DOUBLE);

Results Oracle(const LayerCase& c, const Inputs& inputs) {
  RunOptions options;
  options.reference = true;
  return RunLayer<double>(c, kDouble, inputs, options);
}

}  // namespace

TEST_P(LayerCases, AgreesWithDoubleInEveryTypeAndInstructionSet) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed));
  const LayerCase& c = GetParam();
  const Inputs inputs = MakeInputs(c, seed);
  const Results oracle = Oracle(c, inputs);
  const kernels::InstructionSet chosen = kernels::CpuInstructionSet();
  for (kernels::InstructionSet set : kernels::SupportedInstructionSets()) {
    kernels::SetCpuInstructionSet(set);
    SCOPED_TRACE(kernels::Name(set));
    ExpectSame(c, oracle, RunLayer<double>(c, kDouble, inputs), 1e-11, 1e-11);
    for (const TypedRun& run : TypedRuns()) {
      SCOPED_TRACE(run.name);
      const LayerTypes types = {run.forward, run.backward, run.forward, run.backward};
      ExpectSame(c, oracle, RunLayer<float>(c, types, inputs), run.forward_bound,
                 run.backward_bound);
    }
  }
  kernels::SetCpuInstructionSet(chosen);
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

/// Compares `gradient` with differences of the objective when `values` change.
void CheckNumerically(const LayerCase& c, Inputs* inputs, Values* values, const Values& gradient,
                      const std::string& what) {
  constexpr double kStep = 1e-4;
  double scale = 1e-3;
  for (double g : gradient) scale = std::max(scale, std::fabs(g));
  for (size_t i = 0; i < values->size(); ++i) {
    const double old = (*values)[i];
    double objective[2];
    for (int side = 0; side < 2; ++side) {
      (*values)[i] = old + (side ? kStep : -kStep);
      Runner<double> runner(c, kDouble, *inputs, RunOptions());
      objective[side] = Objective(&runner, *inputs);
    }
    (*values)[i] = old;
    const double numeric = (objective[1] - objective[0]) / (2 * kStep);
    ASSERT_NEAR(gradient[i], numeric, 1e-5 * scale) << what << ", element " << i;
  }
}

}  // namespace

TEST_P(LayerCases, GradientsAreNumericallyRight) {
  const LayerCase& c = GetParam();
  if (!c.gradients) return;
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed));
  Inputs inputs = MakeInputs(c, seed);
  Runner<double> runner(c, kDouble, inputs, RunOptions());
  runner.Forward();
  runner.Backward();
  const Results results = runner.Take(true);
  for (size_t i = 0; i < c.bottoms.size(); ++i) {
    if (!c.bottoms[i].gradient) continue;
    CheckNumerically(c, &inputs, &inputs.bottoms[i], results.bottom_diffs[i], Join("bottom ", i));
  }
  const bool statistics = std::string(runner.layer().type()) == "BatchNorm";
  for (size_t i = statistics ? 3 : 0; i < inputs.parameters.size(); ++i) {
    CheckNumerically(c, &inputs, &inputs.parameters[i], results.parameter_diffs[i],
                     Join("parameter ", i));
  }
}

TEST_P(LayerCases, AddsToGradientsOfParameters) {
  const LayerCase& c = GetParam();
  if (!c.gradients) return;
  const Inputs inputs = MakeInputs(c, TestSeed());
  Results expected = RunLayer<double>(c, kDouble, inputs);
  RunOptions options;
  options.old_gradient = 5;
  const Results actual = RunLayer<double>(c, kDouble, inputs, options);
  for (Values& diff : expected.parameter_diffs) {
    for (double& value : diff) value += 5;
  }
  ExpectSame(c, expected, actual, 1e-12, 1e-12);
}

TEST_P(LayerCases, LeavesGradientsAloneThatNobodyAskedFor) {
  const LayerCase& c = GetParam();
  if (!c.gradients || std::string(c.prototxt).find("Flatten") != std::string::npos) return;
  const Inputs inputs = MakeInputs(c, TestSeed());
  RunOptions options;
  options.propagate = false;
  Runner<double> runner(c, kDouble, inputs, options);
  runner.Forward();
  for (Blob<double>* bottom : runner.bottoms()) {
    std::fill_n(bottom->mutable_cpu_diff(), bottom->count(), 7.);
  }
  runner.Backward();
  for (const Blob<double>* bottom : runner.bottoms()) {
    for (int k = 0; k < bottom->count(); ++k) ASSERT_EQ(bottom->cpu_diff()[k], 7.);
  }
}

TEST_P(LayerCases, InPlaceGivesTheSame) {
  const LayerCase& c = GetParam();
  if (!c.in_place) return;
  const Inputs inputs = MakeInputs(c, TestSeed());
  RunOptions options;
  options.in_place = true;
  ExpectSame(c, RunLayer<double>(c, kDouble, inputs), RunLayer<double>(c, kDouble, inputs, options),
             1e-12, 1e-12);
#ifdef TEST_FP16
  const LayerTypes half = LayerTypes::All(ElementType::FLOAT16);
  ExpectSame(c, RunLayer<float>(c, half, inputs), RunLayer<float>(c, half, inputs, options), 4e-3,
             4e-3);
#endif
}

TEST_P(LayerCases, ReshapingToAndFroGivesTheSame) {
  const LayerCase& c = GetParam();
  // The detour doubles the first extent of every bottom, which then has to be the batch.
  for (const Bottom& bottom : c.bottoms) {
    if (bottom.shape[0] != c.bottoms[0].shape[0]) return;
  }
  const Inputs inputs = MakeInputs(c, TestSeed());
  RunOptions options;
  options.detour = true;
  ExpectSame(c, RunLayer<double>(c, kDouble, inputs), RunLayer<double>(c, kDouble, inputs, options),
             1e-12, 1e-12);
}

TEST_P(LayerCases, TheOperationTableKnowsItsShapes) {
  const LayerCase& c = GetParam();
  const LayerParameter param = ParseLayer(c.prototxt, c.bottoms.size(), c.tops);
  const Operation* operation = OperationTable::Find(param.type());
  ASSERT_NE(operation, nullptr) << param.type();
  if (!operation->top_shapes) return;
  std::vector<Shape> bottoms, tops;
  for (const Bottom& bottom : c.bottoms) bottoms.push_back(bottom.shape);
  const Inputs inputs = MakeInputs(c, TestSeed());
  Runner<float> runner(c, LayerTypes::All(ElementType::FLOAT), inputs, RunOptions());
  for (const Blob<float>* top : runner.tops()) tops.push_back(top->shape());
  EXPECT_EQ(operation->top_shapes(param, bottoms), tops);
}

TEST_P(BadLayerCases, AreRefusedInPlainWords) {
  const BadLayerCase& c = GetParam();
  const LayerParameter param = ParseLayer(c.prototxt, c.bottoms.size(), c.tops);
  std::vector<std::unique_ptr<Blob<float>>> blobs;
  vector<Blob<float>*> bottoms, tops;
  std::mt19937 random(1);
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
    EXPECT_EQ(LayerRegistry<float>::CreateLayer(param)->type(), type);
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
