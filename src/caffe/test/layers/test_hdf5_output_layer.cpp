#include "caffe/layers/hdf5_output_layer.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/source_layer.hpp"
#include "caffe/util/hdf5.hpp"

namespace caffe {
namespace {

#ifdef USE_HDF5

template <typename Dtype>
class HDF5OutputLayerTest : public ::testing::Test {
 protected:
  /// A layer with bottoms (2, 3) and (2).
  struct Output {
    explicit Output(const string& path)
        : data(vector<int>{2, 3}),
          label(vector<int>{2}),
          made(LayerRegistry<Dtype>::CreateLayer(ParseSource(
              Join("type: 'HDF5Output' hdf5_output_param { file_name: '", path, "' }")))) {
      made->SetUp({&data, &label}, {});
    }
    void Write(int first) {
      for (int i = 0; i < 6; ++i) data.mutable_cpu_data()[i] = first + i;
      for (int i = 0; i < 2; ++i) label.mutable_cpu_data()[i] = -first - i;
      made->Forward({&data, &label}, {});
    }
    Blob<Dtype> data, label;
    shared_ptr<Layer<Dtype>> made;
  };
  static vector<Dtype> Dataset(const string& path, const char* name, vector<int> shape) {
    const Hdf5Handle file = Hdf5Handle::OpenFile(path);
    Blob<Dtype> blob(shape);
    hdf5_load_nd_dataset(file.id(), name, 1, 4, &blob);
    return vector<Dtype>(blob.cpu_data(), blob.cpu_data() + blob.count());
  }
};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(HDF5OutputLayerTest, RealTypes);

TYPED_TEST(HDF5OutputLayerTest, AddsTheRowsOfEveryPass) {
  const string path = NewFileName();
  {
    typename TestFixture::Output output(path);
    output.Write(10);
    output.Write(20);
    output.Write(30);
  }
  EXPECT_EQ(
      this->Dataset(path, "data", {6, 3, 1, 1}),
      (vector<TypeParam>{10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 30, 31, 32, 33, 34, 35}));
  EXPECT_EQ(this->Dataset(path, "label", {6, 1, 1, 1}),
            (vector<TypeParam>{-10, -11, -20, -21, -30, -31}));
  {
    typename TestFixture::Output output(path);  // starts again
    output.Write(40);
  }
  EXPECT_EQ(this->Dataset(path, "label", {2, 1, 1, 1}), (vector<TypeParam>{-40, -41}));
}

TYPED_TEST(HDF5OutputLayerTest, IsReadByHDF5Data) {
  const string path = NewFileName();
  {
    typename TestFixture::Output output(path);
    output.Write(1);
    output.Write(7);
  }
  Source<TypeParam> source(ParseSource(
      Join("type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { batch_size: 4 source: '",
           NewFile(path), "' }")));
  EXPECT_EQ(source.data().shape(), (vector<int>{4, 3, 1, 1}));
  EXPECT_EQ(source.Labels(1), (vector<int>{-1, -2, -7, -8}));
}

TYPED_TEST(HDF5OutputLayerTest, RefusesRowsThatDoNotFit) {
  typename TestFixture::Output output(NewFileName());
  output.Write(1);
  output.label.Reshape({3});
  ExpectContains(ErrorOf([&] { output.Write(1); }), "data has 2 rows and label has 3");
  output.label.Reshape({2});
  output.data.Reshape({2, 4});
  ExpectContains(ErrorOf([&] { output.Write(1); }), "of another shape");
}

TYPED_TEST(HDF5OutputLayerTest, WithoutRoomKeepsTheRowsOfThePassesBefore) {
  const string path = NewFileName();
  typename TestFixture::Output output(path);
  output.Write(10);
  {
    const FileSizeLimit limit(std::filesystem::file_size(path));
    // The first passes find room in the chunks that there are.
    string message;
    for (int pass = 0; message.empty(); ++pass) {
      output.data.Reshape({2 + 100000 * pass, 3});
      output.label.Reshape({2 + 100000 * pass});
      message = ErrorOf([&] { output.Write(20); });
    }
    ExpectContains(message, path + ": writing failed");
  }
  const string copy = NewFile(ReadFile(path));
  EXPECT_EQ(this->Dataset(copy, "data", {4, 3, 1, 1}),
            (vector<TypeParam>{10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25}));
  EXPECT_EQ(this->Dataset(copy, "label", {4, 1, 1, 1}), (vector<TypeParam>{-10, -11, -20, -21}));
}

TEST(HDF5OutputLayer, WritesWhatAFloat16NetComputes) {
  const string path = NewFileName();
  {
    auto net = MakeNet(
        "default_forward_type: FLOAT16 layer { name: 'in' type: 'Input' top: 'x' top: 'l' "
        "input_param { shape { dim: 1 dim: 2 } shape { dim: 1 } } } layer { name: 'relu' type: "
        "'ReLU' bottom: 'x' top: 'y' } layer { name: 'out' type: 'HDF5Output' bottom: 'y' bottom: "
        "'l' hdf5_output_param { file_name: '" +
        path + "' } }");
    SetValues(net->input_blobs()[0], {-1, 2.5});
    SetValues(net->input_blobs()[1], {4097});
    net->Forward();
  }
  const Hdf5Handle file = Hdf5Handle::OpenFile(path);
  Blob<float> data, label;
  hdf5_load_nd_dataset(file.id(), "data", 4, 4, &data, true);
  hdf5_load_nd_dataset(file.id(), "label", 4, 4, &label, true);
  EXPECT_EQ(Values(data), (std::vector<double>{0, 2.5}));
  EXPECT_EQ(Values(label), (std::vector<double>{4097}));
}

const std::vector<BadLayerCase> kHdf5OutputBadCases = {
    BadLayerCase("NoName", "type: 'HDF5Output'")
        .Bottom({1})
        .Bottom({1})
        .Tops(0)
        .Says("file_name is missing"),
    BadLayerCase("NoFolder",
                 "type: 'HDF5Output' hdf5_output_param { file_name: '/no/such/folder/x.h5' }")
        .Bottom({1})
        .Bottom({1})
        .Tops(0)
        .Says("/no/such/folder/x.h5"),
    BadLayerCase("OneBottom", "type: 'HDF5Output' hdf5_output_param { file_name: 'x' }")
        .Bottom({1})
        .Tops(0)
        .Says("exactly 2 bottom"),
};
INSTANTIATE_TEST_SUITE_P(HDF5Output, BadLayerCases, ::testing::ValuesIn(kHdf5OutputBadCases),
                         CaseName());

#endif

}  // namespace
}  // namespace caffe
