#include "caffe/util/system/energy_counter.hpp"

#include <filesystem>
#include <fstream>

namespace caffe {
namespace {

template <typename T>
std::optional<T> ReadFrom(const std::string& file) {
  std::ifstream in(file);
  T value;
  if (in >> value) return value;
  return std::nullopt;
}

/// Processors only: "psys" is the whole board, "core" and "dram" are parts of a package or lie
/// outside of it, and intel-rapl-mmio counts the same packages again.
bool IsPackage(const std::filesystem::path& folder) {
  if (folder.filename().string().rfind("intel-rapl:", 0) != 0) return false;
  const auto name = ReadFrom<std::string>((folder / "name").string());
  return name && name->rfind("package", 0) == 0;
}

}  // namespace

EnergyCounter::EnergyCounter(const std::string& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (!IsPackage(entry.path())) continue;
    const std::string package = entry.path().string();
    const auto start = ReadFrom<uint64_t>(package + "/energy_uj");
    const auto range = ReadFrom<uint64_t>(package + "/max_energy_range_uj");
    if (start && range) packages_.push_back({package, *start, *range});
  }
}

std::optional<double> EnergyCounter::Joules() const {
  if (packages_.empty()) return std::nullopt;
  double joules = 0;
  for (const Package& package : packages_) {
    const auto now = ReadFrom<uint64_t>(package.folder + "/energy_uj");
    if (!now) return std::nullopt;
    const uint64_t used =
        *now >= package.start ? *now - package.start : package.range - package.start + *now;
    joules += 1e-6 * static_cast<double>(used);
  }
  return joules;
}

}  // namespace caffe
