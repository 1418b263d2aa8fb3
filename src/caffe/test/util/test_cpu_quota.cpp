// The quota of a cgroup, from the files that Linux has for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "caffe/test/support/test_files.hpp"
#include "caffe/util/system/cpu_quota.hpp"

namespace caffe {
namespace {

/// A folder that stands for "/", with these files.
class Root {
 public:
  explicit Root(const std::string& cgroups) : path_(NewFileName()) {
    Add("/proc/self/cgroup", cgroups);
  }
  Root& Add(const std::string& file, const std::string& contents) {
    const std::filesystem::path path = path_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << contents;
    return *this;
  }
  std::optional<int> Quota() const { return CpuQuota(path_); }

 private:
  const std::string path_;
};

TEST(CpuQuota, OfVersion2IsRoundedUp) {
  EXPECT_EQ(Root("0::/\n").Add("/sys/fs/cgroup/cpu.max", "200000 100000\n").Quota(), 2);
  EXPECT_EQ(Root("0::/\n").Add("/sys/fs/cgroup/cpu.max", "150000 100000\n").Quota(), 2);
  EXPECT_EQ(Root("0::/\n").Add("/sys/fs/cgroup/cpu.max", "5000 100000\n").Quota(), 1);
}

TEST(CpuQuota, OfVersion2MayBeUnlimited) {
  EXPECT_EQ(Root("0::/\n").Add("/sys/fs/cgroup/cpu.max", "max 100000\n").Quota(), std::nullopt);
}

TEST(CpuQuota, IsTheLeastOfTheGroupAndThoseAboveIt) {
  Root root("0::/jobs/one\n");
  root.Add("/sys/fs/cgroup/cpu.max", "max 100000\n");
  root.Add("/sys/fs/cgroup/jobs/cpu.max", "300000 100000\n");
  root.Add("/sys/fs/cgroup/jobs/one/cpu.max", "800000 100000\n");
  EXPECT_EQ(root.Quota(), 3);
  root.Add("/sys/fs/cgroup/jobs/one/cpu.max", "100000 50000\n");
  EXPECT_EQ(root.Quota(), 2);
}

// Without a cgroup namespace a container sees the host's path, and its own files at the top.
TEST(CpuQuota, IsFoundAtTheTopOfAContainer) {
  EXPECT_EQ(Root("0::/docker/0123\n").Add("/sys/fs/cgroup/cpu.max", "400000 100000\n").Quota(), 4);
}

TEST(CpuQuota, OfVersion1IsTheCpuControllers) {
  Root root("5:memory:/job\n4:cpu,cpuacct:/job\n3:cpuset:/\n");
  const std::string folder = "/sys/fs/cgroup/cpu,cpuacct/job/";
  root.Add(folder + "cpu.cfs_quota_us", "-1\n").Add(folder + "cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.Quota(), std::nullopt);
  root.Add(folder + "cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(root.Quota(), 3);
  root.Add("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  root.Add("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.Quota(), 1);
}

TEST(CpuQuota, IsNoneWhereNothingCanBeRead) {
  EXPECT_EQ(CpuQuota(NewFileName()), std::nullopt);
  EXPECT_EQ(Root("nonsense\n0:\n").Quota(), std::nullopt);
  EXPECT_EQ(Root("0::/\n").Add("/sys/fs/cgroup/cpu.max", "").Quota(), std::nullopt);
  EXPECT_EQ(Root("0::/\n").Add("/sys/fs/cgroup/cpu.max", "200000\n").Quota(), std::nullopt);
  EXPECT_EQ(Root("0::/\n").Add("/sys/fs/cgroup/cpu.max", "200000 0\n").Quota(), std::nullopt);
}

}  // namespace
}  // namespace caffe
