// Layers in place one after another: the warning is there where gradients are wrong, and only
// there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "caffe/net.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/net_fixture.hpp"

namespace caffe {
namespace {

struct OverwritingNet {
  std::vector<double> gradient;
  std::vector<std::string> warnings;
};

/// Runs `first` and `second` on one number after another; the second one in place or not.
OverwritingNet RunTwo(const std::string& first, bool first_in_place, const std::string& second,
                      bool second_in_place, const std::string& phase = "TRAIN") {
  const std::string a = first_in_place ? "x" : "a", b = second_in_place ? a : "b";
  const std::string text = "force_backward: true state { phase: " + phase + R"( }
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 8 } } }
      layer { name: "copy" type: "Power" bottom: "data" top: "x" }
      layer { name: "first" bottom: "x" top: ")" +
                           a + "\" " + first + R"( }
      layer { name: "second" bottom: ")" +
                           a + "\" top: \"" + b + "\" " + second + " }";
  Caffe::set_random_seed(3);
  OverwritingNet run;
  const CapturedLog log;
  Net<double> net(ParseNet(text));
  for (const std::string& line : log.lines()) {
    if (line.find("computes its gradient from its top") != std::string::npos) {
      run.warnings.push_back(line);
    }
  }
  Blob<double>& x = *net.input_blobs()[0];
  for (int i = 0; i < x.count(); ++i) x.mutable_cpu_data()[i] = 7 * std::sin(1.7 * i + 0.3);
  net.Forward();
  Blob<double>& y = *net.output_blobs()[0];
  for (int i = 0; i < y.count(); ++i) y.mutable_cpu_diff()[i] = std::cos(0.9 * i);
  net.Backward();
  run.gradient.assign(x.cpu_diff(), x.cpu_diff() + x.count());
  return run;
}

bool AreAlike(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](double p, double q) {
    return std::abs(p - q) <= 1e-9 * std::max({1., std::abs(p), std::abs(q)});
  });
}

const char* const kOverwritten[] = {
    "type: 'ReLU'",    "type: 'ReLU' relu_param { negative_slope: 0.1 }",
    "type: 'ReLU6'",   "type: 'Sigmoid'",
    "type: 'TanH'",    "type: 'ELU'",
    "type: 'Exp'",     "type: 'Power' power_param { scale: 2 shift: 1 }",
    "type: 'BNLL'",    "type: 'Swish'",
    "type: 'AbsVal'",  "type: 'Clip' clip_param { min: -2 max: 3 }",
    "type: 'Dropout'", "type: 'PReLU'"};

const char* const kOverwriting[] = {"type: 'ReLU'",
                                    "type: 'ReLU' relu_param { negative_slope: 0.1 }",
                                    "type: 'ReLU6'",
                                    "type: 'Sigmoid'",
                                    "type: 'TanH'",
                                    "type: 'ELU'",
                                    "type: 'Power' power_param { scale: 2 shift: 1 }",
                                    "type: 'Power' power_param { scale: 2 }",
                                    "type: 'Power' power_param { scale: -1 }",
                                    "type: 'Power'",
                                    "type: 'AbsVal'",
                                    "type: 'Swish'",
                                    "type: 'Clip' clip_param { min: -2 max: 3 }",
                                    "type: 'Dropout'",
                                    "type: 'Dropout' dropout_param { scale_train: false }",
                                    "type: 'PReLU'",
                                    "type: 'BatchNorm'",
                                    "type: 'Scale' scale_param { filler { value: 0.6 } }",
                                    "type: 'Bias' bias_param { filler { value: 0.4 } }"};

class OverwrittenTops
    : public ::testing::TestWithParam<std::tuple<const char*, const char*, bool>> {};

TEST_P(OverwrittenTops, AreWarnedOfWhereTheGradientIsWrong) {
  const auto& [first, second, first_in_place] = GetParam();
  const OverwritingNet run = RunTwo(first, first_in_place, second, /*second_in_place=*/true);
  const OverwritingNet apart = RunTwo(first, first_in_place, second, /*second_in_place=*/false);
  EXPECT_TRUE(apart.warnings.empty());
  EXPECT_EQ(run.warnings.empty(), AreAlike(run.gradient, apart.gradient));
}

INSTANTIATE_TEST_SUITE_P(, OverwrittenTops,
                         ::testing::Combine(::testing::ValuesIn(kOverwritten),
                                            ::testing::ValuesIn(kOverwriting), ::testing::Bool()));

TEST(OverwrittenTopsWarning, NamesBothLayersAndTheRemedy) {
  const std::vector<std::string> warnings =
      RunTwo("type: 'ReLU'", true, "type: 'Sigmoid'", true).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0],
            "layer 'first' (ReLU) computes its gradient from its top 'x', which layer 'second' "
            "(Sigmoid) overwrites: it is wrong, as in Caffe. Give 'second' a top of its own.");
}

TEST(OverwrittenTopsWarning, IsNotThereWithoutABackwardPass) {
  const CapturedLog log;
  const Net<float> net(ParseNet(R"(state { phase: TRAIN }
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 } } }
      layer { name: "copy" type: "Power" bottom: "data" top: "x" }
      layer { name: "first" type: "ReLU" bottom: "x" top: "x" }
      layer { name: "second" type: "Sigmoid" bottom: "x" top: "x" })"));
  for (const std::string& line : log.lines()) EXPECT_EQ(line.find("overwrites"), std::string::npos);
}

}  // namespace
}  // namespace caffe
