#include "caffe/kernels/tile_inner_product.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/cpu/simd/pixel_pairs.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kOutputs = 2 * kTileRows;             // that are summed together
constexpr size_t kInputs = 512;                        // whose weights are split at a time
constexpr size_t kGradientOutputs = 2 * kStepPixels;   // and of so many outputs, for dx
constexpr size_t kSplitPitch = kInputs + kStepPixels;  // not a multiple of a page
constexpr size_t kGrainWeights = 1 << 16;              // below which one thread works

/// Writes n floats from element `at` of y on.
void WriteFloats(size_t n, const float* from, const Destination& y, size_t at) {
  if (y.type == ElementType::FLOAT) {
    Convert(n, from, static_cast<float*>(y.y) + at);
  } else {
    Convert(n, from, static_cast<float16*>(y.y) + at);
  }
}

class TileInnerProductKernels : public TileInnerProduct {
 public:
  TileInnerProductKernels(int inputs, int outputs, const AmxTiles& amx)
      : amx_(amx), inputs_(inputs), outputs_(outputs) {}

  size_t scratch_bytes(int rows) const override {
    const size_t of_rows = kMaxTileParts * sizeof(uint16_t) * RoundUp(rows, kStepPixels) *
                           (inputs_ + outputs_ + 4 * kStepPixels);
    return of_rows + Threads() * OwnBytes(rows);
  }
  bool Forward(int rows, const Numbers& x, const Numbers& weights, const float* bias, void* scratch,
               const Destination& y) const override;
  bool Data(int rows, const Numbers& dy, const Numbers& weights, void* scratch,
            const Destination& dx) const override;
  void Weights(int rows, const Numbers& x, const Numbers& dy, void* scratch,
               float* d_weights) const override;

 private:
  /// What a thread has for itself.
  struct Own {
    Own(int rows, Pieces* pieces)
        : weights(pieces->Take<uint16_t>(
              std::max(2 * kInputs * kGradientOutputs, 2 * kOutputs * kSplitPitch))),
          sums(pieces->Take<float>(RoundUp(rows, kTileRows) * kInputs)) {}
    uint16_t* weights;  // in two parts
    float* sums;
  };
  size_t OwnBytes(int rows) const { return BytesOfPieces<Own>(rows) + kBetweenThreads; }
  /// Calls f(block, own) for so many blocks of so many weights each.
  template <typename Function>
  void SpreadBlocks(size_t blocks, size_t block_weights, int rows, char* own, Function&& f) const {
    ParallelParts(blocks, CeilDiv(kGrainWeights, block_weights),
                  [&](size_t thread, size_t begin, size_t end) {
                    Pieces pieces(own + thread * OwnBytes(rows));
                    const Own of_thread(rows, &pieces);
                    for (size_t block = begin; block < end; ++block) f(block, of_thread);
                  });
  }

  /// x or dy as operand of tiles of 16 rows, in parts.
  struct Rows {
    size_t tiles;
    const uint16_t* numbers;
    size_t pitch, part, panel;  // elements from row to row, part to part, tile to tile
    TilePairs pairs;
  };
  bool SplitRows(const Numbers& x, int rows, size_t numbers, size_t pitch, size_t part,
                 uint16_t* y) const;
  void PairInputs(const uint16_t* split, int count, uint16_t* columns) const;
  bool SumOutputs(const Rows& x, const Numbers& weights, size_t first, const Own& own) const;
  void SumInputs(const Rows& dy, const Numbers& weights, size_t first, size_t length,
                 const Own& own) const;

  const AmxTiles& amx_;
  const size_t inputs_, outputs_;
};

