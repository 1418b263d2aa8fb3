#include <numeric>

#include "primitives.hpp"

namespace caffe::onednn {
namespace {

class ConcatPrimitive : public Concat {
 public:
  dnnl::concat primitive;
  std::vector<memory::desc> sources;
  memory::desc target;

  void Forward(const std::vector<const float*>& x, float* y) override {
    Arguments arguments = {{DNNL_ARG_DST, Wrap(target, y)}};
    for (size_t i = 0; i < x.size(); ++i) {
      arguments.emplace(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), Wrap(sources[i], x[i]));
    }
    Run(primitive, &arguments);
  }
};

}  // namespace

std::unique_ptr<Concat> Concat::Make(int outer, const std::vector<int>& channels, int inner,
                                     int block) {
  const int total = std::accumulate(channels.begin(), channels.end(), 0);
  if (outer == 0 || total == 0 || inner == 0) return nullptr;
  return MakeOrNull([&]() -> std::unique_ptr<Concat> {
    const auto described = [&](int extent) {
      return Described(
          {outer, extent, inner},
          block == 1 ? Layout() : Layout::ChannelsBlocked(block, outer, extent, inner));
    };
    std::unique_ptr<ConcatPrimitive> concat(new ConcatPrimitive);
    for (const int extent : channels) concat->sources.push_back(described(extent));
    concat->target = described(total);
    const auto desc = DescribeConcat(concat->target, 1, concat->sources);
    if (IsPlainLoop(desc)) return nullptr;
    concat->primitive = dnnl::concat(desc);
    return concat;
  });
}

}  // namespace caffe::onednn
