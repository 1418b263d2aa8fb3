#include <iostream>
#include <string>

#include "caffe/caffe.hpp"
#include "caffe/operation.hpp"
#include "commands.hpp"

namespace caffe {
namespace {

// In Markdown, from the registry and the operation table.
int Layers() {
  const auto yes = [](bool value) { return value ? "yes" : ""; };
  std::cout << "| type | FLOAT16 natively | in place | loss | data | always on the CPU, because |\n"
            << "| --- | --- | --- | --- | --- | --- |\n";
  for (const std::string& type : LayerRegistry<float>::LayerTypeList()) {
    const Operation* operation = OperationTable::Find(type);
    const Operation plain(type);
    const Operation& known = operation ? *operation : plain;
    std::cout << "| " << type << " | " << yes(known.native) << " | " << yes(known.in_place) << " | "
              << yes(known.loss) << " | " << yes(known.source) << " | " << known.cpu_only << " |\n";
  }
  return 0;
}

}  // namespace

Command LayersCommand() {
  Command command;
  command.name = "layers";
  command.summary = "lists all layer types, as docs/layers.md does";
  command.usage = {""};
  command.examples = "  caffe layers | grep Convolution\n";
  command.run = [](const std::vector<std::string>&) { return Layers(); };
  return command;
}

}  // namespace caffe