/// y (part, row, pitch); false if some numbers cannot be split.
bool TileInnerProductKernels::SplitRows(const Numbers& x, int rows, size_t numbers, size_t pitch,
                                        size_t part, uint16_t* y) const {
  std::atomic<bool> all{true};
  ParallelFor(rows, CeilDiv(kGrainWeights, numbers), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const void* from = x.at(row * numbers);
      uint16_t* const to = y + row * pitch;
      const bool splits =
          x.type == ElementType::FLOAT
              ? amx_.split(numbers, 3, static_cast<const float*>(from), to, part)
              : amx_.split_halves(numbers, static_cast<const uint16_t*>(from), to, part);
      if (!splits) all = false;
    }
  });
  return all;
}

/// One part of up to 16 rows as (pair of inputs, 16 rows, 2).
void TileInnerProductKernels::PairInputs(const uint16_t* split, int count,
                                         uint16_t* columns) const {
  std::memset(columns, 0, inputs_ * kTileRows * sizeof(uint16_t));
  for (size_t pair = 0; pair < inputs_ / 2; ++pair) {
    for (int row = 0; row < count; ++row) {
      std::memcpy(columns + (pair * kTileRows + row) * 2, split + row * inputs_ + 2 * pair, 4);
    }
  }
}

/// own.sums (tile of rows, output, 16 rows) = those of kOutputs outputs from `first` on. False if
/// some weights cannot be split.
bool TileInnerProductKernels::SumOutputs(const Rows& x, const Numbers& weights, size_t first,
                                         const Own& own) const {
  AmxTiles::Work work = WholeTiles(x.pairs);
  work.row_tiles = kOutputs / kTileRows;
  work.panels = static_cast<int>(x.tiles);
  work.x = own.weights;
  work.x_pitch = kSplitPitch * sizeof(uint16_t);
  work.x_part = kOutputs * work.x_pitch;
  work.weights_panel = x.panel * sizeof(uint16_t);
  work.weights_part = x.part * sizeof(uint16_t);
  work.sums = own.sums;
  work.sums_pitch = kTileRows;
  work.sums_panel = kOutputs * kTileRows;
  std::fill_n(own.sums, x.tiles * work.sums_panel, 0.f);
  bool all = true;
  for (size_t k = 0; k < inputs_; k += kInputs) {
    const size_t length = std::min(kInputs, inputs_ - k);
    for (size_t o = 0; o < kOutputs; ++o) {
      const void* const from = weights.at((first + o) * inputs_ + k);
      all &= amx_.split_halves(length, static_cast<const uint16_t*>(from),
                               own.weights + o * kSplitPitch, kOutputs * kSplitPitch);
    }
    work.steps = static_cast<int>(length / kStepPixels);
    work.weights = x.numbers + k * kTileRows;
    amx_.multiply_bfloat16(work);
  }
  return all;
}

/// Weights are rows of tiles, as they lie; x becomes pairs of inputs, with a column for each row.
bool TileInnerProductKernels::Forward(int rows, const Numbers& x, const Numbers& weights,
                                      const float* bias, void* scratch,
                                      const Destination& y) const {
  const Storage storage = StorageOf(x.type);
  const size_t tiles = CeilDiv(rows, kTileRows), parts = TileParts(storage);
  const size_t part = inputs_ * kTileRows;
  Pieces pieces(scratch);
  // (tile of rows, part, pair of inputs, 16 rows, 2)
  uint16_t* const columns = pieces.Take<uint16_t>(tiles * parts * part);
  char* const own = pieces.Take<char>(Threads() * OwnBytes(rows));
  const size_t split_part = rows * inputs_;
  std::vector<uint16_t> split(parts * split_part);
  if (!SplitRows(x, rows, inputs_, inputs_, split_part, split.data())) return false;
  ParallelFor(tiles * parts, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i / parts * kTileRows;
      PairInputs(split.data() + i % parts * split_part + first * inputs_,
                 static_cast<int>(std::min<size_t>(kTileRows, rows - first)), columns + i * part);
    }
  });
  const Rows from = {tiles, columns,      kTileRows,
                     part,  parts * part, TilePairsOf(STORED_HALF, storage, ElementType::FLOAT16)};
  std::atomic<bool> all{true};
  SpreadBlocks(outputs_ / kOutputs, inputs_ * kOutputs, rows, own,
               [&](size_t block, const Own& of_thread) {
                 const size_t first = block * kOutputs;
                 if (!SumOutputs(from, weights, first, of_thread)) all = false;
                 for (int row = 0; row < rows; ++row) {
                   float line[kOutputs];
                   const float* const sums =
                       of_thread.sums + row / kTileRows * kOutputs * kTileRows + row % kTileRows;
                   for (size_t o = 0; o < kOutputs; ++o) {
                     line[o] = sums[o * kTileRows] + (bias ? bias[first + o] : 0.f);
                   }
                   WriteFloats(kOutputs, line, y, row * outputs_ + first);
                 }
               });
  return all;
}

