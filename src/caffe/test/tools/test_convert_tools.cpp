// The tools that make and read databases, run as a user runs them.
#include <set>

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

#include "caffe/test/support/slow_tests.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/test/support/tool_test.hpp"

namespace caffe {
namespace {

class ConvertToolsTest : public ToolTest {};

string BigEndian(uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16),
          static_cast<char>(number >> 8), static_cast<char>(number)};
}

/// Images of 1 x 2 pixels: (10 i, 10 i + 1).
string IdxImages(int first, int count) {
  string file = BigEndian(2051) + BigEndian(count) + BigEndian(1) + BigEndian(2);
  for (int i = first; i < first + count; ++i) {
    file.push_back(static_cast<char>(10 * i));
    file.push_back(static_cast<char>(10 * i + 1));
  }
  return file;
}

string IdxLabels(const string& labels) {
  return BigEndian(2049) + BigEndian(labels.size()) + labels;
}

#ifdef USE_LMDB

TEST_F(ConvertToolsTest, MnistFilesBecomeRecords) {
  Write("a", IdxImages(0, 2));
  Write("b", IdxImages(2, 1));
  Write("labels", IdxLabels({7, 8, 9}));
  ASSERT_EQ(std::system(("gzip " + folder_ + "b").c_str()), 0);
  const Outcome run = Tool("convert_mnist_data", "%a,%b.gz %labels %db");
  EXPECT_EQ(run.status, 0) << run.output;
  ExpectContains(run.output, "A total of 3 items.");
  ExpectContains(run.output, "Processed 3 files.");
  map<string, Datum> records = Records("db");
  ASSERT_EQ(records.size(), 3u);
  const Datum& last = records.at("00000002");
  EXPECT_EQ(last.channels(), 1);
  EXPECT_EQ(last.height(), 1);
  EXPECT_EQ(last.width(), 2);
  EXPECT_EQ(last.data(), string({20, 21}));
  EXPECT_EQ(last.label(), 9);
}

// Each record is two of the images, labelled by whether their labels are the same.
TEST_F(ConvertToolsTest, MnistFilesBecomePairs) {
  Write("a", IdxImages(0, 20));
  Write("b", IdxImages(20, 5));
  string labels;
  for (int i = 0; i < 25; ++i) labels.push_back(static_cast<char>(i % 3));
  Write("labels", IdxLabels(labels));
  const char* tool = "convert_mnist_siamese_data";
  const Outcome run = Tool(tool, "--backend=lmdb %a,%b %labels %db");
  ASSERT_EQ(run.status, 0) << run.output;
  const map<string, Datum> records = Records("db");
  ASSERT_EQ(records.size(), 25u);
  std::set<int> labels_seen, images_seen;
  for (const auto& [key, pair] : records) {
    ASSERT_EQ(pair.channels(), 2);
    ASSERT_EQ(pair.data().size(), 4u);
    const int first = uint8_t(pair.data()[0]) / 10, second = uint8_t(pair.data()[2]) / 10;
    EXPECT_EQ(pair.data(), string({char(10 * first), char(10 * first + 1), char(10 * second),
                                   char(10 * second + 1)}));
    EXPECT_EQ(pair.label(), first % 3 == second % 3) << key;
    labels_seen.insert(pair.label());
    images_seen.insert(first);
  }
  EXPECT_EQ(labels_seen.size(), 2u);
  EXPECT_GT(images_seen.size(), 8u);
  ASSERT_EQ(Tool(tool, "--backend=lmdb --seed=2 %a,%b %labels %other").status, 0);
  EXPECT_NE(Records("other").begin()->second.data() + Records("other").rbegin()->second.data(),
            records.begin()->second.data() + records.rbegin()->second.data());
  ExpectContains(ToolError(tool, "%a %labels %no"), "there are 25 labels for 20 images");
  ExpectContains(ToolError(tool, "%a"), "IMAGES");
  EXPECT_EQ(Count("no"), 0);
}

