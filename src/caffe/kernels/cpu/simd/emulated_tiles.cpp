#include "emulated_tiles.hpp"

#include <cmath>
#include <cstring>

#include "caffe/error.hpp"
#include "caffe/float16.hpp"

namespace caffe::kernels {
namespace {

constexpr int kTiles = 8;
constexpr uint32_t kMinNormal = 0x00800000, kMagnitude = 0x7fffffff;

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Zero of the same sign for a subnormal number.
inline float Flushed(float value) {
  const uint32_t bits = BitsOf(value);
  return (bits & kMagnitude) < kMinNormal ? FloatOf(bits & ~kMagnitude) : value;
}

/// x y + sum. A result is flushed if it is below the smallest normal number when rounded to the
/// precision of a normal number, even if, rounded as a subnormal, it would become that number.
inline float FusedMultiplyAdd(float x, float y, float sum) {
  const float result = std::fmaf(x, y, sum);
  if ((BitsOf(result) & kMagnitude) == kMinNormal) {
    const double exact = double(x) * y + sum, least = std::ldexp(1., -126);
    if (std::fabs(exact) < least - std::ldexp(1., -151))
      return FloatOf(BitsOf(result) & ~kMagnitude);
  }
  return Flushed(result);
}

template <typename T>
T At(const uint8_t* row, int index) {
  T value;
  std::memcpy(&value, row + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void Set(uint8_t* row, int index, T value) {
  std::memcpy(row + index * sizeof(T), &value, sizeof(T));
}

inline float BFloat16At(const uint8_t* row, int index) {
  return Flushed(FloatOf(uint32_t(At<uint16_t>(row, index)) << 16));
}

// A fused operation is a call of the C library unless the processor is known to have it.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define CAFFE_WITH_FMA __attribute__((target_clones("fma", "default")))
#else
#define CAFFE_WITH_FMA
#endif

/// sums[n][i] += x[2 k + i] w[k][2 n + i] for all k < depth, n < columns and i < 2.
CAFFE_WITH_FMA void AddBFloat16Products(const uint8_t* x, const uint8_t (*w)[kTileBytes], int depth,
                                        int columns, float (*sums)[2]) {
  for (int k = 0; k < depth; ++k) {
    for (int i = 0; i < 2; ++i) {
      const float factor = BFloat16At(x, 2 * k + i);
      for (int n = 0; n < columns; ++n) {
        sums[n][i] = FusedMultiplyAdd(factor, BFloat16At(w[k], 2 * n + i), sums[n][i]);
      }
    }
  }
}
#undef CAFFE_WITH_FMA

}  // namespace

void EmulatedTiles::RequireTile(int tile) const {
  Require(configured_, "a tile is used before tiles are configured");
  Require(tile >= 0 && tile < kTiles && config_.rows[tile] > 0, "there is no tile ", tile);
}

void EmulatedTiles::RequireProduct(int sum, int x, int w) const {
  for (const int tile : {sum, x, w}) RequireTile(tile);
  Require(sum != x && sum != w && x != w, "a product takes three tiles");
  Require(config_.bytes[x] % 4 == 0 && config_.bytes[w] % 4 == 0 && config_.bytes[sum] % 4 == 0 &&
              config_.rows[sum] == config_.rows[x] && config_.bytes[sum] == config_.bytes[w] &&
              config_.bytes[x] == 4 * config_.rows[w],
          "tiles ", sum, ", ", x, " and ", w, " do not fit one another");
}

void EmulatedTiles::Configure(const TileConfig& config) {
  Require(config.palette == 1 && config.start_row == 0, "tiles have palette 1");
  for (int tile = 0; tile < 16; ++tile) {
    const int bytes = config.bytes[tile], rows = config.rows[tile];
    Require((bytes == 0) == (rows == 0) && bytes <= kTileBytes && rows <= kTileRows &&
                (tile < kTiles || bytes == 0),
            "tile ", tile, " cannot have ", rows, " rows of ", bytes, " bytes");
  }
  config_ = config;
  configured_ = true;
  std::memset(tiles_, 0, sizeof(tiles_));
}

void EmulatedTiles::Release() {
  configured_ = false;
  std::memset(tiles_, 0, sizeof(tiles_));
}

void EmulatedTiles::Zero(int tile) {
  RequireTile(tile);
  std::memset(&tiles_[tile], 0, sizeof(Tile));
}

void EmulatedTiles::Load(int tile, const void* base, size_t stride) {
  Zero(tile);
  for (int r = 0; r < config_.rows[tile]; ++r) {
    std::memcpy(tiles_[tile].row[r], static_cast<const char*>(base) + r * stride,
                config_.bytes[tile]);
  }
}

void EmulatedTiles::Store(int tile, void* base, size_t stride) const {
  RequireTile(tile);
  for (int r = 0; r < config_.rows[tile]; ++r) {
    std::memcpy(static_cast<char*>(base) + r * stride, tiles_[tile].row[r], config_.bytes[tile]);
  }
}

template <typename X>
void EmulatedTiles::DotBytes(int sum, int x, int w) {
  RequireProduct(sum, x, w);
  for (int m = 0; m < config_.rows[sum]; ++m) {
    for (int k = 0; k < config_.rows[w]; ++k) {
      for (int n = 0; n < config_.bytes[sum] / 4; ++n) {
        int32_t products = 0;  // at most 4 * 255 * 128
        for (int i = 4 * k; i < 4 * k + 4; ++i) {
          products += At<X>(tiles_[x].row[m], i) * At<int8_t>(tiles_[w].row[k], 4 * n + i - 4 * k);
        }
        // Wraps around where it overflows.
        const uint32_t before = At<uint32_t>(tiles_[sum].row[m], n);
        Set(tiles_[sum].row[m], n, before + static_cast<uint32_t>(products));
      }
    }
  }
}
template void EmulatedTiles::DotBytes<int8_t>(int, int, int);
template void EmulatedTiles::DotBytes<uint8_t>(int, int, int);

void EmulatedTiles::DotBFloat16(int sum, int x, int w) {
  RequireProduct(sum, x, w);
  const int columns = config_.bytes[sum] / 4;
  for (int m = 0; m < config_.rows[sum]; ++m) {
    float sums[kTileOutputs][2] = {};
    AddBFloat16Products(tiles_[x].row[m], tiles_[w].row, config_.rows[w], columns, sums);
    for (int n = 0; n < columns; ++n) {
      const float products = Flushed(sums[n][0] + sums[n][1]);
      const float before = Flushed(At<float>(tiles_[sum].row[m], n));
      Set(tiles_[sum].row[m], n, Flushed(before + products));
    }
  }
}

bool EmulateSplitHalves(size_t n, const uint16_t* x, uint16_t* y, size_t plane) {
  bool all_finite = true;
  for (size_t i = 0; i < n; ++i) {
    float16 half;
    std::memcpy(&half, x + i, sizeof(half));
    const float value = static_cast<float>(half);
    all_finite &= std::isfinite(value);
    const bfloat16 high(value), low(value - static_cast<float>(high));
    std::memcpy(y + i, &high, sizeof(high));
    std::memcpy(y + plane + i, &low, sizeof(low));
  }
  return all_finite;
}

namespace {

/// Pixels of T, each number of which is the sum of `parts` of bfloat16.
template <typename T>
void PairPixelsOf(const AmxTiles::PixelPairs& work, int parts) {
  const auto store = [&](uint16_t* rows, size_t pixel, int second, int o, int part, uint16_t bits) {
    rows[part * work.part + (pixel / 2 * kTileOutputs + o) * 2 + second] = bits;
  };
  for (size_t i = 0; i < work.count; ++i) {
    for (int o = 0; o < kTileOutputs; ++o) {
      T number(0.f);
      if (work.pixels[i] >= 0) {
        std::memcpy(&number, static_cast<const char*>(work.x) + work.pixels[i] + o * sizeof(T),
                    sizeof(T));
      }
      float rest = static_cast<float>(number);
      for (int part = 0; part < parts; ++part) {
        const bfloat16 rounded(rest);
        uint16_t bits;
        std::memcpy(&bits, &rounded, sizeof(bits));
        rest -= static_cast<float>(rounded);
        if (i + work.others < work.count) store(work.even, i, i % 2, o, part, bits);
        // The odd pairs are the even ones of pixels from 1 on; the last pixel is in none.
        if (work.odd && i > 0 && i + 1 < work.count) {
          store(work.odd, i - 1, (i - 1) % 2, o, part, bits);
        }
      }
    }
  }
}

}  // namespace

void EmulatePairPixels(const AmxTiles::PixelPairs& work, float) { PairPixelsOf<float>(work, 3); }
void EmulatePairPixels(const AmxTiles::PixelPairs& work, HalfBits) {
  PairPixelsOf<float16>(work, 2);
}
void EmulatePairPixels(const AmxTiles::PixelPairs& work, BFloat16Bits) {
  PairPixelsOf<bfloat16>(work, 1);
}

void EmulateTransposePairs(const uint16_t* pairs, uint16_t* y, size_t pitch) {
  for (int pair = 0; pair < kTileRows; ++pair) {
    for (int o = 0; o < kTileOutputs; ++o) {
      std::memcpy(y + o * pitch + 2 * pair, pairs + (pair * kTileOutputs + o) * 2, 4);
    }
  }
}

void EmulateFinishClamped(const AmxTiles::ClampedPixels& clamp, const PixelSums& s) {
  for (int i = 0; i < s.rows; ++i) {
    const ptrdiff_t pixel = s.pixels[i];
    if (pixel < 0) continue;
    for (int o = 0; o < s.vectors * kTileOutputs; ++o) {
      float sum = static_cast<const float*>(s.sums)[i * s.pitch + o];
      if (clamp.residual) {
        const uint16_t* residual = clamp.residual + pixel * s.residual_pixel + o;
        sum +=
            clamp.halves ? half_detail::WidenHalf(*residual) : FloatOf(uint32_t(*residual) << 16);
      }
      sum = sum < clamp.least ? clamp.least : sum > clamp.most ? clamp.most : sum;
      if (clamp.halves) {
        const float16 rounded(sum);
        std::memcpy(clamp.y + pixel * s.y_pixel + o, &rounded, sizeof(rounded));
        continue;
      }
      const uint32_t bits = BitsOf(Flushed(sum));
      const uint32_t rounded =
          std::isnan(sum) ? bits | 0x400000 : bits + 0x7fff + ((bits >> 16) & 1);
      clamp.y[pixel * s.y_pixel + o] = static_cast<uint16_t>(rounded >> 16);
    }
  }
}

}  // namespace caffe::kernels
