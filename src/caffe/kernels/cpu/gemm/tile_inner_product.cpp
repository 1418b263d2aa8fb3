#include "caffe/kernels/tile_inner_product.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/cpu/simd/amx_tiles.hpp"
#include "caffe/kernels/cpu/simd/tile_pairs.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kStep = kTileBytes / sizeof(uint16_t);  // numbers of a row of a tile
constexpr size_t kTile = kTileRows * kStep;              // numbers of a tile
constexpr size_t kOutputs = 2 * kTileRows;               // that are summed together
constexpr size_t kInputs = 512;                          // whose weights are split at a time
constexpr size_t kGradientOutputs = 2 * kStep;           // and of so many outputs, for dx
constexpr size_t kSplitPitch = kInputs + kStep;          // not a multiple of a page
constexpr size_t kGrainWeights = 1 << 16;                // below which one thread works

void WriteFloats(size_t n, const float* from, const Destination& y, size_t at) {
  if (y.type == ElementType::FLOAT) {
    std::copy_n(from, n, static_cast<float*>(y.y) + at);
  } else {
    Convert(n, from, static_cast<float16*>(y.y) + at);
  }
}

class TileInnerProductKernels : public TileInnerProduct {
 public:
  TileInnerProductKernels(int inputs, int outputs, const AmxTiles& amx)
      : amx_(amx), inputs_(inputs), outputs_(outputs) {}

  size_t scratch_bytes(int rows) const override {
    const size_t of_rows = kMaxTileParts * sizeof(uint16_t) * RoundUp(rows, kStep) *
                           (RoundUp(inputs_, kStep) + RoundUp(outputs_, kStep) + 4 * kStep);
    return of_rows + Threads() * OwnBytes(rows);
  }
  bool Forward(int rows, const Numbers& x, const Numbers& weights, const float* bias, void* scratch,
               const Destination& y) const override;
  bool Data(int rows, const Numbers& dy, const Numbers& weights, void* scratch,
            const Destination& dx) const override;
  void Weights(int rows, const Numbers& x, const Numbers& dy, void* scratch,
               float* d_weights) const override;

 private:
  /// A thread's split weights and its sums.
  size_t OwnBytes(int rows) const {
    const size_t split = 2 * kInputs * kGradientOutputs + 2 * kOutputs * kSplitPitch;
    const size_t sums = RoundUp(rows, kTileRows) * std::max(kInputs, kOutputs);
    return RoundUp(split * sizeof(uint16_t) + sums * sizeof(float) + 1024, 64) + kBetweenThreads;
  }
  void PairRows(Storage storage, const AmxTiles::PixelPairs& pairs) const {
    (storage == STORED_FLOAT ? amx_.pair_floats : amx_.pair_halves)(pairs);
  }
  /// Rows of numbers in parts: y (part, row, pitch); false if some cannot be split.
  bool SplitRows(const Numbers& x, int rows, size_t numbers, size_t pitch, size_t part,
                 uint16_t* y) const {
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

  const AmxTiles& amx_;
  const size_t inputs_, outputs_;
};

/// Weights are rows of tiles, as they lie; x becomes pairs of inputs, with a column for each row.
bool TileInnerProductKernels::Forward(int rows, const Numbers& x, const Numbers& weights,
                                      const float* bias, void* scratch,
                                      const Destination& y) const {
  const Storage storage = StorageOf(x.type);
  const size_t tiles = CeilDiv(rows, kTileRows), parts = TileParts(storage);
  Pieces pieces(scratch);
  // (tile of rows, part, pair of inputs, 16 rows, 2)
  const size_t part = inputs_ * kTileRows, panel = parts * part;
  uint16_t* const columns = pieces.Take<uint16_t>(tiles * panel);
  char* const own = pieces.Take<char>(Threads() * OwnBytes(rows));
  const size_t split_part = rows * inputs_;
  std::vector<uint16_t> split(parts * split_part);
  if (!SplitRows(x, rows, inputs_, inputs_, split_part, split.data())) return false;
  ParallelFor(tiles * parts, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i / parts * kTileRows;
      const size_t count = std::min<size_t>(kTileRows, rows - first);
      uint16_t* const to = columns + i * part;
      std::memset(to, 0, part * sizeof(uint16_t));
      const uint16_t* from = split.data() + i % parts * split_part + first * inputs_;
      for (size_t pair = 0; pair < inputs_ / 2; ++pair) {
        for (size_t row = 0; row < count; ++row) {
          std::memcpy(to + (pair * kTileRows + row) * 2, from + row * inputs_ + 2 * pair, 4);
        }
      }
    }
  });

  const TilePairs pairs = TilePairsOf(STORED_HALF, storage, ElementType::FLOAT16);
  std::atomic<bool> all{true};
  ParallelParts(
      outputs_ / kOutputs, CeilDiv(kGrainWeights, inputs_ * kOutputs),
      [&](size_t thread, size_t begin, size_t end) {
        Pieces of_thread(own + thread * OwnBytes(rows));
        uint16_t* const in_parts = of_thread.Take<uint16_t>(2 * kOutputs * kSplitPitch);
        float* const sums = of_thread.Take<float>(tiles * kOutputs * kTileRows);
        float line[kOutputs];
        AmxTiles::Work work = {};
        work.rows = kTileRows;
        work.row_tiles = kOutputs / kTileRows;
        work.width = kTileRows;
        work.panels = static_cast<int>(tiles);
        work.x = in_parts;
        work.x_pitch = kSplitPitch * sizeof(uint16_t);
        work.x_part = kOutputs * work.x_pitch;
        work.weights_panel = panel * sizeof(uint16_t);
        work.weights_part = part * sizeof(uint16_t);
        work.sums = sums;
        work.sums_pitch = kTileRows;
        work.sums_panel = kOutputs * kTileRows;
        work.pairs = pairs.data();
        work.pairs_count = pairs.size();
        for (size_t block = begin; block < end; ++block) {
          const size_t first = block * kOutputs;
          std::fill_n(sums, tiles * kOutputs * kTileRows, 0.f);
          for (size_t k = 0; k < inputs_; k += kInputs) {
            const size_t length = std::min(kInputs, inputs_ - k);
            for (size_t o = 0; o < kOutputs; ++o) {
              const void* const from = weights.at((first + o) * inputs_ + k);
              if (!amx_.split_halves(length, static_cast<const uint16_t*>(from),
                                     in_parts + o * kSplitPitch, kOutputs * kSplitPitch)) {
                all = false;
              }
            }
            work.steps = static_cast<int>(length / kStep);
            work.weights = columns + k * kTileRows;
            amx_.multiply_bfloat16(work);
          }
          for (int row = 0; row < rows; ++row) {
            for (size_t o = 0; o < kOutputs; ++o) {
              line[o] = sums[(row / kTileRows * kOutputs + o) * kTileRows + row % kTileRows] +
                        (bias ? bias[first + o] : 0.f);
            }
            WriteFloats(kOutputs, line, y, row * outputs_ + first);
          }
        }
      });
  return all;
}

