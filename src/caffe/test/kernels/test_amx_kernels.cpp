// AMX's emulated tiles, the products of matrices in them, and numbers split for them, against their
// definitions. On a machine with AMX the processor's tiles against the emulated ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/float16.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/simd/amx_tiles.hpp"
#include "caffe/kernels/cpu/simd/emulated_tiles.hpp"
#include "caffe/kernels/cpu/simd/instruction_set_row.hpp"
#include "caffe/kernels/cpu/simd/tile_pairs.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const AmxTiles& EmulatedAmxTiles() { return *InstructionSet::Named("emulated_amx").row().tiles; }

float Power(int exponent) { return std::ldexp(1.f, exponent); }

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
uint16_t BFloat16(float value) { return static_cast<uint16_t>(BitsOf(value) >> 16); }
float FromBFloat16(uint16_t bits) { return FloatOf(uint32_t(bits) << 16); }

/// Sums of one row and one column in tile 0, rows in tile 4, weights in tile 6.
TileConfig OneSum(int bytes) {
  TileConfig config;
  config.rows[0] = config.rows[4] = 1;
  config.bytes[0] = config.bytes[6] = 4;
  config.bytes[4] = static_cast<uint16_t>(bytes);
  config.rows[6] = static_cast<uint8_t>(bytes / 4);
  return config;
}

template <typename Sum, typename X, typename W, typename Dot>
Sum DotOf(const std::vector<X>& x, const std::vector<W>& w, Sum start, Dot&& dot) {
  EmulatedTiles tiles;
  tiles.Configure(OneSum(static_cast<int>(x.size() * sizeof(X))));
  tiles.Load(0, &start, 4);
  tiles.Load(4, x.data(), 64);
  tiles.Load(6, w.data(), 4);
  dot(&tiles);
  tiles.Store(0, &start, 4);
  return start;
}

TEST(EmulatedAmx, AddsProductsOfBytes) {
  const auto s8 = [](EmulatedTiles* tiles) { tiles->DotSigned(0, 4, 6); };
  const auto u8 = [](EmulatedTiles* tiles) { tiles->DotUnsigned(0, 4, 6); };
  // 10 + 1*5 - 2*6 + 3*(-7) + 127*(-128) = -16274, and on to the next four: 100*2.
  const std::vector<int8_t> x = {1, -2, 3, 127, 100, 0, 0, 0}, w = {5, 6, -7, -128, 2, 9, 9, 9};
  EXPECT_EQ((DotOf<int32_t, int8_t, int8_t>(x, w, 10, s8)), -16074);
  // 255 * -128 * 4; the same bytes as signed ones are -1.
  const std::vector<uint8_t> ones(4, 255);
  const std::vector<int8_t> least(4, -128);
  EXPECT_EQ((DotOf<int32_t, uint8_t, int8_t>(ones, least, 0, u8)), -130560);
  EXPECT_EQ((DotOf<int32_t, uint8_t, int8_t>(ones, least, 0, s8)), 512);
  const int32_t most = std::numeric_limits<int32_t>::max();
  EXPECT_EQ((DotOf<int32_t, int8_t, int8_t>({1, 0, 0, 0}, {1, 0, 0, 0}, most, s8)), -most - 1)
      << "wraps around";
}

float BFloat16Dot(const std::vector<float>& x, const std::vector<float>& w, float start) {
  std::vector<uint16_t> short_x, short_w;
  for (const float value : x) short_x.push_back(BFloat16(value));
  for (const float value : w) short_w.push_back(BFloat16(value));
  return DotOf<float, uint16_t, uint16_t>(
      short_x, short_w, start, [](EmulatedTiles* tiles) { tiles->DotBFloat16(0, 4, 6); });
}

