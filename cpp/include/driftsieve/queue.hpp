// A queue over one contiguous array whose front is handed out without copying.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace driftsieve {

// Items are appended at the back and taken from the front. What is taken shares ownership of the
// array, so it stays valid whatever the queue does next, and the queue never writes to it again.
template <class T>
    requires std::is_trivially_copyable_v<T>
class Queue {
  public:
    std::size_t size() const noexcept { return end_ - begin_; }
    const T* begin() const noexcept { return items_.get() + begin_; }
    const T* end() const noexcept { return items_.get() + end_; }

    // Room for n more items at the back: write there, then push() what was written.
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
    // Only what waits is copied. The new array holds at least as much as the old one did, so a
    // steady pattern of appending and taking settles on one size.
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
