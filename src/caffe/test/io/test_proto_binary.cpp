#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "caffe/error.hpp"
#include "caffe/io/proto_binary.hpp"
#include "caffe/io/wire.hpp"
#include "caffe/test/support/limits_scope.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"

// Fields that two forks number alike, in files written by hand.

namespace caffe {
namespace {

using wire::AppendHeader;
using wire::AppendTag;
using wire::AppendVarint;

std::string Varint(uint32_t number, uint64_t value) {
  std::string bytes;
  AppendTag(number, wire::Type::VARINT, &bytes);
  AppendVarint(value, &bytes);
  return bytes;
}

std::string Sub(uint32_t number, const std::string& content) {
  std::string bytes;
  AppendHeader(number, content.size(), &bytes);
  return bytes + content;
}

std::string Float(uint32_t number, float value) {
  std::string bytes;
  AppendTag(number, wire::Type::FIXED32, &bytes);
  return bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

NetParameter ReadNet(const std::string& layer) {
  NetParameter net;
  ReadProtoFromBinaryFileOrDie(NewFile(Sub(100, layer)), &net);
  return net;
}

std::string ErrorOfFile(const std::string& contents) {
  NetParameter net;
  try {
    ReadProtoFromBinaryFileOrDie(NewFile(contents), &net);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr int kFloat16 = 2;

TEST(ForkFields, ReadsNvcaffeTypes) {
  const NetParameter net =
      ReadNet(Varint(145, kFloat16) + Varint(146, 1) + Varint(147, 0) + Varint(148, kFloat16));
  const LayerParameter& layer = net.layer(0);
  EXPECT_EQ(FLOAT16, layer.forward_type());
  EXPECT_EQ(FLOAT, layer.backward_type());
  EXPECT_EQ(DOUBLE, layer.forward_math());
  EXPECT_EQ(FLOAT16, layer.backward_math());
  EXPECT_FALSE(layer.has_parameter_param() || layer.has_recurrent_param() ||
               layer.has_swish_param() || layer.has_clip_param());
  EXPECT_TRUE(layer.GetReflection()->GetUnknownFields(layer).empty());
}

TEST(ForkFields, ReadsBvlcMessagesUnderTheSameNumbers) {
  const NetParameter net =
      ReadNet(Sub(145, Sub(1, Sub(1, std::string("\2\3", 2)))) + Sub(146, Varint(1, 7)) +
              Sub(147, Float(1, 2)) + Sub(148, Float(1, -1) + Float(2, 6)));
  const LayerParameter& layer = net.layer(0);
  EXPECT_EQ(3, layer.parameter_param().shape().dim(1));
  EXPECT_EQ(7u, layer.recurrent_param().num_output());
  EXPECT_EQ(2, layer.swish_param().beta());
  EXPECT_EQ(6, layer.clip_param().max());
  EXPECT_FALSE(layer.has_forward_type() || layer.has_backward_math());
}

TEST(ForkFields, WritesTypesWhereNvcaffeReadsThem) {
  NetParameter net;
  net.add_layer()->set_forward_type(FLOAT16);
  net.mutable_layer(0)->mutable_swish_param()->set_beta(2);
  const std::string name = NewFileName();
  WriteProtoToBinaryFile(net, name);
  EXPECT_TRUE(net.layer(0).has_forward_type()) << "the caller's message changed";
  NetParameter raw;
  std::ifstream file(name, std::ios::binary);
  ASSERT_TRUE(raw.ParseFromIstream(&file));
  EXPECT_FALSE(raw.layer(0).has_forward_type());
  const auto& unknown = raw.GetReflection()->GetUnknownFields(raw.layer(0));
  ASSERT_EQ(1, unknown.field_count());
  EXPECT_EQ(145, unknown.field(0).number());
  EXPECT_EQ(uint64_t{kFloat16}, unknown.field(0).varint());
  NetParameter again;
  ReadProtoFromBinaryFileOrDie(name, &again);
  EXPECT_EQ(net.DebugString(), again.DebugString());
}

TEST(ForkFields, ReadsNvcaffeRecurrentAndIntelEngine) {
  const NetParameter net = ReadNet(Sub(2, "LSTM") + Sub(151, Varint(1, 7)) + Sub(149, "MKLDNN"));
  EXPECT_EQ(7u, net.layer(0).recurrent_param().num_output());
  EXPECT_EQ("MKLDNN", net.layer(0).engine());
}

TEST(ForkFields, ReadsTheFirstSsdForksNumbers) {
  const NetParameter norm = ReadNet(Sub(2, "Normalize") + Sub(149, Varint(3, 0)));
  EXPECT_TRUE(norm.layer(0).has_norm_param());
  EXPECT_FALSE(norm.layer(0).norm_param().channel_shared());
  EXPECT_FALSE(norm.layer(0).has_engine());
  const NetParameter prior = ReadNet(Sub(2, "PriorBox") + Sub(150, Float(1, 30)));
  EXPECT_EQ(30, prior.layer(0).prior_box_param().min_size(0));
}

TEST(ForkFields, ReadsWaifu2xsCrop) {
  const NetParameter net =
      ReadNet(Sub(2, "CropCenter") + Sub(149, Varint(2, 0) + Varint(2, 0) + Varint(2, 7)));
  ASSERT_EQ(3, net.layer(0).crop_center_param().crop_size_size());
  EXPECT_EQ(7u, net.layer(0).crop_center_param().crop_size(2));
  EXPECT_FALSE(net.layer(0).has_engine());
}

TEST(ForkFields, ReadsNvcaffeTransformsAsTheyAre) {
  const NetParameter net = ReadNet(Sub(
      100, Varint(8, 1) + Varint(10, 256) + Varint(11, 480) + Float(12, 0.5f) + Float(14, 0.9f)));
  const TransformationParameter& param = net.layer(0).transform_param();
  EXPECT_TRUE(param.use_gpu_transform());
  EXPECT_EQ(480u, param.img_rand_resize_upper());
  EXPECT_EQ(0.5f, param.rand_resize_ratio_lower());
  EXPECT_EQ(0.9f, param.vertical_stretch_lower());
  EXPECT_FALSE(param.has_crop_h() || param.has_expand_param());
}

TEST(ForkFields, ReadsSsdTransformsUnderTheSameNumbers) {
  const NetParameter net =
      ReadNet(Sub(100, Sub(8, Varint(3, 300)) + Sub(9, Float(1, 0.5f)) + Sub(10, Varint(1, 1)) +
                           Varint(11, 300) + Varint(12, 200) + Sub(13, Float(1, 0.25f)) +
                           Sub(14, Float(2, 4))));
  const TransformationParameter& param = net.layer(0).transform_param();
  EXPECT_EQ(300u, param.resize_param().height());
  EXPECT_EQ(0.5f, param.noise_param().prob());
  EXPECT_EQ(EmitConstraint::MIN_OVERLAP, param.emit_constraint().emit_type());
  EXPECT_EQ(300u, param.crop_h());
  EXPECT_EQ(200u, param.crop_w());
  EXPECT_EQ(0.25f, param.distort_param().brightness_prob());
  EXPECT_EQ(4, param.expand_param().max_expand_ratio());
  EXPECT_FALSE(param.has_img_rand_resize_upper());
}

TEST(ForkFields, KeepsWhatDoesNotParse) {
  const NetParameter net = ReadNet(Varint(145, 99) + Sub(151, "\xff\xff"));
  EXPECT_FALSE(net.layer(0).has_forward_type() || net.layer(0).has_recurrent_param());
  EXPECT_EQ(2, net.GetReflection()->GetUnknownFields(net.layer(0)).field_count());
}

TEST(ForkFields, TellsSolversApartByTheRampUpRate) {
  SolverParameter nvcaffe;
  ReadProtoFromBinaryFileOrDie(NewFile(Varint(41, 500) + Float(42, 0.1f)), &nvcaffe);
  EXPECT_EQ(500, nvcaffe.rampup_interval());
  EXPECT_EQ(0.1f, nvcaffe.rampup_lr());
  EXPECT_TRUE(nvcaffe.layer_wise_reduce());
  SolverParameter bvlc;
  ReadProtoFromBinaryFileOrDie(NewFile(Varint(41, 0) + Sub(42, "a.caffemodel")), &bvlc);
  EXPECT_FALSE(bvlc.layer_wise_reduce());
  EXPECT_EQ("a.caffemodel", bvlc.weights(0));
  EXPECT_EQ(0, bvlc.rampup_interval());
}

TEST(ProtoBinary, NamesTheOffsetAndTheLayerOfATruncation) {
  const std::string message =
      ErrorOfFile(Sub(100, Sub(1, "a")) + Sub(100, Sub(1, "bcd")).substr(0, 6));
  EXPECT_NE(message.find("byte 6: a field of 5 bytes starts here, and only 3"), std::string::npos)
      << message;
}

TEST(ProtoBinary, SaysThatAnotherMessageIsCutOff) {
  SolverState state;
  state.set_iter(3);
  state.set_learned_net("weights.caffemodel");
  const std::string whole = state.SerializeAsString();
  const std::string file = NewFile(whole.substr(0, whole.size() - 4));
  const std::string message = ErrorOf([&] { ReadProtoBinary(file, &state); });
  ExpectContains(message, file + ": this is no SolverState in binary form: byte 2: a field of 18 ");
  ExpectContains(message, "the file is truncated or damaged");
}

// A mean or a solver's state in place of weights is a slip, and protobuf alone takes both.
TEST(ProtoBinary, SaysWhenANetIsAnotherMessage) {
  BlobProto mean;
  mean.set_num(1);
  mean.set_channels(3);
  mean.add_data(0.5f);
  BlobProto shaped;
  shaped.add_data(0.5f);
  shaped.mutable_shape()->add_dim(1);
  SolverState state;
  state.set_iter(10000);
  state.set_learned_net("weights.caffemodel");
  const std::string blob = "this is a blob, such as an image mean";
  const std::pair<std::string, std::string> cases[] = {
      {mean.SerializeAsString(), blob},
      {shaped.SerializeAsString(), blob},
      {state.SerializeAsString(), "caffe train takes it with -snapshot"}};
  for (const auto& [contents, said] : cases) {
    const std::string file = NewFile(contents);
    NetParameter net;
    ExpectContains(ErrorOf([&] { ReadProtoBinary(file, &net); }), said);
    ExpectContains(ErrorOf([&] { CaffemodelReader reader(file); }),
                   file + ": a caffemodel is needed, and this is ");
    ExpectContains(ErrorOf([&] { CaffemodelReader reader(file); }), said);
  }
}

TEST(ProtoBinary, OfDeeperNestingThanTheLimitIsRefused) {
  // layer { name convolution_param { weight_filler { type } } }
  const std::string net = Sub(100, Sub(1, "a") + Sub(106, Sub(7, Sub(1, "gaussian"))));
  EXPECT_EQ(ErrorOfFile(net), "");
  const LimitsScope scope("nesting=1");
  ExpectContains(ErrorOfFile(net), "this is no LayerParameter in binary form");
}

TEST(ProtoBinary, SaysWhenAFileIsText) {
  EXPECT_NE(ErrorOfFile("name: 'lenet'\nlayer { name: 'conv1' }\n").find("this is text"),
            std::string::npos);
  EXPECT_NE(ErrorOfFile("").find("the file is empty"), std::string::npos);
}

TEST(ProtoBinary, KeepsFieldsOfAnotherMessageUnread) {
  SolverState state;
  state.set_iter(3);
  state.mutable_training_state()->add_loss_window(0.5f);
  const std::string name = NewFileName();
  WriteProtoToBinaryFile(state, name);
  SolverState read;
  ASSERT_TRUE(ReadProtoFromBinaryFile(name, &read));
  EXPECT_EQ(state.SerializeAsString(), read.SerializeAsString());
}

}  // namespace
}  // namespace caffe
