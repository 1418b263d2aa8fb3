// What the processor multiplies at most, and its memory gives.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caffe/kernels/cpu/gemm/packed_tiles.hpp"
#include "caffe/kernels/cpu/int8/int8_tiles.hpp"
#include "caffe/kernels/cpu/simd/amx_tiles.hpp"
#include "caffe/kernels/cpu/simd/instruction_set_row.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/processor_peaks.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"

namespace caffe::kernels {
namespace {

class ProductPeaks : public OnInstructionSet {};
INSTANTIATE_ON_EVERY_SET(ProductPeaks);

// Each product of the largest tile of sums counts once.
TEST_P(ProductPeaks, CountTheProductsOfTheirSteps) {
  const PackedTiles& floats = ChosenPackedTiles();
  EXPECT_EQ(floats.multiply_registers(3),
            3 * floats.vectors * floats.block * floats.pixels[floats.vectors - 1]);
  const Int8Tiles& integers = ChosenInt8Tiles();
  EXPECT_EQ(integers.multiply_registers(3), 3 * integers.vectors * integers.block *
                                                integers.pixels[integers.vectors - 1] *
                                                (integers.has_bytes() ? 4 : 2));
  const AmxTiles* tiles = ChosenAmxTiles();
  ASSERT_EQ(tiles != nullptr, GetParam().has_tiles());
  if (!tiles) return;
  EXPECT_EQ(tiles->multiply_signed_registers(3), 3 * 4 * 16 * 16 * 64);
  EXPECT_EQ(tiles->multiply_bfloat16_registers(3), 3 * 4 * 16 * 16 * 32);
}

std::vector<int32_t> SumsInTiles(const AmxTiles& tiles) {
  const std::vector<int8_t> x(16 * 64, 1), weights(16 * 64, 2);
  const TilePair pair = {0, 0};
  std::vector<int32_t> y(16 * 16, 0);
  AmxTiles::Work work = {};
  work.rows = work.width = 16;
  work.row_tiles = work.panels = work.steps = work.pairs_count = 1;
  work.x = x.data();
  work.x_pitch = 64;
  work.weights = weights.data();
  work.sums = y.data();
  work.sums_pitch = 16;
  work.pairs = &pair;
  tiles.multiply_signed(work);
  return y;
}

// Kernels that follow find tiles that nothing is left in.
TEST(TilePeaks, LeaveTilesAsTheyWere) {
  for (const InstructionSet& set : TestedInstructionSets()) {
    if (!set.has_tiles()) continue;
    const AmxTiles& tiles = *set.row().tiles;
    for (const auto multiply :
         {tiles.multiply_signed_registers, tiles.multiply_bfloat16_registers}) {
      multiply(1);
      EXPECT_EQ(SumsInTiles(tiles), std::vector<int32_t>(16 * 16, 128)) << set.name();
    }
  }
}

TEST_P(ProductPeaks, HaveTheUnitsOfTheInstructionSet) {
  const TeamSize team(1);
  const std::vector<ProductPeak> peaks = MeasureProductPeaks();
  int tiles = 0;
  bool in_order = true;
  for (size_t i = 0; i < peaks.size(); ++i) {
    EXPECT_GT(peaks[i].per_second, 0) << peaks[i].unit;
    tiles += peaks[i].tiles;
    if (peaks[i].tiles) {
      EXPECT_EQ(peaks[i].unit, GetParam().name());
    } else if (peaks[i].unit != "avx512_bf16") {
      EXPECT_TRUE(InstructionSet::Named(peaks[i].unit).supported()) << peaks[i].unit;
    }
    const auto place = [](ElementType type) {
      return type == ElementType::FLOAT ? 0 : type == ElementType::BFLOAT16 ? 1 : 2;
    };
    in_order = in_order && (i == 0 || place(peaks[i - 1].type) <= place(peaks[i].type));
  }
  EXPECT_TRUE(in_order);
  EXPECT_EQ(tiles, GetParam().has_tiles() ? 2 : 0);
  EXPECT_EQ(peaks.front().type, ElementType::FLOAT);
  EXPECT_EQ(peaks.back().type, ElementType::INT8);
}

TEST(FastestProducts, AreThoseOfTheFastestUnitForTheType) {
  const ProductPeak floats = {ElementType::FLOAT, "vectors", false, 100};
  const ProductPeak bytes = {ElementType::INT8, "vectors", false, 300};
  const std::vector<ProductPeak> vectors = {floats, bytes};
  for (const ElementType type : {ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16}) {
    EXPECT_EQ(FastestProducts(vectors, type), 100) << Name(type);
  }
  EXPECT_EQ(FastestProducts(vectors, ElementType::INT8), 300);

  const std::vector<ProductPeak> tiles = {floats,
                                          {ElementType::BFLOAT16, "vectors", false, 200},
                                          {ElementType::BFLOAT16, "tiles", true, 1200},
                                          bytes,
                                          {ElementType::INT8, "tiles", true, 2400}};
  EXPECT_EQ(FastestProducts(tiles, ElementType::BFLOAT16), 1200);
  EXPECT_EQ(FastestProducts(tiles, ElementType::INT8), 2400);
  // Two parts each, less the smallest product; three, less the smallest three.
  EXPECT_EQ(FastestProducts(tiles, ElementType::FLOAT16), 400);
  EXPECT_EQ(FastestProducts(tiles, ElementType::FLOAT), 200);
  // Vectors that multiply BFLOAT16 take no parts of other types.
  EXPECT_EQ(FastestProducts({floats, tiles[1]}, ElementType::BFLOAT16), 200);
  EXPECT_EQ(FastestProducts({floats, tiles[1]}, ElementType::FLOAT16), 100);

  EXPECT_EQ(FastestProducts({floats}, ElementType::INT8), 0);
  EXPECT_EQ(FastestProducts({}, ElementType::FLOAT), 0);
}

TEST(ProcessorPeaks, KnowHowLongACacheLineTakesToAnotherCore) {
  {
    const TeamSize one(1);
    const HandOver none = MeasureHandOver();
    EXPECT_EQ(none.nearest, 0);
    EXPECT_EQ(none.farthest, 0);
  }
  if (omp_get_num_procs() < 2) GTEST_SKIP() << "there is one processor";
  const TeamSize two(2);
  const HandOver line = MeasureHandOver();
  if (line.nearest == 0) GTEST_SKIP() << "other programs have the cores";
  EXPECT_GT(line.nearest, 1) << "light goes 30 cm in a nanosecond";
  EXPECT_EQ(line.nearest, line.farthest) << "there is one other thread";
}

}  // namespace
}  // namespace caffe::kernels
