#include "caffe/layers/python_layer.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "caffe/layers/neuron_layer.hpp"
#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

const char kPythonLayer[] = "type: 'Python' python_param { module: 'pyloss' layer: 'MyLayer' }";

string PythonSetUpError() {
  return ErrorOf([] {
    Example example(kPythonLayer);
    example.Bottom({1}, {1}).SetUp();
  });
}

/// A build with Python has a plugin next to its library.
class PythonLayerWithoutPlugin : public ::testing::Test {
 protected:
  void SetUp() override { setenv("CAFFE_PYTHON_PLUGIN", "/no/plugin.so", 1); }
  void TearDown() override { unsetenv("CAFFE_PYTHON_PLUGIN"); }
};

TEST_F(PythonLayerWithoutPlugin, SaysThatItNeedsThePackage) {
  const string error = PythonSetUpError();
  ExpectContains(error, "module 'pyloss', layer 'MyLayer'");
  ExpectContains(error, "import caffe");
  ExpectContains(error, "CAFFE_PYTHON_PLUGIN");
}

// Faster R-CNN's nets name a Python layer that the library has in C++.
TEST_F(PythonLayerWithoutPlugin, NamesTheTwinInCpp) {
  Example example(
      "type: 'Python' python_param { module: 'rpn.proposal_layer' layer: "
      "'ProposalLayer' }");
  ExpectContains(ErrorOf([&] { example.Bottom({1}, {0}).SetUp(); }), "type: 'Proposal'");
}

TEST_F(PythonLayerWithoutPlugin, SaysWhyAPluginCannotBeLoaded) {
  ExpectContains(PythonSetUpError(), "/no/plugin.so");
  const string text = NewFile("no library");
  setenv("CAFFE_PYTHON_PLUGIN", text.c_str(), 1);
  ExpectContains(PythonSetUpError(), text);
}

TEST(PythonLayer, SaysThatItNeedsAClass) {
  const string error = ErrorOf([] {
    Example example("type: 'Python' python_param { module: 'pyloss' }");
    example.Bottom({1}, {1}).SetUp();
  });
  ExpectContains(error, "python_param: module and layer");
}

template <typename Dtype>
class PlusOneLayer : public NeuronLayer<Dtype> {
 public:
  using NeuronLayer<Dtype>::NeuronLayer;
  const char* type() const override { return "Python"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    for (int i = 0; i < bottom[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = bottom[0]->cpu_data()[i] + 1;
    }
  }
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}
};

TEST_F(PythonLayerWithoutPlugin, IsMadeByWhoeverSaysSo) {
  SetPythonLayerFactory<float>([](const LayerParameter& param) -> shared_ptr<Layer<float>> {
    EXPECT_EQ(param.python_param().layer(), "MyLayer");
    return shared_ptr<Layer<float>>(new PlusOneLayer<float>(param));
  });
  Example example(kPythonLayer);
  EXPECT_EQ(example.Bottom({2}, {1, -3}).SetUp().Forward(), (Floats{2, -2}));
  SetPythonLayerFactory<float>(nullptr);
  EXPECT_NE(PythonSetUpError(), "");
}

}  // namespace
}  // namespace caffe
