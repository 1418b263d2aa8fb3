#ifdef USE_HDF5

#include "caffe/util/hdf5.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "caffe/io/mapped_file.hpp"
#include "caffe/test/support/limits_scope.hpp"
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

/// A file with a dataset "data" of these extents, of which nothing is written, made with
/// `properties`, which are closed.
std::string FileWithDataset(const std::vector<hsize_t>& dims, hid_t type,
                            hid_t properties = H5Pcreate(H5P_DATASET_CREATE)) {
  const std::string name = NewFileName();
  const Hdf5Handle file = Hdf5Handle::CreateFile(name);
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  const hid_t dataset =
      H5Dcreate2(file.id(), "data", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  EXPECT_GE(dataset, 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Pclose(properties);
  return name;
}

/// The Error of reading "data" into a blob that takes its shape.
std::string ErrorOfData(const std::string& name) {
  const Hdf5Handle file = Hdf5Handle::OpenFile(name);
  Blob<float> blob;
  return ErrorOf([&] { hdf5_load_nd_dataset(file.id(), "data", 0, 4, &blob, /*reshape=*/true); });
}

TEST(Hdf5, DatasetsThatAreTooLargeAreRefusedBeforeMemoryIsTaken) {
  const LimitsScope scope("blob_bytes=1MiB");
  ExpectContains(ErrorOfData(FileWithDataset({300, 1000}, H5T_NATIVE_FLOAT)),
                 ": dataset /data asks for 2 MiB, and the limit (blob_bytes) is 1 MiB");
  const hsize_t most = hsize_t(1) << 31;
  ExpectContains(ErrorOfData(FileWithDataset({most, most, most}, H5T_NATIVE_INT8)),
                 ": dataset /data asks for more than 2^64");
  const hid_t chunked = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk = 1 << 30;
  H5Pset_chunk(chunked, 1, &chunk);
  const hsize_t one = 1;
  const std::string name = NewFileName();
  {
    const Hdf5Handle file = Hdf5Handle::CreateFile(name);
    const hsize_t unlimited = H5S_UNLIMITED;
    const hid_t space = H5Screate_simple(1, &one, &unlimited);
    H5Dclose(
        H5Dcreate2(file.id(), "data", H5T_NATIVE_INT8, space, H5P_DEFAULT, chunked, H5P_DEFAULT));
    H5Sclose(space);
  }
  H5Pclose(chunked);
  ExpectContains(ErrorOfData(name), ": dataset /data: a chunk asks for 1 GiB");
}

// HDF5 would make room for some of them.
TEST(Hdf5, ElementsAsWideAsABlobAreNoNumbers) {
  const hid_t wide = H5Tcopy(H5T_NATIVE_INT);
  H5Tset_size(wide, size_t(1) << 30);
  const std::string name = FileWithDataset({1}, wide);
  H5Tclose(wide);
  ExpectContains(ErrorOfData(name), ": dataset /data holds no numbers");
  ExpectContains(ErrorOf([&] { hdf5_load_int(Hdf5Handle::OpenFile(name).id(), "data"); }),
                 ": dataset /data is missing, or no integer");
}

// HDF5 would read them into the file's values: a file of a stranger could name any other.
TEST(Hdf5, OtherFilesAreNotRead) {
  const std::string secret = NewFile(std::string(64, 's'));
  const hid_t external = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(external, secret.c_str(), 0, 64);
  ExpectContains(ErrorOfData(FileWithDataset({16}, H5T_NATIVE_FLOAT, external)),
                 ": dataset /data is in another file, which is not allowed");

  const std::string source = FileWithDataset({16}, H5T_NATIVE_FLOAT);
  const hid_t virtual_one = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t count = 16;
  const hid_t space = H5Screate_simple(1, &count, nullptr);
  H5Pset_virtual(virtual_one, space, source.c_str(), "/data", space);
  H5Sclose(space);
  ExpectContains(ErrorOfData(FileWithDataset({16}, H5T_NATIVE_FLOAT, virtual_one)),
                 ": dataset /data is in another file, which is not allowed");

  const std::string link = NewFileName();
  WriteHdf5File(link, [&](const Hdf5Handle& file) {
    H5Lcreate_external(source.c_str(), "/data", file.id(), "data", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(source.c_str(), "/", file.id(), "group", H5P_DEFAULT, H5P_DEFAULT);
  });
  ExpectContains(ErrorOfData(link), "is in another file, which is not allowed");
  const Hdf5Handle file = Hdf5Handle::OpenFile(link);
  ExpectContains(ErrorOf([&] { Hdf5Handle::OpenGroup(file.id(), "group"); }),
                 link + ": the group 'group' is in another file, which is not allowed");
}

// HDF5 writes as many values as a dataset has, whatever room there is for them.
TEST(Hdf5, SingleValuesAreNotTakenFromArrays) {
  const std::string numbers = FileWithDataset({1000}, H5T_NATIVE_INT);
  ExpectContains(ErrorOf([&] { hdf5_load_int(Hdf5Handle::OpenFile(numbers).id(), "data"); }),
                 ": dataset /data is missing, or no integer");
  const hid_t ten = H5Tcopy(H5T_C_S1), any = H5Tcopy(H5T_C_S1);
  H5Tset_size(ten, 10);
  H5Tset_size(any, H5T_VARIABLE);
  const LimitsScope scope("read_bytes=1MiB");
  for (const std::string& name : {FileWithDataset({1000}, ten), FileWithDataset({1}, any)}) {
    ExpectContains(ErrorOf([&] { hdf5_load_string(Hdf5Handle::OpenFile(name).id(), "data"); }),
                   ": dataset /data is not one string of fixed length");
  }
  const std::string large = FileWithDataset({hsize_t(1) << 40}, H5T_NATIVE_INT8);
  ExpectContains(ErrorOf([&] { hdf5_load_string(Hdf5Handle::OpenFile(large).id(), "data"); }),
                 ": dataset /data asks for 1 TiB, and the limit (read_bytes) is 1 MiB");
  H5Tclose(ten);
  H5Tclose(any);
}

/// A file with three floats in the header of "data", where `bytes` says how many bytes they have.
std::string FileWithCompactData(uint16_t bytes) {
  const std::string name = NewFile("");
  const float values[] = {1.25f, 2.5f, 3.75f};
  const hsize_t three = 3;
  const hid_t file = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(1, &three, nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_layout(properties, H5D_COMPACT);
  const hid_t set =
      H5Dcreate2(file, "data", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(set);
  H5Pclose(properties);
  H5Sclose(space);
  H5Fclose(file);
  std::string contents = ReadFile(name);
  const size_t at = contents.find(std::string(reinterpret_cast<const char*>(values), 12));
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(contents[at - 2], 12) << "the number of bytes";
  contents[at - 2] = static_cast<char>(bytes);
  return NewFile(contents);
}

TEST(Hdf5, ElementsThatAreNotInTheHeaderAreNotRead) {
  Blob<float> blob;
  const auto read = [&](uint16_t bytes) {
    const std::string name = FileWithCompactData(bytes);
    hdf5_load_nd_dataset(Hdf5Handle::OpenFile(name).id(), "data", 1, 1, &blob, true);
    hdf5_load_nd_dataset(Hdf5Handle::OpenFile(name).id(), "data", 1, 1, &blob, false);
  };
  read(12);
  EXPECT_EQ(blob.cpu_data()[2], 3.75f);
  EXPECT_THROW(read(0), Error);
  EXPECT_THROW(read(8), Error);
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

// libhdf5 1.10 would ask for as much memory, or end the program.
TEST(Hdf5, NamesOutsideOfTheFileAreRefused) {
  const std::string sound = NewFileName();
  WriteHdf5File(sound, [](const Hdf5Handle& file) { Hdf5Handle::CreateGroup(file.id(), "data"); });
  const std::string bytes = ReadFile(sound);
  const size_t heap = bytes.find(std::string("HEAP\0\0\0\0", 8));
  ASSERT_NE(heap, std::string::npos);
  const auto with = [&](size_t offset, const std::string& number) {
    std::string damaged = bytes;
    damaged.replace(heap + offset, number.size(), number);
    return NewFile(damaged);
  };
  const std::string ones(8, '\xff');
  const std::string damaged[] = {with(8, ones), with(8, std::string("\0\0\0\0\1", 5)),
                                 with(24, ones), with(24, std::string("\0\0\1", 3))};
  for (const std::string& file : damaged) {
    ExpectContains(ErrorOf([&] { Hdf5Handle::OpenFile(file); }),
                   file + ": is damaged: the names of a group lie outside of it");
  }
  std::string reserved = bytes;  // libhdf5 does not read these bytes
  reserved.replace(heap + 5, 3, "abc").replace(heap + 24, 8, ones);
  ExpectContains(ErrorOf([&] { Hdf5Handle::OpenFile(NewFile(reserved)); }), "lie outside of it");
  const std::string behind = NewFile(bytes + std::string("HEAP\0\0\0\0\xff\xff", 10));
  EXPECT_GT(Hdf5Handle::OpenFile(behind).id(), 0) << "too short for a heap";
  const std::string numbers =
      NewFile(bytes + std::string("HEAP\0abc", 8) + std::string(40, '\xbd'));
  EXPECT_GT(Hdf5Handle::OpenFile(numbers).id(), 0) << "data that look like a heap by chance";
}

// Of an address that is undefined libhdf5 1.10 by itself reads at no address; it does not read the
// reserved bytes of the message.
TEST(Hdf5, GroupsWithoutNamesAreRefused) {
  const std::string sound = NewFileName();
  WriteHdf5File(sound, [](const Hdf5Handle& file) { Hdf5Handle::CreateGroup(file.id(), "data"); });
  for (const std::string& reserved : {std::string("\0\0\0", 3), std::string("abc")}) {
    std::string bytes = ReadFile(sound);
    const size_t message = bytes.find(std::string("\x11\0\x10\0", 4));
    ASSERT_NE(message, std::string::npos);
    bytes.replace(message + 5, 3, reserved).replace(message + 16, 8, std::string(8, '\xff'));
    const std::string name = NewFile(bytes);
    const Hdf5Handle file = Hdf5Handle::OpenFile(name);
    ExpectContains(ErrorOf([&] { hdf5_get_name_by_idx(file.id(), 0); }), name);
    EXPECT_FALSE(hdf5_has_group(file.id(), "data"));
    EXPECT_NE(ErrorOf([&] { Hdf5Handle::OpenGroup(file.id(), "data"); }), "");
  }
}

TEST(Hdf5, AFileMayBeReadTwiceAtATime) {
  const std::string name = NewFileName();
  WriteHdf5File(name, [](const Hdf5Handle& file) { Hdf5Handle::CreateGroup(file.id(), "data"); });
  const Hdf5Handle first = Hdf5Handle::OpenFile(name), second = Hdf5Handle::OpenFile(name);
  EXPECT_TRUE(hdf5_has_group(first.id(), "data"));
  EXPECT_TRUE(hdf5_has_group(second.id(), "data"));
}

// The names of groups are padded with zeros, as the signature of what holds them is.
TEST(Hdf5, GroupsMayBeCalledHeap) {
  const std::string name = NewFileName();
  WriteHdf5File(name, [](const Hdf5Handle& file) {
    for (const char* group : {"HEAP", "LOW_HEAP", "conv1", "conv2", "fc"}) {
      Hdf5Handle::CreateGroup(file.id(), group);
    }
  });
  EXPECT_TRUE(hdf5_has_group(Hdf5Handle::OpenFile(name).id(), "LOW_HEAP"));
}

TEST(NetHdf5, GroupsThatHoldThemselvesEnd) {
  const auto net = MakeNet(kStoredNet);
  const std::string name = NewFileName();
  WriteHdf5File(name, [](const Hdf5Handle& file) {
    const Hdf5Handle data = Hdf5Handle::CreateGroup(file.id(), "data");
    for (const char* link : {"a", "b"}) {
      H5Lcreate_hard(file.id(), "data", data.id(), link, H5P_DEFAULT, H5P_DEFAULT);
    }
  });
  ExpectContains(ErrorOf([&] { net->CopyTrainedLayersFrom(name); }),
                 name + ": a group within groups asks for 101, and the limit (nesting)");
  const LimitsScope scope("nesting=1000,layers=20");
  ExpectContains(ErrorOf([&] { net->CopyTrainedLayersFrom(name); }),
                 name + ": its groups asks for 21, and the limit (layers) is 20");
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

TEST(Hdf5, FilesAreToldByTheirFirstBytes) {
  const auto is_hdf5 = [](const std::string& contents) {
    const std::string file = NewFileName();
    std::ofstream(file, std::ios::binary) << contents;
    return IsHdf5File(file);
  };
  EXPECT_TRUE(is_hdf5("\x89HDF\r\n\x1a\n and more"));
  EXPECT_FALSE(is_hdf5("\x89HDF\r\n"));
  EXPECT_FALSE(is_hdf5("name: 'net'"));
  EXPECT_FALSE(IsHdf5File(NewFileName() + ".none"));
}

}  // namespace
}  // namespace caffe

#endif  // USE_HDF5
