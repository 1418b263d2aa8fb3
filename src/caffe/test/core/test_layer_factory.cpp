// Layers that programs register, under names of their own and under the library's.
#include "caffe/layer_factory.hpp"

#include <gtest/gtest.h>

#include <string>

#include "caffe/core/left_out_types.hpp"
#include "caffe/layers/neuron_layer.hpp"
#include "caffe/operation.hpp"
#include "caffe/test/support/captured_log.hpp"

namespace caffe {
namespace {

const char kFirstInside[] = "ReplacedAfterwards";
const char kFirstOutside[] = "ReplacedBeforehand";
const char kBuiltIn[] = "NeverReplaced";

/// Multiplies by `factor`, which tells one from another.
template <typename Dtype, int factor, const char* name>
class TimesLayer : public NeuronLayer<Dtype> {
 public:
  using NeuronLayer<Dtype>::NeuronLayer;
  const char* type() const override { return name; }
  static shared_ptr<Layer<Dtype>> Make(const LayerParameter& param) {
    return shared_ptr<Layer<Dtype>>(new TimesLayer(param));
  }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    for (int i = 0; i < top[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = factor * bottom[0]->cpu_data()[i];
    }
  }
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}
};

template <int factor, const char* name>
void Register(LayerOrigin origin) {
  LayerRegistry<float>::AddCreator(name, TimesLayer<float, factor, name>::Make, origin);
  LayerRegistry<double>::AddCreator(name, TimesLayer<double, factor, name>::Make, origin);
}

/// What the registry's layer of this type makes of 1.
float Factor(const string& type) {
  LayerParameter param;
  param.set_type(type);
  const shared_ptr<Layer<float>> layer = LayerRegistry<float>::CreateLayer(param);
  Blob<float> bottom(vector<int>{1}), top;
  bottom.mutable_cpu_data()[0] = 1;
  layer->SetUp({&bottom}, {&top});
  layer->Forward({&bottom}, {&top});
  return top.cpu_data()[0];
}

/// Types of the registry, once in a process: 2 is the library's factor, 3 that from outside.
void RegisterAll() {
  static const bool registered = [] {
    Register<2, kFirstInside>(LayerOrigin::BUILT_IN);
    Register<3, kFirstInside>(LayerOrigin::OUTSIDE);
    Register<3, kFirstOutside>(LayerOrigin::OUTSIDE);
    Register<2, kFirstOutside>(LayerOrigin::BUILT_IN);
    Register<2, kBuiltIn>(LayerOrigin::BUILT_IN);
    for (const char* type : {kFirstInside, kFirstOutside, kBuiltIn}) {
      OperationTable::Add(Operation(type).InPlace().CpuOnly("it is a test's"));
    }
    return true;
  }();
  (void)registered;
}

TEST(LayersFromOutside, ReplaceTheLibrarysWhicheverWasRegisteredFirst) {
  RegisterAll();
  EXPECT_EQ(Factor(kFirstInside), 3);
  EXPECT_EQ(Factor(kFirstOutside), 3);
  EXPECT_EQ(Factor(kBuiltIn), 2);
}

TEST(LayersFromOutside, AreSaidOnceToReplaceTheLibrarys) {
  RegisterAll();
  const auto lines = [](const CapturedLog& log) {
    int lines = 0;
    for (const string& line : log.lines()) lines += line.find("registered outside") != string::npos;
    return lines;
  };
  // Another test may have made the first one.
  for (const char* type : {kFirstInside, kFirstOutside}) Factor(type);
  CapturedLog log;
  for (const char* type : {kFirstInside, kFirstOutside, kBuiltIn}) Factor(type);
  EXPECT_EQ(lines(log), 0);
  static const char kNew[] = "ReplacedAndLogged";
  Register<2, kNew>(LayerOrigin::BUILT_IN);
  Register<3, kNew>(LayerOrigin::OUTSIDE);
  LayerParameter param;
  param.set_type(kNew);
  LayerRegistry<float>::CreateLayer(param);
  LayerRegistry<float>::CreateLayer(param);
  LayerRegistry<double>::CreateLayer(param);
  EXPECT_EQ(lines(log), 1);
  EXPECT_TRUE(log.HasPrefix("Layer type ReplacedAndLogged is the one that was registered outside"));
}

TEST(LayersFromOutside, AreNotTakenForTheLibrarys) {
  RegisterAll();
  EXPECT_EQ(OperationTable::Find(kFirstInside), nullptr);
  EXPECT_EQ(OperationTable::Find(kFirstOutside), nullptr);
  EXPECT_NE(OperationTable::Find(kBuiltIn), nullptr);
}

// As old programs do it that change a layer of Caffe's.
TEST(LayersFromOutside, MayTakeALayersPlaceInTheRegistry) {
  RegisterAll();
  auto& creator = LayerRegistry<float>::Registry()["ReLU"];
  const auto own = creator;
  creator = TimesLayer<float, 4, kBuiltIn>::Make;
  const bool is_replaced = LayerRegistry<float>::IsReplaced("ReLU");
  const Operation* row = OperationTable::Find("ReLU");
  creator = own;
  EXPECT_TRUE(is_replaced);
  EXPECT_EQ(row, nullptr);
  EXPECT_FALSE(LayerRegistry<float>::IsReplaced("ReLU"));
}

TEST(LayersFromOutside, AreOfTheirOwnTypeWhateverTheyTellTheirBase) {
  struct Other : public TimesLayer<float, 4, kBuiltIn> {
    using TimesLayer::TimesLayer;
  };
  LayerRegistry<float>::AddCreator("InDisguise", [](const LayerParameter& param) {
    LayerParameter other = param;
    other.set_type(kBuiltIn);
    return shared_ptr<Layer<float>>(new Other(other));
  });
  LayerParameter param;
  param.set_type("InDisguise");
  EXPECT_EQ(LayerRegistry<float>::CreateLayer(param)->layer_param().type(), "InDisguise");
}

TEST(LayersFromOutside, AreAnErrorTwiceAndUnderANameOfCaffes) {
  RegisterAll();
  const auto add = [](const char* type, LayerOrigin origin) {
    LayerRegistry<float>::AddCreator(type, TimesLayer<float, 4, kBuiltIn>::Make, origin);
  };
  EXPECT_DEATH(add(kFirstInside, LayerOrigin::OUTSIDE), "ReplacedAfterwards already registered");
  EXPECT_DEATH(add(kFirstInside, LayerOrigin::BUILT_IN), "ReplacedAfterwards already registered");
  EXPECT_DEATH(add("Convolution", LayerOrigin::OUTSIDE),
               "Convolution already registered: it is one of Caffe's own.*another name");
}

TEST(LeftOutTypes, AreNotRegistered) {
  for (const char* type : kLeftOutTypes) {
    EXPECT_EQ(LayerRegistry<float>::Registry().count(type), 0) << type;
  }
}

}  // namespace
}  // namespace caffe
