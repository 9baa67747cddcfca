#include <nanobind/nanobind.h>

#include "driftsieve/version.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
    m.attr("version") = driftsieve::version;
}