/// own.sums (row, kInputs) = those of inputs from `first` on.
void TileInnerProductKernels::SumInputs(const Rows& dy, const Numbers& weights, size_t first,
                                        size_t length, const Own& own) const {
  constexpr size_t kPart = kGradientOutputs * kTileOutputs;  // of a panel of pairs
  AmxTiles::Work work = WholeTiles(dy.pairs);
  work.row_tiles = static_cast<int>(dy.tiles);
  work.panels = static_cast<int>(length / kTileOutputs);
  work.x_pitch = dy.pitch * sizeof(uint16_t);
  work.x_part = dy.part * sizeof(uint16_t);
  work.weights = own.weights;
  work.weights_panel = 2 * kPart * sizeof(uint16_t);
  work.weights_part = kPart * sizeof(uint16_t);
  work.sums = own.sums;
  work.sums_pitch = kInputs;
  work.sums_panel = kTileOutputs;
  std::fill_n(own.sums, dy.tiles * kTileRows * kInputs, 0.f);
  ptrdiff_t outputs[kGradientOutputs];
  for (size_t i = 0; i < kGradientOutputs; ++i) outputs[i] = i * inputs_ * sizeof(uint16_t);
  for (size_t o = 0; o < outputs_; o += kGradientOutputs) {
    const size_t count = std::min(kGradientOutputs, outputs_ - o);
    for (int panel = 0; panel < work.panels; ++panel) {
      amx_.pair_halves({weights.at(o * inputs_ + first + panel * kTileOutputs), outputs, count,
                        own.weights + panel * 2 * kPart, nullptr, kPart});
    }
    work.x = dy.numbers + o;
    work.steps = static_cast<int>(count / kStepPixels);
    amx_.multiply_bfloat16(work);
  }
}

/// dy's rows are rows of tiles; weights become pairs of outputs, with a column for each input.
bool TileInnerProductKernels::Data(int rows, const Numbers& dy, const Numbers& weights,
                                   void* scratch, const Destination& dx) const {
  const Storage storage = StorageOf(dy.type);
  const size_t tiles = CeilDiv(rows, kTileRows), parts = TileParts(storage);
  // An odd number of lines: the rows of a tile are then in different sets of the cache.
  const size_t pitch = (outputs_ / kStepPixels | 1) * kStepPixels;
  const size_t part = tiles * kTileRows * pitch;
  Pieces pieces(scratch);
  uint16_t* const split = pieces.Take<uint16_t>(parts * part);
  char* const own = pieces.Take<char>(Threads() * OwnBytes(rows));
  std::memset(split, 0, parts * part * sizeof(uint16_t));
  if (!SplitRows(dy, rows, outputs_, pitch, part, split)) return false;
  const Rows from = {tiles,
                     split,
                     pitch,
                     part,
                     kTileRows * pitch,
                     TilePairsOf(storage, STORED_HALF, ElementType::FLOAT16)};
  SpreadBlocks(CeilDiv(inputs_, kInputs), kInputs * outputs_, rows, own,
               [&](size_t block, const Own& of_thread) {
                 const size_t first = block * kInputs;
                 const size_t length = std::min(kInputs, inputs_ - first);
                 SumInputs(from, weights, first, length, of_thread);
                 for (int row = 0; row < rows; ++row) {
                   WriteFloats(length, of_thread.sums + row * kInputs, dx, row * inputs_ + first);
                 }
               });
  return true;
}

