#include "tile_variants.hpp"

#include "caffe/error.hpp"

namespace caffe::inference::cpu {
namespace {

struct TileVariant {
  const char* name;
  kernels::TileShape shape;
};
constexpr TileVariant kTileVariants[] = {{"4x1", kernels::TileShape::FOUR_BY_ONE},
                                         {"2x2", kernels::TileShape::TWO_BY_TWO}};

}  // namespace

std::vector<std::string> AllTileVariants() {
  std::vector<std::string> names;
  for (const TileVariant& variant : kTileVariants) names.push_back(variant.name);
  return names;
}

std::vector<std::string> TileVariants(const kernels::ConvolutionShape& shape) {
  std::vector<std::string> names = AllTileVariants();
  if (shape.is_depthwise()) names.resize(1);
  return names;
}

kernels::TileShape TileShapeOf(const std::string& variant) {
  for (const TileVariant& known : kTileVariants) {
    if (variant == known.name) return known.shape;
  }
  Fail("kernels with channels last have no variant '", variant, "'; they have 4x1 and 2x2");
}

}  // namespace caffe::inference::cpu
