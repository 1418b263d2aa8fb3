#include "caffe/util/record_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "caffe/data/rank_settings.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/source_layer.hpp"
#include "caffe/test/support/test_databases.hpp"
#include "caffe/util/hdf5.hpp"
#ifdef USE_OPENCV
#include "caffe/test/support/image_files.hpp"
#endif

namespace caffe {
namespace {

/// While it lives, this thread's solver is one of several.
class AsRank {
 public:
  AsRank(int rank, int count, bool share_tests = false) {
    Caffe::set_solver_count(count);
    Caffe::set_solver_rank(rank);
    RankSettings::Current().share_tests = share_tests;
  }
  ~AsRank() {
    Caffe::set_solver_count(1);
    Caffe::set_solver_rank(0);
    RankSettings::Current() = RankSettings();
  }
};

std::vector<int> SharesOf(const RecordShare& share, int batch_size) {
  std::vector<int> own;
  for (uint64_t i = 0; i < share.Total(batch_size); ++i) {
    if (share.Has(i, batch_size)) own.push_back(i);
  }
  return own;
}

TEST(RecordShare, IsEveryRecordOfASolverAlone) {
  EXPECT_EQ(SharesOf(RecordShare(TRAIN), 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(SharesOf(RecordShare(TEST), 3), (std::vector<int>{0, 1, 2}));
}

TEST(RecordShare, IsEverySecondOfTwoInTraining) {
  const AsRank second(1, 2);
  EXPECT_EQ(SharesOf(RecordShare(TRAIN), 3), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(SharesOf(RecordShare(TEST), 3), (std::vector<int>{0, 1, 2}));
}

TEST(RecordShare, IsAWholeBatchInTests) {
  const AsRank second(1, 2, /*share_tests=*/true);
  EXPECT_EQ(SharesOf(RecordShare(TEST), 3), (std::vector<int>{3, 4, 5}));
}

/// Values of one item as the net gets them, and its label.
using Item = std::vector<float>;

std::vector<Item> ItemsOf(Source<float>* source) {
  source->Forward();
  std::vector<Item> items;
  const int count = source->data().count(1);
  for (int i = 0; i < source->data().shape(0); ++i) {
    const float* pixels = source->data().cpu_data() + i * count;
    items.emplace_back(pixels, pixels + count);
    items.back().push_back(source->label().cpu_data()[i]);
  }
  return items;
}

/// In each of `batches` iterations three solvers with batches of 2, set up with one seed, read what
/// one with batches of 6 reads; the same after a resumption from the state of any of them.
void ExpectSharesOfOne(const std::function<std::string(int batch_size)>& layer, Phase phase = TRAIN,
                       int batches = 5) {
  constexpr int kRanks = 3, kBatch = 2;
  Caffe::set_random_seed(TestSeed());
  Source<float> whole(ParseSource(layer(kRanks * kBatch), phase));
  std::vector<std::unique_ptr<Source<float>>> parts;
  for (int rank = 0; rank < kRanks; ++rank) {
    const AsRank as(rank, kRanks, phase == TEST);
    Caffe::set_random_seed(TestSeed());
    parts.emplace_back(new Source<float>(ParseSource(layer(kBatch), phase)));
  }
  for (int i = 0; i < batches; ++i) {
    SCOPED_TRACE(i);
    std::vector<Item> expected = ItemsOf(&whole), found;
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::vector<Item> part = ItemsOf(parts[rank].get());
      found.insert(found.end(), part.begin(), part.end());
    }
    if (phase == TRAIN) {
      std::sort(expected.begin(), expected.end());
      std::sort(found.begin(), found.end());
    }
    EXPECT_EQ(found, expected);
    for (int rank = 1; rank < kRanks; ++rank) {
      EXPECT_EQ(parts[rank]->layer.SaveState(), parts[0]->layer.SaveState());
    }
  }
}

#ifdef USE_LMDB

/// Records of 1 x 4 x 4 with pixels of their own, labelled 0, 1, ...
std::string NumberedDatabase(int count) {
  std::vector<Datum> records;
  for (int i = 0; i < count; ++i) {
    std::string pixels;
    for (int pixel = 0; pixel < 16; ++pixel) pixels.push_back(16 * (i % 8) + pixel);
    records.push_back(GreyDatum(4, pixels, i));
  }
  return NewDatabase(records);
}

TEST(RecordShare, OfDataLayersIsThatOfOneWithTheWholeBatch) {
  const std::string path = NumberedDatabase(16);  // no multiple of a batch
  for (const char* order : {"", "shuffle: true cache: true", "rand_skip: 9"}) {
    for (const char* transform : {"", "mirror: true crop_size: 2"}) {
      SCOPED_TRACE(Join(order, " ", transform));
      const auto layer = [&](int batch_size) {
        return Join("name: 'd' type: 'Data' top: 'd' top: 'l' data_param { backend: LMDB source: '",
                    path, "' batch_size: ", batch_size, " ", order, " } transform_param { ",
                    transform, " }");
      };
      ExpectSharesOfOne(layer);
      ExpectSharesOfOne(layer, TEST);
    }
  }
}

TEST(RecordShare, GoesOnFromAStateOfAnotherRank) {
  const std::string path = NumberedDatabase(30);
  const LayerParameter param = ParseSource(Join(
      "name: 'd' type: 'Data' data_param { backend: LMDB source: '", path, "' batch_size: 2 }"));
  std::string state;
  {
    const AsRank as(0, 2);
    Source<float> source(param);
    EXPECT_EQ(source.Labels(2), (std::vector<int>{0, 2, 4, 6}));
    state = source.layer.SaveState();
  }
  const AsRank as(2, 3);  // another rank of another number
  Source<float> source(param);
  source.layer.RestoreState(state);
  EXPECT_EQ(source.Labels(2), (std::vector<int>{10, 13, 16, 19}));
}

#endif  // USE_LMDB

#ifdef USE_OPENCV

TEST(RecordShare, OfImageDataLayersIsThatOfOneWithTheWholeBatch) {
  std::string lines;
  for (int i = 0; i < 8; ++i) {
    lines += Join(NewImage(CountingImage(3, 4, 5, 10 * i)), " ", i, "\n");
  }
  const std::string list = NewFile(lines);
  for (const char* order : {"", "shuffle: true"}) {
    const auto layer = [&](int batch_size) {
      return Join("name: 'd' type: 'ImageData' top: 'd' top: 'l' image_data_param { source: '",
                  list, "' batch_size: ", batch_size, " ", order,
                  " } transform_param { mirror: true crop_size: 3 }");
    };
    ExpectSharesOfOne(layer);
    ExpectSharesOfOne(layer, TEST);
  }
}

#endif  // USE_OPENCV

#ifdef USE_HDF5

TEST(RecordShare, OfHDF5DataLayersIsThatOfOneWithTheWholeBatch) {
  std::string files;
  int label = 0;
  for (const int rows : {5, 1, 4}) {
    Blob<float> data({rows, 2}), labels({rows});
    for (int i = 0; i < rows; ++i, ++label) {
      labels.mutable_cpu_data()[i] = label;
      for (int j = 0; j < 2; ++j) data.mutable_cpu_data()[2 * i + j] = 10 * label + j;
    }
    const std::string name = NewFileName();
    const Hdf5Handle file = Hdf5Handle::CreateFile(name);
    hdf5_save_nd_dataset(file.id(), "d", data);
    hdf5_save_nd_dataset(file.id(), "l", labels);
    files += name + "\n";
  }
  const std::string list = NewFile(files);
  for (const char* order : {"", "shuffle: true"}) {
    const auto layer = [&](int batch_size) {
      return Join("name: 'd' type: 'HDF5Data' top: 'd' top: 'l' hdf5_data_param { source: '", list,
                  "' batch_size: ", batch_size, " ", order, " }");
    };
    ExpectSharesOfOne(layer);
    ExpectSharesOfOne(layer, TEST);
  }
}

#endif  // USE_HDF5

}  // namespace
}  // namespace caffe
