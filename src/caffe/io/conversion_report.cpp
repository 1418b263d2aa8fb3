#include "caffe/io/conversion_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "caffe/util/text/text_table.hpp"

namespace caffe {

namespace {

/// Rounds `before` and counts what that did to it.
template <typename To, typename From>
To ConvertOne(From before, bool clamp, ConversionCounts* counts) {
  const double exact = static_cast<double>(before);
  To after = static_cast<To>(before);
  if (std::isnan(exact)) {
    ++counts->nans;
    return after;
  }
  if (std::isinf(exact)) {
    ++counts->infinities;
    return after;
  }
  const double rounded = static_cast<double>(after);
  if (std::isinf(rounded)) {
    ++counts->overflowed;
    if (!clamp) return after;
    return exact > 0 ? std::numeric_limits<To>::max() : std::numeric_limits<To>::lowest();
  }
  if (exact == 0) return after;
  if (rounded == 0) {
    ++counts->zeroed;
    return after;
  }
  counts->subnormal += std::abs(rounded) < static_cast<double>(std::numeric_limits<To>::min());
  counts->largest_error =
      std::max(counts->largest_error, std::abs(rounded - exact) / std::abs(exact));
  return after;
}

template <typename From, typename To>
void ConvertRun(const Payload::Run& run, bool clamp, ConversionCounts* counts,
                const std::function<void(const void*, size_t)>& write) {
  constexpr size_t kPiece = 1 << 14;
  std::vector<To> piece(std::min(kPiece, run.count));
  for (size_t done = 0; done < run.count; done += piece.size()) {
    piece.resize(std::min(kPiece, run.count - done));
    for (size_t i = 0; i < piece.size(); ++i) {
      From before;
      std::memcpy(&before, run.begin + (done + i) * run.stride, sizeof(before));
      piece[i] = ConvertOne<To>(before, clamp, counts);
    }
    write(piece.data(), piece.size() * sizeof(To));
  }
}

constexpr int kColumns = 9;
using Row = std::array<std::string, kColumns>;

Row RowOf(const std::string& layer, const std::string& stored, const ConversionCounts& counts) {
  const auto text = [](int64_t count) { return std::to_string(count); };
  return {layer,
          stored,
          text(counts.values),
          text(counts.overflowed),
          text(counts.subnormal),
          text(counts.zeroed),
          text(counts.nans),
          text(counts.infinities),
          counts.largest_error > 0 ? Formatted("%.1e", counts.largest_error) : "0"};
}

}  // namespace

void ConversionCounts::Add(const ConversionCounts& other) {
  values += other.values;
  overflowed += other.overflowed;
  subnormal += other.subnormal;
  zeroed += other.zeroed;
  nans += other.nans;
  infinities += other.infinities;
  largest_error = std::max(largest_error, other.largest_error);
}

ConversionCounts ConvertCounting(const Payload& payload, ElementType to, bool clamp,
                                 const std::function<void(const void*, size_t)>& write) {
  Require(to == ElementType::FLOAT || to == ElementType::FLOAT16,
          "weights become FLOAT or FLOAT16,", " not ", Name(to));
  const bool is_integer =
      payload.type() == ElementType::INT32 || payload.type() == ElementType::UINT32;
  Require(!is_integer, Name(payload.type()), " elements cannot become ", Name(to));
  ConversionCounts counts;
  counts.values = static_cast<int64_t>(payload.count());
  Dispatch(payload.type(), [&](auto from_tag) {
    using From = decltype(from_tag);
    for (const Payload::Run& run : payload.runs()) {
      if (to == ElementType::FLOAT) {
        ConvertRun<From, float>(run, clamp, &counts, write);
      } else {
        ConvertRun<From, float16>(run, clamp, &counts, write);
      }
    }
  });
  return counts;
}

std::string ConversionTable(const std::vector<LayerConversion>& layers) {
  std::vector<Row> rows = {{"layer", "stored", "values", "overflow", "subnormal", "zero", "NaN",
                            "Inf", "largest error"}};
  ConversionCounts all;
  for (const LayerConversion& layer : layers) {
    rows.push_back(RowOf(layer.layer, layer.stored, layer.counts));
    all.Add(layer.counts);
  }
  rows.push_back(RowOf("all layers", "", all));

  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (int i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const Row& row : rows) {
    for (int i = 0; i < kColumns; ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      table += (i ? "  " : "") + (i < 2 ? row[i] + padding : padding + row[i]);
    }
    table += '\n';
  }
  return table;
}

}  // namespace caffe
