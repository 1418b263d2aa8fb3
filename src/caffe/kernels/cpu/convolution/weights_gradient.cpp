#include "caffe/kernels/weights_gradient.hpp"

#include <algorithm>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/simd/amx_tiles.hpp"
#include "caffe/kernels/cpu/simd/l2_cache.hpp"
#include "caffe/kernels/cpu/simd/pixel_pairs.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "convolution_bands.hpp"
#include "work_items.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kBlock = 4 * kStepPixels;  // positions that a thread brings into order at a time

/// One axis of a grid of positions on which each output and each window has its place, so that the
/// number under a position of the kernel (a *tap*) lies a fixed distance from the output. With a
/// stride there is a grid for each *phase*: every stride-th number of x.
class GridAxis {
 public:
  explicit GridAxis(const BandAxis& axis) : axis_(axis) {
    for (int tap = 0; tap < axis.kernel; ++tap) {
      const int phase = tap * axis.dilation % axis.stride;
      const auto found = std::find(phases_.begin(), phases_.end(), phase);
      phase_of_.push_back(static_cast<int>(found - phases_.begin()));
      if (found == phases_.end()) phases_.push_back(phase);
    }
    // Rows, and images, share the padding between them: what is behind the end of one is what is
    // before the beginning of the next.
    const int all = axis.output + most_shift();
    int before = 0, behind = 0;
    while (before < most_shift() && IsPadding(before)) ++before;
    while (behind < before && IsPadding(all - 1 - behind)) ++behind;
    pitch_ = all - behind;
  }

  int taps() const { return axis_.kernel; }
  int outputs() const { return axis_.output; }
  int inputs() const { return axis_.input; }
  int phases() const { return static_cast<int>(phases_.size()); }
  int phase(int tap) const { return phase_of_[tap]; }
  int shift(int tap) const { return tap * axis_.dilation / axis_.stride; }
  int most_shift() const { return shift(axis_.kernel - 1); }
  /// Positions of a row of outputs, or rows of an image.
  int pitch() const { return pitch_; }
  /// The number of x at a position of a phase; outside of x in the padding.
  int At(int phase, int position) const {
    return position * axis_.stride + phases_[phase] - axis_.pad;
  }
  bool IsInside(int number) const { return number >= 0 && number < axis_.input; }

 private:
  /// In all phases.
  bool IsPadding(int position) const {
    for (int phase = 0; phase < phases(); ++phase) {
      if (IsInside(At(phase, position))) return false;
    }
    return true;
  }

  const BandAxis axis_;
  std::vector<int> phases_, phase_of_;
  int pitch_;
};

/// The axis of a plain x whose windows' columns are lanes: the whole row of a window at one place.
BandAxis WithoutTaps(BandAxis axis) {
  axis.kernel = axis.dilation = 1;
  return axis;
}

/// Outputs become rows of tiles, channels their columns, positions of the grid are summed: of some
/// rows of it at a time, a *chunk*, whose x and dy stay in the L2 cache in parts. The images lie
/// below each other. Between their rows dy is zero.
///
/// x becomes rows of pairs of neighbouring positions. A tap is a distance on the grid; for odd ones
/// there are the pairs in between, too, so that tiles are whole lines of the cache.
class TileWeightsGradient : public WeightsGradient {
 public:
  TileWeightsGradient(const ConvolutionShape& shape, bool plain, const AmxTiles& amx)
      : amx_(amx),
        plain_(plain),
        group_(shape.group),
        x_channels_(shape.channels),
        outputs_(shape.outputs / shape.group),
        bands_(shape),
        rows_(bands_.rows()),
        columns_(plain ? WithoutTaps(bands_.columns()) : bands_.columns()),
        channels_(shape.channels / shape.group * (plain ? bands_.columns().kernel : 1)),
        parities_(HasOddShift() ? 2 : 1) {}

  size_t scratch_bytes(int num, ElementType x, ElementType dy) const override {
    return BytesOfPieces<Buffers>(*this, PlanFor(num, StorageOf(x), StorageOf(dy)));
  }
  void Add(int num, const Numbers& x, const Numbers& dy, void* scratch,
           float* d_weights) const override;

