// What an Error says by itself, next to its message.
#include "caffe/error.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "caffe/core/error_context.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/net.hpp"
#include "caffe/solver.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

/// The Error that f throws.
template <typename Function>
Error Thrown(Function&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error("");
}

struct NamedLayer {
  std::string name() const { return "conv1"; }
  std::string type() const { return "Convolution"; }
};

TEST(Error, KeepsPartsOfItsMessage) {
  const Error error = Thrown([] {
    Require(false, Error::File{"net.prototxt"}, ": ", Error::Field{"convolution_param.pad"}, " is ",
            -1, Error::Remedy{"give 0 or more"});
  });
  EXPECT_STREQ(error.what(), "net.prototxt: convolution_param.pad is -1: give 0 or more");
  EXPECT_EQ(error.file(), "net.prototxt");
  EXPECT_EQ(error.layer(), "");
  EXPECT_EQ(error.field(), "convolution_param.pad");
  EXPECT_EQ(error.remedy(), "give 0 or more");
}

TEST(Error, KnowsNothingThatWasNotSaid) {
  const Error error = Thrown([] { Fail("layer 'a' of net.prototxt: ", 1, " is not ", 2); });
  EXPECT_STREQ(error.what(), "layer 'a' of net.prototxt: 1 is not 2");
  EXPECT_EQ(error.file() + error.layer() + error.field() + error.remedy(), "");
}

TEST(Error, IsAboutTheFirstFileAndLayerThatAreNamed) {
  Error error("it is damaged");
  error.AddLayer("conv1", "Convolution");
  error.AddLayer("conv2", "Convolution");
  error.AddFile("a.prototxt");
  error.AddFile("b.prototxt");
  EXPECT_STREQ(error.what(), "a.prototxt: layer 'conv1' (Convolution): it is damaged");
  EXPECT_EQ(error.layer(), "conv1");
  EXPECT_EQ(error.file(), "a.prototxt");
}

TEST(Error, NamesALayerWithoutANameOnce) {
  Error error("it is damaged");
  error.AddLayer("", "");
  error.AddLayer("", "");
  EXPECT_STREQ(error.what(), "layer '' (): it is damaged");
}

TEST(Error, CrossesThreads) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      Fail(Error::File{"a.npy"}, ": ", Error::Field{"descr"}, " is missing",
           Error::Remedy{"save it again"});
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  const Error error = Thrown([&] { std::rethrow_exception(thrown); });
  EXPECT_STREQ(error.what(), "a.npy: descr is missing: save it again");
  EXPECT_EQ(error.file(), "a.npy");
  EXPECT_EQ(error.field(), "descr");
  EXPECT_EQ(error.remedy(), "save it again");
}

TEST(ErrorContext, NamesAFileOnce) {
  const Error error = Thrown(
      [] { WithFile("a.prototxt", [] { WithFile("a.prototxt", [] { Fail("it is empty"); }); }); });
  EXPECT_STREQ(error.what(), "a.prototxt: it is empty");
  EXPECT_EQ(error.file(), "a.prototxt");
}

// A prototxt that names a mean image: the image is what is wrong, and the prototxt is where to
// look.
TEST(ErrorContext, KeepsTheInnerOfTwoFiles) {
  const Error error = Thrown([] {
    WithFile("net.prototxt", [] { Fail(Error::File{"mean.binaryproto"}, ": is empty"); });
  });
  EXPECT_STREQ(error.what(), "net.prototxt: mean.binaryproto: is empty");
  EXPECT_EQ(error.file(), "mean.binaryproto");
}

TEST(ErrorContext, SaysWhereInAFile) {
  Error error("this is not a number");
  AddFile("table", ", line 3", &error);
  EXPECT_STREQ(error.what(), "table, line 3: this is not a number");
  EXPECT_EQ(error.file(), "table");
}

TEST(ErrorContext, NamesTheLayerThatLacksMemory) {
  const Error error = Thrown([] { WithLayer(NamedLayer(), [] { throw std::bad_alloc(); }); });
  EXPECT_STREQ(error.what(), "layer 'conv1' (Convolution): out of memory");
  EXPECT_EQ(error.layer(), "conv1");
}

