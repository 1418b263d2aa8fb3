#ifndef CAFFE_KERNELS_INSTRUCTION_SET_HPP_
#define CAFFE_KERNELS_INSTRUCTION_SET_HPP_

#include <string>
#include <utility>
#include <vector>

#include "caffe/kernels/cpu_features.hpp"

namespace caffe::kernels {

struct InstructionSetRow;

/// What the CPU kernels are compiled for: a row of the registry
/// (kernels/cpu/simd/instruction_sets.cpp). A value that is copied and compared; sets have no
/// order.
class InstructionSet {
 public:
  /// The registered set of this name: "generic", "avx2", "avx2_vnni", "avx512", "avx512_vnni",
  /// "avx512_bf16", "amx", "emulated_amx". Throws Error for another name.
  static InstructionSet Named(const std::string& name);

  explicit InstructionSet(const InstructionSetRow& row) : row_(&row) {}

  const char* name() const;
  CpuFeatures needed() const;
  /// Used only if CAFFE_CPU_ISA or SetCpuInstructionSet names it: an emulation, for tests.
  bool by_name_only() const;
  bool supported() const { return Includes(FoundCpuFeatures(), needed()); }
  /// It has matrix products in tiles; everything else is done by VectorInstructionSet().
  bool has_tiles() const;
  const InstructionSetRow& row() const { return *row_; }

  bool operator==(const InstructionSet& other) const { return row_ == other.row_; }
  bool operator!=(const InstructionSet& other) const { return row_ != other.row_; }

 private:
  const InstructionSetRow* row_;
};

inline const char* Name(InstructionSet set) { return set.name(); }

/// All that are registered, the plainest first.
std::vector<InstructionSet> RegisteredInstructionSets();

/// What this processor and operating system can run, the plainest first; without those used only by
/// name.
std::vector<InstructionSet> SupportedInstructionSets();

/// Those of them whose float kernels differ from those of the sets before.
std::vector<InstructionSet> FloatInstructionSets();

/// The set in use: the last supported one, or the one that the environment variable CAFFE_CPU_ISA
/// names. Throws Error for an unknown name, and for a set that is not supported here, naming the
/// missing features; both messages list the names that are valid on this machine. Tools, nets and
/// engines begin with it, so that a wrong name is noticed where no kernel of ours computes, too.
InstructionSet CpuInstructionSet();

/// The set for kernels without tiles: the one in use or, where that has tiles, the last one
/// supported here that has none.
InstructionSet VectorInstructionSet();

/// Switches to another set (for tests; not while kernels run). Throws Error as CpuInstructionSet.
void SetCpuInstructionSet(InstructionSet set);

/// Channels of a block in the kernels in use: lanes of a vector of floats, 8 or 16.
int BlockChannels();
/// True if the kernels in use sum four products of bytes in one instruction.
bool HasByteProducts();
/// True if they can multiply bytes for weights of a reduced range only (weight_pairs.hpp).
bool HasSaturatingByteProducts();

/// True if they sum two products of bfloat16 numbers in one instruction.
bool HasBFloat16Products();

/// For display: each family of kernels, and the set whose kernels are in use. In the order of the
/// registry's columns.
std::vector<std::pair<std::string, std::string>> ChosenKernelFamilies();

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INSTRUCTION_SET_HPP_