 private:
  struct Plan {
    int num;
    Storage x, dy;
    int x_parts, dy_parts;
    int all_rows, rows;                         // of the grid; of a chunk, at most
    size_t steps;                               // of a chunk
    size_t x_positions;                         // for which a panel of x has pairs
    size_t x_part, x_panel, x_phase, x_parity;  // elements from one to the next
    size_t dy_pitch, dy_part;
    WorkItems items;  // cuts: pairs of panels; slices: of the outputs
    size_t tiles;     // of outputs of a slice, at most
    size_t threads;
  };
  struct Chunk {
    int row, rows;
    size_t steps;        // of 32 positions
    size_t x_positions;  // with those of the furthest taps
  };
  struct Buffers {
    Buffers(const TileWeightsGradient& self, const Plan& plan, Pieces* pieces)
        : x(pieces->Take<uint16_t>(self.parities_ * plan.x_parity)),
          dy(pieces->Take<uint16_t>(plan.dy_parts * plan.dy_part)),
          x_pixels(pieces->Take<ptrdiff_t>(self.phases() * plan.x_positions)),
          dy_pixels(pieces->Take<ptrdiff_t>(plan.steps * kStepPixels)),
          own(pieces->Take<char>(plan.threads * self.OwnBytes(plan))) {}
    uint16_t* x;                      ///< (parity, phase, panel, part, pair, 16, 2)
    uint16_t* dy;                     ///< (part, output, position)
    ptrdiff_t *x_pixels, *dy_pixels;  ///< of each position, in bytes; -1: zeros
    char* own;                        ///< of each thread
  };

  size_t panels() const { return CeilDiv(channels_, kTileOutputs); }
  size_t all_panels() const { return group_ * panels(); }
  size_t taps() const { return size_t(rows_.taps()) * columns_.taps(); }
  size_t phases() const { return size_t(rows_.phases()) * columns_.phases(); }
  /// Sums of an item: (tap, panel, output, 16).
  size_t SumsCount(size_t tiles) const { return taps() * 2 * tiles * kTileRows * kTileOutputs; }
  /// Positions from an output to the furthest tap.
  size_t most_shift() const {
    return size_t(rows_.most_shift()) * columns_.pitch() + columns_.most_shift();
  }
  size_t Shift(int row_tap, int column_tap) const {
    return size_t(rows_.shift(row_tap)) * columns_.pitch() + columns_.shift(column_tap);
  }
  bool HasOddShift() const {
    for (int r = 0; r < rows_.taps(); ++r) {
      for (int c = 0; c < columns_.taps(); ++c) {
        if (Shift(r, c) % 2 == 1) return true;
      }
    }
    return false;
  }
  /// A thread's lanes of a plain x, or its sums.
  size_t OwnBytes(const Plan& plan) const {
    const size_t lanes = plain_ ? (kBlock + 2) * kTileOutputs * SizeOf(plan.x) : 0;
    return RoundUp(std::max(lanes, SumsCount(plan.tiles) * sizeof(float)), 64) + kBetweenThreads;
  }

  Chunk ChunkOf(int row, int rows) const {
    const size_t steps = CeilDiv(size_t(rows) * columns_.pitch(), kStepPixels);
    return {row, rows, steps, RoundUp(steps * kStepPixels + most_shift() + 2, 2)};
  }
  const Plan& PlanFor(int num, Storage x, Storage dy) const {
    return plans_[x][dy].For(num, [&](int images) { return MakePlan(images, x, dy); });
  }
  Plan MakePlan(int num, Storage x, Storage dy) const;
  void FindPixels(const Plan& plan, const Chunk& chunk, const Buffers& buffers) const;
  template <typename T>
  void FillLanes(const T* x, const ptrdiff_t* pixels, size_t begin, size_t count, size_t panel,
                 T* lanes) const;
  void FillX(const Plan& plan, const Stored& x, const Chunk& chunk, size_t block,
             const Buffers& buffers, char* own) const;
  void FillDy(const Plan& plan, const Stored& dy, const Chunk& chunk, size_t block,
              const Buffers& buffers) const;
  void Sum(const Plan& plan, const Chunk& chunk, const WorkItems::Item& item,
           const Buffers& buffers, float* sums) const;
  void AddSums(const Plan& plan, const WorkItems::Item& item, const float* sums,
               float* d_weights) const;
  /// The first output of a slice in its group.
  size_t FirstOutput(const Plan& plan, size_t slice) const {
    return plan.items.Begin(slice, outputs_ / kTileRows) * kTileRows;
  }