// Even and odd products have sums of their own: 2^24 + 1 is 2^24, but 1 + 1 is 2.
TEST(EmulatedAmx, AddsEvenAndOddProductsOfBFloat16sApart) {
  EXPECT_EQ(BFloat16Dot({1, 2, 3, 4}, {5, 6, -7, 8}, 0.5f), 28.5f);
  EXPECT_EQ(BFloat16Dot({Power(24), 1, 1, 1}, {1, 1, 1, 1}, 0), Power(24) + 2);
  EXPECT_EQ(BFloat16Dot({1, 1}, {1, 1}, Power(25)), Power(25)) << "what is added before comes last";
}

TEST(EmulatedAmx, TakesSubnormalNumbersForZeroAndMakesNone) {
  const float subnormal = Power(-130);
  EXPECT_EQ(BFloat16Dot({subnormal, 0}, {Power(120), 0}, 0), 0) << "in x";
  EXPECT_EQ(BFloat16Dot({Power(120), 0}, {subnormal, 0}, 0), 0) << "in the weights";
  EXPECT_EQ(BFloat16Dot({0, 0}, {0, 0}, Power(-127)), 0) << "in the sum before";
  EXPECT_EQ(BFloat16Dot({Power(-64), 0}, {Power(-63), 0}, 0), 0) << "a product";
  EXPECT_EQ(BFloat16Dot({Power(-63), 0}, {Power(-63), 0}, 0), Power(-126))
      << "the least normal one";
  EXPECT_EQ(BFloat16Dot({1.5f * Power(-126), 0}, {1, 0}, -Power(-126)), 0) << "a difference";
}

TEST(EmulatedAmx, PassesInfinitiesAndNaNsOn) {
  EXPECT_EQ(BFloat16Dot({kInfinity, 1}, {2, 1}, 0), kInfinity);
  EXPECT_TRUE(std::isnan(BFloat16Dot({kInfinity, 1}, {0, 1}, 0)));
  EXPECT_TRUE(std::isnan(BFloat16Dot({1, 1}, {1, 1}, kNan)));
}

TEST(EmulatedAmx, AnswersWhatTheProcessorRefusesWithAnError) {
  EmulatedTiles tiles;
  char memory[1024] = {};
  EXPECT_THROW(tiles.Load(0, memory, 64), Error) << "not configured";
  TileConfig config = OneSum(8);
  tiles.Configure(config);
  EXPECT_THROW(tiles.Zero(1), Error) << "no such tile";
  EXPECT_THROW(tiles.DotSigned(0, 4, 4), Error) << "the same tile twice";
  config.rows[6] = 1;
  tiles.Configure(config);
  EXPECT_THROW(tiles.DotSigned(0, 4, 6), Error) << "8 bytes by one row of 4";
  config.rows[6] = 17;
  EXPECT_THROW(tiles.Configure(config), Error);
  tiles.Configure(OneSum(8));
  tiles.Release();
  EXPECT_THROW(tiles.Zero(0), Error) << "released";
}

// Both parts of each float16 are normal bfloat16, or zero: the processor takes others for zero.
TEST(AmxParts, OfEachFloat16AreTwo) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = half_detail::WidenHalf(static_cast<uint16_t>(bits));
    uint16_t parts[2];
    const bool splits = EmulatedAmxTiles().split(1, 2, &x, parts, 1);
    ASSERT_EQ(splits, std::isfinite(x)) << bits;
    if (!splits) continue;
    const float high = FromBFloat16(parts[0]), low = FromBFloat16(parts[1]);
    ASSERT_EQ(double(high) + low, x) << bits;
    for (const float part : {high, low}) {
      ASSERT_TRUE(part == 0 || std::isnormal(part)) << bits;
    }
    ASSERT_LE(std::fabs(low), std::fabs(x) / 256) << bits;
  }
}

