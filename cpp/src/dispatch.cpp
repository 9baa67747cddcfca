#include <cstdlib>
#include <stdexcept>
#include <string>

#include "driftsieve/kernels.hpp"

namespace driftsieve {

namespace baseline {
extern const Kernels kernels;
}
#ifdef DRIFTSIEVE_X86
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#endif

const Kernels* kernels_named(std::string_view name) {
    if (name == baseline::kernels.name) return &baseline::kernels;
#ifdef DRIFTSIEVE_X86
    // the parts of x86-64-v3 and x86-64-v4 that these loops use
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("bmi2");
    const bool has_avx512 =
        has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (has_avx2 && name == avx2::kernels.name) return &avx2::kernels;
    if (has_avx512 && name == avx512::kernels.name) return &avx512::kernels;
#endif
    return nullptr;
}

namespace {

const Kernels& pick() {
    const char* wanted = std::getenv("DRIFTSIEVE_SIMD");
    const std::string name = wanted == nullptr ? "" : wanted;
    for (const char* best : {"avx512", "avx2", "baseline"})
        if (name.empty() || name == best)
            if (const Kernels* found = kernels_named(best)) return *found;
    throw std::runtime_error(
        "DRIFTSIEVE_SIMD must be baseline, avx2 or avx512, and supported by this machine, got \"" +
        name + "\".");
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& picked = pick();
    return picked;
}

}  // namespace driftsieve
