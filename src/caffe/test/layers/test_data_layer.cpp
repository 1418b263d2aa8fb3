#include "caffe/layers/data_layer.hpp"

#include <gtest/gtest.h>

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

#include <memory>

#include "caffe/context.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/source_layer.hpp"
#include "caffe/test/support/test_databases.hpp"

namespace caffe {
namespace {

/// Records 0 to count - 1, pixels of value 10 i and label i.
string CountingDatabase(int count, int size = 2) {
  vector<Datum> records;
  for (int i = 0; i < count; ++i) records.push_back(PlainDatum(10 * i, i, size));
  return NewDatabase(records);
}

LayerParameter DataParameter(const string& source, const string& data, const string& transform = "",
                             Phase phase = TRAIN) {
  return ParseSource(Join("name: 'data' type: 'Data' data_param { source: '", source, "' backend: ",
                          kTestBackend, " ", data, " } transform_param { ", transform, " }"),
                     phase);
}

template <typename Dtype>
class DataLayerTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef USE_LMDB
    GTEST_SKIP() << "built without LMDB";
#endif
  }
};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DataLayerTest, RealTypes);

TYPED_TEST(DataLayerTest, ReadsBatchesAgainAndAgain) {
  for (int prefetch : {1, 2, 7}) {
    Source<TypeParam> source(DataParameter(
        CountingDatabase(5), Join("batch_size: 3 prefetch: ", prefetch), "scale: 0.5"));
    EXPECT_EQ(source.data().shape(), (vector<int>{3, 1, 2, 2}));
    EXPECT_EQ(source.label().shape(), (vector<int>{3}));
    EXPECT_EQ(source.Labels(4), (vector<int>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1}));
    source.Forward();
    EXPECT_EQ(source.data().cpu_data()[0], 10);
    EXPECT_EQ(source.data().cpu_data()[11], 20);
    EXPECT_EQ(source.layer.EpochItems(), 5u);
  }
}

TYPED_TEST(DataLayerTest, PointersThatAreKeptShowEachBatchAndOutliveTheLayer) {
  boost::shared_ptr<SyncedMemory> memory;
  const TypeParam* kept = nullptr;
  {
    Source<TypeParam> source(DataParameter(CountingDatabase(5), "batch_size: 1 prefetch: 2"));
    memory = source.data().data();
    kept = static_cast<const TypeParam*>(memory->cpu_data());
    for (int pass = 0; pass < 7; ++pass) {
      source.Forward();
      EXPECT_EQ(kept[0], pass % 5 * 10);
      EXPECT_EQ(source.data().cpu_data(), kept);
    }
  }
  EXPECT_EQ(kept[0], 10);
}

TYPED_TEST(DataLayerTest, NeedsNoLabels) {
  Source<TypeParam> source(DataParameter(CountingDatabase(2), "batch_size: 2"), 1);
  source.Forward();
  EXPECT_EQ(source.data().cpu_data()[4], 10);
}

TYPED_TEST(DataLayerTest, TakesAnotherSizeFromBatchToBatch) {
  Source<TypeParam> source(DataParameter(
      NewDatabase<Datum>({PlainDatum(1, 0, 2), PlainDatum(2, 1, 3)}), "batch_size: 1"));
  source.Forward();
  EXPECT_EQ(source.data().shape(), (vector<int>{1, 1, 2, 2}));
  source.Forward();
  EXPECT_EQ(source.data().shape(), (vector<int>{1, 1, 3, 3}));
  EXPECT_EQ(source.data().cpu_data()[8], 2);
}