  const AmxTiles& amx_;
  const bool plain_;
  const size_t group_, x_channels_, outputs_;  // outputs: of a group
  const Bands bands_;
  const GridAxis rows_, columns_;
  const size_t channels_;  // of a group; of a plain x, times the kernel's columns
  const size_t parities_;  // 2 if some tap is an odd distance away
  Plans<Plan> plans_[STORAGES][STORAGES];
};

TileWeightsGradient::Plan TileWeightsGradient::MakePlan(int num, Storage x, Storage dy) const {
  // Fewer positions than this do not pay for loading and storing the sums.
  constexpr size_t kLeastPositions = 8 * kStepPixels;
  Plan plan = {};
  plan.num = num;
  plan.x = x;
  plan.dy = dy;
  plan.x_parts = TileParts(x);
  plan.dy_parts = TileParts(dy);
  plan.threads = Threads();
  plan.all_rows = (num - 1) * rows_.pitch() + rows_.outputs();
  // In the L2 cache: dy, and x's pair of panels that is multiplied by all of it.
  const size_t of_position =
      sizeof(uint16_t) *
      (plan.dy_parts * outputs_ + plan.x_parts * parities_ * phases() * 2 * kTileOutputs);
  const size_t positions = std::max(kLeastPositions, L2CacheBytes() / 2 / of_position);
  const size_t wanted = std::clamp<size_t>(positions / columns_.pitch(), 1, plan.all_rows);
  plan.rows = static_cast<int>(CeilDiv(plan.all_rows, CeilDiv(plan.all_rows, wanted)));
  const Chunk largest = ChunkOf(0, plan.rows);
  plan.steps = largest.steps;
  plan.x_positions = largest.x_positions;
  plan.x_part = plan.x_positions * kTileOutputs;
  plan.x_panel = plan.x_parts * plan.x_part;
  plan.x_phase = all_panels() * plan.x_panel;
  plan.x_parity = phases() * plan.x_phase;
  // An odd number of lines: the rows of a tile are then in different sets of the cache.
  plan.dy_pitch = (plan.steps | 1) * kStepPixels;
  plan.dy_part = group_ * outputs_ * plan.dy_pitch;
  // The sums of an item stay there, too.
  const size_t tiles = outputs_ / kTileRows;
  const size_t fitting = L2CacheBytes() / 4 / (SumsCount(1) * sizeof(float));
  plan.items = {CeilDiv(panels(), 2), group_, CeilDiv(tiles, std::max<size_t>(1, fitting))};
  plan.items.Slice(tiles);
  plan.tiles = CeilDiv(tiles, plan.items.slices);
  return plan;
}