/// dy's rows are rows of tiles; weights become pairs of outputs, with a column for each input.
bool TileInnerProductKernels::Data(int rows, const Numbers& dy, const Numbers& weights,
                                   void* scratch, const Destination& dx) const {
  const Storage storage = StorageOf(dy.type);
  const size_t tiles = CeilDiv(rows, kTileRows), parts = TileParts(storage);
  const size_t pitch = (outputs_ / kStep | 1) * kStep, part = tiles * kTileRows * pitch;
  Pieces pieces(scratch);
  uint16_t* const split = pieces.Take<uint16_t>(parts * part);
  char* const own = pieces.Take<char>(Threads() * OwnBytes(rows));
  std::memset(split, 0, parts * part * sizeof(uint16_t));
  if (!SplitRows(dy, rows, outputs_, pitch, part, split)) return false;

  const TilePairs pairs = TilePairsOf(storage, STORED_HALF, ElementType::FLOAT16);
  const size_t panels = kInputs / kTileOutputs;
  constexpr size_t kPairsPart = kGradientOutputs * kTileOutputs;  // of a panel
  ParallelParts(CeilDiv(inputs_, kInputs), CeilDiv(kGrainWeights, kInputs * outputs_),
                [&](size_t thread, size_t begin, size_t end) {
                  Pieces of_thread(own + thread * OwnBytes(rows));
                  uint16_t* const in_pairs = of_thread.Take<uint16_t>(2 * panels * kPairsPart);
                  float* const sums = of_thread.Take<float>(tiles * kTileRows * kInputs);
                  ptrdiff_t pixels[kGradientOutputs];
                  AmxTiles::Work work = {};
                  work.rows = kTileRows;
                  work.row_tiles = static_cast<int>(tiles);
                  work.width = kTileOutputs;
                  work.x_pitch = pitch * sizeof(uint16_t);
                  work.x_part = part * sizeof(uint16_t);
                  work.weights = in_pairs;
                  work.weights_panel = 2 * kPairsPart * sizeof(uint16_t);
                  work.weights_part = kPairsPart * sizeof(uint16_t);
                  work.sums = sums;
                  work.sums_pitch = kInputs;
                  work.sums_panel = kTileOutputs;
                  work.pairs = pairs.data();
                  work.pairs_count = pairs.size();
                  for (size_t block = begin; block < end; ++block) {
                    const size_t first = block * kInputs,
                                 length = std::min(kInputs, inputs_ - first);
                    work.panels = static_cast<int>(length / kTileOutputs);
                    std::fill_n(sums, tiles * kTileRows * kInputs, 0.f);
                    for (size_t o = 0; o < outputs_; o += kGradientOutputs) {
                      const size_t count = std::min(kGradientOutputs, outputs_ - o);
                      for (size_t i = 0; i < count; ++i) pixels[i] = i * inputs_ * sizeof(uint16_t);
                      for (int panel = 0; panel < work.panels; ++panel) {
                        AmxTiles::PixelPairs pair = {};
                        pair.x = weights.at(o * inputs_ + first + panel * kTileOutputs);
                        pair.pixels = pixels;
                        pair.count = count;
                        pair.even = in_pairs + panel * 2 * kPairsPart;
                        pair.part = kPairsPart;
                        amx_.pair_halves(pair);
                      }
                      work.x = split + o;
                      work.steps = static_cast<int>(count / kStep);
                      amx_.multiply_bfloat16(work);
                    }
                    for (int row = 0; row < rows; ++row) {
                      WriteFloats(length, sums + row * kInputs, dx, row * inputs_ + first);
                    }
                  }
                });
  return true;
}

