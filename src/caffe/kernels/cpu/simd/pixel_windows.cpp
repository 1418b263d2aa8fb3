#include "pixel_windows.hpp"

#include "caffe/kernels/ceil_div.hpp"
#include "l2_cache.hpp"

namespace caffe::kernels {
namespace {

/// What a thread works on at a time, for each part of x, next to the weights in its L2 cache.
/// Weights that do not stay there are read, and parts of weights made, for each cut: these are
/// larger then.
size_t CutBytes(size_t weights, int parts) {
  return weights > L2CacheBytes() / 4 ? L2CacheBytes() / 2
                                      : std::max(1, parts) * L2CacheBytes() / 8;
}

// Fewer rows than this do not pay for reading the weights of all outputs once more.
constexpr int kMinPositions = 2 * kTileRows;

/// The smallest products first, but each, where there is one, after a product of the same part.
TilePairs InOrderOfUse(const TilePairs& pairs) {
  TilePairs ordered;
  bool used[kMaxTilePairs] = {};
  TilePair before = {-1, -1};
  for (int n = 0; n < pairs.size(); ++n) {
    int next = -1;
    for (int i = pairs.size() - 1; i >= 0; --i) {
      const TilePair& pair = pairs.data()[i];
      const bool shares = pair.x == before.x || pair.weights == before.weights;
      const bool next_shares = next >= 0 && (pairs.data()[next].x == before.x ||
                                             pairs.data()[next].weights == before.weights);
      if (!used[i] && (shares || !next_shares)) next = i;
    }
    used[next] = true;
    before = pairs.data()[next];
    ordered.Add(before);
  }
  return ordered;
}

}  // namespace

TileRows::TileRows(int all, int most_tiles)
    : tiles(static_cast<int>(std::min<size_t>(most_tiles, CeilDiv(all, kTileRows)))),
      rows(static_cast<int>(CeilDiv(all, tiles))) {
  for (int i = 0; i < 4; ++i) starts[i] = std::min<size_t>(size_t(i) * rows, all - rows);
}

bool PixelWindows::Takes(const ConvolutionShape& shape, bool plain, int block) {
  if (shape.axes() < 1 || shape.axes() > 2 || shape.weight_count() == 0 ||
      shape.output_spatial() == 0) {
    return false;
  }
  if (plain) return shape.group == 1 && !shape.is_pointwise();
  return shape.group == 1 || (shape.channels / shape.group % block == 0 &&
                              shape.outputs / shape.group % kTileOutputs == 0);
}

PixelWindows::PixelWindows(const ConvolutionShape& shape, bool plain, int block, size_t element,
                           const SumShape& sum_shape)
    : channels_(shape.channels / shape.group),
      outputs_(shape.outputs / shape.group),
      element_(element),
      sum_shape_(sum_shape),
      pointwise_(shape.is_pointwise() && !plain) {
  const Bands bands(shape);
  rows_ = bands.rows();
  columns_ = bands.columns();
  if (pointwise_) std::swap(rows_, columns_);  // each pixel is a row of its own
  const size_t four_bytes = 4 / element;
  pixel_ = plain ? RoundUp(channels_, four_bytes)
                 : RoundUp(channels_, shape.group == 1 ? block : four_bytes);
  joins_ = columns_.dilation == 1 || columns_.kernel == 1;
  segment_bytes_ = pixel_ * element * (joins_ ? columns_.kernel : 1);
  segment_steps_ = CeilDiv(segment_bytes_, kTileBytes);
  step_bytes_ = RoundUp(CeilDiv(segment_bytes_, segment_steps_), 4);

  const int wanted = columns_.extent(columns_.output), first = columns_.first(0);
  const auto positions = [this](int extent) {
    return extent > 0 ? static_cast<int>(CeilDiv(extent, columns_.step())) : 0;
  };
  first_column_ = std::min(wanted, positions(-first));
  last_column_ =
      std::max<size_t>(first_column_, std::min(wanted, positions(columns_.input - first)));
  // No further than windows overlap: each output of a row has a position of its own.
  const size_t overlap = columns_.extent(1) - 1;
  const size_t shared = std::min({wanted - last_column_, first_column_, overlap});
  row_pixels_ = RoundUp(wanted - shared, columns_.pace());
  row_rest_ = wanted > static_cast<int>(row_pixels_) ? wanted - row_pixels_ : 0;
}

PixelWindows::InStep PixelWindows::InPanel(size_t channel, int row, int column) const {
  const size_t four_bytes = 4 / element_;
  size_t segment = row, at = channel;
  if (joins_) {
    at += column * pixel_;
  } else {
    segment = row * columns_.kernel + column;
  }
  const size_t in_segment = std::min(at * element_ / step_bytes_, segment_steps_ - 1);
  const size_t number = at - StepStart(in_segment) / element_;
  return {segment * segment_steps_ + in_segment,
          number / four_bytes * kTileOutputs * four_bytes + number % four_bytes};
}

PixelWindows::PanelSteps PixelWindows::StepsOf(size_t panel) const {
  const size_t first = panel / sum_shape_.panels * sum_shape_.panels;
  const size_t together = std::min<size_t>(sum_shape_.panels, panels() - first);
  return {(first * steps() + panel - first) * step_weights(), together * step_weights()};
}

size_t PixelWindows::WeightAt(size_t output, size_t channel, int row, int column) const {
  const InStep at = InPanel(channel, row, column);
  const PanelSteps steps = StepsOf(output / kTileOutputs);
  return steps.first + at.step * steps.pitch + at.number + output % kTileOutputs * (4 / element_);
}

PixelWindows::Plan PixelWindows::PlanFor(int num, int groups, int parts) const {
  num = std::max(1, num);
  Plan plan;
  const size_t threads = Threads();
  const size_t all_rows = pointwise_ ? size_t(num) * rows_.output : rows_.output;
  const size_t pixel_bytes = std::max(1, parts) * pixel_ * element_;
  const size_t weights = packed_group() * element_, cut_bytes = CutBytes(weights, parts);
  size_t rows = all_rows;
  const auto bytes = [&](size_t r) { return part_pixels(static_cast<int>(r)) * pixel_bytes; };
  if (bytes(rows) > cut_bytes) {
    // The buffer grows by as much with each row.
    const size_t of_row = std::max<size_t>(1, bytes(2) - bytes(1)),
                 rest = bytes(1) - std::min(bytes(1), of_row);
    rows = cut_bytes > rest ? std::max<size_t>(1, (cut_bytes - rest) / of_row) : 1;
  }
  size_t images = 1, image_cuts = pointwise_ ? 1 : num;
  if (!pointwise_ && rows == all_rows) {
    images = std::clamp<size_t>(cut_bytes / bytes(rows), 1, num);
    image_cuts = CeilDiv(num, images);
    images = CeilDiv(num, image_cuts);
  }
  size_t row_cuts = CeilDiv(all_rows, rows);
  const size_t least_rows = CeilDiv(kMinPositions, row_positions());
  // Threads share the rows, or, where weights are most of what is read, the outputs.
  const size_t x_bytes = bytes(all_rows) * (pointwise_ ? 1 : num);
  plan.items = {image_cuts * row_cuts, size_t(groups), 1};
  if (weights < 2 * x_bytes || panels() < threads) {
    while (plan.items.count() % threads != 0 && plan.items.count() < 8 * threads) {
      const size_t more = row_cuts + 1;
      if (CeilDiv(all_rows, more) < least_rows) break;
      row_cuts = more;
      plan.items.cuts = image_cuts * row_cuts;
    }
    if (image_cuts > 1 && row_cuts == 1 && images > 1 && plan.items.count() < threads) {
      images = CeilDiv(num, RoundUp(image_cuts, threads));
      image_cuts = CeilDiv(num, images);
      plan.items.cuts = image_cuts;
    }
  }
  plan.rows = static_cast<int>(CeilDiv(all_rows, row_cuts));
  plan.items.cuts = image_cuts * CeilDiv(all_rows, plan.rows);
  plan.images = static_cast<int>(images);
  plan.items.Slice(CeilDiv(panels(), sum_shape_.panels));
  plan.image_bytes = parts == 0 ? 0 : RoundUp(bytes(plan.rows), 64);
  return plan;
}

PixelWindows::Cut PixelWindows::CutAt(int num, const Plan& plan, size_t index) const {
  const int all_rows = pointwise_ ? num * rows_.output : rows_.output;
  const size_t row_cuts = CeilDiv(all_rows, plan.rows);
  Cut cut;
  cut.row = static_cast<int>(index % row_cuts) * plan.rows;
  cut.rows = std::min(plan.rows, all_rows - cut.row);
  cut.image = static_cast<int>(index / row_cuts) * plan.images;
  cut.images = pointwise_ ? 1 : std::min(plan.images, num - cut.image);
  return cut;
}

std::vector<AmxTiles::PixelStep> PixelWindows::Steps(const Plan& plan,
                                                     const TilePairs& pairs) const {
  std::vector<AmxTiles::PixelStep> first_parts;
  const size_t pixel_bytes = pixel_ * element_, x_part = part_pixels(plan.rows) * pixel_bytes;
  const size_t weights_part = step_weights() * element_;
  const int taps = joins_ ? 1 : columns_.kernel;
  size_t weights = 0;
  for (int row = 0; row < rows_.kernel; ++row) {
    const int below = row * rows_.dilation;
    const size_t first =
        below % rows_.pace() * phase_pixels(plan.rows) + below / rows_.pace() * row_pixels_;
    for (int column = 0; column < taps; ++column) {
      const size_t window = (first + column * columns_.dilation) * pixel_bytes;
      for (size_t step = 0; step < segment_steps_; ++step) {
        first_parts.push_back({static_cast<ptrdiff_t>(window + StepStart(step)),
                               static_cast<ptrdiff_t>(weights), false, false});
        weights += pairs.weight_parts() * weights_part;
      }
    }
  }
  std::vector<AmxTiles::PixelStep> result;
  const auto add = [&](AmxTiles::PixelStep step, const TilePair& pair, const TilePair* before) {
    step.x += pair.x * x_part;
    step.weights += pair.weights * weights_part;
    step.keeps_x = before && before->x == pair.x;
    step.keeps_weights = before && before->weights == pair.weights;
    result.push_back(step);
  };
  // All products of a step are added to the whole sum. Where steps have few numbers these are more
  // roundings than the bound of PackedConvolution has: 2^-24 for each, and for up to 17 within a
  // product. Then small products come first.
  const size_t terms = channels_ * rows_.kernel * columns_.kernel;
  if (size_t(pairs.size()) * first_parts.size() + 17 <= 2 * (terms + 6)) {
    const TilePairs ordered = InOrderOfUse(pairs);
    for (const AmxTiles::PixelStep& step : first_parts) {
      for (const TilePair& pair : ordered)
        add(step, pair, &pair == ordered.begin() ? nullptr : &pair - 1);
    }
  } else {
    for (const TilePair& pair : pairs) {
      for (const AmxTiles::PixelStep& step : first_parts) add(step, pair, nullptr);
    }
  }
  return result;
}

PixelItem::PixelItem(const PixelWindows& windows, const PixelWindows::Plan& plan, Pieces* pieces)
    : buffer(pieces->Take<char>(plan.images * plan.image_bytes)),
      pixels(pieces->Take<int32_t>(windows.positions({0, 1, 0, plan.rows}))),
      sums(pieces->Take<int32_t>(2 * kBlockSums)) {}

void FindPixels(const PixelWindows& windows, const PixelWindows::Cut& cut, int32_t* pixels) {
  const size_t pitch = windows.row_positions();
  const int columns = windows.columns().output;
  for (int row = 0; row < cut.rows; ++row) {
    const size_t end = row + 1 < cut.rows ? pitch : columns;
    for (size_t column = 0; column < end; ++column) {
      const bool is_output = column < size_t(columns);
      *pixels++ = is_output ? (cut.row + row) * columns + static_cast<int32_t>(column) : -1;
    }
  }
}

}  // namespace caffe::kernels
