#include "caffe/inference/precision.hpp"

#include <array>

#include "caffe/error.hpp"
#include "caffe/util/text/letters.hpp"

namespace caffe::inference {
namespace {

constexpr std::array<const char*, 5> kNames = {"fp32", "fp16", "bf16", "int8", "best"};

}  // namespace

const char* Name(Precision precision) { return kNames.at(static_cast<size_t>(precision)); }

Precision ParsePrecision(const std::string& name) {
  const std::string lower = LowerCase(name);
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (lower == kNames[i]) return static_cast<Precision>(i);
  }
  Fail("there is no precision '", name, "'", Error::Remedy{"give fp32, fp16, bf16, int8 or best"});
}

ElementType StorageOf(Precision precision) {
  switch (precision) {
    case Precision::FP32:
      return ElementType::FLOAT;
    case Precision::FP16:
      return ElementType::FLOAT16;
    case Precision::BF16:
      return ElementType::BFLOAT16;
    case Precision::INT8:
      return ElementType::INT8;
    case Precision::BEST:
      break;
  }
  Fail("precision best is no type: it stands for a choice of the builder's");
}

}  // namespace caffe::inference
