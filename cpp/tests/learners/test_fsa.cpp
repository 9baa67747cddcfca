#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "driftsieve/learners/fsa.hpp"
#include "driftsieve/learners/fsa_stream.hpp"

using driftsieve::CsrView;
using driftsieve::MatrixView;
using driftsieve::fsa::Loss;
using driftsieve::fsa::Settings;
namespace fsa = driftsieve::fsa;

namespace {

// Rows with about a third of non-zeros, dense and as CSR, with targets and weights.
template <class T, class Index>
struct Problem {
    std::size_t n_rows, n_cols;
    std::vector<T> dense, data;
    std::vector<Index> indices, indptr{0};
    std::vector<double> target, row_weight;
    std::vector<std::int64_t> order;

    Problem(std::size_t n, std::size_t p) : n_rows(n), n_cols(p), order(n) {
        std::mt19937_64 random(7);
        std::normal_distribution<double> normal;
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < p; ++j) {
                const T x = random() % 3 == 0 ? static_cast<T>(normal(random)) : T{0};
                dense.push_back(x);
                if (x == 0) continue;
                data.push_back(x);
                indices.push_back(static_cast<Index>(j));
            }
            indptr.push_back(static_cast<Index>(data.size()));
            target.push_back(random() % 2 == 0 ? 1.0 : -1.0);
            row_weight.push_back(static_cast<double>(random() % 3));
        }
    }

    MatrixView<T> matrix() const {
        return {dense.data(), static_cast<std::ptrdiff_t>(n_cols), 1, n_rows, n_cols};
    }
    CsrView<T, Index> csr() const {
        return {data.data(), indices.data(), indptr.data(), n_rows, n_cols};
    }
    template <std::size_t Parts, class Rows>
    std::vector<double> learn(const Rows& X, const Settings& settings, int epochs = 2) const {
        std::vector<fsa::Weight<Parts>> weights(n_cols + 1);
        for (int e = 0; e < epochs; ++e)
            fsa::epoch<Parts>(X, order, target, row_weight, weights, settings);
        std::vector<double> result;
        for (const auto& w : weights) result.push_back(Parts == 1 ? w[0] : w[0] - w[Parts - 1]);
        return result;
    }
};

double loss_at(Loss loss, double u) {
    if (loss == Loss::logistic) return std::log1p(std::exp(-u));
    return u < 1.0 ? std::log1p((u - 1.0) * (u - 1.0)) : 0.0;
}

// The textbook: v <- r (m v - (1 - m) step g), b <- r b + v, for every feature at every minibatch;
// b is our u - q.
std::vector<double> textbook(const Problem<double, std::int32_t>& problem, const Settings& s,
                             int epochs = 2) {
    const std::size_t p = problem.n_cols, n = problem.n_rows;
    const std::size_t n_batches = (n + s.batch_size - 1) / s.batch_size;
    const double shrink = 1.0 / (1.0 + s.step * s.shrinkage), m = s.momentum;
    std::vector<double> b(p + 1), v(p + 1), g(p + 1);
    for (std::size_t batch = 0; batch < epochs * n_batches; ++batch) {
        const std::size_t k = batch % n_batches;
        const std::size_t begin = k * n / n_batches, end = (k + 1) * n / n_batches;
        std::fill(g.begin(), g.end(), 0.0);
        for (std::size_t i = begin; i < end; ++i) {
            const auto row = static_cast<std::size_t>(problem.order[i]);
            const double* x = problem.dense.data() + row * p;
            const double decision = std::inner_product(x, x + p, b.begin(), b[p]);
            const double y = problem.target[row];
            const double pull = problem.row_weight[row] * y * fsa::slope(s.loss, y * decision) /
                                static_cast<double>(end - begin);
            for (std::size_t j = 0; j < p; ++j) g[j] += pull * x[j];
            g[p] += pull * s.intercept_gain;
        }
        for (std::size_t j = 0; j <= p; ++j) {
            const double r = j < p ? shrink : 1.0;
            v[j] = r * (m * v[j] - (1.0 - m) * s.step * g[j]);
            b[j] = r * b[j] + v[j];
        }
    }
    return b;
}

}  // namespace

TEST_CASE("the slope is the derivative of the loss") {
    for (const Loss loss : {Loss::logistic, Loss::lorenz}) {
        for (double u = -6.05; u < 6.0; u += 0.1) {
            const double h = 1e-6;
            const double numeric = (loss_at(loss, u + h) - loss_at(loss, u - h)) / (2 * h);
            CHECK(fsa::slope(loss, u) == doctest::Approx(numeric).epsilon(1e-6));
        }
        CHECK(std::isfinite(fsa::slope(loss, 1e6)));
        CHECK(std::isfinite(fsa::slope(loss, -1e6)));
    }
    CHECK(fsa::slope(Loss::lorenz, 1.5) == 0.0);
}