template <typename Exception, typename Function>
std::string MessageOf(Function&& f) {
  try {
    f();
  } catch (const Exception& caught) {
    return caught.what();
  }
  return "nothing was thrown";
}

template <typename Exception>
std::string MessageWithLayer(const Exception& thrown) {
  return MessageOf<Exception>([&] { WithLayer(NamedLayer(), [&] { throw thrown; }); });
}

// Programs' layers throw what they like, and programs catch it by its type.
TEST(ErrorContext, NamesTheLayerThatThrewWhatIsNoError) {
  const Error error =
      Thrown([] { WithLayer(NamedLayer(), [] { throw std::runtime_error("no"); }); });
  EXPECT_STREQ(error.what(), "layer 'conv1' (Convolution): no");
  EXPECT_EQ(error.layer(), "conv1");
  for (const std::string& message :
       {MessageWithLayer(std::logic_error("no")), MessageWithLayer(std::invalid_argument("no")),
        MessageWithLayer(std::domain_error("no")), MessageWithLayer(std::out_of_range("no")),
        MessageWithLayer(std::range_error("no")), MessageWithLayer(std::overflow_error("no")),
        MessageWithLayer(std::underflow_error("no"))}) {
    EXPECT_EQ(message, "layer 'conv1' (Convolution): no");
  }
  // The layer that holds a net of that layer is not named, too.
  EXPECT_EQ(MessageOf<std::out_of_range>([] {
              WithLayer(NamedLayer(),
                        [] { WithLayer(NamedLayer(), [] { throw std::out_of_range("no"); }); });
            }),
            "layer 'conv1' (Convolution): no");
  struct Own : public std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  EXPECT_EQ(MessageWithLayer(Own("no")), "no");
}

TEST(ErrorContext, ReturnsWhatTheFunctionReturns) {
  int number = 1;
  int& same = WithFile("a", [&]() -> int& { return number; });
  EXPECT_EQ(&same, &number);
  EXPECT_EQ(WithLayer(NamedLayer(), [] { return 2; }), 2);
}

// --- What the library throws ---

std::unique_ptr<Net<float>> InnerProductNet(int outputs) {
  return MakeNet(Join(
      "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 } } } "
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' "
      "        inner_product_param { num_output: ",
      outputs, " } }"));
}

TEST(ErrorsOfTheLibrary, NameAMissingFile) {
  const std::string file = NewFileName();
  for (const auto& read : {std::function<void()>([&] { Net<float>(file, TEST); }),
                           std::function<void()>([&] { inference::Engine::Load(file); })}) {
    EXPECT_EQ(Thrown(read).file(), file);
  }
}

TEST(ErrorsOfTheLibrary, NameFileLayerAndFieldOfAPrototxt) {
  const std::string file = NewFile(
      "layer { name: 'images' type: 'Data' top: 'data' "
      "        data_param { batch_size: 1 } transform_param { crop_h: 3 } }");
  const Error error = Thrown([&] { Net<float>(file, TEST); });
  EXPECT_EQ(error.file(), file);
  EXPECT_EQ(error.layer(), "images");
  EXPECT_NE(error.field(), "");
  ExpectContains(error.what(), file + ": layer 'images' (Data): " + error.field());
}

TEST(ErrorsOfTheLibrary, NameTheCaffemodelThatDoesNotFit) {
  const std::string file = NewFileName();
  InnerProductNet(4)->ToBinaryProto(file);
  const auto other = InnerProductNet(5);
  const Error error = Thrown([&] { other->CopyTrainedLayersFrom(file); });
  EXPECT_EQ(error.file(), file);
  EXPECT_EQ(error.layer(), "ip");
  ExpectContains(error.remedy(), "To learn this layer's parameters from scratch");
  ExpectContains(error.what(), file + ": Cannot copy param 0 weights from layer 'ip'");
}

