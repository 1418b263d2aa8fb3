#include "caffe/fp16/range_report.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe/util/text/json.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/text/text_table.hpp"

namespace caffe {
namespace {

std::string PowerOfTwo(int exponent) {
  return Join("2^", exponent, " = ", ThreeDigits(std::ldexp(1.0, exponent)));
}

std::string To(const std::string& layer) {
  return layer.empty() ? "the net's output" : "layer '" + layer + "'";
}

bool Overflows(const Magnitudes& magnitudes) { return magnitudes.ShareAbove() > 0; }

void PrintInside(const RangeInspector& inspector, std::ostream& out) {
  for (const LayerRange& layer : inspector.layers()) {
    for (const auto& entry : layer.inside) {
      if (entry.second <= kLargestFloat16) continue;
      out << "inside layer '" << layer.name << "' (" << layer.type << "): " << entry.first
          << " up to " << ThreeDigits(entry.second) << '\n';
    }
  }
}

void PrintParameters(const RangeInspector& inspector, std::ostream& out) {
  for (const LayerRange& layer : inspector.layers()) {
    for (const BlobRange& parameter : layer.parameters) {
      const Magnitudes& magnitudes = parameter.magnitudes;
      if (Overflows(magnitudes)) {
        out << "parameter of layer '" << layer.name << "' (" << layer.type
            << "): " << parameter.name << " up to " << ThreeDigits(magnitudes.largest()) << ", "
            << PercentText(magnitudes.ShareAbove()) << " above 65504\n";
      }
    }
  }
}

}  // namespace

void PrintRanges(const RangeInspector& inspector, std::ostream& out) {
  TextTable table({"", "layer", "type", "blob", "max |x|", "min |x| > 0", "above 65504",
                   "subnormal", "flushed to 0"},
                  4);
  for (const LayerRange& layer : inspector.layers()) {
    for (const BlobRange& top : layer.tops) {
      const Magnitudes& magnitudes = top.magnitudes;
      const double flushed = magnitudes.ShareFlushed();
      table.Add({Overflows(magnitudes) ? "!" : "", layer.name, layer.type, top.name,
                 ThreeDigits(magnitudes.largest()), ThreeDigits(magnitudes.smallest_nonzero()),
                 PercentText(magnitudes.ShareAbove()),
                 PercentText(magnitudes.ShareSubnormal() - flushed), PercentText(flushed)});
    }
  }
  table.Print(out);
  out << '\n';
  const std::vector<OverflowRegion> regions = inspector.Regions();
  for (const OverflowRegion& region : regions) {
    out << "region: from layer '" << region.from << "' to " << To(region.to)
        << " values leave FP16's range, up to " << ThreeDigits(region.largest)
        << " (blobs: " << Listed(region.blobs) << ")\n";
  }
  PrintInside(inspector, out);
  PrintParameters(inspector, out);
  if (const auto bad = inspector.FirstNotFinite()) {
    out << "blob '" << bad->top.name << "' of layer '" << bad->layer.name << "' has "
        << bad->top.magnitudes.not_finite()
        << " NaN or infinite values in FLOAT already: look at its layer and the data first\n";
  } else if (regions.empty()) {
    out << "no blob leaves FP16's range";
    out << (inspector.OverflowsInside().empty() ? "\n" : ", but see what layers hold inside\n");
  }
}

void PrintRewriting(const RangeRewriting& rewriting, std::ostream& out) {
  for (const ScaledRegion& region : rewriting.regions()) {
    out << "scaled by 1/p, p = " << PowerOfTwo(region.exponent) << ": from layer '" << region.from
        << "' to " << To(region.to) << " (blobs: " << Listed(region.blobs) << "); largest "
        << ThreeDigits(region.largest) << " -> "
        << ThreeDigits(std::ldexp(region.largest, -region.exponent)) << "; subnormal or flushed "
        << PercentText(region.subnormal_before) << " -> " << PercentText(region.subnormal_after)
        << '\n';
  }
  for (const FoldedFactor& folded : rewriting.folded()) {
    out << "folded: " << folded.parameter << " of layer '" << folded.layer << "' times "
        << PowerOfTwo(folded.exponent) << "; subnormal or flushed "
        << PercentText(folded.subnormal_before) << " -> " << PercentText(folded.subnormal_after)
        << '\n';
  }
  const auto list = [&out](const char* what, const std::vector<std::string>& layers) {
    if (!layers.empty()) out << what << Listed(layers) << '\n';
  };
  list("layers put in: ", rewriting.inserted_layers());
  list("layers that stay FLOAT: ", rewriting.float_layers());
  list("layers that add up in FLOAT (forward_math): ", rewriting.float_math_layers());
  list("statistics divided by their factor: ", rewriting.normalized_layers());
  if (rewriting.regions().empty() && rewriting.float_layers().empty() &&
      rewriting.normalized_layers().empty()) {
    out << "nothing had to be scaled: the net fits as it is\n";
  }
}

bool PrintLostDigits(const RangeRewriting& rewriting, double most, std::ostream& out) {
  bool any = false;
  const auto check = [&](double before, double after, const std::string& what,
                         const std::string& layer) {
    if (after <= most || after <= before) return;
    any = true;
    out << "warning: " << PercentText(after) << " of " << what
        << " are subnormal or 0 in FLOAT16 now, more than -max_subnormal: give layer '" << layer
        << "' 'forward_type: FLOAT', or look for values that are far too large there\n";
  };
  for (const ScaledRegion& region : rewriting.regions()) {
    check(region.subnormal_before, region.subnormal_after,
          "the values from layer '" + region.from + "' to " + To(region.to), region.from);
  }
  for (const FoldedFactor& folded : rewriting.folded()) {
    if (folded.parameter != "weights") continue;
    check(folded.subnormal_before, folded.subnormal_after,
          "the weights of layer '" + folded.layer + "'", folded.layer);
  }
  return any;
}

namespace {

using google::protobuf::Struct;
using json::Append;
using json::List;
using json::Object;
using json::Set;

void SetRange(const BlobRange& range, Struct* object) {
  const Magnitudes& magnitudes = range.magnitudes;
  Set(object, "name", range.name);
  Set(object, "count", double(magnitudes.count()));
  Set(object, "zeros", double(magnitudes.zeros()));
  Set(object, "not_finite", double(magnitudes.not_finite()));
  Set(object, "largest", magnitudes.largest());
  Set(object, "smallest_nonzero", magnitudes.smallest_nonzero());
  Set(object, "share_above", magnitudes.ShareAbove());
  Set(object, "share_subnormal", magnitudes.ShareSubnormal() - magnitudes.ShareFlushed());
  Set(object, "share_flushed", magnitudes.ShareFlushed());
}

void SetLayer(const LayerRange& layer, Struct* object) {
  Set(object, "name", layer.name);
  Set(object, "type", layer.type);
  Set(object, "bottoms", layer.bottoms);
  List(object, "tops");
  List(object, "parameters");
  for (const BlobRange& top : layer.tops) SetRange(top, Append(object, "tops"));
  for (const BlobRange& range : layer.parameters) SetRange(range, Append(object, "parameters"));
  Struct* inside = Object(object, "inside");
  for (const auto& entry : layer.inside) Set(inside, entry.first, entry.second);
}

void SetRewriting(const RangeRewriting& rewriting, Struct* object) {
  List(object, "regions");
  List(object, "folded");
  for (const ScaledRegion& region : rewriting.regions()) {
    Struct* entry = Append(object, "regions");
    Set(entry, "p", std::ldexp(1.0, region.exponent));
    Set(entry, "from", region.from);
    Set(entry, "to", region.to);
    Set(entry, "blobs", region.blobs);
    Set(entry, "largest", region.largest);
    Set(entry, "share_subnormal_before", region.subnormal_before);
    Set(entry, "share_subnormal_after", region.subnormal_after);
  }
  for (const FoldedFactor& folded : rewriting.folded()) {
    Struct* entry = Append(object, "folded");
    Set(entry, "layer", folded.layer);
    Set(entry, "parameter", folded.parameter);
    Set(entry, "factor", std::ldexp(1.0, folded.exponent));
    Set(entry, "share_subnormal_before", folded.subnormal_before);
    Set(entry, "share_subnormal_after", folded.subnormal_after);
  }
  Set(object, "float_layers", rewriting.float_layers());
  Set(object, "float_math_layers", rewriting.float_math_layers());
  Set(object, "inserted_layers", rewriting.inserted_layers());
  Set(object, "normalized_layers", rewriting.normalized_layers());
}

}  // namespace

std::string RangesAsJson(const RangeInspector& inspector, const RangeRewriting* rewriting) {
  Struct root;
  Set(&root, "batches", inspector.batches());
  List(&root, "layers");
  List(&root, "regions");
  for (const LayerRange& layer : inspector.layers()) SetLayer(layer, Append(&root, "layers"));
  for (const OverflowRegion& region : inspector.Regions()) {
    Struct* entry = Append(&root, "regions");
    Set(entry, "from", region.from);
    Set(entry, "to", region.to);
    Set(entry, "blobs", region.blobs);
    Set(entry, "largest", region.largest);
  }
  std::vector<std::string> inside;
  for (int layer : inspector.OverflowsInside()) inside.push_back(inspector.layers()[layer].name);
  Set(&root, "overflows_inside", inside);
  if (rewriting) SetRewriting(*rewriting, Object(&root, "rewriting"));
  return json::Text(root);
}

}  // namespace caffe
