// Upgrades a solver in text form to the current one. See caffe/util/upgrade_proto.hpp for what
// changes.

#include <glog/logging.h>

#include <iostream>
#include <string>

#include "caffe/io/proto_text.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace {

constexpr char kUsage[] =
    "Usage: upgrade_solver_proto_text old_solver_proto_file_in solver_proto_file_out\n"
    "Reads a solver (prototxt) of any age and writes it in today's form.\n";

int Run(const std::string& in, const std::string& out) {
  caffe::SolverParameter solver;
  caffe::ReadProtoText(in, &solver);
  const bool needed = caffe::SolverNeedsTypeUpgrade(solver);
  if (!needed) LOG(ERROR) << "File already in latest proto format: " << in;
  const bool complete = caffe::UpgradeSolverAsNeeded(in, &solver);
  if (!complete) {
    LOG(ERROR) << "Encountered error(s) while upgrading the solver; see details above.";
  }
  caffe::WriteProtoText(solver, out);
  LOG(INFO) << "Wrote upgraded SolverParameter text proto to " << out;
  return complete ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_alsologtostderr = true;
  google::InitGoogleLogging(argv[0]);
  if (argc == 2 && std::string(argv[1]) == "--help") {
    std::cout << kUsage;
    return 0;
  }
  if (argc != 3) {
    std::cerr << kUsage;
    return 1;
  }
  try {
    return Run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
