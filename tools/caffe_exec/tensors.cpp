#include "tensors.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>

#include "caffe/error.hpp"
#include "caffe/inference/evaluation/latency.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/text/shape_text.hpp"
#include "report.hpp"
#include "shapes.hpp"

namespace caffe::exec {
namespace {

/// Names and values of all that is given of a flag.
std::map<std::string, std::string> Files(const Flags& flags, const std::string& flag) {
  std::map<std::string, std::string> files;
  for (const std::string& text : flags.All(flag)) {
    for (const auto& [name, file] : NamesAndValues(flag, text)) files[name] = file;
  }
  return files;
}

void ReadInput(const std::string& input, const std::string& file,
               inference::ExecutionContext* context) {
  const Shape& shape = context->InputShape(input);
  const size_t bytes = inference::CountOf(shape) * sizeof(float);
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  Require(in.good() && !error, Error::Field{"--loadInputs"}, ": ", file, " cannot be read");
  Require(size == bytes, Error::Field{"--loadInputs"}, ": ", file, " has ", size,
          " bytes, and input '", input, "' takes ", bytes, ": FP32 values of ", ShapeText(shape));
  in.read(reinterpret_cast<char*>(context->Input(input)), static_cast<std::streamsize>(bytes));
  Require(in.good(), Error::Field{"--loadInputs"}, ": ", file, " cannot be read");
}

/// What a blob's name has that the name of a file should not becomes '_'.
std::string FileName(const std::string& blob, const std::string& kind, const Shape& shape) {
  std::string name = Join(blob, ".", kind);
  for (const int extent : shape) name += "." + std::to_string(extent);
  name += ".fp32.raw";
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return name;
}

void WriteValues(const std::string& file, const Shape& shape, const float* values) {
  AtomicFile out(file);
  out.Write(values, inference::CountOf(shape) * sizeof(float));
  out.Commit();
  Say("Wrote " + file);
}

}  // namespace

void WriteInputs(const Flags& flags, unsigned seed, inference::ExecutionContext* context) {
  inference::FillWithNoise(seed, context);
  const std::vector<std::string> inputs = context->engine().inputs();
  for (const auto& [name, file] : Files(flags, "loadInputs")) {
    Require(std::find(inputs.begin(), inputs.end(), name) != inputs.end(),
            Error::Field{"--loadInputs"}, ": there is no input '", name, "'",
            DidYouMean(name, inputs), "; there are ", ListedQuoted(inputs));
    ReadInput(name, file, context);
  }
}

void PrintOutputs(inference::ExecutionContext* context) {
  Say("Output Tensors:");
  for (const std::string& name : context->engine().outputs()) {
    const Shape& shape = context->OutputShape(name);
    Say(Join(name, ": (", ShapeText(shape), ")"));
    const float* values = context->Output(name);
    StringWriter text;
    for (size_t i = 0; i < inference::CountOf(shape); ++i) text << (i == 0 ? "" : " ") << values[i];
    Say(text.str());
  }
  Say("");
}

void WriteBindings(inference::ExecutionContext* context) {
  for (const std::string& name : context->engine().inputs()) {
    const Shape& shape = context->InputShape(name);
    WriteValues(FileName(name, "input", shape), shape, context->Input(name));
  }
  for (const std::string& name : context->engine().outputs()) {
    const Shape& shape = context->OutputShape(name);
    WriteValues(FileName(name, "output", shape), shape, context->Output(name));
  }
}

void WriteBlobs(const Flags& flags, inference::ExecutionContext* context) {
  std::map<std::string, std::string> files = Files(flags, "saveDebugTensors");
  std::vector<std::string> seen;
  context->SetObserver([&](const std::string& blob, const Shape& shape, const float* values) {
    seen.push_back(blob);
    const auto file = files.find(blob);
    if (file == files.end()) return;
    WriteValues(file->second, shape, values);
    files.erase(file);
  });
  context->Run();
  context->SetObserver(nullptr);
  if (files.empty()) return;
  const std::string& missing = files.begin()->first;
  Fail(Error::Field{"--saveDebugTensors"}, ": the engine makes no blob '", missing, "'",
       DidYouMean(missing, seen), ": blobs inside layers that were joined are nowhere");
}

}  // namespace caffe::exec
