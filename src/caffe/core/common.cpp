#include "caffe/common.hpp"

#include <algorithm>
#include <mutex>
#include <random>

#include "caffe/context.hpp"
#include "caffe/gpu_fallback.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/string_stream.hpp"

namespace caffe {

void GlobalInit(int* pargc, char*** pargv) {
  gflags::ParseCommandLineFlags(pargc, pargv, true);
  static std::once_flag once;
  std::call_once(once, [pargv] {
    google::InitGoogleLogging((*pargv)[0]);
    google::InstallFailureSignalHandler();
  });
}

class Caffe::RNG::Generator {
 public:
  explicit Generator(unsigned int seed) : rng_(new rng_t(seed)) {}
  rng_t* rng() { return rng_.get(); }

 private:
  shared_ptr<rng_t> rng_;
};

Caffe::RNG::RNG() : RNG(std::random_device()()) {}
Caffe::RNG::RNG(unsigned int seed) : generator_(new Generator(seed)) {}
Caffe::RNG::RNG(const RNG&) = default;
Caffe::RNG& Caffe::RNG::operator=(const RNG&) = default;
Caffe::RNG::~RNG() = default;
void* Caffe::RNG::generator() { return generator_->rng(); }

Caffe::Caffe(Context& context) : context_(context) {}
Caffe::~Caffe() = default;

Caffe& Caffe::Get() { return Context::Current().face_; }
Caffe::RNG& Caffe::rng_stream() { return Context::Current().random(); }

Caffe::Brew Caffe::mode() { return Context::Current().settings().mode; }

namespace {

template <typename Value>
void Change(Value Context::Settings::*member, Value value) {
  Context::Settings settings = Context::Current().settings();
  settings.*member = value;
  Context::Current().set_settings(settings);
}

}  // namespace

void Caffe::set_mode(Brew mode) {
  if (mode == GPU && !RequireGpu("GPU mode")) mode = CPU;
  Change(&Context::Settings::mode, mode);
}

void Caffe::set_random_seed(const unsigned int seed) { Context::Current().set_random_seed(seed); }

void Caffe::SetDevice(const int device_id) {
  if (!RequireGpu(Join("device ", device_id))) return;
  const int count = Device::Count();
  Require(device_id >= 0 && device_id < count, "there is no device number ", device_id,
          ": valid are 0 to ", count - 1);
  Change(&Context::Settings::device, device_id);
  Device::Get().MakeCurrent();
}

void Caffe::DeviceQuery() {
  LOG(INFO) << "Device id:                     " << Context::Current().settings().device;
  StringReader lines(Device::Get().Description());
  for (std::string line; std::getline(lines, line);) LOG(INFO) << line;
}

bool Caffe::CheckDevice(const int device_id) {
  return device_id >= 0 && device_id < Device::Count();
}

int Caffe::FindDevice(const int start_id) {
  const int first = std::max(start_id, 0);
  return first < Device::Count() ? first : -1;
}

int Caffe::solver_count() { return Context::Current().settings().solver_count; }
void Caffe::set_solver_count(int count) { Change(&Context::Settings::solver_count, count); }
int Caffe::solver_rank() { return Context::Current().settings().solver_rank; }
void Caffe::set_solver_rank(int rank) { Change(&Context::Settings::solver_rank, rank); }
bool Caffe::multiprocess() { return Context::Current().settings().multiprocess; }
void Caffe::set_multiprocess(bool multiprocess) {
  Change(&Context::Settings::multiprocess, multiprocess);
}

}  // namespace caffe
