// What nets may ask for. Readers of files have the tests of their limits with them.
#include "caffe/limits.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "caffe/allocator.hpp"
#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/core/limits.hpp"
#include "caffe/test/support/limits_scope.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

constexpr uint64_t kMiB = uint64_t(1) << 20;

TEST(Limits, AreChangedByAList) {
  const Limits changed = Limits().With("blob_bytes=2GiB,layers=7,python_layers=false,read_bytes=5");
  EXPECT_EQ(changed.blob_bytes, 2048 * kMiB);
  EXPECT_EQ(changed.layers, 7u);
  EXPECT_EQ(changed.read_bytes, 5u);
  EXPECT_FALSE(changed.python_layers);
  EXPECT_TRUE(changed.layer_files);
  EXPECT_EQ(changed.net_bytes, Limits().net_bytes);
  const Limits strict = Limits().With("untrusted,layers=9,layer_files=true");
  EXPECT_EQ(strict.blob_bytes, Limits::Untrusted().blob_bytes);
  EXPECT_EQ(strict.layers, 9u);
  EXPECT_TRUE(strict.layer_files);
  EXPECT_FALSE(strict.python_layers);
}

TEST(Limits, ListsWithWhatIsWrongAreRefused) {
  for (const char* list :
       {"blob_bytes", "blob_bytes=", "blob_bytes=-1", "blob_bytes=0", "blob_bytes=1GB",
        "blob_bytes=1.5GiB", "blob_bytes=9999999999999999999999", "blob_bytes=99999999999TiB",
        "layers=4KiB", "python_layers=no", "python_layers", "layers=0"}) {
    const std::string name = std::string(list).substr(0, std::string(list).find('='));
    ExpectContains(ErrorOf([&] { Limits().With(list); }), "limit " + name);
  }
  ExpectContains(ErrorOf([] { Limits().With("blob_byte=3"); }), "did you mean 'blob_bytes'?");
  ExpectContains(ErrorOf([] { Limits().With("frob=3"); }), "valid are untrusted, blob_bytes=N");
  Limits none;
  none.layers = 0;
  ExpectContains(ErrorOf([&] { limits::Set(none); }), "limit layers must be above 0");
}

TEST(Limits, ProductsBeyond64BitsAreBeyondEveryLimit) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(limits::Product({3, 5, 7}), 105u);
  EXPECT_EQ(limits::Product({}), 1u);
  EXPECT_EQ(limits::Product({kMost, 1}), kMost);
  EXPECT_EQ(limits::Product({uint64_t(1) << 32, uint64_t(1) << 32}), kMost);
  EXPECT_EQ(limits::Product({uint64_t(1) << 32, uint64_t(1) << 32, 2}), kMost);
  EXPECT_EQ(limits::Product({kMost, kMost, 0}), 0u);
}

TEST(Limits, HoldInAllThreads) {
  const Limits before = Caffe::limits();
  Limits changed = before;
  changed.axes = 3;
  Caffe::set_limits(changed);
  std::string message;
  std::thread([&] { message = ErrorOf([] { Blob<float>(1, 1, 1, 1); }); }).join();
  ExpectContains(message, "the limit (axes) is 3");
  Caffe::set_limits(before);
  EXPECT_EQ(Caffe::limits().axes, before.axes);
}

/// Calls f; fails if it takes more memory than that for tensors. Returns the message.
std::string ErrorWithin(size_t bytes, const std::function<void()>& f) {
  Allocator::ResetPeak();
  const size_t before = Allocator::bytes_in_use();
  const std::string message = ErrorOf(f);
  EXPECT_LE(Allocator::peak_bytes() - before, bytes) << message;
  return message;
}

