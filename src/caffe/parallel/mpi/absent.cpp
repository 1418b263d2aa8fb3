// In place of mpi_communicator.cpp where libcaffe is built without MPI.
#include "caffe/communicator.hpp"
#include "caffe/error.hpp"
#include "launcher.hpp"

namespace caffe {

std::unique_ptr<Communicator> MpiCommunicator(std::chrono::seconds) {
  Require(LaunchedRanks() < 2, "this process was started as one of ", LaunchedRanks(),
          " ranks, and this libcaffe was built without MPI",
          Error::Remedy{"build with USE_MPI=ON (Debian: libopenmpi-dev)"});
  return nullptr;
}

}  // namespace caffe