TEST_F(ConvertToolsTest, MnistFilesThatAreWrongLeaveNothing) {
  Write("images", IdxImages(0, 3));
  Write("short", IdxImages(0, 3).substr(0, 20));
  Write("labels", IdxLabels({7, 8, 9}));
  Write("few", IdxLabels({7}));
  Write("empty", "");
  const char* tool = "convert_mnist_data";
  ExpectContains(ToolError(tool, "%short %labels %db"), "ends too early");
  ExpectContains(ToolError(tool, "%images %few %db"), "1 labels");
  ExpectContains(ToolError(tool, "%images,%images %labels %db"), "3 labels");
  ExpectContains(ToolError(tool, "%labels %labels %db"), "begins with 2049");
  ExpectContains(ToolError(tool, "%empty %labels %db"), "empty: the file ends too early");
  ExpectContains(ToolError(tool, "%none %labels %db"), "none: there is no such file");
  ExpectContains(ToolError(tool, "%images %labels %nowhere/db"), "nowhere");
  ExpectContains(ToolError(tool, "--backend=x %images %labels %db"), "lmdb and leveldb");
  ExpectContains(ToolError(tool, "%images"), "IMAGES");
  EXPECT_EQ(Count("db"), 0);
  ASSERT_EQ(Tool(tool, "%images %labels %db").status, 0);
  ExpectContains(ToolError(tool, "%images %labels %db"), "remove it first");
  EXPECT_EQ(Records("db").size(), 3u);
}

TEST_F(ConvertToolsTest, MnistAsPublished) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const string mnist = SharedData("datasets/mnist/t10k-");
  const Outcome run = Tool("convert_mnist_data",
                           mnist + "images-idx3-ubyte.gz " + mnist + "labels-idx1-ubyte.gz %db");
  ASSERT_EQ(run.status, 0) << run.output;
  map<string, Datum> records = Records("db");
  ASSERT_EQ(records.size(), 10000u);
  EXPECT_EQ(records.at("00000000").label(), 7);
  EXPECT_EQ(records.at("00009999").label(), 6);
  EXPECT_EQ(records.at("00009999").data().size(), 784u);
}

TEST_F(ConvertToolsTest, CifarFilesBecomeTwoDatabases) {
  SLOW_TEST();
  const string image = string(1, '\3') + string(3072, 'p');
  string file;
  for (int i = 0; i < 10000; ++i) file += image;
  for (int i = 1; i <= 5; ++i) Write(Join("data_batch_", i, ".bin"), file);
  ExpectContains(ToolError("convert_cifar_data", "% % lmdb"), "test_batch.bin");
  EXPECT_EQ(Count("cifar10"), 0);
  Write("test_batch.bin", file.substr(0, file.size() - 1));
  ExpectContains(ToolError("convert_cifar_data", "% % lmdb"), "30729999 bytes");
  Write("test_batch.bin", file);
  const Outcome run = Tool("convert_cifar_data", "% % lmdb");
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(Records("cifar10_train_lmdb").size(), 50000u);
  const map<string, Datum> records = Records("cifar10_test_lmdb");
  EXPECT_EQ(records.size(), 10000u);
  const Datum& last = records.at("09999");
  EXPECT_EQ(last.channels(), 3);
  EXPECT_EQ(last.height(), 32);
  EXPECT_EQ(last.label(), 3);
  EXPECT_EQ(last.data(), string(3072, 'p'));
}

TEST_F(ConvertToolsTest, MeanOfADatabase) {
  Write("images", IdxImages(0, 3));
  Write("labels", IdxLabels({7, 8, 9}));
  ASSERT_EQ(Tool("convert_mnist_data", "%images %labels %db").status, 0);
  const Outcome run = Tool("compute_image_mean", "%db %mean");
  ASSERT_EQ(run.status, 0) << run.output;
  ExpectContains(run.output, "Processed 3 files.");
  ExpectContains(run.output, "mean_value channel [0]: 10.5");
  BlobProto mean;
  ReadProtoFromBinaryFileOrDie(folder_ + "mean", &mean);
  EXPECT_EQ(mean.num(), 1);
  EXPECT_EQ(mean.channels(), 1);
  EXPECT_EQ(mean.width(), 2);
  ASSERT_EQ(mean.data_size(), 2);
  EXPECT_EQ(mean.data(0), 10);
  EXPECT_EQ(mean.data(1), 11);
  ExpectContains(ToolError("compute_image_mean", "%none %mean"), "none");
  ExpectContains(ToolError("compute_image_mean", "--backend=leveldb %db"),
                 "it is an LMDB: choose that");
}

