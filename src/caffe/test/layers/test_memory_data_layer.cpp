#include "caffe/layers/memory_data_layer.hpp"

#include <gtest/gtest.h>

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/source_layer.hpp"

namespace caffe {
namespace {

const char kMemoryLayer[] =
    "name: 'data' type: 'MemoryData' memory_data_param { batch_size: 2 channels: 1 height: 1 "
    "width: 2 } ";

/// Pixels `value` and `value` + 1.
Datum PairDatum(int value, int label) {
  Datum datum;
  datum.set_channels(1);
  datum.set_height(1);
  datum.set_width(2);
  datum.set_data({static_cast<char>(value), static_cast<char>(value + 1)});
  datum.set_label(label);
  return datum;
}

template <typename Dtype>
class MemoryDataLayerTest : public ::testing::Test {
 protected:
  static MemoryDataLayer<Dtype>& LayerOf(Source<Dtype>* source) {
    return dynamic_cast<MemoryDataLayer<Dtype>&>(source->layer);
  }
};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MemoryDataLayerTest, RealTypes);

TYPED_TEST(MemoryDataLayerTest, HasTheShapeOfItsParameter) {
  Source<TypeParam> source(kMemoryLayer);
  EXPECT_EQ(source.data().shape(), (vector<int>{2, 1, 1, 2}));
  EXPECT_EQ(source.label().shape(), (vector<int>{2}));
  auto& layer = this->LayerOf(&source);
  EXPECT_EQ(layer.batch_size(), 2);
  EXPECT_EQ(layer.channels(), 1);
  EXPECT_EQ(layer.height(), 1);
  EXPECT_EQ(layer.width(), 2);
  Source<TypeParam> by_dim("type: 'MemoryData' memory_data_param { dim: 3 dim: 2 }");
  EXPECT_EQ(by_dim.data().shape(), (vector<int>{3, 2, 1, 1}));
}

TYPED_TEST(MemoryDataLayerTest, ReadsMemoryOfTheCallersInEachPass) {
  Source<TypeParam> source(kMemoryLayer);
  vector<TypeParam> data = {0, 1, 2, 3, 4, 5, 6, 7}, labels = {9, 8, 7, 6};
  this->LayerOf(&source).Reset(data.data(), labels.data(), 4);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(source.Values(1), (vector<TypeParam>{0, 1, 2, 3}));
    EXPECT_EQ(source.Labels(1), (vector<int>{7, 6}));
  }
  data[0] = 100;  // seen without another call
  EXPECT_EQ(source.Values(1)[0], 100);
}

TYPED_TEST(MemoryDataLayerTest, PointersThatAreKeptShowEachBatchAndOutliveTheCallersMemory) {
  Source<TypeParam> source(kMemoryLayer);
  const boost::shared_ptr<SyncedMemory> memory = source.data().data();
  const auto* kept = static_cast<const TypeParam*>(memory->cpu_data());
  {
    vector<TypeParam> data = {0, 1, 2, 3, 4, 5, 6, 7}, labels = {9, 8, 7, 6};
    this->LayerOf(&source).Reset(data.data(), labels.data(), 4);
    source.Forward();
    EXPECT_EQ(kept[3], 3);
    source.Forward();
    EXPECT_EQ(kept[3], 7);
  }
  EXPECT_EQ(kept[3], 7);
  EXPECT_EQ(source.data().cpu_data(), kept);
}

TYPED_TEST(MemoryDataLayerTest, TransformsRecords) {
  Source<TypeParam> source(kMemoryLayer + string("transform_param { scale: 2 mean_value: 1 }"));
  auto& layer = this->LayerOf(&source);
  layer.AddDatumVector({PairDatum(1, 5), PairDatum(3, 6), PairDatum(5, 7), PairDatum(7, 8)});
  EXPECT_EQ(source.Values(2), (vector<TypeParam>{0, 2, 4, 6, 8, 10, 12, 14}));
  layer.AddDatumVector({PairDatum(11, 1), PairDatum(13, 2)});
  EXPECT_EQ(source.Labels(1), (vector<int>{1, 2}));
  EXPECT_EQ(source.Values(1), (vector<TypeParam>{20, 22, 24, 26}));  // again
}

TYPED_TEST(MemoryDataLayerTest, TakesNewItemsWhenTheOldAreUsed) {
  Source<TypeParam> source(kMemoryLayer);
  auto& layer = this->LayerOf(&source);
  const vector<Datum> four(4, PairDatum(1, 1));
  layer.AddDatumVector(four);
  ExpectContains(ErrorOf([&] { layer.AddDatumVector(four); }), "not used up");
  ExpectContains(ErrorOf([&] { layer.set_batch_size(1); }), "not used up");
  source.Forward();
  ExpectContains(ErrorOf([&] { layer.AddDatumVector(four); }), "not used up");
  source.Forward();
  layer.set_batch_size(4);
  layer.AddDatumVector(four);
  source.Forward();
  EXPECT_EQ(source.data().shape(), (vector<int>{4, 1, 1, 2}));
  EXPECT_EQ(source.label().shape(), (vector<int>{4}));
}

