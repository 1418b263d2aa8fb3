// The registry of instruction sets, the processor's features, and CAFFE_CPU_ISA.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/cpu/simd/instruction_set_row.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::kernels {
namespace {

TEST(CpuFeatures, HaveNamesOfTheirOwn) {
  const auto all = static_cast<CpuFeatures>(~0u);
  const std::vector<std::string> names = NamesOf(all);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(NamesOf(CpuFeatures::NONE), std::vector<std::string>());
  EXPECT_EQ(NamesOf(CpuFeatures::AVX2 | CpuFeatures::AMX_FP16),
            (std::vector<std::string>{"avx2", "amx_fp16"}));
}

TEST(CpuFeatures, AreSetsOfBits) {
  const CpuFeatures two = CpuFeatures::AVX2 | CpuFeatures::F16C;
  EXPECT_TRUE(Includes(two, CpuFeatures::F16C));
  EXPECT_TRUE(Includes(two, CpuFeatures::NONE));
  EXPECT_FALSE(Includes(CpuFeatures::F16C, two));
  EXPECT_EQ(Without(two, CpuFeatures::F16C), CpuFeatures::AVX2);
  EXPECT_EQ(two & CpuFeatures::AVX2, CpuFeatures::AVX2);
}

// Linux leaves out of its list what it does not save registers for, as we do.
TEST(CpuFeatures, AreThoseThatLinuxFound) {
#if !defined(__x86_64__) || !defined(__linux__)
  GTEST_SKIP() << "no x86-64 with Linux";
#endif
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.compare(0, 5, "flags") != 0) {
  }
  if (line.compare(0, 5, "flags") != 0) GTEST_SKIP() << "/proc/cpuinfo has no flags";
  std::istringstream words(line);
  std::set<std::string> flags;
  for (std::string word; words >> word;) flags.insert(word);
  // Not in the list: amx_fp16, which old kernels do not name.
  const std::vector<std::pair<CpuFeatures, std::vector<std::string>>> wanted = {
      {CpuFeatures::AVX2, {"avx2", "fma"}},
      {CpuFeatures::F16C, {"f16c"}},
      {CpuFeatures::AVX_VNNI, {"avx_vnni"}},
      {CpuFeatures::AVX512, {"avx512f", "avx512bw", "avx512dq", "avx512vl"}},
      {CpuFeatures::AVX512_VNNI, {"avx512_vnni"}},
      {CpuFeatures::AVX512_FP16, {"avx512_fp16"}},
      {CpuFeatures::AVX512_BF16, {"avx512_bf16"}},
      {CpuFeatures::AMX_INT8, {"amx_tile", "amx_int8"}},
      {CpuFeatures::AMX_BF16, {"amx_tile", "amx_bf16"}}};
  for (const auto& [feature, names] : wanted) {
    const bool listed = std::all_of(names.begin(), names.end(), [&flags = flags](const auto& name) {
      return flags.count(name) > 0;
    });
    const bool found = Includes(FoundCpuFeatures(), feature);
    // Old versions of Linux do not name these.
    const bool may_be_missing = names[0] == "avx_vnni" || names[0] == "avx512_fp16";
    EXPECT_TRUE(found == listed || (found && may_be_missing)) << names[0] << found << listed;
  }
}

constexpr CpuFeatures kTileFeatures =
    CpuFeatures::AMX_INT8 | CpuFeatures::AMX_BF16 | CpuFeatures::AMX_FP16;

TEST(CpuFeatures, LackTilesWhereTheSystemRefusesThem) {
  const DetectedCpuFeatures granted = DetectCpuFeatures([] { return true; });
  EXPECT_EQ(granted.refused, CpuFeatures::NONE);
  const DetectedCpuFeatures refused = DetectCpuFeatures([] { return false; });
  EXPECT_EQ(refused.found, Without(granted.found, kTileFeatures));
  EXPECT_EQ(refused.refused, granted.found & kTileFeatures);
  EXPECT_EQ(FoundCpuFeatures() | RefusedCpuFeatures(), granted.found);
}

TEST(InstructionSets, WithoutRefusedTilesAreNamedInAWarning) {
  const InstructionSetRow plain = InstructionSet::Named("generic").row();
  InstructionSetRow rows[] = {plain, plain, plain, plain};
  rows[1].name = "vectors";
  rows[1].needed = CpuFeatures::AVX2;
  rows[2].name = "tiles";
  rows[2].needed = CpuFeatures::AVX2 | CpuFeatures::AMX_INT8;
  rows[3].by_name_only = true;
  const auto warning = [&rows](CpuFeatures found, CpuFeatures refused) {
    return RefusedFeaturesWarning({rows, rows + 4}, {found, refused});
  };
  const std::string text = warning(CpuFeatures::AVX2, CpuFeatures::AMX_INT8);
  for (const char* part : {"refuses", "amx_int8", "'vectors' kernels", "instead of 'tiles'"}) {
    ExpectContains(text, part);
  }
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(warning(CpuFeatures::AVX2 | CpuFeatures::AMX_INT8, CpuFeatures::NONE), "");
  // No kernels for them.
  EXPECT_EQ(warning(CpuFeatures::AVX2, CpuFeatures::AMX_FP16), "");
  EXPECT_EQ(warning(CpuFeatures::NONE, CpuFeatures::AMX_INT8), "");
}