TEST_F(ConvertToolsTest, FeaturesOfANet) {
  Write("images", IdxImages(0, 3));
  Write("labels", IdxLabels({7, 8, 9}));
  ASSERT_EQ(Tool("convert_mnist_data", "%images %labels %db").status, 0);
  Write("net", "layer { name: 'd' type: 'Data' top: 'd' data_param { source: '" + folder_ +
                   "db' backend: LMDB batch_size: 2 } } layer { name: 'r' type: 'ReLU' "
                   "bottom: 'd' top: 'r' }");
  NetParameter weights;
  weights.set_name("weights");
  Write("weights", weights.SerializeAsString());
  const Outcome run = Tool("extract_features", "%weights %net r,d %r,%d 2 lmdb CPU");
  ASSERT_EQ(run.status, 0) << run.output;
  ExpectContains(run.output, "Successfully extracted the features!");
  for (const char* database : {"r", "d"}) {
    const map<string, Datum> records = Records(database);
    ASSERT_EQ(records.size(), 4u);
    const Datum& third = records.at("0000000002");
    ASSERT_EQ(third.float_data_size(), 2);
    EXPECT_EQ(third.float_data(0), 20);
    EXPECT_EQ(third.width(), 2);
  }
  ExpectContains(ToolError("extract_features", "%weights %net x %x 2 lmdb"), "no blob 'x'");
  ExpectContains(ToolError("extract_features", "%weights %net r %x,%y 2 lmdb"), "each blob");
  ExpectContains(ToolError("extract_features", "%weights %net r %x 2x lmdb"), "'2x'");
  ExpectContains(ToolError("extract_features", "%weights %net r,d %x,%./x 2 lmdb"),
                 "x' is given twice: give each blob one of its own");
  EXPECT_FALSE(Exists("x"));
}

#ifdef USE_OPENCV

/// Three images, one of them with spaces in its name.
class ConvertImagesetTest : public ConvertToolsTest {
 protected:
  void SetUp() override {
    ConvertToolsTest::SetUp();
    if (IsSkipped()) return;
    fs::create_directory(folder_ + "images");
    WriteImage("a.png", 4, 5);
    WriteImage("b c.png", 4, 5);
    WriteImage("d.png", 6, 6);
  }
  void WriteImage(const string& name, int height, int width) {
    cv::imwrite(folder_ + "images/" + name, cv::Mat(height, width, CV_8UC3, cv::Scalar(1, 2, 3)));
  }
};

TEST_F(ConvertImagesetTest, ImagesBecomeRecords) {
  Write("list", "a.png 3\r\nb c.png 4\n\n");
  const Outcome run = Tool("convert_imageset", "%images/ %list %db");
  ASSERT_EQ(run.status, 0) << run.output;
  ExpectContains(run.output, "A total of 2 images.");
  ExpectContains(run.output, "Processed 2 files.");
  const map<string, Datum> records = Records("db");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records.at("00000000_a.png").label(), 3);
  const Datum& second = records.at("00000001_b c.png");
  EXPECT_EQ(second.label(), 4);
  EXPECT_EQ(second.channels(), 3);
  EXPECT_EQ(second.data(), string(20, '\1') + string(20, '\2') + string(20, '\3'));
}

TEST_F(ConvertImagesetTest, PathsAloneHaveTheLabel0) {
  Write("list", "a.png\nb c.png\n\nd.png\n");
  const Outcome run = Tool("convert_imageset", "%images/ %list %db");
  ASSERT_EQ(run.status, 0) << run.output;
  ExpectContains(run.output, "no line has a label");
  const map<string, Datum> records = Records("db");
  ASSERT_EQ(records.size(), 3u);
  for (const auto& record : records) EXPECT_EQ(record.second.label(), 0);
  EXPECT_EQ(records.count("00000001_b c.png"), 1u);
}

