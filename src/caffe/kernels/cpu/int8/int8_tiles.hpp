#ifndef CAFFE_KERNELS_CPU_INT8_TILES_HPP_
#define CAFFE_KERNELS_CPU_INT8_TILES_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "caffe/kernels/byte_sum.hpp"
#include "caffe/kernels/cpu/convolution/depthwise_row.hpp"
#include "caffe/kernels/cpu/convolution/window_row.hpp"
#include "caffe/kernels/cpu/simd/pixel_sums.hpp"
#include "caffe/kernels/post_ops.hpp"

namespace caffe::kernels {

constexpr int kMaxInt8Vectors = 4;
constexpr int kMaxInt8Pixels = 6;
constexpr int kMaxInt8Streamed = 3;

/// Kernels compiled once per instruction set (int8_tiles.inc).
///
/// Channels are multiplied in *pairs*: one instruction computes two products of 16-bit integers and
/// their 32-bit sum, which cannot overflow (as the 16-bit sums of byte products can). With VNNI one
/// instruction computes four products of bytes and their 32-bit sum.
struct Int8Tiles {
  /// The rows in which a Rescaling is stored, each with one number per lane of a block of outputs.
  enum RescalingRow {
    BIAS,
    MULTIPLIER,
    RIGHT,  ///< minus its shift
    OTHER_MULTIPLIER,
    OTHER_RIGHT,
    POSITIVE,  ///< short sums: added before the shift, to sums >= 0
    NEGATIVE,  ///< and to negative ones
    RESCALING_ROWS,
    // For short sums, 1 more.
    SHIFT = RIGHT,
    OTHER_SHIFT = OTHER_RIGHT
  };
  /// Multipliers of consecutive outputs.
  struct Multipliers {
    const int32_t *values, *shifts;
  };
  /// How sums become bytes with integers alone (int8_rescaling.hpp).
  struct Rescaled {
    const int32_t* rows = nullptr;  ///< (V, RESCALING_ROWS, block); or null: in floats
    bool is_short = false;          ///< the rows are those of short_rows
    bool has_other = false, rounds_twice = false;
    int zero_point = 0;
    int least = 0, most = 0;           ///< of the output
    bool clips = false;                ///< to less than all bytes
    const ByteSumForm* sum = nullptr;  ///< combines it with the residual; or null
  };

  /// PostOps of some blocks of outputs, and their destination: scale, bias and slopes are (V,
  /// block), residual and y those of the first block.
  struct TilePostOps : PostOps {
    ElementType type = ElementType::FLOAT;  ///< of y: FLOAT, INT8 or UINT8
    void* y = nullptr;
    float least = 0, most = 0;  ///< of a byte, before it is rounded
    bool may_be_nan = false;    ///< values may be NaN before they become bytes
    Rescaled rescaled;          ///< instead of PostOps, except for a residual's data and type
  };
  /// Writes sums as `post` specifies, with padded scale and bias.
  static TilePostOps InFloats(const PostOps& post, const float* scale, const float* bias,
                              const Destination& y) {
    TilePostOps writing;
    static_cast<PostOps&>(writing) = post;
    writing.scale = scale;
    writing.bias = bias;
    writing.type = y.type;
    writing.y = y.y;
    if (y.type == ElementType::FLOAT) writing.zero_point = 0;
    SetRange(&writing);
    return writing;
  }
  /// Writes sums with integers alone.
  static TilePostOps InIntegers(const Rescaled& rescaled, const Destination& y) {
    TilePostOps writing;
    writing.type = y.type;
    writing.y = y.y;
    writing.rescaled = rescaled;
    return writing;
  }
  /// Moves clamping activations into the byte range least to most, which excludes the zero point.
  /// `writing` is complete except for these two.
  static void SetRange(TilePostOps* writing) {
    const bool is_signed = writing->type == ElementType::INT8;
    const float zero = static_cast<float>(writing->zero_point);
    const float least = (is_signed ? -127.f : 0.f) - zero,
                most = (is_signed ? 127.f : 255.f) - zero;
    writing->least = least;
    writing->most = most;
    Activation& activation = writing->activation;
    const bool is_clamp = activation.kind == Activation::NONE ||
                          activation.kind == Activation::RELU ||
                          activation.kind == Activation::CLIP;
    if (!is_clamp) writing->may_be_nan = true;
    if (writing->type == ElementType::FLOAT || !(writing->factor > 0)) return;
    if (activation.kind == Activation::RELU && activation.a == 0) {
      writing->least = std::max(least, 0.f);
    } else if (activation.kind == Activation::CLIP) {
      writing->least = std::clamp(static_cast<float>(activation.a) * writing->factor, least, most);
      writing->most = std::clamp(static_cast<float>(activation.b) * writing->factor, least, most);
    } else {
      return;
    }
    activation = Activation();
  }