TEST(InstructionSets, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const InstructionSet& set : RegisteredInstructionSets()) {
    EXPECT_TRUE(names.insert(set.name()).second) << set.name();
    EXPECT_TRUE(InstructionSet::Named(set.name()) == set);
  }
#if defined(__x86_64__) && defined(CAFFE_CPU_KERNELS_ALL)
  EXPECT_EQ(names, (std::set<std::string>{"generic", "avx2", "avx2_vnni", "avx512", "avx512_vnni",
                                          "avx512_bf16", "amx", "emulated_amx"}));
#endif
}

TEST(InstructionSets, BeginWithOneThatRunsEverywhere) {
  const InstructionSet first = RegisteredInstructionSets().front();
  EXPECT_EQ(first.needed(), CpuFeatures::NONE);
  EXPECT_FALSE(first.by_name_only());
  EXPECT_FALSE(first.has_tiles());
}

TEST(InstructionSets, HaveEitherAllVectorKernelsOrTiles) {
  for (const InstructionSetRow& row : RegisteredRows()) {
    SCOPED_TRACE(row.name);
    const int vectors = (row.vector != nullptr) + (row.packed != nullptr) + (row.int8 != nullptr) +
                        (row.winograd != nullptr) + (row.winograd_of_8 != nullptr);
    EXPECT_EQ(vectors, row.tiles ? 0 : 5);
    if (row.tiles) continue;
    // What one kind of kernels packs the others read.
    EXPECT_EQ(row.packed->block, row.int8->block);
    EXPECT_EQ(row.packed->block % row.winograd->lanes, 0u);
    EXPECT_EQ(8 % row.winograd_of_8->lanes, 0u);
  }
}

// Kernels that rows share run wherever one of these rows does: the plainest has the fewest
// features.
TEST(InstructionSets, HaveTheFeaturesOfTheKernelsThatTheyShare) {
  for (const InstructionSetRow& row : RegisteredRows()) {
    const auto expect_features_of_first = [&](const auto& shares) {
      const auto first = std::find_if(RegisteredRows().begin(), RegisteredRows().end(), shares);
      if (first == RegisteredRows().end()) return;  // its row is not compiled
      EXPECT_TRUE(Includes(row.needed, first->needed)) << row.name << " and " << first->name;
    };
    if (row.vector) {
      expect_features_of_first([&](const auto& other) { return other.vector == row.vector; });
    }
    if (row.pairs) {
      expect_features_of_first([&](const auto& other) { return other.pairs == row.pairs; });
    }
    if (row.winograd_of_8) {
      expect_features_of_first(
          [&](const auto& other) { return other.winograd == row.winograd_of_8; });
    }
  }
}

TEST(InstructionSets, AreSupportedWhereTheirFeaturesAreFound) {
  const std::vector<InstructionSet> supported = SupportedInstructionSets();
  ASSERT_FALSE(supported.empty());
  for (const InstructionSet& set : RegisteredInstructionSets()) {
    SCOPED_TRACE(set.name());
    const bool listed = std::count(supported.begin(), supported.end(), set) > 0;
    EXPECT_EQ(listed, set.supported() && !set.by_name_only());
    EXPECT_EQ(set.supported(), NamesOf(Without(set.needed(), FoundCpuFeatures())).empty());
  }
}

TEST(InstructionSets, ChooseTheirOwnKernels) {
  const InstructionSet before = CpuInstructionSet();
  for (const InstructionSet& set : TestedInstructionSets()) {
    SCOPED_TRACE(set.name());
    SetCpuInstructionSet(set);
    EXPECT_TRUE(CpuInstructionSet() == set);
    const InstructionSet vectors = VectorInstructionSet();
    EXPECT_FALSE(vectors.has_tiles());
    EXPECT_TRUE(set.has_tiles() || vectors == set);
    EXPECT_EQ(&ChosenKernels(), vectors.row().vector);
    EXPECT_EQ(&ChosenPackedTiles(), vectors.row().packed);
    EXPECT_EQ(&ChosenInt8Tiles(), vectors.row().int8);
    EXPECT_EQ(&ChosenWinograd(16), vectors.row().winograd);
    EXPECT_EQ(&ChosenWinograd(8), vectors.row().winograd_of_8);
    EXPECT_EQ(ChosenAmxTiles(), set.row().tiles);
    EXPECT_EQ(BlockChannels(), ChosenInt8Tiles().block);
    EXPECT_EQ(ChosenPairTiles(), vectors.row().pairs);
    const std::string name_of_vectors = vectors.name();
    const bool has_pairs = name_of_vectors == "avx512_bf16";
    EXPECT_EQ(HasBFloat16Products(), has_pairs);
    EXPECT_EQ(HasByteProducts(), has_pairs || name_of_vectors.find("vnni") != std::string::npos);
    EXPECT_EQ(HasSaturatingByteProducts(),
              name_of_vectors == "avx2" || name_of_vectors == "avx512");
    for (const auto& [family, name] : ChosenKernelFamilies()) {
      EXPECT_TRUE(name == "none" || InstructionSet::Named(name).supported()) << family << name;
    }
    EXPECT_EQ(ChosenKernelFamilies().back().second, set.has_tiles() ? set.name() : "none");
  }
  SetCpuInstructionSet(before);
}

