#ifndef CAFFE_TOOLS_CAFFE_EXEC_TENSORS_HPP_
#define CAFFE_TOOLS_CAFFE_EXEC_TENSORS_HPP_

#include "caffe/inference/engine.hpp"
#include "flags.hpp"

namespace caffe::exec {

/// Writes the inputs of a context in the shapes that it has: what --loadInputs says, and noise,
/// other noise for another `seed`. Throws Error naming file and input.
void WriteInputs(const Flags& flags, unsigned seed, inference::ExecutionContext* context);

/// For --dumpOutput.
void PrintOutputs(inference::ExecutionContext* context);
/// For --dumpRawBindingsToFile: writes inputs and outputs to files in the current folder. Throws
/// Error.
void WriteBindings(inference::ExecutionContext* context);
/// For --saveDebugTensors: runs once, and writes the blobs. Throws Error naming a blob that was not
/// seen.
void WriteBlobs(const Flags& flags, inference::ExecutionContext* context);

}  // namespace caffe::exec

#endif  // CAFFE_TOOLS_CAFFE_EXEC_TENSORS_HPP_
