// NumPy's files, and nets that run on them.
#include "caffe/io/npy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/input_batches.hpp"

namespace caffe {
namespace {

/// A file as numpy.save writes it, for elements given by their bytes.
std::string NpyText(const std::string& type, const std::string& shape, const std::string& elements,
                    int version = 1) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const size_t length_size = version == 1 ? 2 : 4;
  while ((8 + length_size + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string text = std::string("\x93NUMPY") + char(version) + '\0';
  for (size_t i = 0; i < length_size; ++i) text += char(header.size() >> 8 * i & 255);
  return text + header + elements;
}

template <typename T>
std::string Bytes(const std::vector<T>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
}

std::string FileOfFloats(const std::string& shape, const std::vector<float>& elements) {
  return NewFile(NpyText("<f4", shape, Bytes(elements)));
}

TEST(Npy, ReadsShapeAndValuesInEveryVersion) {
  for (int version : {1, 2, 3}) {
    const NpyArray array =
        ReadNpy(NewFile(NpyText("<f4", "2, 3", Bytes<float>({1, -2, 0.5f, 4, 5, 6}), version)));
    EXPECT_EQ(array.shape, (std::vector<int>{2, 3}));
    EXPECT_EQ(array.values, (std::vector<double>{1, -2, 0.5, 4, 5, 6}));
  }
}

TEST(Npy, ReadsEveryTypeOfNumber) {
  const std::vector<double> expected = {3, 200};
  const auto values = [](const std::string& type, const std::string& bytes) {
    return ReadNpy(NewFile(NpyText(type, "2,", bytes))).values;
  };
  EXPECT_EQ(values("<f2", Bytes<uint16_t>({0x4200, 0x5a40})), expected);
  EXPECT_EQ(values("<f8", Bytes<double>({3, 200})), expected);
  EXPECT_EQ(values("|u1", Bytes<uint8_t>({3, 200})), expected);
  EXPECT_EQ(values("|i1", Bytes<int8_t>({3, -56})), (std::vector<double>{3, -56}));
  EXPECT_EQ(values("<i2", Bytes<int16_t>({3, 200})), expected);
  EXPECT_EQ(values("<u2", Bytes<uint16_t>({3, 200})), expected);
  EXPECT_EQ(values("<i4", Bytes<int32_t>({3, 200})), expected);
  EXPECT_EQ(values("<u4", Bytes<uint32_t>({3, 200})), expected);
  EXPECT_EQ(values("<i8", Bytes<int64_t>({3, 200})), expected);
  EXPECT_EQ(values("<u8", Bytes<uint64_t>({3, 200})), expected);
  EXPECT_EQ(values("|b1", Bytes<uint8_t>({1, 0})), (std::vector<double>{1, 0}));
}

TEST(Npy, ReadsArraysOfNothing) {
  for (const char* type : {"<f2", "<f4", "<i4", "|u1"}) {
    const NpyArray array = ReadNpy(NewFile(NpyText(type, "0, 3", "")));
    EXPECT_EQ(array.shape, (std::vector<int>{0, 3})) << type;
    EXPECT_TRUE(array.values.empty()) << type;
  }
}

TEST(Npy, ReadsParts) {
  const NpyFile file(FileOfFloats("4,", {1, 2, 3, 4}));
  float values[2];
  file.Read(1, 2, values);
  EXPECT_EQ(values[1], 3);
  file.Read(4, 0, values);
  ExpectContains(ErrorOf([&] { file.Read(3, 2, values); }), "no 2 elements from number 3 on, of 4");
}

TEST(Npy, RefusesOtherFiles) {
  const auto error = [](const std::string& text) {
    return ErrorOf([&] { ReadNpy(NewFile(text)); });
  };
  ExpectContains(ErrorOf([] { ReadNpy("/no/such.npy"); }), "/no/such.npy: cannot be read");
  ExpectContains(error("no array at all"), "no .npy file");
  ExpectContains(error(""), "no .npy file");
  ExpectContains(error(NpyText("<f4", "2,", "1234567")), "with these elements it would have");
  ExpectContains(error(NpyText(">f4", "1,", "1234")), "elements of type '>f4' are not read");
  ExpectContains(error(NpyText("<c8", "1,", "12345678")), "elements of type '<c8' are not read");
  ExpectContains(error(NpyText("<f4", "99999, 99999, 99999, 99999, 99999", "")), "too large");
  ExpectContains(error(NpyText("<f4", "-1,", "")), "the shape (-1,) is damaged");
  std::string fortran = NpyText("<f4", "1,", "1234");
  fortran.replace(fortran.find("False"), 5, "True ");
  ExpectContains(error(fortran), "numpy.ascontiguousarray");
}

TEST(Npy, DamagedFilesAreReadOrRefused) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string whole = NpyText("<f4", "2, 3", Bytes<float>({1, 2, 3, 4, 5, 6}));
  const std::string file = NewFileName();
  int refused = 0;
  for (int run = 0; run < 2000; ++run) {
    std::string text = whole;
    for (unsigned change = 0; change <= random() % 3; ++change) {
      const size_t at = random() % 90 % text.size();
      if (random() % 4 == 0) {
        text.resize(at + 1);
      } else {
        text[at] = static_cast<char>(random() % 2 ? random() : "0123456789(),'<fiu"[random() % 18]);
      }
    }
    std::filesystem::remove(file);  // overwriting waits for the disk
    std::ofstream(file, std::ios::binary) << text;
    refused += !ErrorOf([&] { ReadNpy(file); }).empty();
  }
  EXPECT_GT(refused, 500);
}

// ------------------------------------------------------------------ as a net's input

std::unique_ptr<Net<float>> TwoInputs() {
  return MakeNet(
      "layer { name: 'a' type: 'Input' top: 'a' input_param { shape { dim: 2 dim: 1 dim: 2 } } }"
      "layer { name: 'b' type: 'Input' top: 'b' input_param { shape { dim: 2 dim: 1 } } }");
}

TEST(NpyBatches, FillInputsRowByRowAndTheLastBatchWithTheFirstRows) {
  const auto net = TwoInputs();
  const auto batches = InputBatches::FromNpy(
      {{"a", FileOfFloats("3, 1, 2", {1, 2, 3, 4, 5, 6})}, {"b", FileOfFloats("3, 1", {7, 8, 9})}},
      {});
  EXPECT_EQ(batches->batches(*net), 2);
  ASSERT_TRUE(batches->Feed(0, net.get()));
  EXPECT_EQ(Values(*net->blob_by_name("a")), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(Values(*net->blob_by_name("b")), (std::vector<double>{7, 8}));
  EXPECT_EQ(batches->images(), 2);
  ASSERT_TRUE(batches->Feed(1, net.get()));
  EXPECT_EQ(Values(*net->blob_by_name("a")), (std::vector<double>{5, 6, 1, 2}));
  EXPECT_EQ(Values(*net->blob_by_name("b")), (std::vector<double>{9, 7}));
  EXPECT_EQ(batches->images(), 1);
  EXPECT_FALSE(batches->Feed(2, net.get()));
}

TEST(NpyBatches, TheArrayWithoutANameIsForTheInputThatIsLeft) {
  const auto net = TwoInputs();
  const auto batches = InputBatches::FromNpy({{"", FileOfFloats("2, 1", {7, 8})}}, {{"a", {5, 6}}});
  ASSERT_TRUE(batches->Feed(0, net.get()));
  EXPECT_EQ(Values(*net->blob_by_name("a")), (std::vector<double>{5, 6, 5, 6}));
  EXPECT_EQ(Values(*net->blob_by_name("b")), (std::vector<double>{7, 8}));
}

TEST(NpyBatches, RefuseWhatDoesNotFit) {
  const std::string rows = FileOfFloats("2, 1", {7, 8});
  const auto error = [](const std::map<std::string, std::string>& files) {
    return ErrorOf([&] { InputBatches::FromNpy(files, {})->Feed(0, TwoInputs().get()); });
  };
  ExpectContains(error({{"b", rows}}), "input 'a' has no array");
  ExpectContains(error({{"a", rows}, {"b", rows}}),
                 "do not have the shape of input 'a', 2 1 2 (4)");
  ExpectContains(error({{"a", rows}, {"b", rows}, {"c", rows}}), "the net has no input 'c'");
  ExpectContains(error({{"b", rows}, {"a", FileOfFloats("3, 1, 2", {1, 2, 3, 4, 5, 6})}}),
                 "the array has 2 rows, others have 3");
  ExpectContains(error({{"a", FileOfFloats("0, 1, 2", {})}}), "the array has no rows");
}

}  // namespace
}  // namespace caffe
