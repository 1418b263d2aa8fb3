#ifndef CAFFE_TOOLS_UPGRADE_TOOL_HPP_
#define CAFFE_TOOLS_UPGRADE_TOOL_HPP_

#include <functional>
#include <string>

#include "caffe/common.hpp"
#include "caffe/io/proto_binary.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "command_line.hpp"

namespace caffe {

/// How a tool upgrades a file of messages of one kind to the current format.
template <typename Message>
struct FileUpgrade {
  std::function<void(const std::string& file, Message*)> read;
  std::function<bool(const Message&)> is_needed;
  /// False if something could not be brought over.
  std::function<bool(const std::string& file, Message*)> apply;
  std::function<void(const Message&, const std::string& file)> write;
  const char* what;  ///< for the log: "NetParameter text proto"
};

/// The main of such a tool: `argv` names the file to read and the one to write.
template <typename Message>
int RunUpgradeTool(int argc, char** argv, const std::string& usage,
                   const FileUpgrade<Message>& upgrade) {
  return RunTool(argc, argv, usage, [&](int count, char** arguments) {
    Require(count == 3, "give the file to read and the file to write; --help shows how");
    const std::string in = arguments[1], out = arguments[2];
    ApplySharedFlags();
    Message message;
    upgrade.read(in, &message);
    if (!upgrade.is_needed(message)) LOG(ERROR) << "File already in latest proto format: " << in;
    const bool complete = upgrade.apply(in, &message);
    if (!complete) LOG(ERROR) << "Encountered error(s) while upgrading; see details above.";
    upgrade.write(message, out);
    LOG(INFO) << "Wrote upgraded " << upgrade.what << " to " << out;
    return complete ? 0 : 1;
  });
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_UPGRADE_TOOL_HPP_
