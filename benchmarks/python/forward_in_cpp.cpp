// Times Net::Forward in C++, for run.py: prints microseconds a pass, the least of several rounds.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

#include "caffe/caffe.hpp"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: forward_in_cpp NET PASSES ROUNDS\n";
    return 1;
  }
  FLAGS_minloglevel = 2;
  caffe::Net<float> net(argv[1], caffe::TEST);
  const int passes = std::stoi(argv[2]), rounds = std::stoi(argv[3]);
  net.output_blobs()[0]->cpu_data();
  net.Forward();
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < passes; ++i) net.Forward();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / passes);
  }
  std::cout << best << "\n";
}