TYPED_TEST(DataLayerTest, GivesEachSolverItsRecords) {
  const Context::Settings before = Context::Current().settings();
  const string path = CountingDatabase(6);
  for (int rank = 0; rank < 3; ++rank) {
    Context::Settings settings = before;
    settings.solver_count = 3;
    settings.solver_rank = rank;
    Context::Current().set_settings(settings);
    {
      Source<TypeParam> train(DataParameter(path, "batch_size: 2"));
      EXPECT_EQ(train.Labels(2), (vector<int>{rank, rank + 3, rank, rank + 3}));
      Source<TypeParam> test(DataParameter(path, "batch_size: 2", "", TEST));
      EXPECT_EQ(test.Labels(1), (vector<int>{0, 1}));
    }
    Context::Current().set_settings(before);
  }
}

TYPED_TEST(DataLayerTest, SkipsAtRandomAtTheStart) {
  const string path = CountingDatabase(9);
  std::set<int> firsts;
  for (unsigned i = 0; i < 60; ++i) {
    Caffe::set_random_seed(TestSeed() + i);
    Source<TypeParam> source(DataParameter(path, "batch_size: 1 rand_skip: 3"));
    firsts.insert(source.Labels(1)[0]);
  }
  EXPECT_EQ(firsts, (std::set<int>{0, 1, 2}));
}

TYPED_TEST(DataLayerTest, ReadsEveryRecordOnceAPassWhenShuffling) {
  Source<TypeParam> source(
      DataParameter(CountingDatabase(20), "batch_size: 20 shuffle: true cache: true"));
  const vector<int> first = source.Labels(1), second = source.Labels(1);
  EXPECT_NE(first, second);
  for (const vector<int>& pass : {first, second}) {
    EXPECT_EQ(std::set<int>(pass.begin(), pass.end()).size(), 20u);
  }
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
}

TYPED_TEST(DataLayerTest, DoesNotShuffleWithoutCache) {
  Source<TypeParam> source(DataParameter(CountingDatabase(4), "batch_size: 4 shuffle: true"));
  EXPECT_EQ(source.Labels(1), (vector<int>{0, 1, 2, 3}));
}

/// A database of images in which every pixel differs.
string TexturedDatabase(bool encoded) {
  vector<string> records;
  for (int i = 0; i < 7; ++i) {
    Datum datum = PlainDatum(0, i, 9);
    for (int k = 0; k < 81; ++k) (*datum.mutable_data())[k] = static_cast<char>(3 * k + 5 * i);
#ifdef USE_OPENCV
    if (encoded) {
      std::vector<uint8_t> bytes;
      cv::imencode(".png", cv::Mat(9, 9, CV_8U, &(*datum.mutable_data())[0]), bytes);
      datum.set_data(string(bytes.begin(), bytes.end()));
      datum.set_encoded(true);
    }
#else
    (void)encoded;
#endif
    records.push_back(datum.SerializeAsString());
  }
  return NewDatabase(records);
}

TYPED_TEST(DataLayerTest, DependsOnTheSeedAlone) {
  for (bool encoded : {false, true}) {
    const string path = TexturedDatabase(encoded);
    vector<TypeParam> expected;
    for (const char* threads : {"", "threads: 1", "threads: 2", "threads: 5", "prefetch: 1"}) {
      Caffe::set_random_seed(TestSeed());
      Source<TypeParam> source(
          DataParameter(path, Join("batch_size: 3 ", threads), "mirror: true crop_size: 4"));
      const vector<TypeParam> values = source.Values(10);
      if (expected.empty()) expected = values;
      EXPECT_EQ(values, expected) << threads;
    }
    Caffe::set_random_seed(TestSeed() + 1);
    Source<TypeParam> source(DataParameter(path, "batch_size: 3", "mirror: true crop_size: 4"));
    EXPECT_NE(source.Values(10), expected);
  }
}

TYPED_TEST(DataLayerTest, ResumesWhereTheNetWas) {
  const string path = TexturedDatabase(false);
  for (const char* order : {"", "shuffle: true cache: true", "prefetch: 1"}) {
    SCOPED_TRACE(order);
    ExpectResumes<TypeParam>(
        DataParameter(path, Join("batch_size: 3 ", order), "mirror: true crop_size: 4"));
  }
}

