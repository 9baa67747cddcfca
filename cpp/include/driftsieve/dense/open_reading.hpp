#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "driftsieve/feature/open_column.hpp"

namespace driftsieve {

// Results of reading the open rows, feature by feature: see OpenColumn.
struct OpenReading {
    OpenChunks chunks;
    std::vector<OpenColumn> columns;
};

// An OpenReading that is kept from one read to the next, for a store that is read repeatedly while
// rows come. It changes neither the results nor the bytes of the store: copies start without it.
class KeptReading {
  public:
    KeptReading() = default;
    KeptReading(const KeptReading&) {}
    KeptReading& operator=(const KeptReading&) {
        forget();
        return *this;
    }

    // The reading to use, locked, or null: for the first read of a store, which may be the only
    // one, and while another thread uses it. `n_rows` shows whether rows came between reads.
    struct Use {
        std::unique_lock<std::mutex> lock;
        OpenReading* reading = nullptr;
    };
    Use use(std::uint64_t n_rows) {
        Use result{std::unique_lock(mutex_, std::try_to_lock)};
        if (!result.lock.owns_lock()) return result;
        const bool is_again = last_read_ != kNever && last_read_ != n_rows;
        last_read_ = n_rows;
        is_used_ = true;
        if (is_again && reading_ == nullptr) reading_ = std::make_unique<OpenReading>();
        result.reading = reading_.get();
        return result;
    }

    // Called if the open rows or the state of the features were replaced. The memory is kept if it
    // was used.
    void forget() {
        if (reading_ == nullptr) return;
        if (is_used_)
            reading_->chunks.clear();
        else
            reading_.reset();
        is_used_ = false;
    }

  private:
    static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

    std::mutex mutex_;
    std::unique_ptr<OpenReading> reading_;
    std::uint64_t last_read_ = kNever;
    bool is_used_ = false;
};

}  // namespace driftsieve
