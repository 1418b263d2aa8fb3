#ifndef CAFFE_KERNELS_CPU_AMX_TILES_HPP_
#define CAFFE_KERNELS_CPU_AMX_TILES_HPP_

#include <stddef.h>
#include <stdint.h>

#include "caffe/kernels/cpu/convolution/depthwise_row.hpp"
#include "pixel_sums.hpp"

// Matrix products in AMX's 8 tile registers of up to 16 rows of 64 bytes.
namespace caffe::kernels {

constexpr int kTileRows = 16;
constexpr int kTileBytes = 64;    ///< of a row
constexpr int kTileOutputs = 16;  ///< sums of 4 bytes in a row
constexpr int kMaxTileParts = 3;  ///< bfloat16 numbers that a float is the sum of
constexpr int kMaxTilePairs = 6;  ///< products of them that are summed

/// The operand of LDTILECFG: the shape of each tile register.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes[16] = {};  ///< of a row; registers from 8 on do not exist
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64, "what the instruction reads");

/// The bits of 16-bit numbers, whose types this header does not know.
struct HalfBits {
  uint16_t bits;
};
struct BFloat16Bits {
  uint16_t bits;
};

/// A part of x and a part of the weights to multiply.
struct TilePair {
  int x, weights;
};

/// Kernels compiled for tiles (amx_tiles.inc), the processor's and emulated ones.
struct AmxTiles {
  /// sums[row][panel][o] += the sum over pairs and k of x[row][k] weights[panel][k][o].
  ///
  /// A step is 64 bytes of a row of x: 64 integers of 8 bits or 32 bfloat16; and 16 rows of
  /// weights, each with 4 integers or 2 bfloat16, consecutive in x, for each output.
  struct Work {
    int rows;       ///< of a tile of x, up to 16
    int row_tiles;  ///< number of such tiles: x has rows * row_tiles rows
    int width;      ///< outputs of a panel, up to 16
    int panels;
    int steps;
    const void* x;
    size_t x_pitch, x_part;              ///< bytes from row to row, from part to part
    const void* weights;                 ///< (panels, parts, steps, 16, width, 4 bytes)
    size_t weights_panel, weights_part;  ///< bytes from panel to panel, from part to part
    void* sums;                          ///< of 4 bytes
    size_t sums_pitch, sums_panel;       ///< sums from row to row, from panel to panel
    const TilePair* pairs;
    int pairs_count;
  };
  using Function = void(const Work&);
  Function* multiply_signed;    ///< int8_t by int8_t; sums int32_t
  Function* multiply_unsigned;  ///< uint8_t by int8_t; sums int32_t
  /// bfloat16 by bfloat16; sums float. Subnormal inputs and results are flushed to zero.
  Function* multiply_bfloat16;

  /// The parts of n floats, at y, y + plane, ...: each is the remainder rounded to the nearest
  /// bfloat16. One part represents a bfloat16 exactly, two a float16, three any float whose
  /// magnitude is 0 or from 2^-103 to below 2^128 - 2^119; two differ from a float by at most 2^-16
  /// of it. No part of these is subnormal unless x is. False if some x is infinite, NaN, with more
  /// than one part from 2^128 - 2^119 on or, with three, another float: y is then undefined.
  bool (*split)(size_t n, int parts, const float* x, uint16_t* y, size_t plane);
  /// The same for float16 numbers in two parts; false if some x is infinite or NaN.
  bool (*split_halves)(size_t n, const uint16_t* x, uint16_t* y, size_t plane);
  /// The same for weights (used, pitch), of which the first `width` of each row, 8 or 16, become
  /// (depth / 2, width, 2); depth is even, rows from `used` on are zero.
  bool (*split_weights)(size_t used, size_t depth, int width, size_t pitch, int parts,
                        const float* weights, uint16_t* y, size_t plane);
  /// (depth / 2, pitch, 2) integers, of which the first `width` outputs of each row become
  /// (depth / 4, width, 4); depth is a multiple of 4.
  void (*pairs_to_quads)(size_t depth, int width, size_t pitch, const int8_t* x, int8_t* y);

