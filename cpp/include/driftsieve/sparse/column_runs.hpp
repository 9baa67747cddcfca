#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/block_column.hpp"
#include "driftsieve/memory/room.hpp"

namespace driftsieve {

// A value of a sparse column that is not in a summary yet.
struct LoggedValue {
    double value;
    std::uint32_t cls;
    std::uint32_t place;  // of the column in its page
};

// Logged values of a page in lists, each by class and then in the order of the rows. Made by one
// stable counting sort, both for summing columns up and for reading them.
class ColumnRuns {
  public:
    static constexpr std::uint32_t kNoList = static_cast<std::uint32_t>(-1);

    struct Missing {
        std::uint32_t list;
        std::uint32_t cls;
        double weight;
    };

    // Puts value i into list list_of(i), or into none. Weights are multiplied by `factor`; no
    // weights means that all are 1.
    template <class ListOf>
    void take(std::span<const LoggedValue> log, std::span<const double> weights, double factor,
              std::size_t n_lists, std::size_t n_classes, const ListOf& list_of) {
        n_classes_ = n_classes;
        is_weighted_ = !weights.empty() || factor != 1.0;
        missing_.clear();
        places_.resize(log.size());
        // Part k is one class of one list. While parts are filled, offsets_[k + 1] is the present
        // end of part k; afterwards it is the begin of part k + 1.
        offsets_.assign(n_lists * n_classes + 2, 0);
        std::uint32_t* const places = places_.data();
        std::uint32_t* const offsets = offsets_.data();
        for (std::size_t i = 0; i < log.size(); ++i) {
            const std::uint32_t list = list_of(i);
            places[i] = kNoList;
            if (list == kNoList) continue;
            if (std::isnan(log[i].value)) {
                missing_.push_back(
                    {list, log[i].cls, factor * (weights.empty() ? 1.0 : weights[i])});
                continue;
            }
            places[i] = static_cast<std::uint32_t>(list * n_classes + log[i].cls + 1);
            ++offsets[places[i] + 1];
        }
        for (std::size_t k = 1; k < offsets_.size(); ++k) offsets_[k] += offsets_[k - 1];
        values_.resize(offsets_.back());
        weights_.resize(is_weighted_ ? values_.size() : 0);
        double* const to = values_.data();
        double* const weight_to = weights_.data();
        for (std::size_t i = 0; i < log.size(); ++i) {
            if (places[i] == kNoList) continue;
            const std::size_t at = offsets[places[i]]++;
            to[at] = log[i].value;
            if (is_weighted_) weight_to[at] = factor * (weights.empty() ? 1.0 : weights[i]);
        }
    }

    std::span<const Missing> missing() const { return missing_; }

    // A list with its first n_classes classes; it must have no values of others. Valid until the
    // next call.
    BlockColumn of(std::size_t list, std::size_t n_classes) {
        const std::uint32_t* offsets = offsets_.data() + list * n_classes_;
        begin_.resize(n_classes + 1);
        for (std::size_t c = 0; c <= n_classes; ++c) begin_[c] = offsets[c] - offsets[0];
        const double* weights = is_weighted_ ? weights_.data() + offsets[0] : nullptr;
        if (is_weighted_ && std::all_of(weights, weights + begin_.back(),
                                        [](double weight) { return weight == 1.0; }))
            weights = nullptr;
        return {values_.data() + offsets[0], 1, nullptr, weights, begin_};
    }

  private:
    std::size_t n_classes_ = 0;
    bool is_weighted_ = false;
    Room<std::uint32_t> places_;  // by value: its part plus 1, or kNoList
    std::vector<std::uint32_t> offsets_;
    std::vector<Missing> missing_;
    Room<double> values_;
    Room<double> weights_;
    std::vector<std::size_t> begin_;
};

}  // namespace driftsieve