TEST(AmxParts, OfFloatsAreThree) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  std::vector<float> numbers = {0.f,         -0.f,        Power(-103),         Power(-104),
                                Power(127),  kInfinity,   -kInfinity,          kNan,
                                Power(-149), Power(-126), FloatOf(0x7f7f7fff), FloatOf(0x7f7f8000)};
  for (int i = 0; i < 200000; ++i) numbers.push_back(FloatOf(random()));
  for (const float x : numbers) {
    const float magnitude = std::fabs(x);
    uint16_t parts[3];
    const bool splits = EmulatedAmxTiles().split(1, 3, &x, parts, 1);
    ASSERT_EQ(splits,
              magnitude == 0 || (magnitude >= Power(-103) && magnitude < FloatOf(0x7f7f8000)))
        << BitsOf(x);
    if (!splits) continue;
    double sum = 0;
    for (const uint16_t part : parts) {
      const float value = FromBFloat16(part);
      sum += value;
      ASSERT_TRUE(value == 0 || std::isnormal(value)) << BitsOf(x);
    }
    ASSERT_EQ(sum, x) << BitsOf(x);
  }
}

// What x sums up to, of which more numbers than fit whole vectors lie in each part, and nothing is
// written behind them.
std::vector<double> SumsOfParts(const std::vector<uint16_t>& y, size_t n, int parts, size_t plane) {
  std::vector<double> sums(n);
  for (int part = 0; part < parts; ++part) {
    for (size_t i = 0; i < n; ++i) sums[i] += FromBFloat16(y[part * plane + i]);
    for (size_t i = n; i < plane; ++i) EXPECT_EQ(y[part * plane + i], 0xabcd) << i;
  }
  return sums;
}

TEST(AmxParts, OfArraysAreThoseOfTheirNumbers) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (const InstructionSet& set : TestedInstructionSets()) {
    if (!set.row().tiles) continue;
    const AmxTiles& tiles = *set.row().tiles;
    for (int round = 0; round < 40; ++round) {
      const size_t n = 1 + below(150), plane = n + below(40), at = below(n);
      std::vector<uint16_t> halves(n);
      std::vector<float> floats(n), wide(n);
      for (size_t i = 0; i < n; ++i) {
        do {
          halves[i] = static_cast<uint16_t>(random());
          wide[i] = half_detail::WidenHalf(halves[i]);
        } while (!std::isfinite(wide[i]));
        floats[i] = std::ldexp(static_cast<float>(random()), -16 - static_cast<int>(below(80)));
      }
      floats[at] = 0;
      std::vector<uint16_t> y(3 * plane, 0xabcd);
      ASSERT_TRUE(tiles.split_halves(n, halves.data(), y.data(), plane));
      const std::vector<double> of_halves = SumsOfParts(y, n, 2, plane);
      ASSERT_TRUE(tiles.split(n, 2, floats.data(), y.data(), plane));
      const std::vector<double> of_two = SumsOfParts(y, n, 2, plane);
      ASSERT_TRUE(tiles.split(n, 3, floats.data(), y.data(), plane));
      const std::vector<double> of_three = SumsOfParts(y, n, 3, plane);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(of_halves[i], wide[i]) << i << " of " << n;
        ASSERT_NEAR(of_two[i], floats[i], floats[i] * 0x1p-16) << i << " of " << n;
        ASSERT_EQ(of_three[i], floats[i]) << i << " of " << n;
      }
      // One that cannot be split, wherever it is.
      halves[at] = round % 2 ? 0x7c00 : 0xfe00;
      EXPECT_FALSE(tiles.split_halves(n, halves.data(), y.data(), plane)) << at << " of " << n;
      for (const float odd : {kInfinity, kNan, FloatOf(0x7f7f8000)}) {
        floats[at] = odd;
        EXPECT_FALSE(tiles.split(n, 2, floats.data(), y.data(), plane)) << at << " of " << n;
        EXPECT_FALSE(tiles.split(n, 3, floats.data(), y.data(), plane)) << at << " of " << n;
      }
      floats[at] = Power(-110);
      EXPECT_TRUE(tiles.split(n, 2, floats.data(), y.data(), plane));
      EXPECT_FALSE(tiles.split(n, 3, floats.data(), y.data(), plane)) << at << " of " << n;
    }
  }
}

