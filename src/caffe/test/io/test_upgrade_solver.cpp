#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "caffe/error.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

TEST(UpgradeSolver, NamesEveryType) {
  const char* names[] = {"SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam", "SAG"};
  for (int i = 0; i < SolverParameter::SolverType_ARRAYSIZE; ++i) {
    SolverParameter solver;
    solver.set_solver_type(static_cast<SolverParameter::SolverType>(i));
    EXPECT_TRUE(SolverNeedsTypeUpgrade(solver));
    EXPECT_TRUE(UpgradeSolverAsNeeded("solver", &solver));
    EXPECT_EQ(names[i], solver.type());
    EXPECT_FALSE(solver.has_solver_type());
    EXPECT_FALSE(SolverNeedsTypeUpgrade(solver));
  }
}

TEST(UpgradeSolver, RejectsBothKindsOfType) {
  SolverParameter solver;
  solver.set_type("Adam");
  solver.set_solver_type(SolverParameter::SGD);
  EXPECT_THROW(UpgradeSolverAsNeeded("solver", &solver), Error);
}

TEST(UpgradeSolver, NamesSnapshotsAfterTheSolver) {
  SolverParameter solver;
  UpgradeSnapshotPrefixProperty("some.where/lenet_solver.prototxt", &solver);
  EXPECT_EQ("some.where/lenet_solver", solver.snapshot_prefix());

  const std::string directory = NewFolder();
  solver.set_snapshot_prefix(directory);
  UpgradeSnapshotPrefixProperty("somewhere/lenet_solver.prototxt", &solver);
  EXPECT_EQ(directory + "/lenet_solver", solver.snapshot_prefix());
  std::filesystem::remove(directory);

  solver.set_snapshot_prefix("mine");
  UpgradeSnapshotPrefixProperty("somewhere/lenet_solver.prototxt", &solver);
  EXPECT_EQ("mine", solver.snapshot_prefix());
}

TEST(UpgradeSolver, UpgradesWhenRead) {
  const std::string name = NewFileName();
  std::ofstream(name) << "solver_type: ADAM rampup_interval: 5 weights: 'a,b'";
  SolverParameter solver;
  ReadSolverParamsFromTextFileOrDie(name, &solver);
  EXPECT_EQ("Adam", solver.type());
  EXPECT_EQ(name, solver.snapshot_prefix());
  EXPECT_EQ(5, solver.rampup_interval());
  EXPECT_TRUE(solver.test_initialization());
}

}  // namespace
}  // namespace caffe
