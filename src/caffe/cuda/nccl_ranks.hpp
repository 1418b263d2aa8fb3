#ifndef CAFFE_CUDA_NCCL_RANKS_HPP_
#define CAFFE_CUDA_NCCL_RANKS_HPP_

#ifdef USE_NCCL

#include <nccl.h>

#include <cstddef>

#include "caffe/device.hpp"
#include "caffe/error.hpp"
#include "dynamic_library.hpp"

namespace caffe::cuda {

inline void CheckNccl(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  Fail(what, ": NCCL says: ", CAFFE_CALL(Nccl, ncclGetErrorString, status));
}

/// The identifier of a group of ranks; one of them creates it and tells the others.
inline ncclUniqueId NewNcclId() {
  ncclUniqueId id;
  CheckNccl(CAFFE_CALL(Nccl, ncclGetUniqueId, &id), "starting NCCL");
  return id;
}

/// One of `size` ranks on the calling thread's GPU. What it puts on a stream is done when all ranks
/// have put theirs.
class NcclRanks {
 public:
  /// Returns when all ranks have come.
  NcclRanks(const ncclUniqueId& id, int rank, int size) {
    CheckNccl(CAFFE_CALL(Nccl, ncclCommInitRank, &ranks_, size, id, rank),
              "bringing the GPUs together");
  }
  // Abort, since another rank may have failed and not come to a common end.
  ~NcclRanks() { CAFFE_CALL(Nccl, ncclCommAbort, ranks_); }
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  /// In place, on device memory.
  void AllReduce(void* values, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                 Stream& stream) {
    Put(stream, [=](cudaStream_t on) {
      CheckNccl(CAFFE_CALL(Nccl, ncclAllReduce, values, values, count, type, operation, ranks_, on),
                "adding up over all GPUs");
    });
  }
  void Broadcast(void* data, size_t bytes, int root, Stream& stream) {
    Put(stream, [=](cudaStream_t on) {
      CheckNccl(CAFFE_CALL(Nccl, ncclBroadcast, data, data, bytes, ncclChar, root, ranks_, on),
                "copying to all GPUs");
    });
  }

 private:
  // The tests' device has a library in NCCL's place that knows no streams.
  template <typename Exchange>
  static void Put(Stream& stream, const Exchange& exchange) {
    if (stream.handle()) return exchange(static_cast<cudaStream_t>(stream.handle()));
    stream.RunOnHost([exchange] { exchange(nullptr); });
  }

  ncclComm_t ranks_ = nullptr;
};

}  // namespace caffe::cuda

#endif  // USE_NCCL

#endif  // CAFFE_CUDA_NCCL_RANKS_HPP_
