// The border between Python and C++ computing: locks, the GIL, the mode of threads.
#include <algorithm>
#include <atomic>

#include "caffe/context.hpp"
#include "handles.hpp"

namespace caffe::pycaffe {
namespace {

std::atomic<int> process_mode{-1};  // not set from Python
std::atomic<int> process_device{0};
std::atomic<int> process_threads{0};  // not set from Python
thread_local int own_threads = 0;     // what this thread has taken of it

}  // namespace

void SetMode(Caffe::Brew mode) {
  Caffe::set_mode(mode);
  process_mode = Caffe::mode();  // the CPU where it stands in for a GPU
}

void SetDevice(int device) {
  Caffe::SetDevice(device);
  process_device = device;
}

void SetThreads(int threads) {
  Caffe::set_threads(threads);
  process_threads = own_threads = threads;
}

int GetThreads() {
  UseProcessMode();
  return Caffe::threads();
}

// A thread has settings of its own from its first use of Caffe on. Python code does not see threads
// that way: what one of them chose holds for all.
void UseProcessMode() {
  const int wanted = process_threads;  // another thread may change it now
  if (own_threads != wanted) {
    Caffe::set_threads(wanted);
    own_threads = wanted;
  }
  const int mode = process_mode;
  if (mode < 0) return;
  if (mode == Caffe::GPU) Device::Get();  // throws Error where there is none
  Context& context = Context::Current();
  Context::Settings settings = context.settings();
  if (settings.mode == mode && settings.device == process_device) return;
  settings.mode = static_cast<Caffe::Brew>(mode);
  settings.device = process_device;
  context.Inherit(settings);
}

// No thread waits for a net while holding the GIL: the thread that has the net may need it. All
// threads take several nets in the same order.
ComputeScope::ComputeScope(std::vector<NetHandle*> nets) : nets_(std::move(nets)) {
  std::sort(nets_.begin(), nets_.end());
  nets_.erase(std::unique(nets_.begin(), nets_.end()), nets_.end());
  for (NetHandle* net : nets_) {
    std::unique_lock<std::recursive_mutex> lock(net->mutex, std::try_to_lock);
    if (!lock) {
      const WithoutGil without_gil;
      lock.lock();
    }
    locks_.push_back(std::move(lock));
  }
  for (NetHandle* net : nets_) net->views->Push();
  without_gil_.emplace();
  UseProcessMode();
}

void ComputeScope::TakeBack() {
  if (!without_gil_) return;
  without_gil_.reset();
  for (NetHandle* net : nets_) net->views->Pull();
}

void ComputeScope::Done() { TakeBack(); }

ComputeScope::~ComputeScope() {
  try {
    TakeBack();
  } catch (const std::exception&) {
    // An exception is on its way already.
  }
}

void NetCallback::run(int layer) {
  const WithGil with_gil;
  const std::shared_ptr<ViewGroup> views = views_.lock();
  if (views) views->Pull();
  CallWithGil(function_, layer);
  if (views) views->Push();
}

std::string PathOf(const py::object& path) {
  return py::module_::import("os").attr("fsdecode")(path).cast<std::string>();
}

}  // namespace caffe::pycaffe
