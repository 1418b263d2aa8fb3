#include "caffe/kernels/instruction_set.hpp"

#include <glog/logging.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "caffe/error.hpp"
#include "instruction_set_row.hpp"

namespace caffe::kernels {
namespace {

constexpr char kSetting[] = "CAFFE_CPU_ISA";

/// The rows in use; `vector` is one without tiles.
struct Choice {
  const InstructionSetRow* set;
  const InstructionSetRow* vector;
};

// A single pointer, read by every kernel, so that both rows change together. Null before the first
// use.
std::atomic<const Choice*> chosen{nullptr};

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string ValidNames() {
  std::vector<std::string> names, by_name;
  for (const InstructionSetRow& row : RegisteredRows()) {
    const InstructionSet set(row);
    if (set.supported()) (set.by_name_only() ? by_name : names).push_back(set.name());
  }
  return Joined(names) + (by_name.empty() ? "" : ", and for tests " + Joined(by_name));
}

/// `setting`: what requested it, for messages.
void RequireSupported(InstructionSet set, const std::string& setting) {
  if (set.supported()) return;
  const CpuFeatures missing = Without(set.needed(), FoundCpuFeatures());
  const bool refused = (missing & RefusedCpuFeatures()) != CpuFeatures::NONE;
  Fail(setting, set.name(), ": this machine lacks ", Joined(NamesOf(missing)),
       refused ? ", whose registers the system refuses this process" : "", "; it runs ",
       ValidNames());
}

const InstructionSetRow* FindInstructionSet(const std::string& name) {
  for (const InstructionSetRow& row : RegisteredRows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// A choice for each row, made once.
const Choice* ChoiceOf(InstructionSet set) {
  static const std::vector<Choice> choices = [] {
    const InstructionSetRow* best = nullptr;
    for (const InstructionSet& s : SupportedInstructionSets()) {
      if (!s.has_tiles()) best = &s.row();
    }
    std::vector<Choice> all;
    for (const InstructionSetRow& row : RegisteredRows()) {
      all.push_back({&row, row.tiles ? best : &row});
    }
    return all;
  }();
  return &choices[&set.row() - RegisteredRows().begin()];
}

/// Once a process: threads may make the first choice at the same time.
void WarnOfSlowerKernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    const InstructionSetRows rows = RegisteredRows();
    const std::string warnings[] = {
        HasNativeKernelsOnly() ? OtherProcessorWarning(rows, FoundCpuFeatures()) : "",
        RefusedFeaturesWarning(rows, {FoundCpuFeatures(), RefusedCpuFeatures()})};
    for (const std::string& warning : warnings) {
      if (!warning.empty()) LOG(WARNING) << warning;
    }
  });
}

InstructionSet FirstChoice() {
  const char* wanted = std::getenv(kSetting);
  if (!wanted || !*wanted) {
    WarnOfSlowerKernels();
    return SupportedInstructionSets().back();
  }
  const InstructionSetRow* row = FindInstructionSet(wanted);
  if (!row) {
    Fail(Error::Field{kSetting}, " is '", wanted, "', no instruction set",
         Error::Remedy{"this machine runs " + ValidNames() +
                       (HasNativeKernelsOnly() ? "; built without CAFFE_CPU_KERNELS=NATIVE, "
                                                 "the library has kernels for more"
                                               : "")});
  }
  RequireSupported(InstructionSet(*row), std::string(kSetting) + " is ");
  return InstructionSet(*row);
}

const Choice& Chosen() {
  const Choice* choice = chosen.load(std::memory_order_acquire);
  if (!choice) {
    choice = ChoiceOf(FirstChoice());
    chosen.store(choice);
  }
  return *choice;
}

}  // namespace

InstructionSet InstructionSet::Named(const std::string& name) {
  const InstructionSetRow* row = FindInstructionSet(name);
  Require(row, "there is no instruction set '", name, "': this machine runs ", ValidNames());
  return InstructionSet(*row);
}

const char* InstructionSet::name() const { return row_->name; }
CpuFeatures InstructionSet::needed() const { return row_->needed; }
bool InstructionSet::by_name_only() const { return row_->by_name_only; }
bool InstructionSet::has_tiles() const { return row_->tiles != nullptr; }

std::vector<InstructionSet> RegisteredInstructionSets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSetRow& row : RegisteredRows()) sets.emplace_back(row);
  return sets;
}

std::vector<InstructionSet> SupportedInstructionSets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet& set : RegisteredInstructionSets()) {
    if (set.supported() && !set.by_name_only()) sets.push_back(set);
  }
  return sets;
}