TEST(ErrorsOfTheLibrary, NameTheLayerThatIsConnectedWrongly) {
  const std::string input = "layer { name: 'data' type: 'Input' top: 'data' } ";
  const Error unknown =
      Thrown([&] { MakeNet(input + "layer { name: 'r' type: 'ReLU' bottom: 'none' top: 'r' }"); });
  EXPECT_EQ(unknown.layer(), "r");
  EXPECT_EQ(unknown.field(), "bottom");
  EXPECT_NE(unknown.remedy(), "");
  ExpectContains(unknown.what(), "Unknown bottom blob 'none' (layer 'r', bottom index 0): ");
  const Error twice =
      Thrown([&] { MakeNet(input + "layer { name: 'again' type: 'Input' top: 'data' }"); });
  EXPECT_EQ(twice.layer(), "again");
  EXPECT_EQ(twice.field(), "top");
  EXPECT_EQ(twice.remedy(), "Rename one of them");
  ExpectContains(twice.what(),
                 "Top blob 'data' produced by multiple sources: layer 'again' (Input)");
}

TEST(ErrorsOfTheLibrary, NameTheFieldThatCannotBeRead) {
  const auto thrown = [](const std::string& text) {
    const std::string file = NewFile(text);
    const Error error = Thrown([&] { Net<float>(file, TEST); });
    EXPECT_EQ(error.file(), file);
    ExpectContains(error.what(), file + ":");
    return error;
  };
  const Error unknown = thrown("layer { name: 'a' botom: 'b' }");
  EXPECT_EQ(unknown.field(), "botom");
  ExpectContains(unknown.remedy(), "the nearest fields of LayerParameter are bottom");
  const Error value = thrown("layer {\n\tpooling_param { pool: MEDIAN } }");
  EXPECT_EQ(value.field(), "pool");
  ExpectContains(value.remedy(), "it may be ");
  EXPECT_EQ(thrown("name: 'a' name: 'b'").field(), "name");
  EXPECT_EQ(thrown("layer {\n\tpooling_param { kernel_size: 'three' } }").field(), "kernel_size");
}

TEST(ErrorsOfTheLibrary, NameTheListOfImages) {
  const std::string list = NewFile("a.png no-label\n");
  const Error error = Thrown([&] {
    MakeNet(
        "layer { name: 'images' type: 'ImageData' top: 'data' top: 'label' "
        "        image_data_param { batch_size: 1 source: '" +
        list + "' } }");
  });
#ifdef USE_OPENCV
  EXPECT_EQ(error.file(), list);
  ExpectContains(error.what(), list + ", line 1: ");
#endif
  EXPECT_EQ(error.layer(), "images");
}

/// Of making the solver of a file.
Error ThrownBySolver(const string& text) {
  SolverParameter param;
  ParseProtoText(text, "solver", &param);
  return Thrown([&] { delete SolverRegistry<float>::CreateSolver(param, "solver.prototxt"); });
}

TEST(ErrorsOfTheLibrary, NameTheSolversFileAndField) {
  const string net =
      "net_param { layer { name: 'data' type: 'Input' top: 'data' input_param { "
      "shape { dim: 1 } } } }";
  const Error error = ThrownBySolver("lr_policy: 'stairs' " + net);
  EXPECT_EQ(error.file(), "solver.prototxt");
  EXPECT_EQ(error.field(), "lr_policy");
  EXPECT_EQ(error.remedy(),
            "valid are fixed, step, exp, inv, multistep, poly, sigmoid and plateau");
  ExpectContains(error.what(), "solver.prototxt: unknown lr_policy 'stairs': valid are fixed, ");
  EXPECT_EQ(ThrownBySolver("type: 'Foo' " + net).field(), "type");
  ExpectContains(ThrownBySolver("type: 'Foo'").what(),
                 "solver.prototxt: unknown solver type 'Foo'");
  ExpectContains(ThrownBySolver("base_lr: 1").what(), "solver.prototxt: a solver needs a net");
  const Error of_layer =
      ThrownBySolver("net_param { layer { name: 'a' type: 'ReLU' bottom: 'x' } }");
  EXPECT_EQ(of_layer.file(), "solver.prototxt");
  EXPECT_EQ(of_layer.layer(), "a");
}

TEST(ErrorsOfTheLibrary, NameThePlanThatIsNone) {
  const std::string file = NewFile("this is no plan");
  const Error error = Thrown([&] { inference::Engine::Load(file); });
  EXPECT_EQ(error.file(), file);
  ExpectContains(error.what(), file + ": ");
}

}  // namespace
}  // namespace caffe
