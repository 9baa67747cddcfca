#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/learners/fsa.hpp"

// The steps of SparseFSA in a stream: online Newton steps with a diagonal curvature and exponential
// decay, that is recursive logistic regression without the products of features. Rows are first
// divided by the typical norm of recent rows: z = x / unit. For each minibatch and feature j,
//     s_j <- f s_j + sum of v loss''(margin) z_j^2,
//     d_j = -rate * sum of v loss'(margin) * target * z_j / (n c T + s_j),
// and d_j moves the weight as in fsa.hpp. f decays with `half_life`, v are row weights relative to
// their recent mean, n is the number of rows of the minibatch, c the largest curvature of the loss,
// and T the mean of |z|^2 in the minibatch, or 1 if that is larger. A row with |z|^2 above
// kLongest has less weight, as if |z|^2 were kLongest: a single one could stop all steps for long.
//
// So the first steps are those of gradient descent at 1 / L. They decrease with the number of rows,
// to a limit given by the half-life. Weights and s_j have no unit: if the scale of all features
// changes, they stay correct, and only `unit` changes. As a geometric mean it follows a decrease as
// fast as an increase, and outliers hardly change it.
namespace driftsieve::fsa {

// A row with ten times the typical norm.
inline constexpr double kLongest = 100.0;

struct StreamSettings {
    Loss loss;
    double rate;
    double largest_curvature;
    double shrinkage;
    double momentum;   // at least 0, below 1
    double half_life;  // rows; may be infinite
    std::size_t batch_size;
};

template <std::size_t Parts>
struct StreamWeight {
    Weight<Parts> weight;
    double curvature;  // s_j
    double recency;    // 1 in a row in which the feature is not 0; fades afterwards
};

// Faded sums over the rows: their number, their weights, weighted numbers of non-zeros; and, over
// rows that have any, weights and weighted logarithms of squared norms.
struct RowSums {
    double rows, weights, non_zeros, filled, logs;