std::vector<InstructionSet> FloatInstructionSets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet& set : SupportedInstructionSets()) {
    const auto is_the_same = [&set](const InstructionSet& other) {
      const InstructionSetRow &x = set.row(), &y = other.row();
      return x.vector == y.vector && x.packed == y.packed && x.winograd == y.winograd &&
             x.winograd_of_8 == y.winograd_of_8 && x.tiles == y.tiles;
    };
    if (std::none_of(sets.begin(), sets.end(), is_the_same)) sets.push_back(set);
  }
  return sets;
}

std::string OtherProcessorWarning(const InstructionSetRows& rows, CpuFeatures found) {
  const InstructionSetRow* native = nullptr;
  for (const InstructionSetRow& row : rows) {
    if (&row == rows.begin() || row.by_name_only || row.tiles) continue;
    if (Includes(found, row.needed)) return "";
    native = &row;
  }
  if (!native) return "";
  return Join("The CPU kernels were compiled for a processor with ", native->name,
              " (CAFFE_CPU_KERNELS=NATIVE); this one lacks ",
              Joined(NamesOf(Without(native->needed, found))), ", so that the slow '",
              rows.begin()->name,
              "' kernels are used. Build on this machine, or with -DCAFFE_CPU_KERNELS=ALL");
}

std::string RefusedFeaturesWarning(const InstructionSetRows& rows,
                                   const DetectedCpuFeatures& detected) {
  const auto last = [&rows](CpuFeatures features) {
    const InstructionSetRow* chosen = rows.begin();
    for (const InstructionSetRow& row : rows) {
      if (!row.by_name_only && Includes(features, row.needed)) chosen = &row;
    }
    return chosen;
  };
  const InstructionSetRow* wanted = last(detected.found | detected.refused);
  const InstructionSetRow* used = last(detected.found);
  if (wanted == used) return "";
  return Join("The system refuses this process the registers of ",
              Joined(NamesOf(detected.refused)), ", which the processor has: the '", used->name,
              "' kernels are used instead of '", wanted->name, "'");
}

InstructionSet CpuInstructionSet() { return InstructionSet(*Chosen().set); }

InstructionSet VectorInstructionSet() { return InstructionSet(*Chosen().vector); }

void SetCpuInstructionSet(InstructionSet set) {
  RequireSupported(set, "");
  chosen.store(ChoiceOf(set));
}

const VectorKernels& ChosenKernels() { return *Chosen().vector->vector; }
const PackedTiles& ChosenPackedTiles() { return *Chosen().vector->packed; }
const PairTiles* ChosenPairTiles() { return Chosen().vector->pairs; }
const Int8Tiles& ChosenInt8Tiles() { return *Chosen().vector->int8; }
const WinogradKernels& ChosenWinograd(int block) {
  const InstructionSetRow& row = *Chosen().vector;
  return block % 16 == 0 ? *row.winograd : *row.winograd_of_8;
}
const AmxTiles* ChosenAmxTiles() { return Chosen().set->tiles; }

int BlockChannels() { return ChosenPackedTiles().block; }
bool HasByteProducts() { return ChosenInt8Tiles().has_bytes(); }
bool HasSaturatingByteProducts() { return ChosenInt8Tiles().has_saturating_bytes(); }
bool HasBFloat16Products() {
  const InstructionSetRow& row = *Chosen().vector;
  return row.pairs && Includes(row.needed, CpuFeatures::AVX512_BF16);
}

std::vector<std::pair<std::string, std::string>> ChosenKernelFamilies() {
  // The first row with these kernels names the set that they are compiled for.
  const auto owner = [](auto column, const auto* kernels) -> std::string {
    for (const InstructionSetRow& row : RegisteredRows()) {
      if (row.*column == kernels) return row.name;
    }
    return "none";
  };
  using Row = InstructionSetRow;
  const InstructionSetRow &set = *Chosen().set, &vector = *Chosen().vector;
  return {{"elementwise loops", owner(&Row::vector, vector.vector)},
          {"convolutions and inner products of floats", owner(&Row::packed, vector.packed)},
          {"products of bfloat16 pairs", vector.pairs ? owner(&Row::pairs, vector.pairs) : "none"},
          {"Winograd's algorithm on floats", owner(&Row::winograd, vector.winograd)},
          {"8-bit integers", owner(&Row::int8, vector.int8)},
          {"matrix products in tiles", set.tiles ? owner(&Row::tiles, set.tiles) : "none"}};
}

}  // namespace caffe::kernels
