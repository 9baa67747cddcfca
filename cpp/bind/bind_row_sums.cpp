#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "arrays.hpp"
#include "driftsieve/base/row_sums.hpp"

namespace driftsieve::bind {
namespace {

template <std::size_t n_dim>
using Into = nb::ndarray<double, nb::ndim<n_dim>, nb::c_contig, nb::device::cpu>;
using Edges = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

RowSums sums_of(const Vector<std::uint64_t>& features, const Edges& edges, const Into<3>& sums,
                const Into<2>& totals, bool are_moments, const RowInfo& info, std::size_t n_rows,
                std::size_t n_columns, std::size_t n_planes) {
    const std::size_t m = features.shape(0);
    const std::size_t n_classes = sums.shape(1);
    const auto in_range = [](const auto& numbers, std::size_t end) {
        return std::all_of(numbers.begin(), numbers.end(), [&](auto n) { return n < end; });
    };
    if (edges.shape(1) != m || sums.shape(2) != m || (are_moments && edges.shape(0) != 1) ||
        sums.shape(0) < (are_moments ? 2 : edges.shape(0)) + n_planes || totals.shape(0) != 2 ||
        totals.shape(1) != n_classes || info.classes.size() != n_rows ||
        !(info.weights.empty() || info.weights.size() == n_rows) ||
        !in_range(view(features), n_columns) || !in_range(info.classes, n_classes))
        throw std::invalid_argument("arrays do not fit");
    return {view(features), n_classes,    are_moments,
            edges.shape(0), edges.data(), {sums.data(), sums.size()},
            totals.data()};
}

template <class T>
void add_dense(const Matrix<T>& X, const Vector<std::uint32_t>& classes,
               const std::optional<Vector<double>>& weights, const Vector<std::uint64_t>& features,
               const Edges& edges, const Into<3>& sums, const Into<2>& totals, bool are_moments) {
    const RowInfo info = row_info(classes, weights, {});
    const RowSums to =
        sums_of(features, edges, sums, totals, are_moments, info, X.shape(0), X.shape(1), 0);
    nb::gil_scoped_release no_gil;
    add_rows(view(X), info, to);
}

// The rows have been validated.
template <class T, class Index>
void add_csr(const Vector<T>& data, const Vector<Index>& indices, const Vector<Index>& indptr,
             std::size_t n_columns, bool keeps_zeros, const Vector<std::uint32_t>& classes,
             const std::optional<Vector<double>>& weights, const Vector<std::uint64_t>& features,
             const Edges& edges, const Into<3>& sums, const Into<2>& totals, bool are_moments) {
    const RowInfo info = row_info(classes, weights, {});
    const RowSums to = sums_of(features, edges, sums, totals, are_moments, info,
                               indptr.shape(0) - 1, n_columns, 4);
    nb::gil_scoped_release no_gil;
    add_rows(CsrView<T, Index>{data.data(), indices.data(), indptr.data(), indptr.shape(0) - 1,
                               n_columns},
             info, keeps_zeros, to);
}

}  // namespace

void register_row_sums(nb::module_& m) {
    const auto dense = [&](auto add) {
        m.def("add_dense_rows", add, nb::arg("X").noconvert(), nb::arg("classes").noconvert(),
              nb::arg("weights").noconvert().none(), nb::arg("features").noconvert(),
              nb::arg("edges").noconvert(), nb::arg("sums").noconvert(),
              nb::arg("totals").noconvert(), nb::arg("are_moments"),
              "Add dense rows to sums: see row_sums.hpp.");
    };
    dense(&add_dense<double>);
    dense(&add_dense<float>);
    const auto csr = [&](auto add) {
        m.def("add_csr_rows", add, nb::arg("data").noconvert(), nb::arg("indices").noconvert(),
              nb::arg("indptr").noconvert(), nb::arg("n_columns"), nb::arg("keeps_zeros"),
              nb::arg("classes").noconvert(), nb::arg("weights").noconvert().none(),
              nb::arg("features").noconvert(), nb::arg("edges").noconvert(),
              nb::arg("sums").noconvert(), nb::arg("totals").noconvert(), nb::arg("are_moments"),
              "The same of sparse rows.");
    };
    csr(&add_csr<double, std::int32_t>);
    csr(&add_csr<double, std::int64_t>);
    csr(&add_csr<float, std::int32_t>);
    csr(&add_csr<float, std::int64_t>);
}

}  // namespace driftsieve::bind