TEST(Limits, OfABlob) {
  const LimitsScope scope("blob_bytes=1MiB,axes=3");
  Blob<float> blob;
  blob.Reshape({256, 1024});
  const std::string large = ErrorOf([&] { blob.Reshape({257, 1024}); });
  ExpectContains(large, "a blob of shape 257 x 1024 asks for 2 MiB, and the limit (blob_bytes)");
  ExpectContains(large, "-limits blob_bytes=N");
  EXPECT_EQ(blob.shape(), (std::vector<int>{256, 1024}));  // as it was
  Blob<double> wide;
  ExpectContains(ErrorOf([&] { wide.Reshape({256, 1024}); }), "asks for 2 MiB");
  ExpectContains(ErrorOf([&] {
                   blob.Reshape({1, 1, 1, 1});
                 }),
                 "a blob of shape 1 x 1 x 1 x 1 asks for 4, and the limit (axes) is 3");
}

TEST(Limits, OfABlobNameTheLayerBeforeMemoryIsTaken) {
  const LimitsScope scope("blob_bytes=1MiB");
  struct Case {
    const char* layer;
    const char* name;
  };
  for (const Case& one :
       {Case{"name: 'in' type: 'Input' top: 'y' input_param { shape { dim: [99999, 9999] } }",
             "layer 'in' (Input)"},
        Case{"name: 'd' type: 'DummyData' top: 'y' dummy_data_param { shape { dim: 2000000 } }",
             "layer 'd' (DummyData)"},
        Case{"name: 'p' type: 'Parameter' top: 'y' parameter_param { shape { dim: 2000000 } }",
             "layer 'p' (Parameter)"},
        Case{"name: 'c' type: 'Convolution' bottom: 'x' top: 'y' "
             "convolution_param { num_output: 100000000 kernel_size: 1 }",
             "layer 'c' (Convolution)"},
        Case{"name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' "
             "inner_product_param { num_output: 2000000000 }",
             "layer 'ip' (InnerProduct)"},
        Case{"name: 'e' type: 'Embed' bottom: 'x' top: 'y' "
             "embed_param { input_dim: 1000000 num_output: 1000 }",
             "layer 'e' (Embed)"},
        Case{"name: 't' type: 'Tile' bottom: 'x' top: 'y' tile_param { tiles: 9000000 }",
             "layer 't' (Tile)"},
        Case{"name: 'i' type: 'Interp' bottom: 'x' top: 'y' "
             "interp_param { height: 30000 width: 30000 }",
             "layer 'i' (Interp)"},
        Case{"name: 'l' type: 'LSTM' bottom: 'x' bottom: 'cont' top: 'y' "
             "recurrent_param { num_output: 100000000 }",
             "layer 'l' (LSTM)"}}) {
    const std::string net =
        "layer { name: 'x' type: 'Input' top: 'x' top: 'cont' input_param { "
        "shape { dim: [1, 2, 3, 3] } shape { dim: [1, 2] } } } layer { " +
        std::string(one.layer) + " }";
    const std::string message = ErrorWithin(4 * kMiB, [&] { MakeNet(net); });
    ExpectContains(message, one.name);
    const bool of_elements = message.find("more than 2^31 - 1") != std::string::npos;
    if (!of_elements) ExpectContains(message, "the limit (blob_bytes) is 1 MiB");
  }
}

/// Inner products that take 4 MB each.
std::string Chain(int layers) {
  std::string net =
      "layer { name: 'x' type: 'Input' top: '0' input_param { shape { dim: [1, 1000] } } }";
  for (int i = 0; i < layers; ++i) {
    net += "layer { name: 'ip" + std::to_string(i) + "' type: 'InnerProduct' bottom: '" +
           std::to_string(i) + "' top: '" + std::to_string(i + 1) +
           "' inner_product_param { num_output: 1000 bias_term: false } }";
  }
  return net;
}

TEST(Limits, OfANetCountAllItsBlobs) {
  const LimitsScope scope("net_bytes=10MiB");
  MakeNet(Chain(2));
  const std::string message = ErrorWithin(20 * kMiB, [] { MakeNet(Chain(100)); });
  ExpectContains(message, "layer 'ip2' (InnerProduct): the net asks for 12 MiB");
  ExpectContains(message, "the limit (net_bytes) is 10 MiB");
  MakeNet(Chain(2));  // nothing is left of the net before
  ExpectContains(ErrorOf([] { MakeNet(Chain(2), TRAIN); }), "the net asks for 16 MiB");
}

