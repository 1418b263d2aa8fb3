#ifndef CAFFE_UTIL_ENERGY_COUNTER_HPP_
#define CAFFE_UTIL_ENERGY_COUNTER_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace caffe {

/// The energy that the machine's processors take, by the counters (RAPL) that Linux shows under
/// /sys/class/powercap. Many machines have none or keep them from ordinary users.
///
///     EnergyCounter energy;
///     Work();
///     if (const auto joules = energy.Joules()) ...
class EnergyCounter {
 public:
  /// Starts to count.
  explicit EnergyCounter(const std::string& folder = "/sys/class/powercap");

  /// Since the start, all processors together; nothing if the machine does not say. A counter may
  /// wrap around once.
  std::optional<double> Joules() const;

 private:
  struct Package {
    std::string folder;
    uint64_t start, range;  // microjoules; after `range` the counter begins at 0
  };
  std::vector<Package> packages_;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_ENERGY_COUNTER_HPP_
