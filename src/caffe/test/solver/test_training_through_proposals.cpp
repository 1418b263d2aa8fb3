// Nets whose regions, labels and masks come out of layers with parameters, so that solvers ask for
// gradients that there are not: Faster R-CNN and R-FCN end to end, nets that undo their poolings.
#include <gtest/gtest.h>

#include <cmath>

#include "caffe/layer.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

/// Stands for the layers that propose regions and their targets, most often in Python: what it
/// makes does not depend on its bottom, whose gradient it does not touch. Tops: 3 regions, labels,
/// targets of boxes (3, 4), two weights of them.
template <typename Dtype>
class TestProposalLayer : public Layer<Dtype> {
 public:
  explicit TestProposalLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) override {
    top[0]->Reshape({3, 5});
    top[1]->Reshape({3, 1, 1, 1});
    for (int i = 2; i < 5; ++i) top[i]->Reshape({3, 4, 1, 1});
  }
  const char* type() const override { return "TestProposal"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) override {
    SetValues(top[0], {0, 0, 0, 5, 5, 0, 1, 2, 4, 4, 0, 3, 0, 5, 3});
    SetValues(top[1], {1, 0, 2});
    SetValues(top[2], {.5, -1, .25, 2, 0, 0, 0, 0, 1, -.5, 3, .125});
    SetValues(top[3], {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1});
    SetValues(top[4], {.5, .5, .5, .5, 0, 0, 0, 0, .25, .25, .25, .25});
  }
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}
};
REGISTER_LAYER_CLASS(TestProposal);

string Convolution(const string& bottom, const string& top, int outputs, int kernel) {
  return Join("layer { name: '", top, "' type: 'Convolution' bottom: '", bottom, "' top: '", top,
              "' convolution_param { num_output: ", outputs, " kernel_size: ", kernel,
              " pad: ", kernel / 2, " weight_filler { type: 'gaussian' std: 0.5 } } } ");
}

const char kData[] =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 dim: 6 "
    "dim: "
    "6 } } } ";

/// Features, regions that are proposed from them, and their targets.
string Proposals() {
  return kData + Convolution("data", "conv", 18, 3) + Convolution("conv", "rpn", 4, 1) +
         "layer { name: 'proposal' type: 'TestProposal' bottom: 'rpn' top: 'rois' top: 'labels' "
         "top: 'targets' top: 'inside' top: 'outside' } ";
}

/// Faster R-CNN's two heads on regions that `pooling` cuts out.
string FasterRcnn(const string& pooling) {
  const auto head = [](const string& name, int outputs) {
    return Join("layer { name: '", name, "' type: 'InnerProduct' bottom: 'pool' top: '", name,
                "' inner_product_param { num_output: ", outputs,
                " weight_filler { type: 'gaussian' std: 0.5 } } } ");
  };
  return Proposals() + "layer { name: 'pool' bottom: 'conv' bottom: 'rois' top: 'pool' " + pooling +
         " } " + head("scores", 3) + head("boxes", 4) +
         "layer { name: 'flat' type: 'Flatten' bottom: 'targets' top: 'flat_targets' }"
         "layer { name: 'flat_in' type: 'Flatten' bottom: 'inside' top: 'flat_inside' }"
         "layer { name: 'flat_out' type: 'Flatten' bottom: 'outside' top: 'flat_outside' }"
         "layer { name: 'loss_cls' type: 'SoftmaxWithLoss' bottom: 'scores' bottom: 'labels' top: "
         "'loss_cls' propagate_down: true propagate_down: false }"
         "layer { name: 'loss_bbox' type: 'SmoothL1Loss' bottom: 'boxes' bottom: 'flat_targets' "
         "bottom: 'flat_inside' bottom: 'flat_outside' top: 'loss_bbox' }";
}

/// R-FCN's heads: votes of positions, losses of the hardest regions.
string Rfcn() {
  const auto vote = [](const string& name, int outputs) {
    return Convolution("conv", name + "_map", 9 * outputs, 1) +
           Join("layer { name: '", name, "_bins' type: 'PSROIPooling' bottom: '", name,
                "_map' bottom: 'rois' top: '", name,
                "_bins' psroi_pooling_param { output_dim: ", outputs,
                " group_size: 3 spatial_scale: 1 } } layer { name: '", name,
                "' type: 'Pooling' bottom: '", name, "_bins' top: '", name,
                "' pooling_param { pool: AVE kernel_size: 3 stride: 3 } } ");
  };
  return Proposals() + vote("scores", 3) + vote("boxes", 4) +
         "layer { name: 'each_cls' type: 'SoftmaxWithLossOHEM' bottom: 'scores' bottom: 'labels' "
         "top: 'temp_cls' top: 'prob' top: 'each_cls' loss_weight: 0 loss_weight: 0 loss_weight: 0 "
         "propagate_down: false propagate_down: false }"
         "layer { name: 'each_box' type: 'SmoothL1LossOHEM' bottom: 'boxes' bottom: 'targets' "
         "bottom: 'inside' top: 'temp_box' top: 'each_box' loss_weight: 0 loss_weight: 0 "
         "propagate_down: false propagate_down: false propagate_down: false }"
         "layer { name: 'each' type: 'Eltwise' bottom: 'each_cls' bottom: 'each_box' top: 'each' "
         "propagate_down: false propagate_down: false }"
         "layer { name: 'annotator' type: 'BoxAnnotatorOHEM' bottom: 'rois' bottom: 'each' bottom: "
         "'labels' bottom: 'inside' top: 'hard_labels' top: 'hard_weights' propagate_down: false "
         "propagate_down: false propagate_down: false propagate_down: false "
         "box_annotator_ohem_param { roi_per_img: 2 ignore_label: -1 } }"
         "layer { name: 'loss_cls' type: 'SoftmaxWithLoss' bottom: 'scores' bottom: 'hard_labels' "
         "top: 'loss_cls' loss_param { ignore_label: -1 } propagate_down: true propagate_down: "
         "false }"
         "layer { name: 'loss_box' type: 'SmoothL1LossOHEM' bottom: 'boxes' bottom: 'targets' "
         "bottom: 'hard_weights' top: 'loss_box' }";
}

