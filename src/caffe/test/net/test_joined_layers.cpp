// Layers that a net in the TEST phase computes as one: their blobs and outputs are those of layers
// that run one by one.
#include <gtest/gtest.h>

#include <cmath>

#include "caffe/net.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

/// Inverted residuals with batch normalization, with a residual, with a stride.
std::string JoinableNet() {
  const auto convolution = [](const char* name, const char* bottom, const char* parameters) {
    return std::string("layer { name: '") + name + "' type: 'Convolution' bottom: '" + bottom +
           "' top: '" + name + "' convolution_param { " + parameters +
           " weight_filler { type: 'msra' } bias_filler { type: 'uniform' } } }";
  };
  const auto behind = [](const char* blob) {
    const auto layer = [&](const char* type, const char* more) {
      return std::string("layer { name: '") + blob + "/" + type + "' type: '" + type +
             "' bottom: '" + blob + "' top: '" + blob + "' " + more + " }";
    };
    return layer("BatchNorm", "") +
           layer("Scale",
                 "scale_param { bias_term: true filler { type: 'uniform' min: 0.5 max: 2 } "
                 "bias_filler { type: 'uniform' } }") +
           layer("ReLU6", "");
  };
  return "layer { name: 'data' type: 'Input' top: 'data' "
         "input_param { shape { dim: 2 dim: 3 dim: 21 dim: 18 } } }" +
         convolution("first", "data", "num_output: 16 kernel_size: 3 stride: 2") +
         convolution("expand", "first", "num_output: 64 kernel_size: 1") + behind("expand") +
         convolution("dw", "expand", "num_output: 64 group: 64 kernel_size: 3 pad: 1") +
         behind("dw") + convolution("linear", "dw", "num_output: 16 kernel_size: 1") +
         "layer { name: 'sum' type: 'Eltwise' bottom: 'linear' bottom: 'first' top: 'sum' }" +
         convolution("expand2", "sum", "num_output: 48 kernel_size: 1") + behind("expand2") +
         convolution("dw2", "expand2", "num_output: 48 group: 48 kernel_size: 5 pad: 2 stride: 2") +
         convolution("out", "dw2", "num_output: 24 kernel_size: 1");
}

struct NetPair {
  explicit NetPair(const std::string& text) : joined(TestNet(text)), apart(TestNet(text)) {
    // Statistics that are none would let BatchNorm divide by 0.
    for (const auto& layer : joined->layers()) {
      if (std::string(layer->type()) != "BatchNorm") continue;
      std::fill_n(layer->blobs()[1]->mutable_cpu_data(), layer->blobs()[1]->count(), 1.5f);
      layer->blobs()[2]->mutable_cpu_data()[0] = 1;
    }
    NetParameter weights;
    joined->ToProto(&weights);
    joined->CopyTrainedLayersFrom(weights);
    apart->CopyTrainedLayersFrom(weights);
    apart->set_share_activations(false);  // all blobs are kept, so that no layers are joined
    Fill();
  }
  static std::unique_ptr<Net<float>> TestNet(const std::string& text) {
    Caffe::set_random_seed(TestSeed());
    NetParameter param = ParseNet(text);
    param.mutable_state()->set_phase(TEST);
    return std::make_unique<Net<float>>(param);
  }
  void Fill() {
    for (const auto& net : {joined.get(), apart.get()}) {
      Blob<float>& data = *net->input_blobs()[0];
      for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(0.3f * i + seed);
    }
  }
  void ExpectSameOutput() {
    joined->Forward();
    apart->Forward();
    ExpectSameValues(*joined->output_blobs()[0], *apart->output_blobs()[0]);
  }
  static void ExpectSameValues(const Blob<float>& a, const Blob<float>& b) {
    ASSERT_EQ(a.shape(), b.shape());
    float largest = 0.1f;
    for (int i = 0; i < b.count(); ++i) largest = std::max(largest, std::fabs(b.cpu_data()[i]));
    for (int i = 0; i < b.count(); ++i) {
      ASSERT_NEAR(a.cpu_data()[i], b.cpu_data()[i], 1e-5f * largest) << i;
    }
  }

  std::unique_ptr<Net<float>> joined, apart;
  float seed = 0;
};

TEST(JoinedLayers, GiveTheNetsOutput) {
  NetPair nets(JoinableNet());
  for (int pass = 0; pass < 3; ++pass) {
    nets.seed = pass;
    nets.Fill();
    nets.ExpectSameOutput();
  }
}

TEST(JoinedLayers, AreComputedOneByOneWhereABlobBetweenIsAskedFor) {
  NetPair nets(JoinableNet());
  nets.ExpectSameOutput();
  for (const char* const blob : {"dw", "expand", "linear", "expand2", "dw2", "sum"}) {
    SCOPED_TRACE(blob);
    NetPair::ExpectSameValues(*nets.joined->blob_by_name(blob), *nets.apart->blob_by_name(blob));
  }
  nets.seed = 5;
  nets.Fill();
  nets.ExpectSameOutput();
  NetPair::ExpectSameValues(*nets.joined->blob_by_name("dw"), *nets.apart->blob_by_name("dw"));
}

TEST(JoinedLayers, FollowParametersAndShapes) {
  NetPair nets(JoinableNet());
  nets.ExpectSameOutput();
  for (const char* const layer : {"expand", "dw", "linear", "dw/Scale", "expand2/BatchNorm"}) {
    SCOPED_TRACE(layer);
    for (const auto& net : {nets.joined.get(), nets.apart.get()}) {
      Blob<float>& blob = *net->layer_by_name(layer)->blobs()[0];
      for (int i = 0; i < blob.count(); ++i) blob.mutable_cpu_data()[i] *= 1.25f;
    }
    nets.ExpectSameOutput();
  }
  for (const auto& shape : {vector<int>{1, 3, 32, 40}, vector<int>{3, 3, 9, 7}}) {
    for (const auto& net : {nets.joined.get(), nets.apart.get()}) {
      net->input_blobs()[0]->Reshape(shape);
      net->Reshape();
    }
    nets.Fill();
    nets.ExpectSameOutput();
  }
}

TEST(JoinedLayers, LeaveBlobsThatOthersRead) {
  NetPair nets(JoinableNet() +
               "layer { name: 'also' type: 'Pooling' bottom: 'dw' top: 'also' "
               "pooling_param { kernel_size: 2 } }");
  nets.joined->Forward();
  nets.apart->Forward();
  for (const char* const blob : {"also", "out"}) {
    NetPair::ExpectSameValues(*nets.joined->blob_by_name(blob), *nets.apart->blob_by_name(blob));
  }
}

TEST(JoinedLayers, AddTheLossOfTheirTops) {
  std::string text = JoinableNet();
  const std::string last = "top: 'out'";
  text.replace(text.find(last), last.size(), last + " loss_weight: 2");
  NetPair nets(text);
  float joined = 0, apart = 0;
  nets.joined->Forward(&joined);
  nets.apart->Forward(&apart);
  EXPECT_NE(apart, 0);
  EXPECT_NEAR(joined, apart, 1e-4f * std::fabs(apart));
}

TEST(JoinedLayers, StayApartInPartsOfAPass) {
  NetPair nets(JoinableNet());
  const int layers = static_cast<int>(nets.joined->layers().size());
  for (const auto& net : {nets.joined.get(), nets.apart.get()}) net->ForwardTo(layers - 2);
  NetPair::ExpectSameValues(*nets.joined->blob_by_name("dw2"), *nets.apart->blob_by_name("dw2"));
}

}  // namespace
}  // namespace caffe
