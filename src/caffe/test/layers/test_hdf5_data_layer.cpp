#include "caffe/layers/hdf5_data_layer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "caffe/context.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/source_layer.hpp"
#include "caffe/util/hdf5.hpp"

namespace caffe {
namespace {

#ifdef USE_HDF5

/// Datasets "data" (rows, 2), its values 10 r and 10 r + 1, and "label" (rows), r, for rows r from
/// `first` on.
string RowsFile(int first, int rows) {
  const string path = NewFileName();
  Blob<float> data(vector<int>{rows, 2}), label(vector<int>{rows});
  for (int i = 0; i < rows; ++i) {
    data.mutable_cpu_data()[2 * i] = 10 * (first + i);
    data.mutable_cpu_data()[2 * i + 1] = 10 * (first + i) + 1;
    label.mutable_cpu_data()[i] = first + i;
  }
  const Hdf5Handle file = Hdf5Handle::CreateFile(path);
  hdf5_save_nd_dataset(file.id(), "data", data);
  hdf5_save_nd_dataset(file.id(), "label", label);
  return path;
}

LayerParameter Hdf5DataParameter(const string& list, const string& data, Phase phase = TRAIN) {
  return ParseSource(Join("name: 'data' type: 'HDF5Data' top: 'data' top: 'label' "
                          "hdf5_data_param { source: '",
                          list, "' ", data, " }"),
                     phase);
}

template <typename Dtype>
class HDF5DataLayerTest : public ::testing::Test {
 protected:
  /// Rows 0 to 6 in two files.
  const string list_ = NewFile(RowsFile(0, 4) + "\n" + RowsFile(4, 3) + "\n");
};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(HDF5DataLayerTest, RealTypes);

TYPED_TEST(HDF5DataLayerTest, ReadsTheRowsOfAllFilesAgainAndAgain) {
  Source<TypeParam> source(Hdf5DataParameter(this->list_, "batch_size: 5"));
  EXPECT_EQ(source.data().shape(), (vector<int>{5, 2}));
  EXPECT_EQ(source.label().shape(), (vector<int>{5}));
  EXPECT_EQ(source.Labels(3), (vector<int>{0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0}));
  EXPECT_EQ(source.Values(1), (vector<TypeParam>{10, 11, 20, 21, 30, 31, 40, 41, 50, 51}));
  EXPECT_EQ(source.layer.EpochItems(), 7u);
}

TYPED_TEST(HDF5DataLayerTest, ReadsOneFileAndBatchesLargerThanIt) {
  Source<TypeParam> source(Hdf5DataParameter(NewFile(RowsFile(5, 2)), "batch_size: 5"));
  EXPECT_EQ(source.Labels(1), (vector<int>{5, 6, 5, 6, 5}));
}

// Caffe splits lines at blanks; a path that has some is one all the same.
TYPED_TEST(HDF5DataLayerTest, ReadsListsAsPeopleWriteThem) {
  const string first = RowsFile(0, 1), second = RowsFile(1, 1), third = RowsFile(2, 1);
  const string blank = NewFolder() + "/my rows.h5";
  std::filesystem::rename(third, blank);
  const string list = NewFile("\n  " + first + "\t" + second + " \r\n \r\n\t" + blank + " \n");
  Source<TypeParam> source(Hdf5DataParameter(list, "batch_size: 3"));
  EXPECT_EQ(source.Labels(1), (vector<int>{0, 1, 2}));
  const auto error_of = [](const string& line) {
    return SetUpError<TypeParam>(Hdf5DataParameter(NewFile(line), "batch_size: 1"));
  };
  ExpectContains(error_of("/no/such rows.h5"), "/no/such rows.h5: ");
  ExpectContains(error_of("/no/such.h5 " + first), "/no/such.h5: ");
}

TYPED_TEST(HDF5DataLayerTest, TakesTheDatasetsThatItsTopsName) {
  LayerParameter param = Hdf5DataParameter(this->list_, "batch_size: 1");
  param.clear_top();
  param.add_top("label");
  Source<TypeParam> source(param, 1);
  EXPECT_EQ(source.data().shape(), (vector<int>{1}));
}

TYPED_TEST(HDF5DataLayerTest, ReadsEveryRowOnceAPassWhenShuffling) {
  std::set<vector<int>> orders;
  Source<TypeParam> source(Hdf5DataParameter(this->list_, "batch_size: 7 shuffle: true"));
  for (int pass = 0; pass < 6; ++pass) {
    source.Forward();
    vector<int> labels(source.label().cpu_data(), source.label().cpu_data() + 7);
    for (int i = 0; i < 7; ++i) EXPECT_EQ(source.data().cpu_data()[2 * i], 10 * labels[i]);
    orders.insert(labels);
    // One file after the other.
    EXPECT_TRUE(std::all_of(labels.begin(), labels.begin() + 4, [](int i) { return i < 4; }) ||
                std::all_of(labels.begin(), labels.begin() + 3, [](int i) { return i >= 4; }));
    std::sort(labels.begin(), labels.end());
    EXPECT_EQ(labels, (vector<int>{0, 1, 2, 3, 4, 5, 6}));
  }
  EXPECT_GT(orders.size(), 3u);
}

TYPED_TEST(HDF5DataLayerTest, DependsOnTheSeedAndDrawsNothing) {
  const auto labels = [this](unsigned seed) {
    Caffe::set_random_seed(seed);
    Source<TypeParam> source(Hdf5DataParameter(this->list_, "batch_size: 7 shuffle: true"));
    return source.Labels(5);
  };
  const unsigned seed = TestSeed();
  EXPECT_EQ(labels(seed), labels(seed));
  EXPECT_NE(labels(seed), labels(seed + 1));
  Caffe::set_random_seed(seed);
  const unsigned int next = caffe_rng_rand();
  labels(seed);
  EXPECT_EQ(caffe_rng_rand(), next);
}

TYPED_TEST(HDF5DataLayerTest, GivesEachSolverItsRows) {
  const Context::Settings before = Context::Current().settings();
  for (int rank = 0; rank < 2; ++rank) {
    Context::Settings settings = before;
    settings.solver_count = 2;
    settings.solver_rank = rank;
    Context::Current().set_settings(settings);
    {
      Source<TypeParam> train(Hdf5DataParameter(this->list_, "batch_size: 3"));
      EXPECT_EQ(train.Labels(1), (vector<int>{rank, rank + 2, rank + 4}));
      Source<TypeParam> test(Hdf5DataParameter(this->list_, "batch_size: 3", TEST));
      EXPECT_EQ(test.Labels(1), (vector<int>{0, 1, 2}));
    }
    Context::Current().set_settings(before);
  }
}

TYPED_TEST(HDF5DataLayerTest, SettingUpAgainBeginsAgain) {
  for (const char* order : {"", "shuffle: true"}) {
    SCOPED_TRACE(order);
    ExpectBeginsAgain<TypeParam>(Hdf5DataParameter(this->list_, Join("batch_size: 3 ", order)));
  }
}

TYPED_TEST(HDF5DataLayerTest, ResumesWhereTheNetWas) {
  for (const char* order : {"", "shuffle: true"}) {
    SCOPED_TRACE(order);
    ExpectResumes<TypeParam>(Hdf5DataParameter(this->list_, Join("batch_size: 3 ", order)));
  }
  Source<TypeParam> source(Hdf5DataParameter(this->list_, "batch_size: 3"));
  for (const char* state : {"", "1:0", "1:01:x1:01:0", "1:00:1:01:0"}) {
    EXPECT_NE(ErrorOf([&] { source.layer.RestoreState(state); }), "") << state;
  }
}

TYPED_TEST(HDF5DataLayerTest, SaysWhenAFileHasChangedBeforeARunGoesOn) {
  Source<TypeParam> before(Hdf5DataParameter(NewFile(RowsFile(0, 6)), "batch_size: 4"));
  before.Forward();
  Source<TypeParam> after(Hdf5DataParameter(NewFile(RowsFile(0, 2)), "batch_size: 1"));
  ExpectContains(ErrorOf([&] { after.layer.RestoreState(before.layer.SaveState()); }),
                 "has 2 rows, the run stopped at number 4: has the file changed?");
}

TYPED_TEST(HDF5DataLayerTest, RefusesBadParameters) {
  ExpectContains(SetUpError<TypeParam>(Hdf5DataParameter(this->list_, "")), "batch_size");
  ExpectContains(SetUpError<TypeParam>(Hdf5DataParameter("", "batch_size: 1")),
                 "source is missing");
  ExpectContains(SetUpError<TypeParam>(Hdf5DataParameter("/no/list", "batch_size: 1")), "/no/list");
  const string empty = NewFile(" \n");
  ExpectContains(SetUpError<TypeParam>(Hdf5DataParameter(empty, "batch_size: 1")), empty);
  LayerParameter param = Hdf5DataParameter(this->list_, "batch_size: 1");
  param.mutable_transform_param();
  ExpectContains(SetUpError<TypeParam>(param), "transform_param");
  // The data itself where its list should be.
  ExpectContains(SetUpError<TypeParam>(Hdf5DataParameter(RowsFile(0, 1), "batch_size: 1")), "list");
}

TYPED_TEST(HDF5DataLayerTest, NamesABadFile) {
  const auto error = [](const string& files) {
    return SetUpError<TypeParam>(Hdf5DataParameter(NewFile(files), "batch_size: 1"));
  };
  ExpectContains(error("/no/file.h5"), "/no/file.h5");
  const string text = NewFile("text");
  ExpectContains(error(text), text + ": cannot be opened as an HDF5 file");
  const string good = RowsFile(0, 2);
  const string cut = NewFile(ReadFile(good).substr(0, 1000));
  ExpectContains(error(cut), cut);

  const auto written = [](const vector<int>& data_shape, const vector<int>& label_shape) {
    const string path = NewFileName();
    const Hdf5Handle file = Hdf5Handle::CreateFile(path);
    if (!data_shape.empty()) hdf5_save_nd_dataset(file.id(), "data", Blob<float>(data_shape));
    hdf5_save_nd_dataset(file.id(), "label", Blob<float>(label_shape));
    return path;
  };
  ExpectContains(error(written({}, {2})), "/data is missing");
  ExpectContains(error(written({3, 2}, {2})), "/label has 2 rows and /data has 3");
  const string wide = written({2, 3}, {2});
  Source<TypeParam> source(Hdf5DataParameter(NewFile(good + "\n" + wide), "batch_size: 2"));
  for (int again = 0; again < 2; ++again) {
    const string refused = ErrorOf([&] { source.Forward(); });
    ExpectContains(refused, wide + ": dataset /data has shape 2 3 (6), another file's is 2 2 (4)");
  }
}

#else

TEST(HDF5DataLayer, SaysThatItNeedsHDF5) {
  ExpectContains(SetUpError<float>(ParseSource("type: 'HDF5Data'")), "USE_HDF5");
}

#endif

}  // namespace
}  // namespace caffe
