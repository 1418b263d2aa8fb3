// In the place of NCCL's library in Python's tests: processes that exchange numbers in the memory
// of the tests' device, which is the host's, over sockets. Rank 0 adds up in the order of the
// ranks. Only what the library uses is there; calls return when they are done, and know no streams.
#include <nccl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

struct ncclComm {
  int rank, size;
  std::vector<int> sockets;  // rank 0: of the others, by rank; others: that of rank 0, first
};

namespace {

bool SendAll(int socket, const void* data, size_t bytes) {
  for (const char* next = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t sent = send(socket, next, bytes, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    next += sent;
    bytes -= sent;
  }
  return true;
}

bool ReceiveAll(int socket, void* data, size_t bytes) {
  for (char* next = static_cast<char*>(data); bytes > 0;) {
    const ssize_t received = recv(socket, next, bytes, 0);
    if (received <= 0) return false;
    next += received;
    bytes -= received;
  }
  return true;
}

ncclResult_t Result(bool ok) { return ok ? ncclSuccess : ncclRemoteError; }

bool Accept(const sockaddr_un& address, ncclComm* ranks) {
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  bool ok = bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
            listen(listener, ranks->size) == 0;
  ranks->sockets.assign(ranks->size, -1);
  for (int i = 1; ok && i < ranks->size; ++i) {
    const int other = accept(listener, nullptr, nullptr);
    int rank = 0;
    ok = other >= 0 && ReceiveAll(other, &rank, sizeof(rank));
    if (ok) ranks->sockets[rank] = other;
  }
  close(listener);
  unlink(address.sun_path);
  return ok;
}

bool Connect(const sockaddr_un& address, ncclComm* ranks) {
  for (int attempt = 0; attempt < 6000; ++attempt) {
    const int root = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(root, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      ranks->sockets = {root};
      return SendAll(root, &ranks->rank, sizeof(ranks->rank));
    }
    close(root);
    usleep(10000);
  }
  return false;
}

template <typename Value>
bool Reduce(Value* values, size_t count, ncclRedOp_t operation, const ncclComm& ranks) {
  const size_t bytes = count * sizeof(Value);
  if (ranks.rank > 0) {
    return SendAll(ranks.sockets[0], values, bytes) && ReceiveAll(ranks.sockets[0], values, bytes);
  }
  std::vector<Value> other(count);
  for (int rank = 1; rank < ranks.size; ++rank) {
    if (!ReceiveAll(ranks.sockets[rank], other.data(), bytes)) return false;
    for (size_t i = 0; i < count; ++i) values[i] += other[i];
  }
  for (size_t i = 0; operation == ncclAvg && i < count; ++i) values[i] /= ranks.size;
  for (int rank = 1; rank < ranks.size; ++rank) {
    if (!SendAll(ranks.sockets[rank], values, bytes)) return false;
  }
  return true;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  const std::string path =
      "/tmp/fake_nccl_" + std::to_string(getpid()) + "_" + std::to_string(++made);
  std::memset(id, 0, sizeof(*id));
  std::memcpy(id->internal, path.data(), path.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* result, int size, ncclUniqueId id, int rank) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, id.internal, sizeof(address.sun_path) - 1);
  *result = new ncclComm{rank, size, {}};
  return Result(rank == 0 ? Accept(address, *result) : Connect(address, *result));
}

ncclResult_t ncclCommAbort(ncclComm_t ranks) {
  for (const int socket : ranks->sockets) close(socket);
  delete ranks;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t ranks, cudaStream_t) {
  if (from != to || (operation != ncclSum && operation != ncclAvg)) return ncclInvalidArgument;
  if (type == ncclFloat) {
    return Result(Reduce(static_cast<float*>(to), count, operation, *ranks));
  }
  if (type != ncclDouble) return ncclInvalidArgument;
  return Result(Reduce(static_cast<double*>(to), count, operation, *ranks));
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t ranks, cudaStream_t) {
  if (from != to || type != ncclChar) return ncclInvalidArgument;
  if (ranks->rank > 0 && ranks->rank == root) return Result(SendAll(ranks->sockets[0], to, count));
  if (ranks->rank > 0) return Result(ReceiveAll(ranks->sockets[0], to, count));
  bool ok = root == 0 || ReceiveAll(ranks->sockets[root], to, count);
  for (int rank = 1; ok && rank < ranks->size; ++rank) {
    if (rank != root) ok = SendAll(ranks->sockets[rank], to, count);
  }
  return Result(ok);
}

const char* ncclGetErrorString(ncclResult_t status) {
  return status == ncclRemoteError ? "another rank has gone" : "not what this library does";
}
}
