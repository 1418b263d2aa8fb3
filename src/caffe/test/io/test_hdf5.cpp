#ifdef USE_HDF5

#include "caffe/util/hdf5.hpp"

#include <gtest/gtest.h>

#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

TEST(Hdf5, BlobsRoundTrip) {
  const std::string name = NewFileName();
  Blob<float> blob(std::vector<int>{2, 3}), loaded;
  SetValues(&blob, {1, 2, 3, 4, 5, 6});
  blob.mutable_cpu_diff()[5] = -1;
  WriteHdf5File(name, [&](const Hdf5Handle& file) {
    hdf5_save_nd_dataset(file.id(), "data", blob);
    hdf5_save_nd_dataset(file.id(), "diff", blob, /*write_diff=*/true);
  });
  const Hdf5Handle file = Hdf5Handle::OpenFile(name);
  hdf5_load_nd_dataset(file.id(), "data", 0, 4, &loaded, /*reshape=*/true);
  EXPECT_EQ(loaded.shape(), blob.shape());
  EXPECT_EQ(Values(loaded), Values(blob));
  hdf5_load_nd_dataset(file.id(), "diff", 2, 2, &loaded);
  EXPECT_EQ(Values(loaded), (std::vector<double>{0, 0, 0, 0, 0, -1}));
  Blob<double> wide(std::vector<int>{2, 3});
  hdf5_load_nd_dataset(file.id(), "data", 0, 4, &wide);
  EXPECT_EQ(Values(wide), Values(blob));
}

TEST(Hdf5, ScalarsRoundTrip) {
  const std::string name = NewFileName();
  Blob<float> scalar{std::vector<int>()}, loaded;
  scalar.mutable_cpu_data()[0] = 3;
  WriteHdf5File(name,
                [&](const Hdf5Handle& file) { hdf5_save_nd_dataset(file.id(), "scalar", scalar); });
  hdf5_load_nd_dataset(Hdf5Handle::OpenFile(name).id(), "scalar", 0, 4, &loaded, true);
  EXPECT_EQ(loaded.num_axes(), 0);
  EXPECT_EQ(loaded.cpu_data()[0], 3);
}

TEST(Hdf5, NumbersAndStringsRoundTrip) {
  const std::string name = NewFileName();
  const std::string bytes("a\0b", 3);
  WriteHdf5File(name, [&](const Hdf5Handle& file) {
    hdf5_save_int(file.id(), "iter", 5000);
    hdf5_save_string(file.id(), "net", "lenet.caffemodel");
    hdf5_save_string(file.id(), "bytes", bytes);
    hdf5_save_string(file.id(), "empty", "");
  });
  const Hdf5Handle file = Hdf5Handle::OpenFile(name);
  EXPECT_EQ(hdf5_load_int(file.id(), "iter"), 5000);
  EXPECT_EQ(hdf5_load_string(file.id(), "net"), "lenet.caffemodel");
  EXPECT_EQ(hdf5_load_string(file.id(), "bytes"), bytes);
  EXPECT_EQ(hdf5_load_string(file.id(), "empty"), "");
}

TEST(Hdf5, ListsGroups) {
  const std::string name = NewFileName();
  WriteHdf5File(name, [](const Hdf5Handle& file) {
    Hdf5Handle::CreateGroup(file.id(), "b");
    const Hdf5Handle nested = Hdf5Handle::CreateGroup(file.id(), "a/deep");
    hdf5_save_int(nested.id(), "x", 1);
  });
  const Hdf5Handle file = Hdf5Handle::OpenFile(name);
  ASSERT_EQ(hdf5_get_num_links(file.id()), 2);
  EXPECT_EQ(hdf5_get_name_by_idx(file.id(), 0), "a");
  EXPECT_EQ(hdf5_get_name_by_idx(file.id(), 1), "b");
  EXPECT_TRUE(hdf5_has_group(file.id(), "a"));
  EXPECT_FALSE(hdf5_has_group(file.id(), "c"));
  EXPECT_FALSE(hdf5_has_group(Hdf5Handle::OpenGroup(file.id(), "a/deep").id(), "x"));
}

