// Convolutions in FLOAT, FLOAT16 and BFLOAT16 by kernels/packed_convolution.hpp, in blocks of
// channels and with channels last.
#include <algorithm>
#include <functional>

#include "algorithm_convolution.hpp"
#include "tile_variants.hpp"

namespace caffe::inference::cpu {
namespace {

/// Candidates between floats for a plain source and for one in the implementation's layout.
std::vector<Candidate> PackedCandidates(const AlgorithmConvolution& implementation,
                                        const LoweringContext& context, const Node& node,
                                        const std::function<bool(bool plain)>& has_kernel) {
  const auto shape = ConvolutionShapeOf(context.graph, node);
  if (!shape || !PostOpsOf(node)) return context.None(kNoConvolution);
  const Layout::Kind layout = implementation.layout();
  std::vector<Candidate> candidates;
  for (const bool plain : {true, false}) {
    if (plain && !algorithms::MayBePlain(shape->channels, shape->group)) continue;
    if (!has_kernel(plain)) continue;
    for (Candidate& candidate :
         InFloats(implementation, context, node, plain ? kPlain : layout, layout)) {
      candidates.push_back(std::move(candidate));
    }
  }
  if (candidates.empty()) context.Note(kNoKernelForShape);
  return candidates;
}

class PackedImplementation : public AlgorithmConvolution {
 public:
  const char* name() const override { return "packed"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    return PackedCandidates(*this, context, node, [&](bool plain) {
      return Plan(node, Dense(context.graph, node, plain)) != nullptr;
    });
  }

  algorithms::AlgorithmPtr Plan(const Node& node, const PlacedConvolution& c) const override {
    return algorithms::PackedConvolution(c.shape, c.num, c.plain_source, node.math);
  }
};

class PairImplementation : public AlgorithmConvolution {
 public:
  const char* name() const override { return "packed_bf16"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!context.Stores(ElementType::BFLOAT16)) return context.None("is for BFLOAT16");
    std::vector<Candidate> all = PackedCandidates(*this, context, node, [&](bool plain) {
      return Plan(node, Dense(context.graph, node, plain)) != nullptr;
    });
    all.erase(std::remove_if(all.begin(), all.end(),
                             [](const Candidate& candidate) {
                               return candidate.math != ElementType::BFLOAT16;
                             }),
              all.end());
    return all;
  }

  algorithms::AlgorithmPtr Plan(const Node&, const PlacedConvolution& c) const override {
    return algorithms::PairConvolution(c.shape, c.num, c.plain_source);
  }
};

class ChannelsLastImplementation : public AlgorithmConvolution {
 public:
  const char* name() const override { return "channels_last"; }
  bool has_variants() const override { return true; }
  Layout::Kind layout() const override { return kChannelsLast; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const std::vector<Candidate> all = PackedCandidates(*this, context, node, [&](bool plain) {
      const PlacedConvolution placed = Dense(context.graph, node, plain);
      return algorithms::ChannelsLastConvolution(placed.shape, placed.num, plain, node.math,
                                                 kernels::TileShape()) != nullptr;
    });
    std::vector<Candidate> variants;
    for (const Candidate& candidate : all) {
      for (const std::string& name : TileVariants(*ConvolutionShapeOf(context.graph, node))) {
        variants.push_back(candidate);
        variants.back().variant = name;
      }
    }
    return variants;
  }

  algorithms::AlgorithmPtr Plan(const Node& node, const PlacedConvolution& c) const override {
    return algorithms::ChannelsLastConvolution(c.shape, c.num, c.plain_source, node.math,
                                               TileShapeOf(VariantOf(node)));
  }
};

}  // namespace

const Implementation& PackedConvolution() {
  static const PackedImplementation implementation;
  return implementation;
}

const Implementation& PairConvolution() {
  static const PairImplementation implementation;
  return implementation;
}

const Implementation& ChannelsLastConvolution() {
  static const ChannelsLastImplementation implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
