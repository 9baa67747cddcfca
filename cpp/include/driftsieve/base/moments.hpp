#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "driftsieve/kernels.hpp"

namespace driftsieve {

// Weight, mean and centred second moment of the values of one class. Centred throughout (Chan,
// Golub and LeVeque 1979), never a difference of raw power sums; and the mean has the digits of two
// doubles. So a column offset costs no digits, neither of the spread nor of the distance between
// class means.
struct Moments {
    double weight = 0.0;
    double mean = 0.0;
    double mean_rest = 0.0;  // rounding error of `mean`
    double m2 = 0.0;

    void merge(const Moments& other) {
        if (other.weight == 0.0) return;
        if (weight == 0.0) {
            *this = other;
            return;
        }
        const double total = weight + other.weight;
        const double delta = (other.mean - mean) + (other.mean_rest - mean_rest);
        // from the heavier side, so that a few values among many zeros keep all their digits
        if (other.weight > weight) {
            mean = other.mean;
            mean_rest = other.mean_rest;
            move_mean(-delta * (weight / total));
        } else {
            move_mean(delta * (other.weight / total));
        }
        m2 += other.m2 + delta * delta * (weight * (other.weight / total));
        weight = total;
    }

    void scale(double factor) {
        weight *= factor;
        m2 *= factor;
        if (weight == 0.0) *this = Moments{};
    }

    // Sums of the differences from the heaviest value. With n values that costs at most a factor n
    // of the last digit, since that value has a share of 1/n or more in the spread that is
    // measured. weights == nullptr means all 1.
    static Moments of(const double* values, const double* weights, std::size_t n) {
        return n == 0 ? Moments{} : of(values, weights, n, values[heaviest(weights, n)]);
    }
    // The same where the heaviest value, `shift`, is known.
    static Moments of(const double* values, const double* weights, std::size_t n, double shift) {
        const Kernels::PowerSums sums =
            weights == nullptr ? kernels().power_sums(values, n, shift)
                               : kernels().weighted_power_sums(values, weights, n, shift);
        return from_sums(sums.weight, sums.sum, sums.squares, shift);
    }

    static std::size_t heaviest(const double* weights, std::size_t n) {
        if (weights == nullptr) return 0;
        return static_cast<std::size_t>(std::max_element(weights, weights + n) - weights);
    }

    static Moments from_sums(double weight, double sum, double squares, double shift) {
        if (weight == 0.0) return {};
        const double delta = sum / weight;
        // a spread that overflows is infinite; inf - inf would give NaN
        const double m2 = std::isinf(squares) ? squares : std::max(0.0, squares - sum * delta);
        Moments result{weight, shift, 0.0, m2};
        result.move_mean(delta);
        return result;
    }

  private:
    void move_mean(double by) {
        const double moved = mean + by;
        // the rounding error of the sum (Knuth's two-sum)
        const double part = moved - mean;
        const double lost = (mean - (moved - part)) + (by - part);
        mean = moved;
        if (std::isfinite(lost)) mean_rest += lost;
    }
};

}  // namespace driftsieve