TEST(Limits, OfLayers) {
  const LimitsScope scope("layers=3");
  MakeNet(Chain(2));
  ExpectContains(ErrorOf([] { MakeNet(Chain(3)); }),
                 "net '' asks for 4, and the limit (layers) is 3");
}

TEST(Limits, PythonLayersCanBeForbidden) {
  const std::string net =
      "layer { name: 'own' type: 'Python' top: 'y' python_param { module: 'os' layer: 'Frob' } }";
  const LimitsScope scope("python_layers=false");
  const std::string message = ErrorOf([&] { MakeNet(net); });
  ExpectContains(message, "layer 'own' (Python): python_param names code, the class Frob of the ");
  ExpectContains(message, "module os, and the limit python_layers is false");
}

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Calls visit(field path, message with that field set alone) for all string fields below `type`.
void ForEachText(const Descriptor* type, std::vector<const FieldDescriptor*>* path,
                 const std::function<void(const std::vector<const FieldDescriptor*>&)>& visit) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    path->push_back(field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) visit(*path);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && path->size() < 6) {
      ForEachText(field->message_type(), path, visit);
    }
    path->pop_back();
  }
}

Message* Inner(Message* message, const FieldDescriptor* field) {
  const auto* reflection = message->GetReflection();
  return field->is_repeated() ? reflection->AddMessage(message, field)
                              : reflection->MutableMessage(message, field);
}

TEST(Limits, EveryFieldThatNamesAFileCanBeForbidden) {
  const LimitsScope scope("layer_files=false");
  std::vector<const FieldDescriptor*> path;
  int found = 0;
  ForEachText(LayerParameter::descriptor(), &path, [&](const auto& fields) {
    const std::string name = fields.back()->name();
    bool names_file = false;
    for (const char* word : {"file", "source", "folder", "director", "path", "tree", "class_map"}) {
      names_file = names_file || name.find(word) != std::string::npos;
    }
    if (!names_file || name.find("filter") != std::string::npos) return;
    LayerParameter layer;
    layer.set_name("a");
    layer.set_type("ReLU");
    Message* message = &layer;
    for (size_t i = 0; i + 1 < fields.size(); ++i) message = Inner(message, fields[i]);
    message->GetReflection()->SetString(message, fields.back(), "/etc/passwd");
    const bool is_of_results = fields.back()->containing_type()->name() == "SaveOutputParameter";
    if (is_of_results) dynamic_cast<SaveOutputParameter&>(*message).set_output_directory("out");
    ++found;
    ExpectContains(ErrorOf([&] { limits::CheckAccess(layer); }), "the limit layer_files is false");
  });
  EXPECT_GT(found, 20);
}

TEST(Limits, WithoutFilesNetsHaveNoDataAndNoCamera) {
  const LimitsScope scope("layer_files=false");
  const std::string net =
      "layer { name: 'data' type: 'Data' top: 'x' data_param { source: '/data' batch_size: 1 } }";
  ExpectContains(ErrorOf([&] { MakeNet(net); }),
                 "layer 'data' (Data): data_param.source names a file, and the limit layer_files");
  ExpectContains(ErrorOf([] { MakeNet("layer { name: 'v' type: 'VideoData' top: 'x' }"); }),
                 "layer 'v' (VideoData): video_data_param names a camera or a file");
  // The label map of published SSD nets, which is read for results in files alone.
  LayerParameter ssd;
  ssd.set_type("DetectionOutput");
  auto* saved = ssd.mutable_detection_output_param()->mutable_save_output_param();
  saved->set_label_map_file("labelmap.prototxt");
  limits::CheckAccess(ssd);
  saved->set_output_directory("out");
  ExpectContains(ErrorOf([&] { limits::CheckAccess(ssd); }),
                 "detection_output_param.save_output_param.output_directory names a file");
}

}  // namespace
}  // namespace caffe