TEST(AmxParts, OneIsABFloat16AsItIs) {
  for (const float x : {0.f, -1.5f, 3.f, 255.f, Power(-126), FloatOf(0x7f7f0000)}) {
    uint16_t part;
    EXPECT_TRUE(EmulatedAmxTiles().split(1, 1, &x, &part, 1));
    EXPECT_EQ(FromBFloat16(part), x);
  }
  for (const float x : {kInfinity, kNan}) {
    uint16_t part;
    EXPECT_FALSE(EmulatedAmxTiles().split(1, 1, &x, &part, 1));
  }
}

// Rows 0 and 1 side by side, then row 2 and nothing; the ninth column is another panel's.
TEST(AmxParts, OfWeightsLieInPairs) {
  std::vector<float> weights(3 * 9);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  std::vector<uint16_t> y(4 * 8, 99);
  EXPECT_TRUE(EmulatedAmxTiles().split_weights(3, 4, 8, 9, 1, weights.data(), y.data(), 0));
  for (int o = 0; o < 8; ++o) {
    EXPECT_EQ(FromBFloat16(y[2 * o]), o);
    EXPECT_EQ(FromBFloat16(y[2 * o + 1]), 9 + o);
    EXPECT_EQ(FromBFloat16(y[16 + 2 * o]), 18 + o);
    EXPECT_EQ(FromBFloat16(y[16 + 2 * o + 1]), 0);
  }
  weights[10] = kNan;
  EXPECT_FALSE(EmulatedAmxTiles().split_weights(3, 4, 8, 9, 2, weights.data(), y.data(), 0));
}

TEST(AmxParts, TheSmallestProductsComeFirstAndWhatIsBelowTheBoundIsLeftOut) {
  const auto names = [](Storage x, Storage w, ElementType math) {
    std::string result;
    for (const TilePair& pair : TilePairsOf(x, w, math)) {
      result += std::to_string(pair.x) + std::to_string(pair.weights) + " ";
    }
    return result;
  };
  const ElementType exact = ElementType::FLOAT, rounded = ElementType::FLOAT16;
  EXPECT_EQ(names(STORED_HALF, STORED_HALF, exact), "11 01 10 00 ");
  EXPECT_EQ(names(STORED_HALF, STORED_HALF, rounded), "01 10 00 ");
  EXPECT_EQ(names(STORED_FLOAT, STORED_FLOAT, exact), "02 11 20 01 10 00 ");
  EXPECT_EQ(names(STORED_FLOAT, STORED_HALF, rounded), "11 20 01 10 00 ");
  EXPECT_EQ(names(STORED_BFLOAT16, STORED_BFLOAT16, exact), "00 ");
  EXPECT_EQ(names(STORED_BFLOAT16, STORED_FLOAT, exact), "02 01 00 ");
}

/// A product of matrices of a random shape: with gaps between rows, parts and panels.
struct Product {
  explicit Product(std::mt19937* random, size_t element) {
    const auto upto = [&](int most) { return 1 + static_cast<int>((*random)() % most); };
    work.rows = upto(16);
    work.row_tiles = upto(3);
    work.width = 8 * upto(2);
    work.panels = upto(3);
    work.steps = upto(3);
    const int parts = upto(3), depth = work.steps * kTileBytes;
    for (int i = 0; i < upto(6); ++i) {
      pairs.push_back(
          {static_cast<int>((*random)() % parts), static_cast<int>((*random)() % parts)});
    }
    work.x_pitch = depth + 64 * upto(2);
    work.x_part = work.x_pitch * work.rows * work.row_tiles + 64;
    work.weights_part = depth * work.width + 64;
    work.weights_panel = work.weights_part * parts;
    work.sums_pitch = work.width + upto(8);
    work.sums_panel = work.sums_pitch * work.rows * work.row_tiles;
    x.resize(work.x_part * parts);
    weights.resize(work.weights_panel * work.panels);
    sums.resize(work.sums_panel * work.panels);
    for (auto* bytes : {&x, &weights}) {
      for (uint8_t& byte : *bytes) byte = static_cast<uint8_t>((*random)());
      // Numbers from 2^-15 to 2^16, and negative ones.
      for (size_t i = 1; element == 2 && i < bytes->size(); i += 2) {
        (*bytes)[i] = static_cast<uint8_t>(((*bytes)[i] & 0x87) | 0x38);
      }
    }
  }

