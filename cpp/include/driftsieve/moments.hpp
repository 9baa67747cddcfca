#pragma once

#include <cstddef>

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
        mean += delta * (other.weight / total);
        m2 += other.m2 + delta * delta * (weight * (other.weight / total));
        weight = total;
    }

    void scale(double factor) {
        weight *= factor;
        m2 *= factor;
        if (weight == 0.0) *this = Moments{};
    }

    // Two passes over values that are still in cache; weights == nullptr means all 1.
    static Moments of(const double* values, const double* weights, std::size_t n) {
        Moments result;
        if (n == 0) return result;
        double sum = 0.0;
        if (weights == nullptr) {
            result.weight = static_cast<double>(n);
            for (std::size_t i = 0; i < n; ++i) sum += values[i];
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                result.weight += weights[i];
                sum += weights[i] * values[i];
            }
        }
        if (result.weight == 0.0) return result;
        result.mean = sum / result.weight;
        double drift = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            const double w = weights == nullptr ? 1.0 : weights[i];
            const double delta = values[i] - result.mean;
            drift += w * delta;
            result.m2 += w * delta * delta;
        }
        // what rounding of the mean left over
        result.mean += drift / result.weight;
        result.m2 -= drift * (drift / result.weight);
        return result;
    }
};

}  // namespace driftsieve
