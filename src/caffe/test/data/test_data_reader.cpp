#include "caffe/data_reader.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "caffe/test/support/test_databases.hpp"
#include "google/protobuf/text_format.h"

namespace caffe {
namespace {

/// Datum messages with the labels 0, 1, ...
std::vector<string> Labelled(int count) {
  std::vector<string> records;
  for (int label = 0; label < count; ++label) {
    Datum datum;
    datum.set_label(label);
    records.push_back(datum.SerializeAsString());
  }
  return records;
}

LayerParameter ReaderParameter(const string& source, int batch_size, Phase phase = TRAIN) {
  LayerParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      Join("data_param { prefetch: 2 batch_size: ", batch_size, " source: '", source,
           "' backend: ", kTestBackend, " }"),
      &param));
  param.set_phase(phase);
  return param;
}

std::vector<int> Labels(DataReader* reader, int count) {
  std::vector<int> labels;
  for (int i = 0; i < count; ++i) {
    Datum* const datum = reader->full().pop("Waiting for data");
    labels.push_back(datum->label());
    reader->free().push(datum);
  }
  return labels;
}

TEST(DataReader, GivesTheRecordsAgainAndAgain) {
  DataReader reader(ReaderParameter(NewDatabase(Labelled(3)), 2));
  EXPECT_EQ(Labels(&reader, 8), (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1}));
}

TEST(DataReader, ReadsNoFurtherThanItHasRecordsToFill) {
  DataReader reader(ReaderParameter(NewDatabase(Labelled(9)), 2));
  std::vector<Datum*> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(reader.full().pop());
  Datum* datum;
  EXPECT_FALSE(reader.free().try_pop(&datum)) << "prefetch times batch_size records";
  EXPECT_FALSE(reader.full().try_pop(&datum));
  EXPECT_EQ(taken[3]->label(), 3);
  reader.free().push(taken[3]);
  EXPECT_EQ(reader.full().pop()->label(), 4);
  EXPECT_EQ(taken[2]->label(), 2) << "what was not given back stays";
}

TEST(DataReader, DealsOutRecordsToSolversInTheTrainPhase) {
  const string path = NewDatabase(Labelled(5));
  std::vector<std::vector<int>> labels(2), tests(2);
  std::vector<std::thread> solvers;
  for (int rank = 0; rank < 2; ++rank) {
    solvers.emplace_back([&, rank] {
      Caffe::set_solver_count(2);
      Caffe::set_solver_rank(rank);
      DataReader reader(ReaderParameter(path, 1)), test(ReaderParameter(path, 1, TEST));
      labels[rank] = Labels(&reader, 5);
      tests[rank] = Labels(&test, 3);
    });
  }
  for (std::thread& solver : solvers) solver.join();
  EXPECT_EQ(labels[0], (std::vector<int>{0, 2, 4, 1, 3}));
  EXPECT_EQ(labels[1], (std::vector<int>{1, 3, 0, 2, 4}));
  EXPECT_EQ(tests[0], (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(tests[1], tests[0]);
}

TEST(DataReader, ReadsAnnotatedRecords) {
  AnnotatedDatum annotated;
  annotated.set_type(AnnotatedDatum::BBOX);
  annotated.add_annotation_group()->set_group_label(7);
  BasicDataReader<AnnotatedDatum> reader(
      ReaderParameter(NewDatabase({annotated.SerializeAsString()}), 1));
  EXPECT_EQ(reader.full().pop()->annotation_group(0).group_label(), 7);
}

TEST(DataReader, SaysWhatIsWrongWithTheDatabase) {
  const auto make_reader = [](const string& source) {
    return ErrorOf([&] { DataReader reader(ReaderParameter(source, 1)); });
  };
  ExpectContains(make_reader("/no/such/place"), "/no/such/place");
  ExpectContains(make_reader(""), "source is missing");
  ExpectContains(make_reader(NewDatabase({})), "has no records");
}

TEST(DataReader, SaysWhichRecordIsBad) {
  std::vector<string> records = Labelled(2);
  records.push_back("\xff\xff");
  DataReader reader(ReaderParameter(NewDatabase(records), 1));
  EXPECT_EQ(Labels(&reader, 2), (std::vector<int>{0, 1}));
  const string error = ErrorOf([&] { reader.full().pop(); });
  ExpectContains(error, "record 'key02'");
  ExpectContains(error, "Datum");
}

}  // namespace
}  // namespace caffe
