#ifndef CAFFE_FUZZ_PLAN_INPUT_HPP_
#define CAFFE_FUZZ_PLAN_INPUT_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "caffe/inference/plan_file.hpp"

// Plans as inputs that fit every machine: 8 bytes with the size of the description behind the
// fingerprint, the description, and the constants.

namespace caffe::fuzz {

constexpr size_t kPlanHeader = 64, kPlanAlignment = 64;

inline void PutNumber(uint64_t number, size_t at, std::string* bytes) {
  std::memcpy(&(*bytes)[at], &number, sizeof(number));
}
inline uint64_t NumberAt(size_t at, const std::string& bytes) {
  uint64_t number = 0;
  if (at + sizeof(number) <= bytes.size()) std::memcpy(&number, &bytes[at], sizeof(number));
  return number;
}

/// The plan for this machine.
inline std::string PlanOf(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t begin = std::min<size_t>(8, size);
  const size_t described = std::min<uint64_t>(NumberAt(0, input), size - begin);
  std::string plan = "CORTPLAN";
  plan.resize(kPlanHeader);
  const std::string fingerprint = inference::PlanFingerprint();
  plan.append(8, '\0');
  PutNumber(fingerprint.size(), kPlanHeader, &plan);
  plan += fingerprint + input.substr(begin, described);
  const size_t description = plan.size() - kPlanHeader;
  plan.resize((plan.size() + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment);
  plan += input.substr(begin + described);
  PutNumber(inference::kPlanVersion, 8, &plan);
  PutNumber(plan.size(), 16, &plan);
  PutNumber(description, 24, &plan);
  PutNumber(inference::PlanChecksum(plan.data() + kPlanHeader, plan.size() - kPlanHeader,
                                    inference::PlanChecksum(plan.data(), 32, 0)),
            32, &plan);
  return plan;
}

/// The input that makes a plan of this machine.
inline std::string InputOf(const std::string& plan) {
  const size_t description = NumberAt(24, plan);
  const size_t begin = kPlanHeader + 8 + NumberAt(kPlanHeader, plan);
  const size_t end = kPlanHeader + description;
  const size_t constants = (end + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
  std::string input(8, '\0');
  PutNumber(end - begin, 0, &input);
  return input + plan.substr(begin, end - begin) + plan.substr(constants);
}

}  // namespace caffe::fuzz

#endif  // CAFFE_FUZZ_PLAN_INPUT_HPP_