  /// A step of PixelWork, in bytes: where it begins in each row of x, and in the weights if there
  /// is one panel. `keeps_...`: where the step before began, so that tiles can be used again.
  struct PixelStep {
    ptrdiff_t x, weights;
    bool keeps_x, keeps_weights;
  };
  /// Sums of pixels that lie in memory one behind another, as in an image with channels last:
  ///   sums[row][panel][o] = bias[panel][o] + the sum over steps and k of
  ///                         x[row][step, k] weights[panel][step, k][o].
  /// Rows are those of one to four tiles, which may overlap: equal sums are then computed twice.
  struct PixelWork {
    const void* x;
    size_t x_pitch;    ///< bytes from row to row
    size_t starts[4];  ///< the first row of each tile
    const PixelStep* steps;
    int steps_count;
    bool first, last;      ///< of several parts of the steps, between which sums stay in registers
    const void* weights;   ///< of a step: (panels, bytes / 4, 16 outputs, 4 bytes)
    size_t weights_panel;  ///< bytes of a panel of a step
    const float* bias;     ///< (panels, 16), for sums of floats; null: 0
    void* sums;            ///< of 4 bytes
    size_t sums_pitch;     ///< sums from row to row
  };
  using PixelFunction = void(const PixelWork&);
  /// Gives this thread tiles of so many rows, up to 16, and steps of so many bytes, a multiple of 4
  /// up to 64, until `release`.
  void (*configure_pixels)(int rows, int bytes);
  void (*release)();
  // Of 1 to 4 tiles of rows by 1 panel, or 1 or 2 by 2.
  void (*sum_signed)(const PixelWork&, int tiles, int panels);    ///< int8_t by int8_t
  void (*sum_unsigned)(const PixelWork&, int tiles, int panels);  ///< uint8_t by int8_t
  void (*sum_bfloat16)(const PixelWork&, int tiles, int panels);  ///< as multiply_bfloat16
  /// The same for steps that keep x or weights, which the others heed not.
  void (*sum_bfloat16_parts)(const PixelWork&, int tiles, int panels);

  /// Where finish_clamped writes: y and the residual, which may be null, are those of pixel 0 and
  /// of the first vector, which has 16 outputs.
  struct ClampedPixels {
    bool halves;  ///< float16 numbers, else bfloat16
    float least, most;
    const uint16_t* residual;
    uint16_t* y;
  };
  /// y = sums + residual, within bounds, rounded to nearest even; of one or two vectors. A NaN
  /// stays one, subnormal results become zero in bfloat16.
  void (*finish_clamped)(const ClampedPixels& clamp, const PixelSums& sums);

  /// 16 numbers of each of some pixels, in bfloat16 parts, a row for each pair of neighbours: of
  /// 16 numbers, each with that of the second pixel behind that of the first.
  struct PixelPairs {
    const void* x;
    const ptrdiff_t* pixels;  ///< where in x each begins, in bytes; negative: zeros
    size_t count;             ///< of pixels, even
    uint16_t* even;           ///< rows of the pairs (0, 1), (2, 3), ...
    uint16_t* odd;            ///< and of (1, 2), (3, 4), ...; or null
    size_t part;              ///< elements from part to part
    size_t others = 0;        ///< of the last pixels, those that are in odd pairs only
  };
  /// For x of floats in three parts, float16 in two, bfloat16 in one: as `split` and
  /// `split_halves`, but of numbers that cannot be split some parts are NaN or, of floats below
  /// 2^-103, zero.
  void (*pair_floats)(const PixelPairs&);
  void (*pair_halves)(const PixelPairs&);
  void (*pair_bfloat16)(const PixelPairs&);
  /// y = 16 rows, `pitch` elements apart, of the numbers of 32 pixels each, from their 16 rows of
  /// pairs.
  void (*transpose_pairs)(const uint16_t* pairs, uint16_t* y, size_t pitch);

  /// One or two neighbouring blocks of 16 channels of a depthwise convolution with channels last:
  /// their bias, and where they are written.
  struct DepthwiseTarget {
    int channels;  ///< 16 or 32
    const float* bias;
    ClampedPixels clamp;
  };
  /// A row of outputs of bfloat16, the first of which is pixel `first` of y and of the residual:
  /// for kernels of 3 and 5 columns, strides 1 and 2. The row's weights are those of
  /// depthwise_weights. Written as by finish_clamped. Null where PackedTiles::depthwise_direct is
  /// as fast.
  void (*depthwise[2][2])(const DepthwiseTarget& target, const DepthwiseRow& row, size_t first);
  /// y = (taps, 2, 16): the weights (taps, 16) of the even and of the odd channels of two blocks;
  /// the second one may be null.
  void (*depthwise_weights)(size_t taps, const uint16_t* first, const uint16_t* second, float* y);

  /// y = (n, 4) bytes, or bfloat16, from up to four arrays of n; the others are zeros.
  void (*interleave_bytes)(size_t n, int channels, const uint8_t* const* x, void* y);
  void (*interleave_bfloat16)(size_t n, int channels, const uint16_t* const* x, void* y);

  /// Multiply tiles in registers alone; return how many products `steps` steps have.
  double (*multiply_signed_registers)(int64_t steps);    ///< int8_t by int8_t
  double (*multiply_bfloat16_registers)(int64_t steps);  ///< bfloat16 by bfloat16
};

/// The kernels of the instruction set in use; null if it has no tiles.
const AmxTiles* ChosenAmxTiles();

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_AMX_TILES_HPP_
