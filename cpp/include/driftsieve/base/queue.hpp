// A queue over one contiguous array whose front is handed out without copying.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace driftsieve {

// Items are appended at the back and taken from the front. Taken items share ownership of the
// array, so they stay valid, and the queue never writes to them again.
template <class T>
    requires std::is_trivially_copyable_v<T>
class Queue {
  public:
    std::size_t size() const noexcept { return end_ - begin_; }
    const T* begin() const noexcept { return items_.get() + begin_; }
    const T* end() const noexcept { return items_.get() + end_; }

    // Space for n more items at the back: write there, then push() the number written.
    T* reserve(std::size_t n) {
        if (capacity_ - end_ < n) move_to_new_array(n);
        return items_.get() + end_;
    }

    void push(std::size_t n) noexcept { end_ += n; }

    void push_back(T item) {
        *reserve(1) = item;
        push(1);
    }

    std::shared_ptr<T[]> take(std::size_t n) noexcept {
        std::shared_ptr<T[]> taken(items_, items_.get() + begin_);
        begin_ += n;
        if (begin_ == end_) forget_array();
        return taken;
    }

  private:
    // Copies only the items that were not taken. The new array is at least as large as the old one,
    // so that a steady pattern of appending and taking settles on one size.
    void move_to_new_array(std::size_t n) {
        const std::size_t waiting = size();
        const std::size_t capacity = std::max({2 * (waiting + n), end_, typical_});
        auto items = std::make_shared_for_overwrite<T[]>(capacity);
        std::copy(begin(), end(), items.get());
        items_ = std::move(items);
        begin_ = 0;
        end_ = waiting;
        capacity_ = capacity;
    }

    void forget_array() noexcept {
        typical_ = end_ + end_ / 8;
        items_.reset();
        begin_ = end_ = capacity_ = 0;
    }

    std::shared_ptr<T[]> items_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t capacity_ = 0;
    std::size_t typical_ = 64;
};

}  // namespace driftsieve
