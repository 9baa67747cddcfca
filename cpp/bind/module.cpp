#include <nanobind/nanobind.h>

#include "driftsieve/base/version.hpp"

namespace driftsieve::bind {
void register_bank(nanobind::module_&);
void register_row_sums(nanobind::module_&);
void register_fsa(nanobind::module_&);
void register_rows(nanobind::module_&);
void register_svmlight(nanobind::module_&);
void register_validate(nanobind::module_&);
}  // namespace driftsieve::bind

NB_MODULE(_core, m) {
    // Objects that are alive when the interpreter exits (in a notebook, in a thread pool) are no
    // leaks, so nanobind must not warn about them.
    nanobind::set_leak_warnings(false);
    m.attr("version") = driftsieve::version;
    driftsieve::bind::register_validate(m);
    driftsieve::bind::register_bank(m);
    driftsieve::bind::register_row_sums(m);
    driftsieve::bind::register_rows(m);
    driftsieve::bind::register_svmlight(m);
    driftsieve::bind::register_fsa(m);
}
