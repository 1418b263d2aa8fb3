// Upgrades a solver in text form to the current one. See caffe/util/upgrade_proto.hpp for what
// changes.
#include "common/upgrade_tool.hpp"

namespace {

constexpr char kUsage[] = R"(upgrade_solver_proto_text: upgrades a solver definition.

usage: upgrade_solver_proto_text OLD.prototxt NEW.prototxt [-ignore_unknown_fields] [-limits LIST]

Reads a solver (prototxt) of any age and writes it in the current format. -ignore_unknown_fields
leaves out, with a warning, what this Caffe does not know; -limits says what files may ask for, as
for caffe: nesting=32,read_bytes=64MiB.
)";

}  // namespace

int main(int argc, char** argv) {
  return caffe::RunUpgradeTool<caffe::SolverParameter>(
      argc, argv, kUsage,
      {caffe::ReadProtoText, caffe::SolverNeedsTypeUpgrade, caffe::UpgradeSolverAsNeeded,
       caffe::WriteProtoText, "SolverParameter text proto"});
}
