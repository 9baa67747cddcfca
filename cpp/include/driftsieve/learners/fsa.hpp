#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/views.hpp"

// One epoch of the gradient steps of Feature Selection with Annealing (Barbu, She, Ding and
// Gramajo, 2017). The annealing itself is in Python.
//
// Each minibatch makes d = -step * mean of (row weight * loss'(margin) * target * x), and then
//     u <- r (u + d),    q <- r m (q + d),    weights = u - q,
// with m the momentum and r = 1 / (1 + step * shrinkage), the proximal step of an L2 penalty. This
// is heavy-ball momentum, with separate u and q: u is the limit of the weights without further
// gradients, q is the remaining distance to it. Without momentum q is 0.
//
// Forward decay, as in the bank: instead of shrinking every u and q at every minibatch, we store
// u / r^t and q / (r m)^t and grow what is added. A minibatch then costs its non-zeros alone.
namespace driftsieve::fsa {

enum class Loss { logistic, lorenz };

struct Settings {
    Loss loss;
    double step;
    double intercept_gain;
    double shrinkage;
    double momentum;  // at least 0, below 1
    std::size_t batch_size;
};

// u and, with momentum, q: a row of the caller's array.
template <std::size_t Parts>
using Weight = std::array<double, Parts>;

// Derivative of the loss with respect to the margin, target * decision.
inline double slope(Loss loss, double margin) {
    if (loss == Loss::logistic) return -1.0 / (1.0 + std::exp(margin));
    const double short_of = margin - 1.0;
    return short_of < 0.0 ? 2.0 * short_of / (1.0 + short_of * short_of) : 0.0;
}

// Sparse rows access weights at random: prefetch those of the next row.
template <class T, class Index, class W>
void prefetch(const CsrView<T, Index>& X, std::size_t row, const W* weights) {
    for (Index i = X.indptr[row], end = X.indptr[row + 1]; i < end; ++i)
        __builtin_prefetch(weights + X.indices[i], 1);
}

template <class T, class W>
void prefetch(const MatrixView<T>&, std::size_t, const W*) {}

template <class T, class Index, class F>
void for_each(const CsrView<T, Index>& X, std::size_t row, F&& f) {
    for (Index i = X.indptr[row], end = X.indptr[row + 1]; i < end; ++i)
        f(static_cast<std::size_t>(X.indices[i]), static_cast<double>(X.data[i]));
}

// Skips zeros, so that dense and sparse rows give the same bits.
template <class T, class F>
void for_each(const MatrixView<T>& X, std::size_t row, F&& f) {
    for (std::size_t j = 0; j < X.n_cols; ++j)
        if (const T x = X.at(row, j); x != 0) f(j, static_cast<double>(x));
}

// Weighted sums over the rows, by feature: of x^2, and of how often x is not 0.
struct Size {
    double squares, non_zeros;
};

template <class Rows>
void add_sizes(const Rows& X, std::span<const double> row_weight, std::span<Size> sizes) {
    for (std::size_t row = 0; row < X.n_rows; ++row) {
        const double w = row_weight[row];
        for_each(X, row, [=](std::size_t j, double x) {
            sizes[j].squares += w * x * x;
            sizes[j].non_zeros += x != 0.0 ? w : 0.0;
        });
    }
}

// Runs through `order` once, in ceil(n / batch_size) minibatches of nearly equal size. `target` is
// -1 or 1 by row. The last of the weights is the intercept, which does not shrink; its gradient is
// taken `intercept_gain` times. There is one part to a weight if there is no momentum, else two.
template <std::size_t Parts, class Rows>
void epoch(const Rows& X, std::span<const std::int64_t> order, std::span<const double> target,
           std::span<const double> row_weight, std::span<Weight<Parts>> weights,
           const Settings& s) {
    using Both = Weight<Parts>;
    const auto difference = [](const Both& w) { return Parts == 1 ? w[0] : w[0] - w[Parts - 1]; };
    const std::size_t n = order.size(), n_batches = (n + s.batch_size - 1) / s.batch_size;
    const double r = 1.0 / (1.0 + s.step * s.shrinkage);
    Both* const w = weights.data();
    Both& intercept = weights.back();
    Both left, scale;  // factor of u and q per minibatch, and their product so far
    left.fill(r * s.momentum);
    left[0] = r;
    scale.fill(1.0);
    const auto settle = [&] {
        for (Both& feature : weights.first(weights.size() - 1))
            for (std::size_t k = 0; k < Parts; ++k) feature[k] *= scale[k];
        scale.fill(1.0);
    };

    std::vector<double> push;  // d = push * x, by row of the minibatch
    for (std::size_t batch = 0; batch < n_batches; ++batch) {
        const std::size_t begin = batch * n / n_batches, end = (batch + 1) * n / n_batches;
        const double share = -s.step / static_cast<double>(end - begin);
        push.clear();
        for (std::size_t i = begin; i < end; ++i) {
            const auto row = static_cast<std::size_t>(order[i]);
            if (i + 1 < n) prefetch(X, static_cast<std::size_t>(order[i + 1]), w);
            Both sum{};
            for_each(X, row, [&](std::size_t j, double x) {
                for (std::size_t k = 0; k < Parts; ++k) sum[k] += x * w[j][k];
            });
            for (std::size_t k = 0; k < Parts; ++k) sum[k] *= scale[k];
            const double margin = target[row] * (difference(intercept) + difference(sum));
            push.push_back(share * row_weight[row] * target[row] * slope(s.loss, margin));
        }
        for (std::size_t i = begin; i < end; ++i) {
            const double d = push[i - begin];
            if (d == 0.0) continue;
            Both grown;
            for (std::size_t k = 0; k < Parts; ++k) grown[k] = d / scale[k];
            for_each(X, static_cast<std::size_t>(order[i]), [=](std::size_t j, double x) {
                for (std::size_t k = 0; k < Parts; ++k) w[j][k] += grown[k] * x;
            });
            for (double& part : intercept) part += d * s.intercept_gain;
        }
        if (Parts == 2) intercept[Parts - 1] *= s.momentum;
        for (std::size_t k = 0; k < Parts; ++k) scale[k] *= left[k];
        // Long before the scales underflow or the quotients overflow.
        if (*std::min_element(scale.begin(), scale.end()) < 1e-100) settle();
    }
    settle();
}

}  // namespace driftsieve::fsa