TYPED_TEST(MemoryDataLayerTest, RefusesBadItems) {
  Source<TypeParam> source(kMemoryLayer);
  auto& layer = this->LayerOf(&source);
  TypeParam value = 0;
  ExpectContains(ErrorOf([&] { source.Forward(); }),
                 "AddDatumVector, AddMatVector or Reset, in Python net.set_input_arrays");
  ExpectContains(ErrorOf([&] { layer.AddDatumVector({}); }), "nothing to add");
  ExpectContains(ErrorOf([&] { layer.AddDatumVector({PairDatum(0, 0)}); }), "batch_size 2");
  Datum wide = PairDatum(0, 0);
  wide.set_height(2);
  wide.set_width(1);
  ExpectContains(ErrorOf([&] { layer.AddDatumVector({wide, wide}); }), "1 x 2 x 1");
  ExpectContains(ErrorOf([&] { layer.Reset(nullptr, &value, 2); }), "data and labels");
  ExpectContains(ErrorOf([&] { layer.Reset(&value, nullptr, 2); }), "data and labels");
  ExpectContains(ErrorOf([&] { layer.Reset(&value, &value, 3); }), "3 items");
  ExpectContains(ErrorOf([&] { layer.Reset(&value, &value, 0); }), "0 items");
  ExpectContains(ErrorOf([&] { layer.set_batch_size(0); }), "batch_size");
  vector<TypeParam> data(8), labels(4);
  layer.Reset(data.data(), labels.data(), 4);
  layer.set_batch_size(3);
  ExpectContains(ErrorOf([&] { source.Forward(); }), "batch_size 3");
}

#ifdef USE_OPENCV
TYPED_TEST(MemoryDataLayerTest, TransformsImages) {
  Source<TypeParam> source(
      "type: 'MemoryData' memory_data_param { batch_size: 1 channels: 3 height: 1 width: 2 }");
  auto& layer = this->LayerOf(&source);
  layer.AddMatVector({CountingImage(3, 1, 2), CountingImage(3, 1, 2, 5)}, {4, 5});
  EXPECT_EQ(source.Values(1), (vector<TypeParam>{0, 1, 50, 51, 100, 101}));
  EXPECT_EQ(source.Labels(1), (vector<int>{5}));
  ExpectContains(ErrorOf([&] { layer.AddMatVector({CountingImage(3, 1, 2)}, {}); }), "labels");
  ExpectContains(ErrorOf([&] { layer.AddMatVector({CountingImage(3, 2, 2)}, {1}); }), "3 x 2 x 2");
}
#endif

// As programs do: the layer is found in a net and cast.
TEST(MemoryDataLayer, FeedsANetInEveryType) {
  for (const char* types : {"", "default_forward_type: FLOAT16 "}) {
    auto net = MakeNet(types + string("layer { top: 'data' top: 'label' ") + kMemoryLayer +
                       "} layer { name: 'relu' type: 'ReLU' bottom: 'data' top: 'y' "
                       "relu_param { negative_slope: 0.5 } }");
    const auto layer = boost::dynamic_pointer_cast<MemoryDataLayer<float>>(net->layers()[0]);
    ASSERT_TRUE(layer);
    float data[] = {1, -2, 3, -4, 5, -6, 7, -8}, labels[] = {0, 1, 2, 4097};
    layer->Reset(data, labels, 4);
    net->Forward();
    EXPECT_EQ(Values(*net->blob_by_name("y")), (std::vector<double>{1, -1, 3, -2}));
    net->Forward();
    EXPECT_EQ(Values(*net->blob_by_name("y")), (std::vector<double>{5, -3, 7, -4}));
    EXPECT_EQ(Values(*net->blob_by_name("label")), (std::vector<double>{2, 4097}));
    data[0] = -10;
    net->Forward();
    EXPECT_EQ(Values(*net->blob_by_name("y"))[0], -5);
  }
}

const std::vector<BadLayerCase> kMemoryDataBadCases = {
    BadLayerCase("NoShape", "type: 'MemoryData'")
        .Tops(2)
        .Says("batch_size, channels, height and width must be"),
    BadLayerCase(
        "Zero",
        "type: 'MemoryData' memory_data_param { batch_size: 1 channels: 1 height: 0 width: 1 }")
        .Tops(2)
        .Says("must be given and positive"),
    BadLayerCase("BothForms", "type: 'MemoryData' memory_data_param { batch_size: 1 dim: 2 }")
        .Tops(2)
        .Says("or dim, not both"),
    BadLayerCase("FiveAxes",
                 "type: 'MemoryData' memory_data_param { dim: 1 dim: 1 dim: 1 dim: 1 dim: 1 }")
        .Tops(2)
        .Says("4 axes"),
    BadLayerCase("TooLarge", "type: 'MemoryData' memory_data_param { dim: 65536 dim: 65536 }")
        .Tops(2)
        .Says("65536 x 65536 x 1 x 1 is too large"),
    BadLayerCase("OneTop", kMemoryLayer).Says("exactly 2 top"),
};
INSTANTIATE_TEST_SUITE_P(MemoryData, BadLayerCases, ::testing::ValuesIn(kMemoryDataBadCases),
                         CaseName());

}  // namespace
}  // namespace caffe
