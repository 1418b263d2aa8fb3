// Upgrades a net in binary form (a caffemodel) to the current one. See caffe/util/upgrade_proto.hpp
// for what changes.
#include "common/upgrade_tool.hpp"

namespace {

constexpr char kUsage[] = R"(upgrade_net_proto_binary: upgrades a caffemodel to the current format.

usage: upgrade_net_proto_binary OLD.caffemodel NEW.caffemodel [-limits LIST]

Reads a net (caffemodel) of any age and writes it in the current format. -limits says
what files may ask for, as for caffe: nesting=32.
)";

}  // namespace

int main(int argc, char** argv) {
  return caffe::RunUpgradeTool<caffe::NetParameter>(
      argc, argv, kUsage,
      {caffe::ReadProtoBinary, caffe::NetNeedsUpgrade, caffe::UpgradeNetAsNeeded,
       caffe::WriteProtoBinary, "NetParameter binary proto"});
}
