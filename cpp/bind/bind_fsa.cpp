#include <algorithm>
#include <stdexcept>
#include <variant>

#include "arrays.hpp"
#include "driftsieve/learners/fsa.hpp"
#include "driftsieve/learners/fsa_stream.hpp"

namespace driftsieve::bind {

namespace {

using Weights = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The rows of the array, each as a struct of doubles.
template <class Row>
std::span<Row> as_rows(const Weights& weights) {
    static_assert(sizeof(Row) % sizeof(double) == 0);
    return {reinterpret_cast<Row*>(weights.data()), weights.shape(0)};
}

constexpr std::size_t n_sums = sizeof(fsa::RowSums) / sizeof(double);
using Sums = nb::ndarray<double, nb::shape<n_sums>, nb::c_contig, nb::device::cpu>;

// A view of the caller's rows, whatever their types.
using AnyRows = std::variant<MatrixView<double>, MatrixView<float>, CsrView<double, std::int32_t>,
                             CsrView<double, std::int64_t>, CsrView<float, std::int32_t>,
                             CsrView<float, std::int64_t>>;

struct FsaRows {
    AnyRows rows;

    void require_fit(bool fit) const {
        if (!fit) throw std::invalid_argument("the arrays do not fit the rows");
    }

    void require_order(const Vector<std::int64_t>& order, std::size_t n_rows) const {
        for (const std::int64_t row : view(order))
            require_fit(row >= 0 && static_cast<std::size_t>(row) < n_rows);
    }

    Doubles sizes(const Vector<double>& row_weight) const {
        static_assert(sizeof(fsa::Size) == 2 * sizeof(double));
        return std::visit(
            [&](const auto& X) {
                require_fit(row_weight.size() == X.n_rows);
                const Doubles result = NewArrays(size_of({X.n_cols, 2})).make({X.n_cols, 2});
                std::fill_n(result.data(), result.size(), 0.0);
                const std::span<fsa::Size> by_feature{reinterpret_cast<fsa::Size*>(result.data()),
                                                      X.n_cols};
                nb::gil_scoped_release no_gil;  // the owner of the rows keeps the arrays alive
                fsa::add_sizes(X, view(row_weight), by_feature);
                return result;
            },
            rows);
    }

    void epoch(const Vector<std::int64_t>& order, const Vector<double>& target,
               const Vector<double>& row_weight, const Weights& weights, fsa::Loss loss,
               double step, double intercept_gain, double shrinkage, double momentum,
               std::size_t batch_size) const {
        std::visit(
            [&](const auto& X) {
                require_fit(target.size() == X.n_rows && row_weight.size() == X.n_rows &&
                            weights.shape(0) == X.n_cols + 1 &&
                            weights.shape(1) == (momentum > 0.0 ? 2 : 1) && batch_size > 0);
                require_order(order, X.n_rows);
                nb::gil_scoped_release no_gil;  // likewise
                const auto run = [&](auto w) {
                    fsa::epoch(X, view(order), view(target), view(row_weight), w,
                               {loss, step, intercept_gain, shrinkage, momentum, batch_size});
                };
                momentum > 0.0 ? run(as_rows<fsa::Weight<2>>(weights))
                               : run(as_rows<fsa::Weight<1>>(weights));
            },
            rows);
    }

    Doubles row_sums(const Vector<std::int64_t>& order, const Vector<double>& row_weight,
                     double half_life) const {
        return std::visit(
            [&](const auto& X) {
                require_fit(row_weight.size() == X.n_rows);
                require_order(order, X.n_rows);
                const Doubles result = NewArrays(size_of({n_sums})).make({n_sums});
                nb::gil_scoped_release no_gil;  // likewise
                *reinterpret_cast<fsa::RowSums*>(result.data()) =
                    fsa::row_sums(X, view(order), view(row_weight), half_life);
                return result;
            },
            rows);
    }