// As of Caffe's atoi().
TEST_F(ConvertImagesetTest, LabelsWithFractionsAreCut) {
  Write("list", "a.png 0.5\nb c.png 7.0\nd.png 2\n");
  const Outcome run = Tool("convert_imageset", "%images/ %list %db");
  ASSERT_EQ(run.status, 0) << run.output;
  const string warning = "the label '0.5' is taken as 0";
  ExpectContains(run.output, warning);
  EXPECT_EQ(run.output.find("is taken as", run.output.find(warning) + warning.size()),
            string::npos);
  const map<string, Datum> records = Records("db");
  EXPECT_EQ(records.at("00000000_a.png").label(), 0);
  EXPECT_EQ(records.at("00000001_b c.png").label(), 7);
  EXPECT_EQ(records.at("00000002_d.png").label(), 2);
}

TEST_F(ConvertImagesetTest, ResizesGraysAndEncodes) {
  Write("list", "a.png 3\nd.png 4\n");
  ASSERT_EQ(
      Tool("convert_imageset", "-gray -resize_width 7 -resize_height 8 %images %list %db").status,
      0);
  for (const auto& record : Records("db")) {
    EXPECT_EQ(record.second.channels(), 1);
    EXPECT_EQ(record.second.height(), 8);
    EXPECT_EQ(record.second.width(), 7);
  }
  ASSERT_EQ(Tool("convert_imageset", "--encoded --shuffle %images/ %list %encoded").status, 0);
  for (const auto& record : Records("encoded")) {
    EXPECT_TRUE(record.second.encoded());
    EXPECT_EQ(record.second.data(), ReadFile(folder_ + "images/" + record.first.substr(9)));
  }
  ASSERT_EQ(Tool("convert_imageset", "--encode_type jpg %images/ %list %jpg").status, 0);
  EXPECT_EQ(Records("jpg").begin()->second.data().substr(0, 2), "\xff\xd8");
  const Outcome mean = Tool("compute_image_mean", "%encoded");
  EXPECT_EQ(mean.status, 1);
  ExpectContains(mean.output, "the first one is 3 x");
}

TEST_F(ConvertImagesetTest, LeavesOutWhatIsNoImage) {
  Write("images/broken.png", "not an image");
  Write("list", "broken.png 1\nnone.png 2\na.png 3\n");
  const Outcome run = Tool("convert_imageset", "%images/ %list %db");
  ASSERT_EQ(run.status, 0) << run.output;
  ExpectContains(run.output, "2 files could not be read");
  ExpectContains(run.output, "broken.png");
  EXPECT_EQ(Records("db").begin()->first, "00000002_a.png");
  Write("list", "none.png 2\na.png 3\n");
  ExpectContains(Tool("convert_imageset", "%images/ %list %other_db").output,
                 "1 file could not be read");
}

TEST_F(ConvertImagesetTest, SaysWhatIsWrong) {
  const char* tool = "convert_imageset";
  Write("list", "a.png 1\nd.png 2\n");
  ExpectContains(ToolError(tool, "-check_size %images/ %list %db"), "d.png: the image is 3 x 6");
  ExpectContains(ToolError(tool, "-resize_width 3 %images/ %list %db"), "-resize_height");
  ExpectContains(ToolError(tool, "-encode_type xyz %images/ %list %db"), "'xyz'");
  ExpectContains(ToolError(tool, "%elsewhere/ %list %db"), "none of the 2 files");
  ExpectContains(ToolError(tool, "%images/ %none %db"), "none");
  Write("list", "a.png 1\nd.png\n");
  ExpectContains(ToolError(tool, "%images/ %list %db"), "line 2");
  Write("list", "a.png 1\nd.png two\n");
  ExpectContains(ToolError(tool, "%images/ %list %db"), "line 2: the label 'two'");
  Write("list", "a.png cat\nd.png dog\n");
  ExpectContains(ToolError(tool, "%images/ %list %db"), "line 1: the label 'cat'");
  Write("list", "a.png 0.5x\n");
  ExpectContains(ToolError(tool, "%images/ %list %db"), "line 1: the label '0.5x'");
  Write("list", "");
  ExpectContains(ToolError(tool, "%images/ %list %db"), "names no images");
  EXPECT_EQ(Count("db"), 0);
}

#endif  // USE_OPENCV
#endif  // USE_LMDB

}  // namespace
}  // namespace caffe