/// DeconvNet's and SegNet's way up: a mask that a pooling of learned features left.
string Unpooled(const string& unpooling) {
  return kData + Convolution("data", "conv", 4, 3) +
         "layer { name: 'down' type: 'Pooling' bottom: 'conv' top: 'down' top: 'mask' "
         "pooling_param "
         "{ kernel_size: 2 stride: 2 } }" +
         Convolution("down", "middle", 4, 1) +
         "layer { name: 'up' bottom: 'middle' bottom: 'mask' top: 'up' " + unpooling + " }" +
         "layer { name: 'loss' type: 'Reduction' bottom: 'up' top: 'loss' loss_weight: 1 "
         "reduction_param { operation: SUMSQ } }";
}

/// Fills the input, and computes the loss and the parameters' gradients.
double Pass(Net<double>* net) {
  net->ClearParamDiffs();
  return net->ForwardBackward();
}

std::unique_ptr<Net<double>> MakeProposalNet(const string& text) {
  Caffe::set_random_seed(TestSeed());
  auto net = MakeNet<double>(text, TRAIN);
  Blob<double>& data = *net->input_blobs()[0];
  for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(1 + 1.7 * i);
  return net;
}

const std::pair<const char*, string> kNets[] = {
    {"ROIPooling",
     FasterRcnn(
         "type: 'ROIPooling' roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 1 }")},
    {"ROIAlign",
     FasterRcnn("type: 'ROIAlign' roi_align_param { pooled_h: 2 pooled_w: 2 spatial_scale: 1 }")},
    {"PSROIPooling",
     FasterRcnn("type: 'PSROIPooling' psroi_pooling_param { output_dim: 2 group_size: 3 "
                "spatial_scale: 1 }")},
    {"Rfcn", Rfcn()},
    {"Unpooling", Unpooled("type: 'Unpooling' pooling_param { kernel_size: 2 stride: 2 }")},
    {"Upsample", Unpooled("type: 'Upsample' upsample_param { scale: 2 }")},
};

TEST(TrainingThroughProposals, HasTheGradientsOfWhatDependsOnParameters) {
  for (const auto& [name, text] : kNets) {
    SCOPED_TRACE(name);
    const auto net = MakeProposalNet(text);
    Pass(net.get());
    for (size_t k = 0; k < net->learnable_params().size(); ++k) {
      Blob<double>& param = *net->learnable_params()[k];
      const std::vector<double> gradient = Gradients(param);
      for (int i = 0; i < param.count(); i += 1 + param.count() / 7) {
        const double old = param.cpu_data()[i], step = 1e-6;
        double loss[2];
        for (int side = 0; side < 2; ++side) {
          param.mutable_cpu_data()[i] = old + (side ? step : -step);
          net->Forward(&loss[side]);
        }
        param.mutable_cpu_data()[i] = old;
        EXPECT_NEAR(gradient[i], (loss[1] - loss[0]) / (2 * step), 1e-5)
            << net->param_display_names()[k] << " " << k << ", element " << i;
      }
    }
  }
}

TEST(TrainingThroughProposals, Learns) {
  for (const auto& [name, text] : kNets) {
    SCOPED_TRACE(name);
    const auto net = MakeProposalNet(text);
    const double before = Pass(net.get());
    for (int step = 0; step < 200; ++step) {
      for (Blob<double>* param : net->learnable_params()) param->scale_diff(0.005);
      net->Update();
      Pass(net.get());
    }
    EXPECT_LT(Pass(net.get()), 0.9 * before);
  }
}

// Regions' gradients are asked for (force_backward does not do so), and stay what they were.
TEST(TrainingThroughProposals, LeavesGradientsOfRegionsAlone) {
  for (const auto& [name, text] : kNets) {
    SCOPED_TRACE(name);
    const auto net = MakeProposalNet(text);
    net->Forward();
    const char* const untouched[] = {"rois", "mask", "flat_inside", "flat_outside"};
    for (size_t i = 0; i < net->layers().size(); ++i) {
      const string type = net->layers()[i]->type();
      if (type.find("ROI") == string::npos && type.find("Upsample") != 0 &&
          type.find("Unpooling") != 0 && type.find("SmoothL1") != 0) {
        continue;
      }
      for (size_t j = 1; j < net->bottom_vecs()[i].size(); ++j) {
        Blob<double>& bottom = *net->bottom_vecs()[i][j];
        const string& blob = net->blob_names()[net->bottom_ids(i)[j]];
        const bool has_none = std::any_of(std::begin(untouched), std::end(untouched),
                                          [&](const char* other) { return blob.find(other) == 0; });
        if (!has_none) continue;
        EXPECT_TRUE(net->bottom_need_backward()[i][j]) << blob << ": is nothing asked?";
        std::fill_n(bottom.mutable_cpu_diff(), bottom.count(), 7.);
        net->BackwardFrom(i);
        EXPECT_EQ(Gradients(bottom), std::vector<double>(bottom.count(), 7.)) << blob;
      }
    }
  }
}

}  // namespace
}  // namespace caffe
