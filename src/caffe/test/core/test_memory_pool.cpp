#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "caffe/core/memory_pool.hpp"
#include "caffe/syncedmem.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

constexpr size_t kMegabyte = 1 << 20;

TEST(MemoryPool, ValuesTakeTurns) {
  MemoryPool pool;
  void* first = pool.Allocate(kMegabyte);
  pool.Free(first, kMegabyte);
  EXPECT_EQ(pool.Allocate(kMegabyte), first);
  EXPECT_EQ(pool.capacity(), kMegabyte);
  pool.Free(first, kMegabyte);
}

TEST(MemoryPool, ALargeBlockServesSeveralSmallValuesAndIsWholeAgain) {
  MemoryPool pool;
  void* large = pool.Allocate(kMegabyte);
  pool.Free(large, kMegabyte);
  std::vector<void*> small;
  for (int i = 0; i < 4; ++i) small.push_back(pool.Allocate(kMegabyte / 4));
  EXPECT_EQ(pool.capacity(), kMegabyte);
  for (const int i : {2, 0, 3, 1}) pool.Free(small[i], kMegabyte / 4);
  EXPECT_EQ(pool.Allocate(kMegabyte), large);
  pool.Free(large, kMegabyte);
}

TEST(MemoryPool, WhatFitsNothingMakesRoomForWhatComes) {
  MemoryPool pool;
  pool.Free(pool.Allocate(kMegabyte), kMegabyte);
  void* larger = pool.Allocate(2 * kMegabyte);
  EXPECT_EQ(pool.capacity(), 2 * kMegabyte) << "not three";
  pool.Free(larger, 2 * kMegabyte);
}

TEST(MemoryPool, TakesTheSmallestThatFits) {
  MemoryPool pool;
  void* large = pool.Allocate(4 * kMegabyte);
  void* small = pool.Allocate(kMegabyte);
  pool.Free(large, 4 * kMegabyte);
  pool.Free(small, kMegabyte);
  EXPECT_EQ(pool.Allocate(kMegabyte), small);
  EXPECT_EQ(pool.Allocate(3 * kMegabyte), large);
  pool.Free(small, kMegabyte);
  pool.Free(large, 3 * kMegabyte);
}

/// Requests of sizes 1, 1, 2 and 3 megabytes, of which never more than 4 are in use: one after the
/// other takes 1 + 2 + 3, as the last fits behind nothing.
void Round(MemoryPool* pool, std::vector<void*>* places) {
  pool->Gather();
  void* a = pool->Allocate(kMegabyte);
  void* b = pool->Allocate(kMegabyte);
  pool->Free(a, kMegabyte);
  void* c = pool->Allocate(2 * kMegabyte);
  pool->Free(b, kMegabyte);
  pool->Free(c, 2 * kMegabyte);
  void* d = pool->Allocate(kMegabyte);
  void* e = pool->Allocate(3 * kMegabyte);
  pool->Free(d, kMegabyte);
  pool->Free(e, 3 * kMegabyte);
  *places = {a, b, c, d, e};
}

TEST(MemoryPool, RoundsOfTheSameRequestsTakeWhatIsInUseAtOnce) {
  MemoryPool pool;
  std::vector<void*> places, again;
  for (int i = 0; i < 3; ++i) Round(&pool, &places);
  Round(&pool, &places);
  EXPECT_EQ(pool.capacity(), 4 * kMegabyte);
  Round(&pool, &again);
  EXPECT_EQ(again, places);
  EXPECT_EQ(pool.capacity(), 4 * kMegabyte);
}

TEST(MemoryPool, ARoundThatLeavesThePlanGetsMemoryAllTheSame) {
  MemoryPool pool;
  std::vector<void*> places;
  for (int i = 0; i < 4; ++i) Round(&pool, &places);
  pool.Gather();
  void* a = pool.Allocate(kMegabyte);
  void* b = pool.Allocate(kMegabyte);  // stays, where the plan has others
  void* c = pool.Allocate(3 * kMegabyte);
  void* d = pool.Allocate(kMegabyte);
  const std::vector<std::pair<void*, size_t>> all = {{a, 1}, {b, 1}, {c, 3}, {d, 1}};
  for (const auto& [place, size] : all) std::memset(place, 1, size * kMegabyte);
  for (const auto& one : all) {
    for (const auto& other : all) {
      const bool before =
          static_cast<char*>(one.first) + one.second * kMegabyte <= static_cast<char*>(other.first);
      const bool behind = static_cast<char*>(other.first) + other.second * kMegabyte <=
                          static_cast<char*>(one.first);
      EXPECT_TRUE(&one == &other || before || behind);
    }
  }
  for (const auto& [place, size] : all) pool.Free(place, size * kMegabyte);
}

TEST(MemoryPool, IsCountedOnceAndGoesBack) {
  const size_t before = Allocator::bytes_in_use();
  {
    auto pool = std::make_shared<MemoryPool>();
    SyncedMemory memory(1000, pool);
    memory.mutable_cpu_data();
    EXPECT_EQ(Allocator::bytes_in_use() - before, 1024u) << "whole cache lines";
    pool.reset();
    memory.mutable_cpu_data();  // holds the pool
  }
  EXPECT_EQ(Allocator::bytes_in_use(), before);
}

TEST(MemoryPool, GivesAlignedMemoryThatNobodyElseHas) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  MemoryPool pool;
  const auto work = [&pool](unsigned own_seed) {
    std::mt19937 random(own_seed);
    std::map<unsigned char*, std::pair<size_t, unsigned char>> held;
    for (int step = 0; step < 2000; ++step) {
      if (held.size() < 8 && random() % 2) {
        const size_t size = random() % 5000;
        auto* block = static_cast<unsigned char*>(pool.Allocate(size));
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % Allocator::kAlignment, 0u);
        const unsigned char mark = random();
        std::memset(block, mark, size);
        held[block] = {size, mark};
      } else if (!held.empty()) {
        auto chosen = held.begin();
        std::advance(chosen, random() % held.size());
        const auto [size, mark] = chosen->second;
        for (size_t i = 0; i < size; ++i) ASSERT_EQ(chosen->first[i], mark);
        pool.Free(chosen->first, size);
        held.erase(chosen);
      }
    }
    for (const auto& block : held) pool.Free(block.first, block.second.first);
  };
  std::thread other(work, seed + 1);
  work(seed);
  other.join();
}

}  // namespace
}  // namespace caffe
