#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/block_column.hpp"
#include "driftsieve/room.hpp"
#include "driftsieve/value_log.hpp"

namespace driftsieve {

// Logged values of one feature as a column: class by class, in the order of their rows.
class RunColumn {
  public:
    // Those of `first`, then those of `second`; none of them missing.
    const BlockColumn& take(std::span<const LoggedValue> first, std::span<const LoggedValue> second,
                            std::size_t n_classes) {
        begin_.assign(n_classes + 2, 0);
        bool unit = true;
        for (const std::span<const LoggedValue> items : {first, second})
            for (const LoggedValue& item : items) {
                ++begin_[item.cls + 2];
                unit &= item.weight == 1.0;
            }
        for (std::size_t c = 2; c < begin_.size(); ++c) begin_[c] += begin_[c - 1];
        values_.resize(begin_.back());
        weights_.resize(unit ? 0 : begin_.back());
        // begin_[c + 1] is where class c has come to
        for (const std::span<const LoggedValue> items : {first, second})
            for (const LoggedValue& item : items) {
                const std::size_t place = begin_[item.cls + 1]++;
                values_[place] = item.value;
                if (!unit) weights_[place] = item.weight;
            }
        column_ = {values_.data(), 1, nullptr, unit ? nullptr : weights_.data(),
                   std::span(begin_).first(n_classes + 1)};
        return column_;
    }

  private:
    BlockColumn column_;
    Room<double> values_;
    Room<double> weights_;
    std::vector<std::size_t> begin_;
};

}  // namespace driftsieve