TYPED_TEST(DataLayerTest, SettingUpAgainBeginsAgain) {
  const string path = TexturedDatabase(false);
  for (const char* order : {"", "shuffle: true cache: true", "prefetch: 1"}) {
    SCOPED_TRACE(order);
    ExpectBeginsAgain<TypeParam>(
        DataParameter(path, Join("batch_size: 3 ", order), "mirror: true crop_size: 4"));
  }
}

TYPED_TEST(DataLayerTest, RefusesAStateThatIsNone) {
  Source<TypeParam> source(DataParameter(CountingDatabase(3), "batch_size: 1"));
  for (const char* state : {"", "1", "1:0", "1:0999:a", "-1:00:0:", "1:x1:a0:", "1:01:a0:0:"}) {
    EXPECT_NE(ErrorOf([&] { source.layer.RestoreState(state); }), "") << state;
  }
  source.Forward();
}

TYPED_TEST(DataLayerTest, GoesOnNearbyWhenTheDatabaseHasChanged) {
  Source<TypeParam> source(DataParameter(CountingDatabase(3), "batch_size: 1"));
  source.layer.RestoreState("1:56:key0050:");
  EXPECT_EQ(source.Labels(1), (vector<int>{1}));
  source.layer.RestoreState("1:53:zzz0:");
  EXPECT_EQ(source.Labels(1), (vector<int>{0}));
}

#ifdef USE_OPENCV
TYPED_TEST(DataLayerTest, ResizesImagesOfManySizesToOne) {
  const string path = NewDatabase<Datum>({PlainDatum(10, 0, 2), PlainDatum(20, 1, 5)});
  Source<TypeParam> source(DataParameter(
      path, "batch_size: 2", "resize_param { height: 3 width: 4 } crop_h: 1 crop_w: 2"));
  EXPECT_EQ(source.data().shape(), (vector<int>{2, 1, 1, 2}));
  EXPECT_EQ(source.Values(1), (vector<TypeParam>{10, 10, 20, 20}));
}

TYPED_TEST(DataLayerTest, ResumesTheDrawsOfResizing) {
  ExpectResumes<TypeParam>(
      DataParameter(TexturedDatabase(false), "batch_size: 3",
                    "resize_param { height: 5 width: 9 interp_mode: LINEAR interp_mode: AREA "
                    "interp_mode: NEAREST }"));
}
#endif

TYPED_TEST(DataLayerTest, RefusesBadParameters) {
  const string path = CountingDatabase(1);
  ExpectContains(SetUpError<TypeParam>(DataParameter(path, "")), "batch_size");
  ExpectContains(SetUpError<TypeParam>(DataParameter(path, "batch_size: 4000000000")),
                 "data_param: batch_size 4000000000 is too large: give up to 2147483647");
  ExpectContains(SetUpError<TypeParam>(DataParameter("", "batch_size: 1")), "source");
  ExpectContains(SetUpError<TypeParam>(DataParameter(path + "x", "batch_size: 1")), path + "x");
  ExpectContains(SetUpError<TypeParam>(DataParameter(path, "batch_size: 1", "crop_size: 3")), path);
  ExpectContains(SetUpError<TypeParam>(DataParameter(path, "batch_size: 1 prefetch: 4000000000")),
                 "prefetch");
  ExpectContains(SetUpError<TypeParam>(DataParameter(path, "batch_size: 1", "distort_param { }")),
                 "does not know distort_param");
  const string empty = NewDatabase({});
  const string error = SetUpError<TypeParam>(DataParameter(empty, "batch_size: 1"));
  ExpectContains(error, empty);
  ExpectContains(error, "no records");
}

TYPED_TEST(DataLayerTest, CanBeMadeOfNothing) { DataLayer<TypeParam> layer{LayerParameter()}; }