TEST(InstructionSets, WithVnniShareTheKernelsOfFloats) {
  const auto is_listed = [](const std::vector<InstructionSet>& sets, const std::string& name) {
    return std::any_of(sets.begin(), sets.end(),
                       [&](const InstructionSet& set) { return set.name() == name; });
  };
  for (const std::string name : {"avx2", "avx512"}) {  // CAFFE_CPU_KERNELS may leave out one
    if (!is_listed(SupportedInstructionSets(), name)) continue;
    EXPECT_TRUE(is_listed(FloatInstructionSets(), name));
    EXPECT_FALSE(is_listed(FloatInstructionSets(), name + "_vnni"));
  }
  EXPECT_TRUE(FloatInstructionSets().front() == SupportedInstructionSets().front());
}

void ExpectListsSupported(const std::string& error) {
  for (const InstructionSet& set : SupportedInstructionSets()) ExpectContains(error, set.name());
}

TEST(InstructionSets, WithoutTheNameAreRefusedWithTheValidOnes) {
  const std::string error = ErrorOf([] { InstructionSet::Named("sse9"); });
  ExpectContains(error, "'sse9'");
  ExpectListsSupported(error);
  ExpectContains(error, "emulated_amx");
}

TEST(InstructionSets, ThatAreNotSupportedAreRefusedWithWhatIsMissing) {
  // A row of our own, for what no processor has.
  InstructionSetRow row = InstructionSet::Named("generic").row();
  row.name = "of_tomorrow";
  row.needed = CpuFeatures::AVX2 | static_cast<CpuFeatures>(1u << 31);
  EXPECT_FALSE(InstructionSet(row).supported());
  const std::string error = ErrorOf([&] { SetCpuInstructionSet(InstructionSet(row)); });
  ExpectContains(error, "of_tomorrow: this machine lacks");
  ExpectListsSupported(error);
  for (const InstructionSet& set : RegisteredInstructionSets()) {
    if (set.supported()) continue;
    const std::string refusal = ErrorOf([&] { SetCpuInstructionSet(set); });
    ExpectContains(refusal, set.name());
    for (const std::string& name : NamesOf(Without(set.needed(), FoundCpuFeatures()))) {
      ExpectContains(refusal, name);
    }
  }
}

// As a build for one processor has them: the plainest set, the processor's, one with tiles, and an
// emulation.
TEST(InstructionSets, OfAnotherProcessorAreNamedInAWarning) {
  const InstructionSetRow plain = InstructionSet::Named("generic").row();
  const AmxTiles* const tiles = InstructionSet::Named("emulated_amx").row().tiles;
  InstructionSetRow rows[] = {plain, plain, plain, plain};
  rows[1].name = "native";
  rows[1].needed = CpuFeatures::AVX2 | CpuFeatures::AVX512;
  rows[2].tiles = tiles;
  rows[3].by_name_only = true;
  const auto warning = [&rows](size_t count, CpuFeatures found) {
    return OtherProcessorWarning({rows, rows + count}, found);
  };
  const std::pair<CpuFeatures, const char*> others[] = {
      {CpuFeatures::NONE, "lacks avx2, avx512, so"},
      {CpuFeatures::AVX2, "lacks avx512, so"},
      {CpuFeatures::AVX512 | CpuFeatures::AMX_INT8, "lacks avx2, so"}};
  for (const auto& [found, lacks] : others) {
    const std::string text = warning(4, found);
    for (const char* part :
         {"a processor with native", lacks, "'generic'", "CAFFE_CPU_KERNELS=ALL"}) {
      ExpectContains(text, part);
    }
  }
  EXPECT_EQ(warning(4, rows[1].needed), "");
  EXPECT_EQ(warning(4, rows[1].needed | CpuFeatures::F16C), "");
  // A processor without any of the features has nothing better to lose.
  EXPECT_EQ(warning(1, CpuFeatures::NONE), "");
}

TEST(InstructionSets, ThatRunHereAreNoReasonForAWarning) {
  if (SupportedInstructionSets().size() == 1)
    GTEST_SKIP() << "this processor runs no instruction set but generic";
  EXPECT_EQ(OtherProcessorWarning(RegisteredRows(), FoundCpuFeatures()), "");
}

}  // namespace
}  // namespace caffe::kernels
