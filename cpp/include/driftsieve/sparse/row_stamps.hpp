#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/views.hpp"

namespace driftsieve {

// The class of each row of a batch, the epoch of the store when the row comes, and the weight that
// the row is stored with.
class RowStamps {
  public:
    RowStamps(const RowInfo& info, std::size_t n_rows, const Fading& fading, const Ledger& ledger)
        : classes_(info.classes.first(n_rows)) {
        epoch_ = std::max(ledger.epoch, fading.epoch_of(0.0));
        if (info.weights.empty() && !fading.fades()) return;
        is_plain_ = false;
        epochs_.reserve(n_rows);
        weights_.reserve(n_rows);
        std::int64_t epoch = ledger.epoch;
        for (std::size_t i = 0; i < n_rows; ++i) {
            const double time = info.time(i);
            epoch = std::max(epoch, fading.epoch_of(time));
            epochs_.push_back(epoch);
            weights_.push_back(info.weight(i) * fading.weight(time, epoch));
        }
        all_1_ = !fading.fades() && std::all_of(weights_.begin(), weights_.end(),
                                                [](double weight) { return weight == 1.0; });
    }

    std::size_t size() const { return classes_.size(); }
    std::span<const std::uint32_t> classes() const { return classes_; }
    std::uint32_t cls(std::size_t i) const { return classes_[i]; }
    std::int64_t epoch(std::size_t i) const { return is_plain_ ? epoch_ : epochs_[i]; }
    // The first row after row i that has another epoch: later rows have later ones.
    std::size_t end_of_epoch(std::size_t i) const {
        if (is_plain_) return size();
        const auto begin = epochs_.begin();
        return static_cast<std::size_t>(
            std::upper_bound(begin + static_cast<std::ptrdiff_t>(i), epochs_.end(), epochs_[i]) -
            begin);
    }
    double weight(std::size_t i) const { return is_plain_ ? 1.0 : weights_[i]; }
    // Whether nothing fades and every row weighs 1.
    bool all_1() const { return all_1_; }
    std::size_t n_classes() const {
        return classes_.empty() ? 0 : *std::max_element(classes_.begin(), classes_.end()) + 1;
    }

    void admit_class(Ledger& ledger, std::size_t i) const {
        if (cls(i) >= ledger.totals.size()) ledger.totals.resize(cls(i) + 1);
    }
    void add_to(Ledger& ledger, std::size_t i) const { ledger.totals[cls(i)].add(weight(i)); }

  private:
    std::span<const std::uint32_t> classes_;
    bool is_plain_ = true;
    bool all_1_ = true;
    std::int64_t epoch_ = 0;
    std::vector<std::int64_t> epochs_;
    std::vector<double> weights_;
};

}  // namespace driftsieve