/// Where the pixels of a chunk's positions begin in x, for each phase, and in dy: of the first
/// channel in bytes.
void TileWeightsGradient::FindPixels(const Plan& plan, const Chunk& chunk,
                                     const Buffers& buffers) const {
  const int pitch = columns_.pitch();
  const auto find = [&](size_t count, ptrdiff_t* found, auto&& row_of, auto&& column_of) {
    std::fill_n(found, count, ptrdiff_t(-1));
    for (size_t at = 0; at < count; at += pitch) {
      const int row = chunk.row + static_cast<int>(at / pitch);
      const ptrdiff_t first = row_of(row / rows_.pitch(), row % rows_.pitch());
      if (row / rows_.pitch() >= plan.num || first < 0) continue;
      const int columns = static_cast<int>(std::min<size_t>(pitch, count - at));
      for (int column = 0; column < columns; ++column) {
        const ptrdiff_t offset = column_of(column);
        if (offset >= 0) found[at + column] = first + offset;
      }
    }
  };
  const ptrdiff_t x_pixel = SizeOf(plan.x) * (plain_ ? 1 : x_channels_);
  const ptrdiff_t x_row = columns_.inputs() * x_pixel;
  const ptrdiff_t x_image = rows_.inputs() * x_row * (plain_ ? x_channels_ : 1);
  for (size_t phase = 0; phase < phases(); ++phase) {
    const int row_phase = static_cast<int>(phase / columns_.phases());
    const int column_phase = static_cast<int>(phase % columns_.phases());
    find(
        plan.x_positions, buffers.x_pixels + phase * plan.x_positions,
        [&](int image, int position) -> ptrdiff_t {
          const int row = rows_.At(row_phase, position);
          return rows_.IsInside(row) ? image * x_image + row * x_row : -1;
        },
        [&](int position) -> ptrdiff_t {
          // Of a plain x, the lanes look for themselves whether they are inside.
          if (plain_) return 0;
          const int column = columns_.At(column_phase, position);
          return columns_.IsInside(column) ? column * x_pixel : -1;
        });
  }
  const ptrdiff_t dy_pixel = SizeOf(plan.dy) * group_ * outputs_;
  const ptrdiff_t dy_row = columns_.outputs() * dy_pixel;
  find(
      chunk.steps * kStepPixels, buffers.dy_pixels,
      [&](int image, int row) -> ptrdiff_t {
        return row < rows_.outputs() ? (image * rows_.outputs() + row) * dy_row : -1;
      },
      [&](int column) -> ptrdiff_t {
        return column < columns_.outputs() ? column * dy_pixel : -1;
      });
}

/// 16 lanes of a plain x for each position of [begin, begin + count): a channel at a column of the
/// window each.
template <typename T>
void TileWeightsGradient::FillLanes(const T* x, const ptrdiff_t* pixels, size_t begin, size_t count,
                                    size_t panel, T* lanes) const {
  const BandAxis& columns = bands_.columns();
  const ptrdiff_t plane = bands_.input_plane(), stride = columns.stride;
  const ptrdiff_t pitch = columns_.pitch(), end = begin + count;
  const size_t used = std::min<size_t>(kTileOutputs, channels_ - panel * kTileOutputs);
  std::fill_n(lanes, count * kTileOutputs, T());
  for (ptrdiff_t at = begin / pitch * pitch; at < end; at += pitch) {
    const ptrdiff_t inside = std::max<ptrdiff_t>(at, begin);
    if (pixels[inside] < 0) continue;
    const T* const row = x + pixels[inside] / ptrdiff_t(sizeof(T));
    for (size_t lane = 0; lane < used; ++lane) {
      const size_t channel = (panel * kTileOutputs + lane) % x_channels_;
      const int tap = static_cast<int>((panel * kTileOutputs + lane) / x_channels_);
      // The outputs whose windows have this column inside of the image.
      const ptrdiff_t first = columns.first(0) + tap * columns.dilation;
      const ptrdiff_t from = first < 0 ? CeilDiv(size_t(-first), stride) : 0;
      const ptrdiff_t until = first < columns.input ? (columns.input - first - 1) / stride + 1 : 0;
      const T* const numbers = row + ptrdiff_t(channel) * plane + first;
      T* const to = lanes + (at - ptrdiff_t(begin)) * kTileOutputs + lane;
      const ptrdiff_t last = std::min({until, pitch, end - at});
      for (ptrdiff_t i = std::max(from, inside - at); i < last; ++i) {
        to[i * kTileOutputs] = numbers[i * stride];
      }
    }
  }
}

