// Times inner products with weights in float, 16 bits and 8 bits, oneDNN's in float and a BLAS
// product: one line per layer and batch. All take turns; a line has the least milliseconds of each,
// and how many times as long the faster of oneDNN and BLAS takes as each of ours.
//
//     inner_product_benchmark [rounds]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "benchmark_support.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/inner_product.hpp"
#include "caffe/onednn/onednn.hpp"

namespace {

using caffe::bfloat16;
using caffe::float16;
using caffe::kernels::Int8InnerProduct;
using caffe::kernels::PostOps;

struct Row {
  const char* name;
  int inputs, outputs;
};

const Row kRows[] = {{"AlexNet fc6", 9216, 4096},
                     {"VGG-16 fc6", 25088, 4096},
                     {"fc7", 4096, 4096},
                     {"GoogLeNet, MobileNet", 1024, 1000}};

/// An inner product with weights stored as W, x and y likewise.
template <typename W>
std::function<void()> Own(const Row& row, int num, const std::vector<float>& x,
                          const std::vector<float>& w) {
  const auto product = std::make_shared<caffe::kernels::InnerProduct>(row.inputs, row.outputs);
  const auto packed = std::make_shared<std::vector<W>>(product->packed_size());
  product->PackWeights(w.data(), nullptr, packed->data());
  const auto input = std::make_shared<std::vector<W>>();
  for (const float value : x) input->push_back(static_cast<W>(value));
  const auto scratch = std::make_shared<Aligned>(product->scratch_bytes(num));
  const auto y = std::make_shared<std::vector<W>>(size_t(num) * row.outputs);
  return [=] {
    product->Forward(num, input->data(), packed->data(), PostOps(), scratch->get(), y->data());
  };
}

std::function<void()> OwnInt8(const Row& row, int num) {
  const auto product = std::make_shared<Int8InnerProduct>(row.inputs, row.outputs);
  const auto packed = std::make_shared<std::vector<int8_t>>(product->packed_size(), int8_t(3));
  const auto input = std::make_shared<std::vector<uint8_t>>(size_t(num) * row.inputs, uint8_t(5));
  const auto scratch = std::make_shared<Aligned>(product->scratch_bytes(num));
  const auto y = std::make_shared<std::vector<float>>(size_t(num) * row.outputs);
  const auto scale = std::make_shared<std::vector<float>>(row.outputs, 1e-3f);
  return [=] {
    PostOps post;
    post.scale = scale->data();
    product->Forward(num, input->data(), packed->data(), post, scratch->get(), y->data());
  };
}

void Compare(const Row& row, int num, int rounds) {
  const std::vector<float> x = Random(size_t(num) * row.inputs);
  const std::vector<float> w = Random(size_t(row.outputs) * row.inputs);
  std::vector<float> y(size_t(num) * row.outputs);
  const auto onednn = caffe::onednn::InnerProduct::Make(
      num, row.inputs, row.outputs, /*transposed=*/false, caffe::Layout(),
      caffe::onednn::WeightedPrimitive::Options());
  std::vector<float> onednn_weights = w;
  if (onednn && onednn->packs()) {
    onednn_weights.resize(onednn->packed_size());
    onednn->PackWeights(w.data(), onednn_weights.data());
  }
  const std::function<void()> ways[] = {
      [&] {
        caffe::kernels::Gemm(false, true, num, row.outputs, row.inputs, 1.f, x.data(), row.inputs,
                             w.data(), row.inputs, 0.f, y.data(), row.outputs);
      },
      [&] {
        if (onednn) onednn->Forward(x.data(), onednn_weights.data(), PostOps(), y.data());
      },
      Own<float>(row, num, x, w),
      Own<float16>(row, num, x, w),
      Own<bfloat16>(row, num, x, w),
      OwnInt8(row, num)};
  constexpr int kWays = 6;
  double least[kWays];
  std::fill_n(least, kWays, std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kWays; ++i) least[i] = std::min(least[i], Milliseconds(ways[i]));
  }
  const double peer = onednn ? std::min(least[0], least[1]) : least[0];
  std::printf("| %-20s | %2d |", row.name, num);
  for (const double ms : least) std::printf(" %8.3f |", ms);
  for (int i = 2; i < kWays; ++i) std::printf(" %5.2f |", peer / least[i]);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 20;
  std::printf(
      "| layer | batch | BLAS ms | oneDNN ms | float ms | float16 ms | bfloat16 ms | int8 ms | "
      "float x | float16 x | bfloat16 x | int8 x |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
      "---:|---:|---:|\n");
  for (const Row& row : kRows) {
    for (const int num : {1, 2, 8, 64}) Compare(row, num, rounds);
  }
}
