#ifndef CAFFE_TOOLS_CAFFE_COMMANDS_HPP_
#define CAFFE_TOOLS_CAFFE_COMMANDS_HPP_

#include "../common/command.hpp"

// The commands of the program `caffe`, a file for each: its flags, its help, its work.

namespace caffe {

Command TrainCommand();
Command TestCommand();
Command TestDetectionCommand();
Command TimeCommand();
Command DeviceQueryCommand();
Command LayersCommand();
Command CheckFp16Command();
Command CalibrateCommand();
Command BuildCommand();
Command InspectCommand();
Command InferCommand();
Command CompareCommand();

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_COMMANDS_HPP_
