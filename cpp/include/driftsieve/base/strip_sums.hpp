#pragma once

#include <array>
#include <cstddef>

#include "driftsieve/base/moments.hpp"
#include "driftsieve/kernels.hpp"

namespace driftsieve {

// Power sums of the rows of one class in a strip of columns, each column with its own shift.
struct StripClassSums {
    std::array<double, Kernels::kStrip> shift;
    Kernels::StripSums sums;

    Moments moments(double weight, std::size_t j) const {
        return Moments::from_sums(weight, sums.sum[j], sums.squares[j], shift[j]);
    }
};

}  // namespace driftsieve
