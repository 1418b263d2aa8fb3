#include "cpu_quota.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "caffe/util/text/split.hpp"

namespace caffe {
namespace {

/// Microseconds of processor time in a period; nothing where there is no limit.
struct Quota {
  double time = 0, period = 0;

  std::optional<int> Processors() const {
    if (!(time > 0 && period > 0)) return std::nullopt;
    const double processors = std::ceil(time / period);
    if (processors > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(processors);
  }
};

/// "200000 100000" or "max 100000".
std::optional<int> ReadVersion2(const std::string& folder) {
  Quota quota;
  std::ifstream(folder + "/cpu.max") >> quota.time >> quota.period;
  return quota.Processors();
}

/// A quota of -1 is none.
std::optional<int> ReadVersion1(const std::string& folder) {
  Quota quota;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota.time;
  std::ifstream(folder + "/cpu.cfs_period_us") >> quota.period;
  return quota.Processors();
}

void TakeLeast(std::optional<int> found, std::optional<int>* least) {
  if (found && (!*least || *found < **least)) *least = found;
}

/// The least of the cgroup's folder and of those above it. In a container the path may be the
/// host's, of which there is only the top here: what is missing is passed over.
template <typename Read>
void ReadUpwards(const std::string& top, std::string path, Read&& read, std::optional<int>* least) {
  for (;;) {
    TakeLeast(read(top + path), least);
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

bool Lists(const std::string& controllers, const std::string& wanted) {
  const std::vector<std::string> names = SplitAtCommas(controllers);
  return std::find(names.begin(), names.end(), wanted) != names.end();
}

}  // namespace

std::optional<int> CpuQuota(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::optional<int> least;
  // NUMBER:CONTROLLERS:PATH, without controllers for version 2.
  std::ifstream cgroups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(cgroups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      ReadUpwards(mount, path, ReadVersion2, &least);
    } else if (Lists(controllers, "cpu")) {
      ReadUpwards(mount + "/" + controllers, path, ReadVersion1, &least);
      if (controllers != "cpu") ReadUpwards(mount + "/cpu", path, ReadVersion1, &least);
    }
  }
  return least;
}

}  // namespace caffe
