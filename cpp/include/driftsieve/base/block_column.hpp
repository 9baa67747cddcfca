#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace driftsieve {

// One column of a block of rows, class by class, without missing values. Value i is
// data[order[i] * stride], or data[i] without an order.
struct BlockColumn {
    const double* data = nullptr;
    std::ptrdiff_t stride = 1;
    const std::uint32_t* order = nullptr;
    const double* weights = nullptr;     // by position; nullptr: all 1
    std::span<const std::size_t> begin;  // first position of each class, and the end: C + 1

    std::size_t size() const { return begin.empty() ? 0 : begin.back(); }
    std::size_t n_classes() const { return begin.size() - 1; }
    double value(std::size_t i) const {
        return order == nullptr ? data[i] : data[static_cast<std::ptrdiff_t>(order[i]) * stride];
    }
    double weight(std::size_t i) const { return weights == nullptr ? 1.0 : weights[i]; }
};

}  // namespace driftsieve