/// Outputs are rows of tiles, inputs their columns: sums are loaded and stored where the gradients
/// lie.
void TileInnerProductKernels::Weights(int rows, const Numbers& x, const Numbers& dy, void* scratch,
                                      float* d_weights) const {
  const Storage x_storage = StorageOf(x.type), dy_storage = StorageOf(dy.type);
  const size_t steps = CeilDiv(rows, kStepPixels), padded = steps * kStepPixels;
  // x: (panel of inputs, part, pair of rows, 16, 2); dy: (part, output, row)
  const size_t x_part = padded * kTileOutputs, x_panel = TileParts(x_storage) * x_part;
  const size_t dy_part = outputs_ * padded;
  Pieces pieces(scratch);
  uint16_t* const from_x = pieces.Take<uint16_t>(inputs_ / kTileOutputs * x_panel);
  uint16_t* const from_dy = pieces.Take<uint16_t>(TileParts(dy_storage) * dy_part);
  std::vector<ptrdiff_t> x_rows(padded, -1), dy_rows(padded, -1);
  for (int row = 0; row < rows; ++row) {
    x_rows[row] = row * inputs_ * SizeOf(x_storage);
    dy_rows[row] = row * outputs_ * SizeOf(dy_storage);
  }
  ParallelFor(inputs_ / kTileOutputs, 8, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel) {
      PairPixels(amx_, x_storage,
                 {x.at(panel * kTileOutputs), x_rows.data(), padded, from_x + panel * x_panel,
                  nullptr, x_part});
    }
  });
  ParallelFor(outputs_ / kTileRows, 8, [&](size_t begin, size_t end) {
    for (size_t i = begin * steps; i < end * steps; ++i) {
      const size_t tile = i / steps * kTileRows, step = i % steps * kStepPixels;
      TransposePixels(amx_, dy_storage, dy.at(tile), dy_rows.data() + step,
                      from_dy + tile * padded + step, padded, dy_part);
    }
  });
  const TilePairs pairs = TilePairsOf(dy_storage, x_storage, ElementType::FLOAT16);
  AmxTiles::Work all = WholeTiles(pairs);
  all.row_tiles = kOutputs / kTileRows;
  all.panels = static_cast<int>(inputs_ / kTileOutputs);
  all.steps = static_cast<int>(steps);
  all.x_pitch = padded * sizeof(uint16_t);
  all.x_part = dy_part * sizeof(uint16_t);
  all.weights = from_x;
  all.weights_panel = x_panel * sizeof(uint16_t);
  all.weights_part = x_part * sizeof(uint16_t);
  all.sums_pitch = inputs_;
  all.sums_panel = kTileOutputs;
  ParallelFor(outputs_ / kOutputs, CeilDiv(kGrainWeights, inputs_ * kOutputs),
              [&](size_t begin, size_t end) {
                AmxTiles::Work work = all;
                for (size_t block = begin; block < end; ++block) {
                  work.x = from_dy + block * kOutputs * padded;
                  work.sums = d_weights + block * kOutputs * inputs_;
                  amx_.multiply_bfloat16(work);
                }
              });
}

}  // namespace

std::shared_ptr<const TileInnerProduct> TileInnerProduct::Make(int inputs, int outputs) {
  const AmxTiles* const amx = ChosenAmxTiles();
  if (!amx || inputs <= 0 || outputs <= 0 || inputs % kStepPixels != 0 || outputs % kOutputs != 0) {
    return nullptr;
  }
  return std::make_shared<TileInnerProductKernels>(inputs, outputs, *amx);
}

}  // namespace caffe::kernels
