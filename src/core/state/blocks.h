// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace parley::core {

// A vector whose values lie in blocks that never move. When it grows it copies no values, only the
// blocks' addresses, and those rarely. It keeps its blocks when it shrinks.
template <class T>
class Blocks {
 public:
  void push_back(T value) {
    if (size_ == blocks_.size() * block_size) {
      blocks_.push_back(std::make_unique<T[]>(block_size));
    }
    (*this)[size_++] = std::move(value);
  }

  // The value stays as it is until another takes its place.
  void pop_back() { --size_; }

  T& operator[](size_t at) { return blocks_[at / block_size][at % block_size]; }
  const T& operator[](size_t at) const { return blocks_[at / block_size][at % block_size]; }
  const T& front() const { return (*this)[0]; }
  const T& back() const { return (*this)[size_ - 1]; }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

 private:
  // Small blocks, because most workspaces hold little; more of small values in one, to keep the
  // list of blocks short.
  static constexpr size_t block_size = sizeof(T) <= 64 ? 256 : 64;

  std::vector<std::unique_ptr<T[]>> blocks_;
  size_t size_ = 0;
};

}  // namespace parley::core