  /// Sums over steps s and operands k, of pixels p and of V vectors v of `block` lanes each:
  /// sum[p][v] = the sum of weights[s][k][v] x[windows[p] + steps[s] + n k]. A lane's operand is n
  /// neighbours of x, whose products are added: a pair of 16-bit integers or four bytes.
  template <typename X, typename Weight>
  struct Products {
    const X* x;
    const int32_t* steps;  ///< where each step begins in a window
    int steps_count;
    const int32_t* windows;  ///< where each pixel's window begins in x
    const Weight* weights;   ///< (steps, operands of a step, V, block, n)
    const void* stored;      ///< the same as int8_t, for `streamed`
    const int32_t* start;    ///< (V, block): start values of sums of bytes; null: 0
    int32_t* partial;        ///< (pixels, V, block): sums of the previous parts
    bool first, last;        ///< the last part writes to y, others to partial
    const TilePostOps* writing;
    const size_t* targets;           ///< where in y each pixel lies
    const size_t* residual_targets;  ///< and in the residual
    size_t plane;                    ///< elements of y from one block of outputs to the next
  };
  using Work = Products<int16_t, int16_t>;
  /// Signed bytes are increased by 128 in x, which `start` compensates for: all sums are modulo
  /// 2^32, and the result is exact because it fits 32 bits.
  using ByteWork = Products<uint8_t, int8_t>;
  /// The same for one vector in which each lane has its own input: x is (.., block), weights
  /// (steps, block). In floats, which hold sums of byte products exactly.
  struct DepthwiseWork {
    const float* x;
    const int32_t* steps;
    int steps_count;
    const int32_t* windows;
    const float* weights;
    const TilePostOps* writing;
    const size_t *targets, *residual_targets;
  };
  /// Computes `tiles` tiles of P pixels, from pixel `first` on; a tile's sums are kept in
  /// registers.
  using Function = void(const Work&, int first, int tiles);
  using ByteFunction = void(const ByteWork&, int first, int tiles);
  using DepthwiseFunction = void(const DepthwiseWork&, int first, int tiles);

  int block;                    ///< lanes of a vector: channels of a block
  int vectors;                  ///< how many the registers hold
  int pixels[kMaxInt8Vectors];  ///< how many fit with V vectors, at [V - 1]
  // For tiles of P pixels and V vectors, at [V - 1][P - 1].
  Function* blocked[kMaxInt8Vectors][kMaxInt8Pixels];  ///< steps of block / 2 pairs
  /// Steps of one pair. Null with products of bytes, as `streamed`.
  Function* plain[kMaxInt8Vectors][kMaxInt8Pixels];
  /// As `blocked`, for contiguous windows (steps are not read) and all channels at a time, with
  /// weights that are widened while they are read. Null where that gains nothing.
  Function* streamed[kMaxInt8Vectors][kMaxInt8Streamed];
  // Steps of one operand of four bytes; `byte_streamed` as `streamed`. Null where the processor has
  // no instructions for it.
  ByteFunction* bytes[kMaxInt8Vectors][kMaxInt8Pixels];
  ByteFunction* byte_streamed[kMaxInt8Vectors][kMaxInt8Streamed];
  /// `bytes` are for weights that fit (Int8Convolution::PairsFit): the sum of the first two
  /// products of an operand, and that of the other two, saturates at 16 bits.
  bool bytes_saturate;
  bool has_bytes() const { return bytes[0][0] && !bytes_saturate; }
  bool has_saturating_bytes() const { return bytes[0][0] && bytes_saturate; }
  DepthwiseFunction* depthwise[kMaxInt8Pixels];
  /// Fills the rows of whole blocks of outputs. False if a bias is outside [-most_bias, most_bias],
  /// which keeps sums with bias between -2^29 and 2^29, or if a shift is to the left, or to the
  /// right by more than `most_right` but less than 30 bits. 2^most_right is less than 2^30; without
  /// separate multipliers of negative sums, so is (1 + 2 |zero_point|) 2^most_right. Null where
  /// that gains nothing.
  bool (*short_rows)(int blocks, const Rescaled& by, const int32_t* bias,
                     const Multipliers& multipliers, const Multipliers& others, int32_t most_bias,
                     int most_right, int32_t* rows);
  /// y = n bytes, widened.
  void (*widen_signed)(size_t n, const int8_t* x, int16_t* y);
  void (*widen_unsigned)(size_t n, const uint8_t* x, int16_t* y);
  /// y = x + 128; y may be x.
  void (*shift_signed)(size_t n, const int8_t* x, uint8_t* y);
  void (*float_signed)(size_t n, const int8_t* x, float* y);
  void (*float_unsigned)(size_t n, const uint8_t* x, float* y);
  // For signed bytes at [0], for unsigned ones at [1].
  /// A row of outputs, the first of which is pixel `first` of y and of the residual: for channels
  /// in blocks and channels last, kernels of 3 and 5 columns, strides 1 and 2.
  void (*depthwise_direct[2][2][2][2])(const TilePostOps&, const DepthwiseRow& row, size_t first);
  /// The same by sums of byte products, for 3 x 3 kernels whose weights are bytes; two rows at a
  /// time with stride 1 where `byte_depthwise_rows` is 2. Null where has_bytes() is false.
  void (*byte_depthwise[2][2][2])(const TilePostOps&, const DepthwiseRow& row, size_t first);
  int byte_depthwise_rows;
  /// y = the maximum of each window.
  void (*max_windows[2])(const WindowRow& windows, const void* x, void* y);
  /// y = the sum of a window divided by `size`, times `factor`.
  void (*average_window[2])(const PoolingWindow& window, float size, float factor, const void* x,
                            void* y);