  template <typename Sum>
  std::vector<Sum> Run(AmxTiles::Function* multiply, Sum start) {
    std::vector<Sum> result(sums.size(), start);
    work.x = x.data();
    work.weights = weights.data();
    work.sums = result.data();
    work.pairs = pairs.data();
    work.pairs_count = static_cast<int>(pairs.size());
    multiply(work);
    return result;
  }

  /// Calls f(index of the sum, x's index, weight's index) for each product; numbers of `element`
  /// bytes.
  template <typename Function>
  void ForEachProduct(size_t element, Function&& f) const {
    const size_t together = 4 / element, depth = work.steps * kTileBytes / element;
    for (int panel = 0; panel < work.panels; ++panel) {
      for (int row = 0; row < work.rows * work.row_tiles; ++row) {
        for (int o = 0; o < work.width; ++o) {
          for (const TilePair& pair : pairs) {
            for (size_t k = 0; k < depth; ++k) {
              f(panel * work.sums_panel + row * work.sums_pitch + o,
                (pair.x * work.x_part + row * work.x_pitch) / element + k,
                (panel * work.weights_panel + pair.weights * work.weights_part) / element +
                    (k / together * work.width + o) * together + k % together);
            }
          }
        }
      }
    }
  }

  AmxTiles::Work work = {};
  std::vector<TilePair> pairs;
  std::vector<uint8_t> x, weights, sums;
};

template <typename X>
void ExpectExactTiles(AmxTiles::Function* multiply, std::mt19937* random) {
  Product product(random, 1);
  std::vector<int32_t> expected(product.sums.size(), -7);
  product.ForEachProduct(1, [&](size_t sum, size_t x, size_t w) {
    expected[sum] += static_cast<X>(product.x[x]) * static_cast<int8_t>(product.weights[w]);
  });
  EXPECT_EQ(product.Run<int32_t>(multiply, -7), expected);
}

float BFloat16In(const std::vector<uint8_t>& bytes, size_t index) {
  uint16_t bits;
  std::memcpy(&bits, &bytes[2 * index], sizeof(bits));
  return FromBFloat16(bits);
}

void ExpectBFloat16Products(AmxTiles::Function* multiply, std::mt19937* random) {
  Product product(random, 2);
  std::vector<double> expected(product.sums.size(), 3), magnitude(expected.size(), 3);
  product.ForEachProduct(2, [&](size_t sum, size_t x, size_t w) {
    const double term = double(BFloat16In(product.x, x)) * BFloat16In(product.weights, w);
    expected[sum] += term;
    magnitude[sum] += std::fabs(term);
  });
  const std::vector<float> sums = product.Run<float>(multiply, 3);
  const size_t roundings = 18 + product.pairs.size() * product.work.steps;
  for (size_t i = 0; i < sums.size(); ++i) {
    ASSERT_NEAR(sums[i], expected[i], roundings * std::ldexp(magnitude[i], -24)) << i;
  }
}

/// Calls f(tiles) for the emulated ones, and for the processor's where it has them.
template <typename Function>
void WithTiles(Function&& f) {
  for (const InstructionSet& set : TestedInstructionSets()) {
    if (set.has_tiles()) f(*set.row().tiles);
  }
}

TEST(AmxProducts, AreTheSumsOfTheDefinition) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  WithTiles([&](const AmxTiles& tiles) {
    for (int i = 0; i < 30; ++i) {
      ExpectExactTiles<int8_t>(tiles.multiply_signed, &random);
      ExpectExactTiles<uint8_t>(tiles.multiply_unsigned, &random);
      ExpectBFloat16Products(tiles.multiply_bfloat16, &random);
    }
  });
}

