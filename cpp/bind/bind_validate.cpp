#include "arrays.hpp"
#include "driftsieve/base/validate.hpp"

namespace driftsieve::bind {

void register_validate(nb::module_& m) {
    const auto dense = [&](auto find) {
        m.def("find_bad_value", find, nb::arg("X").noconvert(), nb::arg("allow_nan"),
              "Row and column of the first value that is infinite (or NaN, unless allowed).");
    };
    // no GIL needed: the arrays are kept alive by the arguments
    dense([](const Matrix<double>& X, bool allow_nan) {
        nb::gil_scoped_release no_gil;
        return find_bad_value(view(X), allow_nan);
    });
    dense([](const Matrix<float>& X, bool allow_nan) {
        nb::gil_scoped_release no_gil;
        return find_bad_value(view(X), allow_nan);
    });
    const auto csr = [&](auto are) {
        m.def("are_canonical", are, nb::arg("indices").noconvert(), nb::arg("indptr").noconvert(),
              nb::arg("n_cols"), "Whether the columns of CSR rows are in range, and rise in each.");
    };
    csr([](const Vector<std::int32_t>& indices, const Vector<std::int32_t>& indptr,
           std::size_t n_cols) {
        nb::gil_scoped_release no_gil;
        return are_canonical(view(indices), view(indptr), n_cols);
    });
    csr([](const Vector<std::int64_t>& indices, const Vector<std::int64_t>& indptr,
           std::size_t n_cols) {
        nb::gil_scoped_release no_gil;
        return are_canonical(view(indices), view(indptr), n_cols);
    });
}

}  // namespace driftsieve::bind
