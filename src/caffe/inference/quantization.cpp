#include "caffe/inference/quantization.hpp"

#include <array>

#include "caffe/error.hpp"

namespace caffe::inference {
namespace {

constexpr std::array<const char*, 3> kSchemes = {"symmetric", "affine", "paper"};
constexpr std::array<const char*, 3> kArithmetics = {"float", "integer", "integer_only"};
constexpr std::array<const char*, 2> kRoundings = {"double", "single"};

template <typename Enum, size_t N>
Enum Parse(const std::array<const char*, N>& names, const char* what, const std::string& name) {
  std::string all;
  for (size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
    all += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(names[i]);
  }
  Fail("there is no ", what, " '", name, "': give ", all);
}

}  // namespace

const char* Name(QuantizationScheme scheme) { return kSchemes.at(static_cast<size_t>(scheme)); }
const char* Name(Arithmetic arithmetic) { return kArithmetics.at(static_cast<size_t>(arithmetic)); }
const char* Name(kernels::Rounding rounding) {
  return kRoundings.at(static_cast<size_t>(rounding));
}

QuantizationScheme ParseQuantizationScheme(const std::string& name) {
  return Parse<QuantizationScheme>(kSchemes, "quantization", name);
}
Arithmetic ParseArithmetic(const std::string& name) {
  return Parse<Arithmetic>(kArithmetics, "arithmetic", name);
}
kernels::Rounding ParseRounding(const std::string& name) {
  return Parse<kernels::Rounding>(kRoundings, "rounding", name);
}

}  // namespace caffe::inference