TEST(AmxProducts, OfTheProcessorAreThoseOfTheEmulation) {
  if (const AmxTiles* const own = SupportedInstructionSets().back().row().tiles) {
    const unsigned seed = TestSeed();
    SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
    std::mt19937 random(seed);
    for (int i = 0; i < 30; ++i) {
      Product product(&random, 2);
      EXPECT_EQ(product.Run<float>(own->multiply_bfloat16, 1),
                product.Run<float>(EmulatedAmxTiles().multiply_bfloat16, 1));
    }
    return;
  }
  GTEST_SKIP() << "this machine has no AMX";
}

TEST(AmxProducts, EmulatedOnesAreChosenOnlyByName) {
  const InstructionSet emulated = InstructionSet::Named("emulated_amx");
  const std::vector<InstructionSet> supported = SupportedInstructionSets();
  EXPECT_EQ(std::count(supported.begin(), supported.end(), emulated), 0);
  const InstructionSet before = CpuInstructionSet();
  SetCpuInstructionSet(emulated);
  EXPECT_STREQ(Name(CpuInstructionSet()), "emulated_amx");
  EXPECT_FALSE(VectorInstructionSet().has_tiles());
  EXPECT_EQ(ChosenAmxTiles(), &EmulatedAmxTiles());
  SetCpuInstructionSet(InstructionSet::Named("generic"));
  EXPECT_EQ(ChosenAmxTiles(), nullptr);
  SetCpuInstructionSet(before);
}

class AmxConvolutions : public OnInstructionSet {};

/// Numbers of all magnitudes of a type, of those with exponents from `least` to `most`.
template <typename T>
std::vector<T> OfAllMagnitudes(size_t n, int least, int most, std::mt19937* random) {
  std::uniform_int_distribution<int> exponent(least, most);
  std::uniform_real_distribution<float> mantissa(-2, 2);
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(std::ldexp(mantissa(*random), exponent(*random)));
  return values;
}

/// Sums, in float, of a pointwise convolution of one pixel, of channels all in one row.
template <typename X, typename W>
std::vector<float> SumsOf(const std::vector<X>& x, const std::vector<W>& weights, int outputs,
                          ElementType math) {
  const int channels = static_cast<int>(x.size());
  const auto convolution =
      PackedConvolution::Make(Square(channels, outputs, 1, {1, 1}), false, math);
  std::vector<W> packed(convolution->packed_size());
  convolution->PackWeights(weights.data(), nullptr, packed.data());
  const size_t block = convolution->block();
  const std::vector<X> blocked = ToBlocks(x, 1, channels, 1, block);
  std::vector<float> y(RoundUp(outputs, block)), scratch(convolution->scratch_size(1), kNan);
  convolution->Forward(1, blocked.data(), packed.data(), {}, scratch.data(), y.data());
  y.resize(outputs);
  return y;
}

/// |error| <= (b + (n + 6) 2^-23) (sum of magnitudes).
template <typename X, typename W>
void ExpectBound(const std::vector<X>& x, const std::vector<W>& weights, int outputs,
                 ElementType math, double b) {
  const std::vector<float> y = SumsOf(x, weights, outputs, math);
  for (int o = 0; o < outputs; ++o) {
    double sum = 0, magnitude = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      const double term =
          double(static_cast<float>(x[k])) * static_cast<float>(weights[o * x.size() + k]);
      sum += term;
      magnitude += std::fabs(term);
    }
    ASSERT_NEAR(y[o], sum, (b + (x.size() + 6) * std::ldexp(1, -23)) * magnitude) << o;
  }
}