TYPED_TEST(DataLayerTest, CanGoWithoutARun) {
  Source<TypeParam> source(DataParameter(CountingDatabase(3), "batch_size: 1"));
}

/// A good record, then `bad`: the error of the second batch, twice.
template <typename Dtype>
string RecordError(const string& bad) {
  const string path =
      NewDatabase({PlainDatum(1, 0).SerializeAsString(), PlainDatum(1, 0).SerializeAsString(), bad,
                   PlainDatum(1, 0).SerializeAsString()});
  Source<Dtype> source(DataParameter(path, "batch_size: 2 threads: 2"));
  source.Forward();
  const string error = ErrorOf([&] { source.Forward(); });
  ExpectContains(error, path);
  ExpectContains(error, "record 'key02'");
  EXPECT_EQ(ErrorOf([&] { source.Forward(); }), error);
  return error;
}

TYPED_TEST(DataLayerTest, NamesABadRecord) {
  ExpectContains(RecordError<TypeParam>("no protobuf"), "no Datum message");
  ExpectContains(RecordError<TypeParam>(""), "0 x 0 x 0");
  Datum datum = PlainDatum(1, 0);
  datum.mutable_data()->pop_back();
  ExpectContains(RecordError<TypeParam>(datum.SerializeAsString()), "1 x 2 x 2");
  datum.set_encoded(true);
#ifdef USE_OPENCV
  ExpectContains(RecordError<TypeParam>(datum.SerializeAsString()), "not an image");
#else
  ExpectContains(RecordError<TypeParam>(datum.SerializeAsString()), "USE_OPENCV");
#endif
}

TYPED_TEST(DataLayerTest, NamesARecordOfAnotherShape) {
  const string path = NewDatabase<Datum>({PlainDatum(1, 0, 2), PlainDatum(1, 0, 3)});
  Source<TypeParam> source(DataParameter(path, "batch_size: 2"));
  const string error = ErrorOf([&] { source.Forward(); });
  ExpectContains(error, path);
  ExpectContains(error, "record 'key01'");
  ExpectContains(error, "1 x 3 x 3");
}

#ifndef CPU_ONLY

TYPED_TEST(DataLayerTest, BatchesAreOnTheDeviceBeforeTheyAreAskedFor) {
  OnEachDevice([&] {
    Source<TypeParam> source(DataParameter(CountingDatabase(5), "batch_size: 2 prefetch: 2"));
    for (const TypeParam first : {0, 20, 40, 10, 30}) {
      source.Forward();
      const auto& memory = source.data().data();
      ASSERT_EQ(memory->head(), SyncedMemory::HEAD_AT_GPU);
      TypeParam value = -1;
      Stream& stream = Context::Current().stream();
      Device::Get().CopyToHost(&value, memory->gpu_data(), sizeof(value), stream);
      stream.Synchronize();
      EXPECT_EQ(value, first);
      EXPECT_EQ(source.data().cpu_data()[0], first);
    }
  });
}

// The host is far ahead of the device: what it has given the device to do with a batch comes before
// the next copy into that memory.
TYPED_TEST(DataLayerTest, ABatchStaysOnTheDeviceUntilTheNetHasComputedWithIt) {
  const FakeDevice::Installed device;
  const ModeScope gpu(Caffe::GPU);
  vector<TypeParam> seen;
  Source<TypeParam> source(DataParameter(CountingDatabase(5), "batch_size: 1 prefetch: 1"));
  Stream& stream = Context::Current().stream();
  for (int i = 0; i < 4; ++i) {
    source.Forward();
    const auto* data = static_cast<const TypeParam*>(source.data().data()->gpu_data());
    stream.RunOnHost([&seen, data] { seen.push_back(*data); });
  }
  stream.Synchronize();
  EXPECT_EQ(seen, (vector<TypeParam>{0, 10, 20, 30}));
}

#endif  // CPU_ONLY

}  // namespace
}  // namespace caffe