    void fade(double factor) {
        for (double* sum : {&rows, &weights, &non_zeros, &filled, &logs}) *sum *= factor;
    }
    void add(double weight, double squares, double n_non_zeros) {
        rows += 1.0;
        weights += weight;
        non_zeros += weight * n_non_zeros;
        if (squares == 0.0) return;
        filled += weight;
        logs += weight * std::log(squares);
    }
    // The geometric mean of the norms.
    double unit() const { return filled > 0.0 ? std::exp(0.5 * logs / filled) : 1.0; }
    // The square of a typical non-zero z, which is the value of the intercept: as a feature of ones
    // it would dominate all others.
    double gain() const { return non_zeros > 0.0 ? weights / non_zeros : 1.0; }
};

inline double fading(double rows, double half_life) {
    return std::exp2(-rows / half_life);
}

// The second derivative of the loss by the margin; for Lorenz, where that may be negative, the
// curvature of the parabola around 1 that touches the loss from above.
inline double curvature(Loss loss, double margin) {
    const double s = slope(loss, margin);
    if (loss == Loss::logistic) return -s * (1.0 + s);
    return s < 0.0 ? s / (margin - 1.0) : 0.0;
}

// The sums over rows in that order.
template <class Rows>
RowSums row_sums(const Rows& X, std::span<const std::int64_t> order,
                 std::span<const double> row_weight, double half_life) {
    RowSums sums{};
    for (const std::int64_t i : order) {
        const auto row = static_cast<std::size_t>(i);
        double squares = 0.0, non_zeros = 0.0;
        for_each(X, row, [&](std::size_t, double x) {
            squares += x * x;
            non_zeros += x != 0.0 ? 1.0 : 0.0;
        });
        sums.fade(fading(1.0, half_life));
        sums.add(row_weight[row], squares, non_zeros);
    }
    return sums;
}

// Runs through `order` once. Rows must have weights above 0. The last of the weights is the
// intercept, which does not shrink. Features shrink by the step of one that has ordinary values in
// every row, so the penalty on a rare feature is smaller, about in proportion to its frequency.
template <std::size_t Parts, class Rows>
void follow(const Rows& X, std::span<const std::int64_t> order, std::span<const double> target,
            std::span<const double> row_weight, std::span<StreamWeight<Parts>> weights,
            RowSums& sums, const StreamSettings& s) {
    const auto difference = [](const Weight<Parts>& w) {
        return Parts == 1 ? w[0] : w[0] - w[Parts - 1];
    };
    const std::size_t n = order.size(), n_batches = (n + s.batch_size - 1) / s.batch_size;
    StreamWeight<Parts>* const w = weights.data();
    StreamWeight<Parts>& intercept = weights.back();
    Weight<Parts> scale;  // decay of a feature's weights since they were settled
    scale.fill(1.0);
    double faded = 1.0;  // and of its curvature and recency
    const auto settle = [&] {
        for (auto& feature : weights.first(weights.size() - 1)) {
            for (std::size_t k = 0; k < Parts; ++k) feature.weight[k] *= scale[k];
            feature.curvature *= faded;
            feature.recency *= faded;
        }
        scale.fill(1.0);
        faded = 1.0;
    };

    struct Row {
        std::size_t index;
        double decision;
        double squares;
        double slope = 0.0;
    };
    std::vector<Row> rows;
    for (std::size_t batch = 0; batch < n_batches; ++batch) {
        const std::size_t begin = batch * n / n_batches, end = (batch + 1) * n / n_batches;
        const auto n_rows = static_cast<double>(end - begin);
        const double fade = fading(n_rows, s.half_life);

        sums.fade(fade);
        rows.clear();
        double total = 0.0;
        for (std::size_t i = begin; i < end; ++i) {
            const auto row = static_cast<std::size_t>(order[i]);
            if (i + 1 < n) prefetch(X, static_cast<std::size_t>(order[i + 1]), w);
            Weight<Parts> sum{};
            double squares = 0.0, non_zeros = 0.0;
            for_each(X, row, [&](std::size_t j, double x) {
                for (std::size_t k = 0; k < Parts; ++k) sum[k] += x * w[j].weight[k];
                squares += x * x;
                non_zeros += x != 0.0 ? 1.0 : 0.0;
            });
            for (std::size_t k = 0; k < Parts; ++k) sum[k] *= scale[k];
            sums.add(row_weight[row], squares, non_zeros);
            total += row_weight[row];
            rows.push_back({.index = row, .decision = difference(sum), .squares = squares});
        }

        // Row weights are relative, so that a common factor changes nothing.
        const double mean_weight = sums.weights / sums.rows, relative = total / mean_weight;
        const double per_unit = 1.0 / sums.unit(), gain = sums.gain();
        double norms = 0.0;
        for (Row& row : rows) {
            row.squares *= per_unit * per_unit;
            norms += row_weight[row.index] / total * std::min(kLongest, row.squares);
        }
        const double T = gain + std::max(1.0, norms);
        const double least = std::max(n_rows, relative) * s.largest_curvature * T;

        faded *= fade;
        if (faded < 1e-100) settle();
        intercept.curvature *= fade;
        for (Row& row : rows) {
            const double y = target[row.index];
            const double margin = y * (row.decision * per_unit + difference(intercept.weight));
            const double v =
                row_weight[row.index] / mean_weight * std::min(1.0, kLongest / row.squares);
            row.slope = v * y * slope(s.loss, margin);
            const double c = v * curvature(s.loss, margin), grown = c / faded, recent = 1.0 / faded;
            for_each(X, row.index, [=](std::size_t j, double x) {
                const double z = x * per_unit;
                w[j].curvature += grown * z * z;
                if (x != 0.0) w[j].recency = recent;
            });
            intercept.curvature += c * gain;
        }
        for (const Row& row : rows) {
            if (row.slope == 0.0) continue;
            const double push = -s.rate * row.slope;
            for_each(X, row.index, [&](std::size_t j, double x) {
                const double d = push * (x * per_unit) / (least + w[j].curvature * faded);
                for (std::size_t k = 0; k < Parts; ++k) w[j].weight[k] += d / scale[k];
            });
            const double d = push * gain / (least + intercept.curvature);
            for (double& part : intercept.weight) part += d;
        }

        const double step = s.rate * relative / (least + intercept.curvature);
        const double left = 1.0 / (1.0 + step * s.shrinkage * per_unit * per_unit);
        scale[0] *= left;
        if (Parts == 2) {
            scale[Parts - 1] *= left * s.momentum;
            intercept.weight[Parts - 1] *= s.momentum;
        }
        // Long before the scales underflow or the quotients overflow.
        if (*std::min_element(scale.begin(), scale.end()) < 1e-100) settle();
    }
    settle();
}

}  // namespace driftsieve::fsa
