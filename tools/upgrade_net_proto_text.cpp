// Upgrades a net in text form to the current one. See caffe/util/upgrade_proto.hpp for what
// changes.
#include "common/upgrade_tool.hpp"

namespace {

constexpr char kUsage[] = R"(upgrade_net_proto_text: upgrades a net definition.

usage: upgrade_net_proto_text OLD.prototxt NEW.prototxt [-ignore_unknown_fields] [-limits LIST]

Reads a net (prototxt) of any age and writes it in the current format. -ignore_unknown_fields leaves
out, with a warning, what this Caffe does not know; -limits says what files may ask for, as for
caffe: nesting=32,read_bytes=64MiB.
)";

}  // namespace

int main(int argc, char** argv) {
  return caffe::RunUpgradeTool<caffe::NetParameter>(
      argc, argv, kUsage,
      {caffe::ReadProtoText, caffe::NetNeedsUpgrade, caffe::UpgradeNetAsNeeded,
       caffe::WriteProtoText, "NetParameter text proto"});
}