TEST(Hdf5, SaysWhatIsWrong) {
  const std::string name = NewFileName();
  Blob<float> blob(std::vector<int>{2, 3});
  WriteHdf5File(name, [&](const Hdf5Handle& file) {
    hdf5_save_nd_dataset(file.id(), "data", blob);
    hdf5_save_string(file.id(), "text", "abc");
  });
  const Hdf5Handle file = Hdf5Handle::OpenFile(name);
  const auto load = [&](const char* dataset, int min_dim, int max_dim, Blob<float>* into) {
    return ErrorOf([&] { hdf5_load_nd_dataset(file.id(), dataset, min_dim, max_dim, into); });
  };
  ExpectContains(load("nothing", 0, 4, &blob), name + ": dataset /nothing is missing");
  ExpectContains(load("data", 3, 4, &blob), "has 2 axes; 3 to 4 are needed");
  ExpectContains(load("text", 0, 4, &blob), "holds no numbers");
  Blob<float> other(std::vector<int>{3, 2});
  ExpectContains(load("data", 0, 4, &other), "source shape is 2 3 (6) target shape is 3 2 (6)");
  ExpectContains(ErrorOf([&] { hdf5_load_int(file.id(), "nothing"); }), "nothing");
  ExpectContains(ErrorOf([&] { hdf5_load_string(file.id(), "nothing"); }), "nothing");
  ExpectContains(ErrorOf([&] { hdf5_get_name_by_idx(file.id(), 7); }), "no member number 7");
  ExpectContains(ErrorOf([&] { Hdf5Handle::OpenFile(name + "x"); }), name + "x");
  const std::string text = NewFile("this is text");
  ExpectContains(ErrorOf([&] { Hdf5Handle::OpenFile(text); }), "cannot be opened as an HDF5 file");
}

TEST(Hdf5, AFailureLeavesTheOldFile) {
  const std::string name = NewFile("old");
  EXPECT_THROW(WriteHdf5File(name, [](const Hdf5Handle&) { Fail("no"); }), Error);
  EXPECT_EQ(ReadFile(name), "old");
  ExpectContains(ErrorOf([] { WriteHdf5File("/no/such/file.h5", [](const Hdf5Handle&) {}); }),
                 "/no/such/file.h5");
}

const char kStoredNet[] = R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
    layer { name: "block/a" type: "InnerProduct" bottom: "data" top: "a" param { name: "w" }
            inner_product_param { num_output: 2 weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "block/b" type: "InnerProduct" bottom: "a" top: "b" param { name: "w" }
            inner_product_param { num_output: 2 weight_filler { type: "gaussian" std: 1 } } })";

// Names of layers may have slashes; shared parameters are stored with their owner.
TEST(NetHdf5, RoundTrips) {
  const auto from = MakeNet(kStoredNet), to = MakeNet(kStoredNet);
  from->params()[0]->mutable_cpu_diff()[0] = 5;
  const std::string name = NewFileName();  // told by its contents, not its name
  from->ToHDF5(name, /*write_diff=*/true);
  to->CopyTrainedLayersFrom(name);
  for (size_t i = 0; i < from->params().size(); ++i) {
    EXPECT_EQ(Values(*to->params()[i]), Values(*from->params()[i]));
  }
  const Hdf5Handle file = Hdf5Handle::OpenFile(name);
  const Hdf5Handle owner = Hdf5Handle::OpenGroup(file.id(), "data/block/a");
  EXPECT_EQ(hdf5_get_num_links(owner.id()), 2);
  const Hdf5Handle sharer = Hdf5Handle::OpenGroup(file.id(), "data/block/b");
  EXPECT_EQ(hdf5_get_num_links(sharer.id()), 1);
  Blob<float> diff;
  hdf5_load_nd_dataset(Hdf5Handle::OpenGroup(file.id(), "diff/block/a").id(), "0", 0, 4, &diff,
                       /*reshape=*/true);
  EXPECT_EQ(diff.cpu_data()[0], 5);
}

TEST(NetHdf5, SaysWhatDoesNotFit) {
  const auto from = MakeNet(kStoredNet);
  const std::string name = NewFileName();
  from->ToHDF5(name);
  std::string larger = kStoredNet;
  larger.replace(larger.rfind("num_output: 2"), 13, "num_output: 3");
  larger.replace(larger.rfind("name: \"w\""), 9, "");
  const std::string message = ErrorOf([&] { MakeNet(larger)->CopyTrainedLayersFrom(name); });
  ExpectContains(message, name);
  ExpectContains(message, "Incompatible number of blobs for layer block/b: blob 0 is missing");
  const std::string other = NewFileName();
  WriteHdf5File(other, [](const Hdf5Handle& file) { hdf5_save_int(file.id(), "x", 1); });
  ExpectContains(ErrorOf([&] { from->CopyTrainedLayersFrom(other); }), "there is no group 'data'");
}

}  // namespace
}  // namespace caffe

#endif  // USE_HDF5
