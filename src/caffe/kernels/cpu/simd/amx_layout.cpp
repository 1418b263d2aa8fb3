#include "amx_layout.hpp"

namespace caffe::kernels {
namespace {

// What a thread works on at a time, so that it stays in a core's L2 cache: bytes of a part of a
// row, of all rows, and of sums. Many pixels, since weights are reordered once for all of them.
constexpr size_t kPartBytes = 1 << 10;
constexpr size_t kRowsBytes = 512 << 10;
constexpr size_t kSums = 256 << 10;
constexpr int kMaxBandPixels = 512, kMinBandPixels = 32;
constexpr size_t kBufferPositions = 4 << 10;

/// Copies one row; a constant size makes it a few moves.
template <size_t bytes>
void CopyRuns(const char* from, const int32_t* windows, int pixels, size_t element, size_t pitch,
              char* to) {
  for (int p = 0; p < pixels; ++p) std::memcpy(to + p * pitch, from + windows[p] * element, bytes);
}

}  // namespace

AmxLayout::AmxLayout(const ConvolutionShape& shape, const Bands& bands, int lanes, int block,
                     size_t element)
    : bands_(bands),
      lanes_(lanes),
      block_(block),
      element_(element),
      step_(kTileBytes / element),
      units_(CeilDiv(shape.channels / shape.group, lanes)),
      unit_depth_(size_t(bands.taps()) * lanes),
      group_blocks_(CeilDiv(shape.outputs / shape.group, block)),
      panel_blocks_(kTileOutputs / block) {
  // Units that make up whole steps.
  const size_t whole = lanes == 1 ? units_ : std::max<size_t>(1, step_ / lanes);
  const size_t fitting = kPartBytes / element / (whole * unit_depth_);
  part_units_ = std::min(units_, whole * std::max<size_t>(1, fitting));
  // Rows powers of two apart would map to the same cache sets.
  pitch_ = most_depth() * element;
  if (pitch_ / kTileBytes % 2 == 0) pitch_ += kTileBytes;
}

size_t AmxLayout::EqualPanels(size_t panel, size_t end, size_t most) const {
  size_t last = panel + 1;
  while (last < end && last - panel < most && width(last) == width(panel)) ++last;
  return last;
}

void AmxLayout::FindRuns(const Band& largest) {
  std::vector<int32_t> taps(bands_.taps());
  bands_.FindTaps(largest, lanes_, taps.data());
  const int columns = bands_.columns().kernel;
  const size_t joined = bands_.columns().dilation == 1 ? columns : 1;
  for (size_t tap = 0; tap < taps.size(); tap += joined) {
    runs_.push_back({taps[tap] * element_, joined * lanes_ * element_});
  }
}

void AmxLayout::Gather(const void* buffer, const int32_t* windows, int pixels, size_t unit,
                       void* rows) const {
  char* to = static_cast<char*>(rows) + unit * unit_depth_ * element_;
  for (const Run& run : runs_) {
    const char* from = static_cast<const char*>(buffer) + run.from;
    if (run.bytes == 16) {
      CopyRuns<16>(from, windows, pixels, element_, pitch_, to);
    } else if (run.bytes == 32) {
      CopyRuns<32>(from, windows, pixels, element_, pitch_, to);
    } else if (run.bytes == 48) {
      CopyRuns<48>(from, windows, pixels, element_, pitch_, to);
    } else if (run.bytes == 96) {
      CopyRuns<96>(from, windows, pixels, element_, pitch_, to);
    } else {
      for (int p = 0; p < pixels; ++p) {
        std::memcpy(to + p * pitch_, from + windows[p] * element_, run.bytes);
      }
    }
    to += run.bytes;
  }
}

void AmxLayout::Clear(size_t begin, size_t end, int pixels, void* rows) const {
  for (int p = 0; p < pixels && begin < end; ++p) {
    std::memset(static_cast<char*>(rows) + p * pitch_ + begin * element_, 0,
                (end - begin) * element_);
  }
}
void AmxLayout::ClearRest(size_t part, int pixels, void* rows) const {
  Clear(used(part), depth(part), pixels, rows);
}
void AmxLayout::ClearUnit(size_t unit, int pixels, void* rows) const {
  Clear(unit * unit_depth_, (unit + 1) * unit_depth_, pixels, rows);
}

AmxPlan::AmxPlan(const AmxLayout& layout_of_any, const Bands& bands, int num, int groups,
                 int planes)
    : layout(layout_of_any) {
  const int fitting = static_cast<int>(kRowsBytes / (layout.pitch() * planes));
  largest = bands.Largest(std::max(1, num), std::clamp(fitting, kMinBandPixels, kMaxBandPixels),
                          kBufferPositions);
  tiles = PixelTiles(largest.pixels());
  layout.FindRuns(largest);
  buffer = bands.BufferSize(largest) * layout.lanes();

  const size_t panels = layout.panels();
  const size_t slices = std::min(panels, CeilDiv(panels * tiles.padded() * kTileOutputs, kSums));
  items = {bands.Count(num, largest), size_t(groups), slices};
  items.Slice(panels);
  slice_panels = CeilDiv(panels, items.slices);
}

}  // namespace caffe::kernels