/// The pairs of a block of positions, and the odd one behind it.
void TileWeightsGradient::FillX(const Plan& plan, const Stored& x, const Chunk& chunk, size_t block,
                                const Buffers& buffers, char* own) const {
  const size_t begin = block * kBlock;
  if (begin >= chunk.x_positions) return;
  AmxTiles::PixelPairs pairs = {};
  pairs.count = std::min(kBlock + 2, chunk.x_positions - begin);
  pairs.others = pairs.count - std::min(kBlock, pairs.count);
  pairs.part = plan.x_part;
  ptrdiff_t in_lanes[kBlock + 2];
  for (size_t i = 0; i < pairs.count; ++i) in_lanes[i] = i * kTileOutputs * SizeOf(plan.x);
  for (size_t phase = 0; phase < phases(); ++phase) {
    const ptrdiff_t* const pixels = buffers.x_pixels + phase * plan.x_positions;
    for (size_t panel = 0; panel < all_panels(); ++panel) {
      pairs.x = x.at(panel * kTileOutputs);
      pairs.pixels = pixels + begin;
      if (plain_) {
        const auto fill = [&](auto tag) {
          using T = decltype(tag);
          FillLanes(static_cast<const T*>(x.data), pixels, begin, pairs.count, panel,
                    reinterpret_cast<T*>(own));
        };
        SizeOf(plan.x) == sizeof(float) ? fill(float()) : fill(uint16_t());
        pairs.x = own;
        pairs.pixels = in_lanes;
      }
      pairs.even = buffers.x + phase * plan.x_phase + panel * plan.x_panel + begin * kTileOutputs;
      pairs.odd = parities_ == 2 ? pairs.even + plan.x_parity : nullptr;
      PairPixels(amx_, plan.x, pairs);
    }
  }
}

void TileWeightsGradient::FillDy(const Plan& plan, const Stored& dy, const Chunk& chunk,
                                 size_t block, const Buffers& buffers) const {
  const size_t first = block * kBlock / kStepPixels;
  const size_t last = std::min(first + kBlock / kStepPixels, chunk.steps);
  for (size_t tile = 0; tile < group_ * outputs_ / kTileRows; ++tile) {
    uint16_t* const rows = buffers.dy + tile * kTileRows * plan.dy_pitch;
    for (size_t step = first; step < last; ++step) {
      TransposePixels(amx_, plan.dy, dy.at(tile * kTileRows),
                      buffers.dy_pixels + step * kStepPixels, rows + step * kStepPixels,
                      plan.dy_pitch, plan.dy_part);
    }
  }
}

/// The products of one or two panels and some outputs of a group.
void TileWeightsGradient::Sum(const Plan& plan, const Chunk& chunk, const WorkItems::Item& item,
                              const Buffers& buffers, float* sums) const {
  const size_t panel = 2 * item.cut, first = FirstOutput(plan, item.slice);
  const size_t outputs = FirstOutput(plan, item.slice + 1) - first;
  // Small parts first, as PackedConvolution multiplies them.
  const TilePairs pairs = TilePairsOf(plan.dy, plan.x, ElementType::FLOAT16);
  AmxTiles::Work work = WholeTiles(pairs);
  work.row_tiles = static_cast<int>(outputs / kTileRows);
  work.panels = static_cast<int>(std::min<size_t>(2, panels() - panel));
  work.steps = static_cast<int>(chunk.steps);
  work.x = buffers.dy + (item.group * outputs_ + first) * plan.dy_pitch;
  work.x_pitch = plan.dy_pitch * sizeof(uint16_t);
  work.x_part = plan.dy_part * sizeof(uint16_t);
  work.weights_panel = plan.x_panel * sizeof(uint16_t);
  work.weights_part = plan.x_part * sizeof(uint16_t);
  work.sums_pitch = kTileOutputs;
  work.sums_panel = outputs * kTileOutputs;
  const uint16_t* const x = buffers.x + (item.group * panels() + panel) * plan.x_panel;
  for (int r = 0; r < rows_.taps(); ++r) {
    for (int c = 0; c < columns_.taps(); ++c) {
      const size_t phase = size_t(rows_.phase(r)) * columns_.phases() + columns_.phase(c);
      const size_t shift = Shift(r, c);
      work.weights =
          x + shift % 2 * plan.x_parity + phase * plan.x_phase + shift / 2 * (2 * kTileOutputs);
      work.sums = sums;
      amx_.multiply_bfloat16(work);
      sums += 2 * outputs * kTileOutputs;
    }
  }
}