  /// Division of q, bytes minus their zero points, by functions of sums of q^2, and the rescaling
  /// of the quotients (integer_normalization.hpp). Pixels of x and y are `block` consecutive bytes.
  struct Division {
    const void* x;
    size_t plane;  ///< bytes of x and y from one block of channels to the next
    int blocks;
    /// (2, blocks, block): zero points; then -1 for channels, 0 for the padding of the last block.
    const int32_t* zeros;
    Rescaled rescaled;  ///< of the first block
    ElementType type;
    void* y;
  };
  // For signed bytes at [0], for unsigned ones at [1].
  /// sums = the sum of q^2 of each pixel, modulo 2^32.
  void (*square_sums[2])(const Division&, int pixels, uint32_t* sums);
  /// y = (q factor + 2^7) >> 8, rescaled, with a factor for each pixel.
  void (*divide_by_pixel[2])(const Division&, int pixels, const int32_t* factors);
  /// The same with the table's value for the sum of q^2 over `size` channels around each one, sums
  /// being below 2^24. `squares`: 4 rows of blocks x block + size - 1 numbers, zeros before and
  /// after.
  void (*divide_by_windows[2])(const Division&, int pixels, const int32_t* table, int size,
                               int32_t* squares);

  /// Where a tile's outputs go: offsets in y and the residual, and how many there are.
  struct WinogradTarget {
    size_t y, residual;
    int rows, columns;  ///< at most the tile's side
  };
  /// Winograd's algorithm for tiles of 3 x 3 kernels (int8_winograd.cpp). Values of a tile's points
  /// lie `stride` elements apart.
  struct Winograd {
    int side;  ///< outputs of a tile per side; its inputs and its points are side + 2 per side
    /// v = B^T x B of `tiles` tiles in a row, `block` consecutive channels of each; x: pixels of
    /// `block` signed bytes, at [0], or unsigned ones, at [1]; rows are `pitch` elements apart,
    /// tiles `side` pixels.
    void (*input[2])(int tiles, const void* x, size_t pitch, int16_t* v, size_t stride);
    /// u = G w G^T in integers, of n weights at each of 9 positions, `positions` elements apart; n
    /// is a multiple of 16.
    void (*weights)(size_t n, const int8_t* w, size_t positions, int16_t* u, size_t stride);
    /// y = A^T m A with the TilePostOps applied, for one block of outputs; tiles are `step`
    /// elements apart in m, rows of y and of the residual `pitch`.
    void (*output)(const TilePostOps&, const WinogradTarget* targets, int tiles, const int32_t* m,
                   size_t step, size_t stride, size_t pitch);
  };
  Winograd winograd[2];  ///< for tiles of 2 x 2 and of 4 x 4 outputs

  /// Writes sums, y and the residual being those of pixel 0 and of the first vector.
  void (*finish_pixels)(const TilePostOps&, const PixelSums& sums);

  /// Multiplies and adds 8-bit integers, as bytes where has_bytes() and as pairs elsewhere, in
  /// registers alone; returns how many products `steps` steps have.
  double (*multiply_registers)(int64_t steps);
};

/// The kernels of the instruction set in use.
const Int8Tiles& ChosenInt8Tiles();

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_INT8_TILES_HPP_