TEST_CASE("the curvature is that of the loss, or of a parabola above it") {
    for (double u = -6.05; u < 6.0; u += 0.1) {
        const double h = 1e-5;
        const double numeric =
            (fsa::slope(Loss::logistic, u + h) - fsa::slope(Loss::logistic, u - h)) / (2 * h);
        CHECK(fsa::curvature(Loss::logistic, u) == doctest::Approx(numeric).epsilon(1e-6));
        // The parabola around 1 with this curvature that touches the loss at u.
        const double c = fsa::curvature(Loss::lorenz, u);
        CHECK(c >= 0.0);
        for (double x = -6.0; x < 1.0 && u < 1.0; x += 0.5) {
            const double above =
                loss_at(Loss::lorenz, u) + c / 2 * ((x - 1.0) * (x - 1.0) - (u - 1.0) * (u - 1.0));
            CHECK(above >= loss_at(Loss::lorenz, x) - 1e-12);
        }
    }
    for (const Loss loss : {Loss::logistic, Loss::lorenz})
        for (const double u : {-1e6, 1e6}) CHECK(std::isfinite(fsa::curvature(loss, u)));
}

TEST_CASE("the sums over rows fade") {
    // A row with a zero that is there, an empty one, and one of weight 10.
    const std::vector<double> data{3, 0, 4, 2}, row_weight{1, 1, 10};
    const std::vector<std::int64_t> indices{0, 1, 2, 0}, indptr{0, 3, 3, 4}, order{0, 1, 2};
    const CsrView<double, std::int64_t> X{data.data(), indices.data(), indptr.data(), 3, 3};
    const fsa::RowSums sums = fsa::row_sums(X, order, row_weight, 1.0);
    CHECK(sums.rows == 1.75);
    CHECK(sums.weights == 10.75);
    CHECK(sums.non_zeros == 10.5);
    CHECK(sums.filled == 10.25);
    CHECK(sums.unit() ==
          doctest::Approx(std::exp((10 * std::log(2) + 0.25 * std::log(5)) / 10.25)));
    CHECK(fsa::RowSums{}.unit() == 1.0);
    CHECK(fsa::RowSums{}.gain() == 1.0);
}

TEST_CASE("forward decay gives the weights of textbook momentum and shrinkage") {
    const Problem<double, std::int32_t> problem(1200, 9);
    for (const Loss loss : {Loss::logistic, Loss::lorenz}) {
        // Momentum 0.1 underflows, and settles, many times in an epoch of single rows.
        for (const double momentum : {0.0, 0.1, 0.9}) {
            for (const double shrinkage : {0.0, 0.01, 100.0}) {
                for (const std::size_t batch_size : {1, 7, 5000}) {
                    const Settings s{loss, 0.1, 2.0, shrinkage, momentum, batch_size};
                    const auto ours = momentum > 0.0 ? problem.learn<2>(problem.csr(), s)
                                                     : problem.learn<1>(problem.csr(), s);
                    const auto expected = textbook(problem, s);
                    for (std::size_t j = 0; j <= problem.n_cols; ++j) {
                        CHECK(std::abs(ours[j] - expected[j]) < 1e-11);
                    }
                }
            }
        }
    }
}

TEST_CASE("dense and sparse rows of any type give the same bits") {
    const Problem<float, std::int32_t> narrow(50, 6);
    const Problem<float, std::int64_t> wide(50, 6);
    std::vector<double> doubles(narrow.dense.begin(), narrow.dense.end());
    // Column by column, so that the strides matter.
    std::vector<double> transposed(doubles.size());
    for (std::size_t i = 0; i < 50; ++i)
        for (std::size_t j = 0; j < 6; ++j) transposed[j * 50 + i] = doubles[i * 6 + j];
    const MatrixView<double> by_column{transposed.data(), 1, 50, 50, 6};

    const Settings s{Loss::logistic, 0.1, 1.0, 0.01, 0.9, 4};
    const auto expected = narrow.learn<2>(narrow.csr(), s);
    CHECK(narrow.learn<2>(narrow.matrix(), s) == expected);
    CHECK(narrow.learn<2>(by_column, s) == expected);
    CHECK(wide.learn<2>(wide.csr(), s) == expected);
}

TEST_CASE("the sizes of features are weighted") {
    const std::vector<double> values{3, 0, 4, 2, 0, 0}, row_weight{1, 10};
    const std::vector<std::int64_t> indices{0, 2, 0, 1}, indptr{0, 2, 4};
    const std::vector<double> data{3, 4, 2, 0};  // with a zero that is there
    const auto check = [&](const auto& X) {
        std::vector<fsa::Size> sizes(3, fsa::Size{1, 1});
        fsa::add_sizes(X, row_weight, sizes);
        const std::vector<double> squares{1 + 9 + 40, 1, 1 + 16}, counts{1 + 11, 1, 1 + 1};
        for (std::size_t j = 0; j < 3; ++j) {
            CHECK(sizes[j].squares == squares[j]);
            CHECK(sizes[j].non_zeros == counts[j]);
        }
    };
    check(MatrixView<double>{values.data(), 3, 1, 2, 3});
    check(CsrView<double, std::int64_t>{data.data(), indices.data(), indptr.data(), 2, 3});
}
