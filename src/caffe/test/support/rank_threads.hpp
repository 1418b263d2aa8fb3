#ifndef CAFFE_TEST_RANK_THREADS_HPP_
#define CAFFE_TEST_RANK_THREADS_HPP_

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "caffe/communicator.hpp"

namespace caffe {

/// Runs `work` as each of `size` ranks at once, every one in a thread of its own. Returns what went
/// wrong on each, "" where nothing did; a rank that fails aborts the others.
inline std::vector<std::string> RunRanks(int size, const std::function<void(Communicator*)>& work) {
  const std::vector<std::unique_ptr<Communicator>> communicators = ThreadCommunicators(size);
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(communicators[rank].get());
      } catch (const std::exception& error) {
        errors[rank] = error.what();
        communicators[rank]->Abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace caffe

#endif  // CAFFE_TEST_RANK_THREADS_HPP_
