#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "driftsieve/kernels.hpp"

namespace driftsieve {

// Weight, mean and centred second moment of the values of one class. Centred throughout (Chan,
// Golub and LeVeque 1979), never a difference of raw power sums: a column offset costs no digits.
struct Moments {
    double weight = 0.0;
    double mean = 0.0;
    double m2 = 0.0;

    void add(double x, double w) {
        if (w == 0.0) return;
        weight += w;
        const double delta = x - mean;
        mean += delta * (w / weight);
        m2 += w * delta * (x - mean);
    }

    void merge(const Moments& other) {
        if (other.weight == 0.0) return;
        if (weight == 0.0) {
            *this = other;
            return;
        }
        const double total = weight + other.weight;
        const double delta = other.mean - mean;
        // from the heavier side: a few values among many zeros then keep all their digits
        mean = other.weight > weight ? other.mean - delta * (weight / total)
                                     : mean + delta * (other.weight / total);
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
        if (n == 0) return {};
        const double shift = values[heaviest(weights, n)];
        if (weights == nullptr) {
            const Kernels::PowerSums sums = kernels().power_sums(values, n, shift);
            return from_sums(static_cast<double>(n), sums.sum, sums.squares, shift);
        }
        double weight = 0.0;
        double sum = 0.0;
        double squares = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            const double delta = values[i] - shift;
            weight += weights[i];
            sum += weights[i] * delta;
            squares += weights[i] * delta * delta;
        }
        return from_sums(weight, sum, squares, shift);
    }

    static std::size_t heaviest(const double* weights, std::size_t n) {
        if (weights == nullptr) return 0;
        return static_cast<std::size_t>(std::max_element(weights, weights + n) - weights);
    }

    static Moments from_sums(double weight, double sum, double squares, double shift) {
        if (weight == 0.0) return {};
        const double delta = sum / weight;
        // a spread beyond the range of double is infinite; inf - inf would pass for none at all
        const double m2 = std::isinf(squares) ? squares : std::max(0.0, squares - sum * delta);
        return {weight, shift + delta, m2};
    }
};

}  // namespace driftsieve