/// Outputs are rows of tiles, inputs their columns: sums are loaded and stored where the gradients
/// lie.
void TileInnerProductKernels::Weights(int rows, const Numbers& x, const Numbers& dy, void* scratch,
                                      float* d_weights) const {
  const Storage x_storage = StorageOf(x.type), dy_storage = StorageOf(dy.type);
  const size_t steps = CeilDiv(rows, kStep), padded = steps * kStep;
  const size_t x_parts = TileParts(x_storage), dy_parts = TileParts(dy_storage);
  Pieces pieces(scratch);
  // x: (panel of inputs, part, pair of rows, 16, 2); dy: (part, output, row)
  const size_t x_part = padded * kTileOutputs, x_panel = x_parts * x_part;
  const size_t dy_part = outputs_ * padded;
  uint16_t* const from_x = pieces.Take<uint16_t>(inputs_ / kTileOutputs * x_panel);
  uint16_t* const from_dy = pieces.Take<uint16_t>(dy_parts * dy_part);
  std::vector<ptrdiff_t> x_rows(padded, -1), dy_rows(padded, -1);
  for (int row = 0; row < rows; ++row) {
    x_rows[row] = row * inputs_ * SizeOf(x_storage);
    dy_rows[row] = row * outputs_ * SizeOf(dy_storage);
  }
  ParallelFor(inputs_ / kTileOutputs, 8, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel) {
      PairRows(x_storage, {x.at(panel * kTileOutputs), x_rows.data(), padded,
                           from_x + panel * x_panel, nullptr, x_part});
    }
  });
  ParallelFor(outputs_ / kTileRows, 8, [&](size_t begin, size_t end) {
    alignas(64) uint16_t in_pairs[kMaxTileParts * kTile];
    for (size_t tile = begin; tile < end; ++tile) {
      for (size_t step = 0; step < steps; ++step) {
        PairRows(dy_storage, {dy.at(tile * kTileRows), dy_rows.data() + step * kStep, kStep,
                              in_pairs, nullptr, kTile});
        for (size_t part = 0; part < dy_parts; ++part) {
          amx_.transpose_pairs(in_pairs + part * kTile,
                               from_dy + part * dy_part + tile * kTileRows * padded + step * kStep,
                               padded);
        }
      }
    }
  });
  const TilePairs pairs = TilePairsOf(dy_storage, x_storage, ElementType::FLOAT16);
  ParallelFor(outputs_ / kOutputs, CeilDiv(kGrainWeights, inputs_ * kOutputs),
              [&](size_t begin, size_t end) {
                AmxTiles::Work work = {};
                work.rows = kTileRows;
                work.row_tiles = kOutputs / kTileRows;
                work.width = kTileOutputs;
                work.panels = static_cast<int>(inputs_ / kTileOutputs);
                work.steps = static_cast<int>(steps);
                work.x_pitch = padded * sizeof(uint16_t);
                work.x_part = dy_part * sizeof(uint16_t);
                work.weights = from_x;
                work.weights_panel = x_panel * sizeof(uint16_t);
                work.weights_part = x_part * sizeof(uint16_t);
                work.sums_pitch = inputs_;
                work.sums_panel = kTileOutputs;
                work.pairs = pairs.data();
                work.pairs_count = pairs.size();
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
  if (!amx || inputs <= 0 || outputs <= 0 || inputs % kStep != 0 || outputs % kOutputs != 0) {
    return nullptr;
  }
  return std::make_shared<TileInnerProductKernels>(inputs, outputs, *amx);
}

}  // namespace caffe::kernels
