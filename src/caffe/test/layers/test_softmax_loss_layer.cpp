#include "caffe/layers/softmax_loss_layer.hpp"

#include <google/protobuf/text_format.h>

#include <cmath>

#include "caffe/layers/infogain_loss_layer.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kSoftmaxLossCases = {
    LayerCase("Plain", "type: 'SoftmaxWithLoss'").Bottom({4, 5}).Labels({4}, 5),
    LayerCase("Spatial", "type: 'SoftmaxWithLoss' loss_param { normalization: FULL }")
        .Bottom({2, 3, 2, 2})
        .Labels({2, 1, 2, 2}, 3),
    LayerCase("Ignored", "type: 'SoftmaxWithLoss' loss_param { ignore_label: 1 }")
        .Bottom({6, 3})
        .Labels({6}, 3),
    LayerCase("BatchSize", "type: 'SoftmaxWithLoss' loss_param { normalize: false }")
        .Bottom({2, 3, 4})
        .Labels({2, 4}, 3),
    LayerCase("Sum", "type: 'SoftmaxWithLoss' loss_param { normalization: NONE }")
        .Bottom({3, 4})
        .Labels({3}, 4),
    LayerCase("Smoothed", "type: 'SoftmaxWithLoss' loss_param { label_smoothing: 0.25 }")
        .Bottom({3, 4})
        .Labels({3}, 4),
};
INSTANTIATE_TEST_SUITE_P(SoftmaxWithLoss, LayerCases, ::testing::ValuesIn(kSoftmaxLossCases),
                         CaseName());

const std::vector<BadLayerCase> kSoftmaxLossBadCases = {
    BadLayerCase("Label", "type: 'SoftmaxWithLoss'")
        .Bottom({4, 2})
        .Labels({4}, 1000)
        .InForward()
        .Says("label number [0-9]+ is [0-9]+: with 2 classes valid are 0 to 1"),
    BadLayerCase("Labels", "type: 'SoftmaxWithLoss'")
        .Bottom({4, 2, 3})
        .Labels({4}, 2)
        .Says("one label for each of the 12 predictions"),
    BadLayerCase("Numbers", "type: 'SoftmaxWithLoss'")
        .Bottom({4, 2})
        .Labels({3}, 2)
        .Says("differ in number"),
    BadLayerCase("Smoothing", "type: 'SoftmaxWithLoss' loss_param { label_smoothing: 1 }")
        .Bottom({4, 2})
        .Labels({4}, 2)
        .Says("label_smoothing"),
};
INSTANTIATE_TEST_SUITE_P(SoftmaxWithLoss, BadLayerCases, ::testing::ValuesIn(kSoftmaxLossBadCases),
                         CaseName());

/// A user's loss on top of one of the library's, with a gradient of its own.
template <template <typename> class Base>
class Derived : public Base<float> {
 public:
  using Base<float>::Base;
  const Blob<float>& probabilities() const { return this->prob_; }

 protected:
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {}
};

template <template <typename> class Base>
void ExpectProbabilities(const std::string& fields) {
  Blob<float> scores(std::vector<int>{1, 2}), labels(std::vector<int>{1}), loss;
  scores.mutable_cpu_data()[1] = std::log(3.f);
  const std::vector<Blob<float>*> bottom = {&scores, &labels}, top = {&loss};
  LayerParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(fields, &param));
  Derived<Base> layer(param);
  layer.SetUp(bottom, top);
  layer.Forward(bottom, top);
  EXPECT_NEAR(layer.probabilities().cpu_data()[0], 0.25, 1e-6);
  EXPECT_NEAR(layer.probabilities().cpu_data()[1], 0.75, 1e-6);
}

TEST(SoftmaxWithLoss, ForwardOfADerivedLayerLeavesTheProbabilities) {
  ExpectProbabilities<SoftmaxWithLossLayer>("type: 'Derived'");
  BlobProto matrix;
  matrix.mutable_shape()->add_dim(2);
  matrix.mutable_shape()->add_dim(2);
  for (const float h : {1.f, 0.f, 0.f, 1.f}) matrix.add_data(h);
  const std::string file = NewFileName();
  WriteProtoToBinaryFile(matrix, file);
  ExpectProbabilities<InfogainLossLayer>("type: 'Derived' infogain_loss_param { source: '" + file +
                                         "' }");
}

}  // namespace
}  // namespace caffe