TEST_P(AmxConvolutions, KeepTheirBoundsForNumbersOfAllMagnitudes) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const FlushDenormals flush;
  for (int i = 0; i < 60; ++i) {
    const int channels = 1 + random() % 100, outputs = 1 + random() % 40;
    const size_t count = size_t(channels) * outputs;
    SCOPED_TRACE(::testing::Message() << channels << " to " << outputs);
    // Subnormal FP16 values are below 2^-14.
    const int most = -24 + i % 40;
    const auto x = OfAllMagnitudes<float16>(channels, -24, most, &random);
    const auto w = OfAllMagnitudes<float16>(count, -24, most, &random);
    ExpectBound(x, w, outputs, ElementType::FLOAT, 0);
    ExpectBound(x, w, outputs, ElementType::FLOAT16, std::ldexp(1, -16));
    ExpectBound(OfAllMagnitudes<float>(channels, -40, 40, &random),
                OfAllMagnitudes<float>(count, -40, 40, &random), outputs, ElementType::FLOAT,
                std::ldexp(1, -22));
    ExpectBound(OfAllMagnitudes<bfloat16>(channels, -40, 40, &random),
                OfAllMagnitudes<bfloat16>(count, -40, 40, &random), outputs, ElementType::FLOAT, 0);
    ExpectBound(OfAllMagnitudes<float>(channels, -40, 40, &random), w, outputs,
                ElementType::FLOAT16, std::ldexp(1, -22));
  }
}

// Floats below 2^-103 and from 2^128 - 2^119 on have no three parts.
TEST_P(AmxConvolutions, KeepThemForFloatsThatCannotBeSplit) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  for (const bool in_weights : {false, true}) {
    for (const float odd : {Power(-110), 1.7f * Power(-125), 3.4028e38f, -3.4028e38f}) {
      std::vector<float> x = OfAllMagnitudes<float>(70, -40, -20, &random),
                         w = OfAllMagnitudes<float>(70 * 40, -40, -20, &random);
      std::vector<float>& with = in_weights ? w : x;
      with[random() % with.size()] = odd;
      ExpectBound(x, w, 40, ElementType::FLOAT, std::ldexp(1, -22));
      std::fill(w.begin(), w.end(), std::fabs(odd) > 1 ? Power(-20) : Power(60));
      std::fill(x.begin(), x.end(), odd);
      if (!in_weights) ExpectBound(x, w, 40, ElementType::FLOAT, std::ldexp(1, -22));
    }
  }
}

// A weight of one output, or a channel of all.
TEST_P(AmxConvolutions, GiveInfinitiesAndNaNsWhereTheyBelong) {
  const auto check = [](auto number) {
    using T = decltype(number);
    for (const float special : {kInfinity, -kInfinity, kNan}) {
      std::vector<T> x(70, T(1.f)), w(70 * 40, T(0.5f));
      w[21 * 70 + 33] = T(special);
      std::vector<float> y = SumsOf(x, w, 40, ElementType::FLOAT16);
      for (int o = 0; o < 40; ++o) {
        if (o != 21) {
          ASSERT_EQ(y[o], 35) << o;
        } else {
          ASSERT_TRUE(std::isnan(special) ? std::isnan(y[o]) : y[o] == special);
        }
      }
      x[5] = T(special);
      w[21 * 70 + 33] = T(0.5f);
      w[7 * 70 + 5] = T(0.f);  // times infinity
      y = SumsOf(x, w, 40, ElementType::FLOAT16);
      for (int o = 0; o < 40; ++o) {
        ASSERT_TRUE(std::isnan(special) || o == 7 ? std::isnan(y[o]) : y[o] == special) << o;
      }
      x[40] = T(-special);
      y = SumsOf(x, w, 40, ElementType::FLOAT16);
      for (const float value : y) ASSERT_TRUE(std::isnan(value)) << "infinity less infinity";
    }
  };
  check(float16());
  check(bfloat16());
  check(float());
}

// (1 + 2^-8)^2 = 1 + 2^-7 + 2^-16: without the product of both second parts 2^-16 is missing.
TEST_P(AmxConvolutions, TakeTheFourthProductWithFloatMath) {
  const std::vector<float16> x(1, float16(1.00390625f));
  const float exact = 1.0078277587890625f;
  EXPECT_EQ(SumsOf(x, x, 1, ElementType::FLOAT)[0], exact);
  if (!CpuInstructionSet().has_tiles()) return;
  EXPECT_EQ(SumsOf(x, x, 1, ElementType::FLOAT16)[0], 1.0078125f);
}

INSTANTIATE_ON_EVERY_SET(AmxConvolutions);

}  // namespace
}  // namespace caffe::kernels