/// From (tap, panel, output, 16) to the order of weights.
void TileWeightsGradient::AddSums(const Plan& plan, const WorkItems::Item& item, const float* sums,
                                  float* d_weights) const {
  const size_t kernel = bands_.taps(), row_taps = bands_.rows().kernel;
  const size_t of_output = x_channels_ / group_ * kernel;
  const size_t first = FirstOutput(plan, item.slice);
  const size_t outputs = FirstOutput(plan, item.slice + 1) - first;
  const size_t first_lane = 2 * item.cut * kTileOutputs;
  const size_t lanes = std::min<size_t>(2 * kTileOutputs, channels_ - first_lane);
  // Where the first lane of a tap belongs. Lanes of a plain x: columns of the kernel, channels.
  const auto place = [&](size_t lane) {
    return plain_ ? lane % x_channels_ * kernel + lane / x_channels_ : lane * kernel;
  };
  const size_t tap_step = plain_ ? kernel / row_taps : 1;
  const size_t all_taps = taps(), from_tap = 2 * outputs * kTileOutputs;
  for (size_t o = 0; o < outputs; ++o) {
    float* const row = d_weights + (item.group * outputs_ + first + o) * of_output;
    if (kernel == 1) {  // all in one order
      for (size_t lane = 0; lane < lanes; lane += kTileOutputs) {
        const float* const from = sums + (lane / kTileOutputs * outputs + o) * kTileOutputs;
        const size_t count = std::min<size_t>(kTileOutputs, lanes - lane);
        for (size_t i = 0; i < count; ++i) row[first_lane + lane + i] += from[i];
      }
      continue;
    }
    for (size_t lane = 0; lane < lanes; ++lane) {
      float* const to = row + place(first_lane + lane);
      const float* const from =
          sums + (lane / kTileOutputs * outputs + o) * kTileOutputs + lane % kTileOutputs;
      for (size_t tap = 0; tap < all_taps; ++tap) to[tap * tap_step] += from[tap * from_tap];
    }
  }
}

void TileWeightsGradient::Add(int num, const Numbers& x, const Numbers& dy, void* scratch,
                              float* d_weights) const {
  if (num == 0) return;
  const Plan& plan = PlanFor(num, StorageOf(x.type), StorageOf(dy.type));
  Pieces pieces(scratch);
  const Buffers buffers(*this, plan, &pieces);
  const Stored from_x = {x.data, plan.x}, from_dy = {dy.data, plan.dy};
  const size_t own = OwnBytes(plan);
  for (int row = 0; row < plan.all_rows; row += plan.rows) {
    const Chunk chunk = ChunkOf(row, std::min(plan.rows, plan.all_rows - row));
    FindPixels(plan, chunk, buffers);
    // Rows of dy behind the chunk's belong to the next one.
    std::fill(buffers.dy_pixels + size_t(chunk.rows) * columns_.pitch(),
              buffers.dy_pixels + chunk.steps * kStepPixels, ptrdiff_t(-1));
    ParallelParts(CeilDiv(chunk.x_positions, kBlock), 1,
                  [&](size_t part, size_t begin, size_t end) {
                    char* const memory = buffers.own + part * own;
                    for (size_t block = begin; block < end; ++block) {
                      FillX(plan, from_x, chunk, block, buffers, memory);
                      FillDy(plan, from_dy, chunk, block, buffers);
                    }
                  });
    ParallelParts(plan.items.count(), 1, [&](size_t part, size_t begin, size_t end) {
      float* const sums = reinterpret_cast<float*>(buffers.own + part * own);
      for (size_t i = begin; i < end; ++i) {
        const WorkItems::Item item = plan.items.At(i);
        std::fill_n(sums, SumsCount(plan.tiles), 0.f);
        Sum(plan, chunk, item, buffers, sums);
        AddSums(plan, item, sums, d_weights);
      }
    });
  }
}

}  // namespace

std::shared_ptr<const WeightsGradient> WeightsGradient::Make(const ConvolutionShape& shape,
                                                             bool plain_input) {
  const AmxTiles* const amx = ChosenAmxTiles();
  if (!amx || shape.axes() < 1 || shape.axes() > 2 || shape.weight_count() == 0 ||
      shape.output_spatial() == 0) {
    return nullptr;
  }
  const int channels = shape.channels / shape.group, outputs = shape.outputs / shape.group;
  const bool fits = plain_input ? shape.group == 1 : channels % kTileOutputs == 0;
  if (!fits || outputs % kTileRows != 0) return nullptr;
  return std::make_shared<TileWeightsGradient>(shape, plain_input, *amx);
}

}  // namespace caffe::kernels
