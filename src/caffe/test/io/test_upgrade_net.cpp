#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

NetParameter Parse(const std::string& text) {
  NetParameter net;
  ParseProtoText(text, "test", &net);
  return net;
}

/// The net that `text` describes, upgraded in all ways that it needs.
NetParameter Upgraded(const std::string& text) {
  NetParameter net = Parse(text);
  EXPECT_TRUE(UpgradeNetAsNeeded("test", &net));
  EXPECT_FALSE(NetNeedsV0ToV1Upgrade(net) || NetNeedsV1ToV2Upgrade(net) ||
               NetNeedsDataUpgrade(net) || NetNeedsInputUpgrade(net));
  return net;
}

void ExpectNet(const std::string& expected, const NetParameter& net) {
  EXPECT_EQ(Parse(expected).DebugString(), net.DebugString());
}

std::string UpgradeError(const std::string& text) {
  try {
    NetParameter net = Parse(text);
    UpgradeNetAsNeeded("test", &net);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(UpgradeNet, LeavesACurrentNetAlone) {
  const char* text = "name: 'a' layer { name: 'b' type: 'ReLU' bottom: 'x' top: 'x' }";
  EXPECT_FALSE(NetNeedsUpgrade(Parse(text)));
  ExpectNet(text, Upgraded(text));
}

TEST(UpgradeNet, TakesDeepLabsHolesForDilations) {
  ExpectNet(R"(
    layer { name: 'a' type: 'Convolution' convolution_param { dilation: 2 } }
    layer { name: 'b' type: 'Convolution' convolution_param { dilation: 1 dilation: 4 } })",
            Upgraded(R"(
    layer { name: 'a' type: 'Convolution' convolution_param { hole: 2 } }
    layer { name: 'b' type: 'Convolution' convolution_param { hole_w: 4 } })"));
  ExpectContains(UpgradeError("layer { name: 'a' convolution_param { hole: 2 dilation: 2 } }"),
                 "layer 'a': convolution_param has several of dilation");
}

TEST(UpgradeV1, KnowsDeepLabsTypes) {
  ExpectNet(R"(
    layer { name: 'data' type: 'ImageSegData' image_data_param { label_type: NONE } }
    layer { name: 'fc' type: 'Convolution' convolution_param { num_output: 4 dilation: 12 } }
    layer { name: 'up' type: 'Interp' interp_param { zoom_factor: 8 } }
    layer { name: 'iou' type: 'SegAccuracy' seg_accuracy_param { ignore_label: 255 } })",
            Upgraded(R"(
    layers { name: 'data' type: IMAGE_SEG_DATA image_data_param { label_type: NONE } }
    layers { name: 'fc' type: CONVOLUTION convolution_param { num_output: 4 hole: 12 } }
    layers { name: 'up' type: INTERP interp_param { zoom_factor: 8 } }
    layers { name: 'iou' type: SEG_ACCURACY seg_accuracy_param { ignore_label: 255 } })"));
}

TEST(UpgradeV0, MovesFlatParametersToMessages) {
  ExpectNet(R"(
    name: 'v0' force_backward: true
    layer { name: 'data' type: 'Data' top: 'data' top: 'label'
            data_param { source: 'train' batch_size: 64 rand_skip: 3 }
            transform_param { scale: 0.5 mean_file: 'mean' crop_size: 24 mirror: true } }
    layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
            param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
            convolution_param { num_output: 20 bias_term: false kernel_size: 5 group: 2 stride: 3
                                weight_filler { type: 'xavier' } bias_filler { value: 1 } } }
    layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool'
            pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
    layer { name: 'norm' type: 'LRN' bottom: 'pool' top: 'norm'
            lrn_param { local_size: 3 alpha: 0.1 beta: 0.5 } }
    layer { name: 'drop' type: 'Dropout' bottom: 'norm' top: 'norm'
            dropout_param { dropout_ratio: 0.25 } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'norm' top: 'ip'
            inner_product_param { num_output: 10 } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' })",
            Upgraded(R"(
    name: 'v0' force_backward: true
    layers { layer { name: 'data' type: 'data' source: 'train' batchsize: 64 rand_skip: 3 scale: 0.5
                     meanfile: 'mean' cropsize: 24 mirror: true } top: 'data' top: 'label' }
    layers { layer { name: 'conv' type: 'conv' num_output: 20 biasterm: false kernelsize: 5 group: 2
                     stride: 3 weight_filler { type: 'xavier' } bias_filler { value: 1 }
                     blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0 }
             bottom: 'data' top: 'conv' }
    layers { layer { name: 'pool' type: 'pool' pool: AVE kernelsize: 2 stride: 2 }
             bottom: 'conv' top: 'pool' }
    layers { layer { name: 'norm' type: 'lrn' local_size: 3 alpha: 0.1 beta: 0.5 }
             bottom: 'pool' top: 'norm' }
    layers { layer { name: 'drop' type: 'dropout' dropout_ratio: 0.25 } bottom: 'norm' top: 'norm' }
    layers { layer { name: 'ip' type: 'innerproduct' num_output: 10 } bottom: 'norm' top: 'ip' }
    layers { layer { name: 'loss' type: 'softmax_loss' } bottom: 'ip' bottom: 'label' })"));
}

TEST(UpgradeV0, MovesSourcesOfEveryDataLayer) {
  ExpectNet(R"(
    layer { name: 'i' type: 'ImageData'
            image_data_param { source: 'a' batch_size: 2 shuffle: true new_height: 5 new_width: 6 } }
    layer { name: 'w' type: 'WindowData'
            window_data_param { source: 'b' batch_size: 2 fg_threshold: 0.6 bg_threshold: 0.4
                                fg_fraction: 0.3 context_pad: 16 crop_mode: 'square' } }
    layer { name: 'h' type: 'HDF5Data' hdf5_data_param { source: 'c' batch_size: 2 } }
    layer { name: 'o' type: 'HDF5Output' hdf5_output_param { file_name: 'd' } }
    layer { name: 'g' type: 'InfogainLoss' infogain_loss_param { source: 'e' } }
    layer { name: 'c' type: 'Concat' concat_param { concat_dim: 0 } })",
            Upgraded(R"(
    layers { layer { name: 'i' type: 'images' source: 'a' batchsize: 2 shuffle_images: true
                     new_height: 5 new_width: 6 } }
    layers { layer { name: 'w' type: 'window_data' source: 'b' batchsize: 2 det_fg_threshold: 0.6
                     det_bg_threshold: 0.4 det_fg_fraction: 0.3 det_context_pad: 16
                     det_crop_mode: 'square' } }
    layers { layer { name: 'h' type: 'hdf5_data' source: 'c' batchsize: 2 } }
    layers { layer { name: 'o' type: 'hdf5_output' hdf5_output_param { file_name: 'd' } } }
    layers { layer { name: 'g' type: 'infogain_loss' source: 'e' } }
    layers { layer { name: 'c' type: 'concat' concat_dim: 0 } })"));
}

TEST(UpgradeV0, TurnsPaddingLayersIntoPad) {
  ExpectNet(R"(
    layer { name: 'conv1' type: 'Convolution' bottom: 'data' top: 'conv1'
            convolution_param { pad: 2 kernel_size: 5 } }
    layer { name: 'pool1' type: 'Pooling' bottom: 'conv1' top: 'pool1'
            pooling_param { pad: 1 kernel_size: 3 } })",
            Upgraded(R"(
    layers { layer { name: 'pad1' type: 'padding' pad: 2 } bottom: 'data' top: 'pad1' }
    layers { layer { name: 'conv1' type: 'conv' kernelsize: 5 } bottom: 'pad1' top: 'conv1' }
    layers { layer { name: 'pad2' type: 'padding' pad: 1 } bottom: 'conv1' top: 'pad2' }
    layers { layer { name: 'pool1' type: 'pool' kernelsize: 3 } bottom: 'pad2' top: 'pool1' })"));
}

TEST(UpgradeV0, RejectsPaddingBeforeOtherLayers) {
  EXPECT_NE(UpgradeError("layers { layer { type: 'padding' pad: 2 } bottom: 'a' top: 'p' }"
                         "layers { layer { name: 'r' type: 'relu' } bottom: 'p' top: 'r' }")
                .find("test: layer 'r' (relu)"),
            std::string::npos);
}

TEST(UpgradeV0, RejectsATypeThatV0DidNotHave) {
  EXPECT_NE(UpgradeError("layers { layer { type: 'frob' } }").find("'frob'"), std::string::npos);
}

TEST(UpgradeV0, ReportsAParameterThatTheTypeDoesNotHave) {
  NetParameter net = Parse("layers { layer { name: 'r' type: 'relu' num_output: 3 } }");
  EXPECT_FALSE(UpgradeNetAsNeeded("test", &net));
  EXPECT_EQ("ReLU", net.layer(0).type());
}

TEST(UpgradeV1, GathersParameterSettings) {
  ExpectNet(R"(
    layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'b' loss_weight: 2
            include { phase: TRAIN } exclude { stage: 's' }
            param { name: 'w' share_mode: PERMISSIVE lr_mult: 1 decay_mult: 1 }
            param { name: 'b' lr_mult: 2 }
            blobs { data: 7 }
            convolution_param { num_output: 3 kernel_size: 2 } transform_param { scale: 2 } })",
            Upgraded(R"(
    layers { name: 'c' type: CONVOLUTION bottom: 'a' top: 'b' loss_weight: 2
             include { phase: TRAIN } exclude { stage: 's' }
             param: 'w' param: 'b' blob_share_mode: PERMISSIVE blobs_lr: 1 blobs_lr: 2
             weight_decay: 1 blobs { data: 7 }
             convolution_param { num_output: 3 kernel_size: 2 } transform_param { scale: 2 } })"));
}

// FCN's forks gave Crop a number that BVLC Caffe's enum leaves out.
TEST(UpgradeV1, KnowsTheCropOfFullyConvolutionalNets) {
  ExpectNet(
      "layer { name: 'crop' type: 'Crop' bottom: 'score' bottom: 'data' top: 'out' }",
      Upgraded("layers { type: CROP name: 'crop' bottom: 'score' bottom: 'data' top: 'out' }"));
  NetParameter net;
  ASSERT_TRUE(net.ParseFromString(std::string("\x12\x02\x28\x28", 4)));
  EXPECT_EQ(net.layers(0).type(), V1LayerParameter::CROP);
}

// FCN-32s has offset 19; its images are framed by 100 pixels.
TEST(UpgradeV1, FindsWhereToCrop) {
  const auto net_of = [](const std::string& tail, int upscale) {
    return Join(
        "input: 'data' input_dim: 1 input_dim: 3 input_dim: 64 input_dim: 64 "
        "layers { type: CONVOLUTION name: 'c1' bottom: 'data' top: 'c1' convolution_param { "
        "num_output: 1 kernel_size: 3 pad: 100 } } "
        "layers { type: RELU name: 'r' bottom: 'c1' top: 'c1' } "
        "layers { type: POOLING name: 'p1' bottom: 'c1' top: 'p1' pooling_param { kernel_size: 2 "
        "stride: 2 } } "
        "layers { type: POOLING name: 'p2' bottom: 'p1' top: 'p2' pooling_param { kernel_size: 16 "
        "stride: 16 } } "
        "layers { type: CONVOLUTION name: 'fc' bottom: 'p2' top: 'fc' convolution_param { "
        "num_output: 1 kernel_h: 7 kernel_w: 5 } } "
        "layers { type: DECONVOLUTION name: 'up' bottom: 'fc' top: 'up' convolution_param { "
        "num_output: 1 kernel_size: ",
        2 * upscale, " stride: ", upscale,
        " } } layers { type: CROP name: 'crop' bottom: 'up' bottom: 'data' top: 'out' } ", tail);
  };
  const auto crop_of = [](const NetParameter& net, const char* name) {
    for (const LayerParameter& layer : net.layer()) {
      if (layer.name() == name) return layer.crop_param();
    }
    ADD_FAILURE() << name;
    return CropParameter();
  };
  const CropParameter crop = crop_of(Upgraded(net_of("", 32)), "crop");
  EXPECT_EQ(crop.axis(), 2);
  ASSERT_EQ(crop.offset_size(), 2);
  EXPECT_EQ(crop.offset(0), 19u);
  EXPECT_EQ(crop.offset(1), 51u) << "a window that is two less, of scale 32";
  // Blobs of two scales keep offset 0.
  EXPECT_EQ(crop_of(Upgraded(net_of("", 16)), "crop").offset_size(), 0);
  // A second Crop behind the first one, of a blob half-way.
  const NetParameter two = Upgraded(net_of(
      "layers { type: POOLING name: 'p' bottom: 'out' top: 'p' pooling_param { kernel_size: 2 "
      "stride: 2 } } layers { type: POOLING name: 'q' bottom: 'data' top: 'q' pooling_param { "
      "kernel_size: 2 stride: 2 pad: 2 } } layers { type: CROP name: 'z' bottom: 'q' bottom: 'p' "
      "top: 'z' }",
      32));
  ASSERT_EQ(crop_of(two, "z").offset_size(), 2);
  EXPECT_EQ(crop_of(two, "z").offset(0), 1u);
}

// A Crop of `bottoms` behind these layers.
CropParameter UpgradedCrop(const std::string& layers, const std::string& bottoms,
                           const std::string& param = "") {
  const NetParameter net =
      Upgraded("input: 'data' input_dim: 1 input_dim: 3 input_dim: 64 input_dim: 64 " + layers +
               " layers { type: CROP name: 'crop' " + bottoms + " top: 'out' " + param + " }");
  const LayerParameter& crop = net.layer(net.layer_size() - 1);
  EXPECT_EQ(crop.type(), "Crop");
  return crop.crop_param();
}

std::vector<uint32_t> OffsetsOf(const CropParameter& crop) {
  return {crop.offset().begin(), crop.offset().end()};
}

TEST(UpgradeV1, LeavesACropItsOwnParameters) {
  const std::string conv =
      "layers { type: CONVOLUTION name: 'c' bottom: 'data' top: 'c' convolution_param { "
      "num_output: 1 kernel_size: 3 pad: 5 } }";
  const std::string bottoms = "bottom: 'c' bottom: 'data'";
  EXPECT_EQ(OffsetsOf(UpgradedCrop(conv, bottoms)), (std::vector<uint32_t>{4, 4}));
  const CropParameter own = UpgradedCrop(conv, bottoms, "crop_param { offset: 1 offset: 2 }");
  EXPECT_EQ(OffsetsOf(own), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(UpgradedCrop(conv, bottoms, "crop_param { axis: 3 }").axis(), 3);
}

TEST(UpgradeV1, CropsByThePadAndStrideOfAPoolingsOneAxis) {
  const auto pooling = [](const std::string& top, const std::string& param) {
    return "layers { type: POOLING name: '" + top + "' bottom: 'data' top: '" + top +
           "' pooling_param { kernel_size: 3 " + param + " } } ";
  };
  // The pooling and the convolution take a row each off the convolution's 5.
  const std::string conv =
      "layers { type: CONVOLUTION name: 'c' bottom: 'p' top: 'c' convolution_param { "
      "num_output: 1 kernel_size: 3 pad: 5 } }";
  const auto offsets = [&](const std::string& param) {
    return OffsetsOf(UpgradedCrop(pooling("p", param) + conv, "bottom: 'c' bottom: 'data'"));
  };
  EXPECT_EQ(offsets("pad_w: 1"), (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(offsets("pad_h: 1"), (std::vector<uint32_t>{4, 3}));
  // Both poolings have one stride; pad shifts the first one by two pixels.
  const auto strided = [&](const std::string& alone, const std::string& both) {
    return OffsetsOf(UpgradedCrop(pooling("p", "pad: 2 " + alone) + pooling("q", both),
                                  "bottom: 'p' bottom: 'q'"));
  };
  EXPECT_EQ(strided("stride_h: 2", "stride_h: 2 stride_w: 1"), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(strided("stride_w: 2", "stride_h: 1 stride_w: 2"), (std::vector<uint32_t>{2, 1}));
}

TEST(UpgradeV1, HasANameForEveryType) {
  const auto* types = V1LayerParameter::LayerType_descriptor();
  for (int i = 0; i < types->value_count(); ++i) {
    const auto type = static_cast<V1LayerParameter::LayerType>(types->value(i)->number());
    EXPECT_EQ(type == V1LayerParameter::NONE, std::string(UpgradeV1LayerType(type)).empty());
  }
  EXPECT_STREQ("SoftmaxWithLoss", UpgradeV1LayerType(V1LayerParameter::SOFTMAX_LOSS));
}

TEST(UpgradeV1, CopiesEveryParameterMessage) {
  const auto* v1 = V1LayerParameter::descriptor();
  for (int i = 0; i < v1->field_count(); ++i) {
    const auto* field = v1->field(i);
    if (field->is_repeated() || !field->message_type() || field->name() == "layer") continue;
    V1LayerParameter from;
    from.GetReflection()->MutableMessage(&from, field);
    LayerParameter to;
    EXPECT_TRUE(UpgradeV1LayerParameter(from, &to));
    const auto* target = LayerParameter::descriptor()->FindFieldByName(field->name());
    ASSERT_NE(nullptr, target) << field->name();
    EXPECT_TRUE(to.GetReflection()->HasField(to, target)) << field->name();
  }
}

TEST(UpgradeV1, MovesTransformationsOfDataLayers) {
  for (const char* kind : {"data", "image_data", "window_data"}) {
    std::string type(kind);
    for (char& c : type) c = static_cast<char>(toupper(c));
    const NetParameter net = Upgraded("layers { type: " + type + " " + kind +
                                      "_param { source: 's' scale: 2 mean_file: 'm' crop_size: 3 "
                                      "mirror: true } }");
    EXPECT_EQ("scale: 2 mirror: true crop_size: 3 mean_file: \"m\"",
              net.layer(0).transform_param().ShortDebugString())
        << kind;
    EXPECT_EQ(std::string::npos, net.layer(0).DebugString().find("  crop_size: 3\n  source"));
  }
}

TEST(UpgradeV1, ReportsNetsThatMixForms) {
  NetParameter net = Parse("layer { name: 'a' type: 'ReLU' } layers { name: 'b' type: RELU }");
  EXPECT_FALSE(UpgradeNetAsNeeded("test", &net));
  ASSERT_EQ(1, net.layer_size());
  EXPECT_EQ("b", net.layer(0).name());
}

TEST(UpgradeInput, MakesOneLayerOfAllInputs) {
  const char* expected =
      "layer { name: 'input' type: 'Input' top: 'a' top: 'b' input_param {"
      "  shape { dim: 1 dim: 2 dim: 3 dim: 4 } shape { dim: 5 dim: 6 dim: 7 dim: 8 } } }"
      "layer { name: 'r' type: 'ReLU' }";
  ExpectNet(expected, Upgraded("input: 'a' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4 "
                               "input: 'b' input_dim: 5 input_dim: 6 input_dim: 7 input_dim: 8 "
                               "layer { name: 'r' type: 'ReLU' }"));
  ExpectNet(expected, Upgraded("input: 'a' input_shape { dim: 1 dim: 2 dim: 3 dim: 4 } "
                               "input: 'b' input_shape { dim: 5 dim: 6 dim: 7 dim: 8 } "
                               "layer { name: 'r' type: 'ReLU' }"));
}

TEST(UpgradeInput, RejectsShapesThatDoNotFit) {
  EXPECT_NE(UpgradeError("input: 'a' input_dim: 1").find("needs four"), std::string::npos);
  EXPECT_NE(UpgradeError("input: 'a' input_shape { } input_shape { }").find("each input needs one"),
            std::string::npos);
  EXPECT_NE(UpgradeError("input: 'a' input_shape { } input_dim: 1").find("both"),
            std::string::npos);
}

TEST(UpgradeBatchNorm, FreezesDeclaredStatistics) {
  const NetParameter net = Upgraded(
      "layer { type: 'BatchNorm' param { name: 'm' lr_mult: 1 } param { } param { } }"
      "layer { type: 'BatchNorm' param { lr_mult: 1 } }");
  for (const ParamSpec& spec : net.layer(0).param()) {
    EXPECT_EQ(0, spec.lr_mult());
    EXPECT_EQ(0, spec.decay_mult());
  }
  EXPECT_EQ("m", net.layer(0).param(0).name());
  EXPECT_EQ(1, net.layer(1).param(0).lr_mult());
  // A net that is made of it has nothing to upgrade, or to log about that, once more.
  EXPECT_FALSE(NetNeedsUpgrade(net));
}

}  // namespace
}  // namespace caffe
