#ifndef CAFFE_UTIL_CPU_QUOTA_HPP_
#define CAFFE_UTIL_CPU_QUOTA_HPP_

#include <optional>
#include <string>

namespace caffe {

/// The processors that the process may use at a time by the quotas of its Linux cgroup (version 1
/// or 2) and of those above it, rounded up: `docker run --cpus 1.5` makes 2. Nothing where there is
/// no quota, or none that can be read. `root` stands for the folder "/".
std::optional<int> CpuQuota(const std::string& root = "");

}  // namespace caffe

#endif  // CAFFE_UTIL_CPU_QUOTA_HPP_
