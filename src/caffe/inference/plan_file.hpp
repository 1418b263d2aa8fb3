#ifndef CAFFE_INFERENCE_PLAN_FILE_HPP_
#define CAFFE_INFERENCE_PLAN_FILE_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

// A plan file, all numbers little-endian:
//
//   bytes 0..7     magic: "CORTPLAN"
//         8..11    format version, uint32
//         12..15   0
//         16..23   size of the file, uint64
//         24..31   size of the description, uint64
//         32..39   checksum of everything from byte 64 on and of bytes 0..31, uint64
//         40..63   0
//         64..     the description: fingerprint, tuned threads, the number of graphs, then the
//         graphs
//                  (one for each profile), constants by their place
//         ...      constants, each at a multiple of 64 bytes
//
// The fingerprint says what the plan was built for; a plan for something else is refused.

/// The version of the format that is written and read.
constexpr uint32_t kPlanVersion = 10;

/// What plans for this target (Graph::target) written on this machine can be used with: this
/// library's version, and the processor's instruction set or the calling thread's GPU. Throws Error
/// where there is no GPU.
std::string PlanFingerprint(const std::string& target = "");

struct Plan {
  std::vector<Graph> graphs;  ///< for one target, at least one
  int tuned_threads = 0;      ///< as Engine's
};

/// A constant that several graphs share is written once. Throws Error with the file; see
/// Engine::Save.
void WritePlan(const Plan& plan, const std::string& file);
/// Constants of the graphs lie in the mapped file. Throws Error with the file; see Engine::Load.
Plan ReadPlan(const std::string& file);

/// The checksum of `size` bytes behind those that `sum` is of: four sums over every fourth word,
/// each step of which is one-to-one, so that no single wrong word goes unnoticed; fast enough to
/// read a plan at the speed of memory.
uint64_t PlanChecksum(const void* bytes, size_t size, uint64_t sum);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PLAN_FILE_HPP_