    void follow(const Vector<std::int64_t>& order, const Vector<double>& target,
                const Vector<double>& row_weight, const Weights& weights, const Sums& sums,
                fsa::Loss loss, double rate, double largest_curvature, double shrinkage,
                double momentum, double half_life, std::size_t batch_size) const {
        std::visit(
            [&](const auto& X) {
                require_fit(target.size() == X.n_rows && row_weight.size() == X.n_rows &&
                            weights.shape(0) == X.n_cols + 1 &&
                            weights.shape(1) == (momentum > 0.0 ? 4 : 3) && batch_size > 0);
                require_order(order, X.n_rows);
                nb::gil_scoped_release no_gil;  // likewise
                const auto run = [&](auto w) {
                    fsa::follow(X, view(order), view(target), view(row_weight), w,
                                *reinterpret_cast<fsa::RowSums*>(sums.data()),
                                {loss, rate, largest_curvature, shrinkage, momentum, half_life,
                                 batch_size});
                };
                momentum > 0.0 ? run(as_rows<fsa::StreamWeight<2>>(weights))
                               : run(as_rows<fsa::StreamWeight<1>>(weights));
            },
            rows);
    }
};

template <class T>
void register_dense(nb::class_<FsaRows>& c) {
    c.def(
        "__init__", [](FsaRows* self, const Matrix<T>& X) { new (self) FsaRows{view(X)}; },
        nb::arg("X").noconvert(), nb::keep_alive<1, 2>());
}

template <class T, class Index>
void register_csr(nb::class_<FsaRows>& c) {
    c.def(
        "__init__",
        [](FsaRows* self, const Vector<T>& data, const Vector<Index>& indices,
           const Vector<Index>& indptr, std::size_t n_features) {
            new (self) FsaRows{CsrView<T, Index>{data.data(), indices.data(), indptr.data(),
                                                 indptr.size() - 1, n_features}};
        },
        nb::arg("data").noconvert(), nb::arg("indices").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("n_features"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
        nb::keep_alive<1, 4>());
}

}  // namespace

void register_fsa(nb::module_& m) {
    nb::enum_<fsa::Loss>(m, "FsaLoss")
        .value("logistic", fsa::Loss::logistic)
        .value("lorenz", fsa::Loss::lorenz);

    nb::class_<FsaRows> c(m, "FsaRows",
                          "A view of rows to learn from: a dense or a sound CSR matrix.");
    register_dense<double>(c);
    register_dense<float>(c);
    register_csr<double, std::int32_t>(c);
    register_csr<double, std::int64_t>(c);
    register_csr<float, std::int32_t>(c);
    register_csr<float, std::int64_t>(c);
    c.def("sizes", &FsaRows::sizes, nb::arg("row_weight"),
          "Weighted sums over the rows, (n_features, 2): of x^2, and of how often x is not 0.");
    c.def(
        "epoch", &FsaRows::epoch, nb::arg("order"), nb::arg("target"), nb::arg("row_weight"),
        nb::arg("weights").noconvert(), nb::kw_only(), nb::arg("loss"), nb::arg("step"),
        nb::arg("intercept_gain"), nb::arg("shrinkage"), nb::arg("momentum"), nb::arg("batch_size"),
        "Gradient steps over the rows in that order; changes the weights, (n_features + 1, 2), or "
        "(n_features + 1, 1) without momentum.");
    c.def("row_sums", &FsaRows::row_sums, nb::arg("order"), nb::arg("row_weight"),
          nb::arg("half_life"), "The sums over rows that `follow` makes.");
    c.def(
        "follow", &FsaRows::follow, nb::arg("order"), nb::arg("target"), nb::arg("row_weight"),
        nb::arg("weights").noconvert(), nb::arg("sums").noconvert(), nb::kw_only(), nb::arg("loss"),
        nb::arg("rate"), nb::arg("largest_curvature"), nb::arg("shrinkage"), nb::arg("momentum"),
        nb::arg("half_life"), nb::arg("batch_size"),
        "Online Newton steps over the rows in that order. Changes the weights, (n_features + 1, "
        "4), "
        "or (n_features + 1, 3) without momentum, whose last columns are curvatures and recencies, "
        "and the sums over rows: of 1, weights and weighted non-zeros, and, of rows that are not "
        "empty, of weights and weighted logarithms of squared norms.");
}

}  // namespace driftsieve::bind
