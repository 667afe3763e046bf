#!/usr/bin/env python3
"""Includes and CMake links point one way: the table below is the design's.

The trainer never includes the models: the judge does not read the prediction.
"""

import re
import sys

import common

STANDARD = set("""algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat
charconv chrono cinttypes climits clocale cmath codecvt compare complex concepts condition_variable
coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cwchar deque
exception execution filesystem format forward_list fstream functional future initializer_list
iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource
mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator
semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string
string_view strstream syncstream system_error thread tuple type_traits typeindex typeinfo
unordered_map unordered_set utility valarray variant vector version""".split())
# Models are pure: no clock, file, environment, thread.
IMPURE = set("""atomic barrier chrono condition_variable csignal ctime filesystem fstream
future iostream latch mutex semaphore shared_mutex stop_token syncstream thread""".split())

# First match wins: angle-bracket includes that belong to a library.
LIBRARIES = [
    (r"nlohmann/", "json"), (r"CLI/", "cli11"), (r"fmt/", "fmt"), (r"toml\+\+/|toml\.hpp", "toml"),
    (r"benchmark/", "benchmark"), (r"hwloc", "hwloc"), (r"oneapi/dnnl/|dnnl", "dnnl"),
    (r"mpi\.h", "mpi"), (r"nccl\.h", "nccl"), (r"cudnn", "cudnn"), (r"cublas", "cublas"),
    (r"cuda|nvml|nvtx|cub/|cooperative_groups", "cuda"), (r"liburing", "liburing"),
    (r"openssl/", "openssl"), (r"zlib\.h", "zlib"), (r"valijson/", "valijson"),
    (r"catch2/", "catch2"), (r"omp\.h", "openmp"),
]
SYSTEM = "system"  # any other angle-bracket include: the operating system or the compiler

# zone: folders it may include beside itself, libraries it may include
ALLOWED = {
    "core": (set(), set()),
    "core/system": ({"core"}, {SYSTEM, "hwloc", "cuda", "fmt", "openssl", "openmp"}),
    "models": ({"core"}, set()),
    "reports": ({"core"}, {SYSTEM, "json", "fmt", "openssl", "toml", "zlib"}),
    "trainer/backend": ({"core", "core/system"},
                        {SYSTEM, "dnnl", "cuda", "cudnn", "cublas", "fmt", "openmp"}),
    "trainer/comm": ({"core", "core/system"}, {SYSTEM, "mpi", "nccl", "cuda", "fmt"}),
    "trainer": ({"core", "core/system", "reports", "trainer/backend", "trainer/comm"},
                {SYSTEM, "fmt", "zlib", "openssl", "cli11", "openmp"}),
    "probes": ({"core", "core/system", "reports", "trainer/backend", "trainer/comm"},
               {SYSTEM, "benchmark", "liburing", "fmt", "openmp", "cuda", "nccl", "mpi"}),
    "tools/plimsoll": ({"core", "core/system", "models", "reports"},
                       {SYSTEM, "cli11", "fmt", "toml"}),
}
TARGETS = {
    "plimsoll_core": "core", "plimsoll_system": "core/system", "plimsoll_models": "models",
    "plimsoll_reports": "reports", "plimsoll_backend": "trainer/backend",
    "plimsoll_comm": "trainer/comm", "plimsoll_train": "trainer", "plimsoll_probe": "probes",
}
# JSON stays inside reports/*.cpp: its headers speak our records only. Exceptions with reasons:
JSON_FILES = re.compile(r"^reports/.*\.cpp$")
JSON_HEADERS = {"reports/page/spec.hpp": "shared by the .cpp files of that folder only"}
GENERATED = {"schema_texts.hpp": "reports/CMakeLists.txt makes it from reports/schema/"}
IMPURE_CALL = re.compile(r"\b(?:std::)?(?:getenv|setenv|system|s?rand|exit|abort)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def zone_of(path):
    text = str(path)
    for zone in sorted(ALLOWED, key=len, reverse=True):
        if text.startswith(zone + "/"):
            return zone
    return None


def check_source(root, path):
    zone = zone_of(path)
    if zone is None:
        return []
    zones, libraries = ALLOWED[zone]
    complaints = []
    text = common.text_of(root, path) or ""
    if zone == "models":
        code = re.sub(r"//.*", "", text)
        complaints += [f"{path}: models are pure and must not call {found}...)"
                       for found in IMPURE_CALL.findall(code)]
    for bracket, name in INCLUDE.findall(text):
        if bracket == '"':
            if name in GENERATED:
                continue
            if not (root / name).is_file():
                complaints.append(f'{path}: "{name}" is not a path from the root')
            elif zone_of(name) != zone and zone_of(name) not in zones:
                complaints.append(f"{path}: {zone} must not include {name}")
            continue
        if name in STANDARD:
            if zone == "models" and name in IMPURE:
                complaints.append(f"{path}: models are pure and must not include <{name}>")
            continue
        library = next((l for pattern, l in LIBRARIES if re.match(pattern, name)), SYSTEM)
        if library not in libraries:
            complaints.append(f"{path}: {zone} must not include <{name}>")
        elif (library == "json" and not JSON_FILES.match(str(path))
              and str(path) not in JSON_HEADERS):
            complaints.append(f"{path}: JSON appears in reports/*.cpp only")
    return complaints


def check_links(root, path):
    zone = zone_of(path)
    if zone is None:
        return []
    allowed = ALLOWED[zone][0] | {zone}
    complaints = []
    for name in re.findall(r"\bplimsoll_[a-z]+\b", common.strip_hash_comments(
            common.text_of(root, path) or "")):
        if name in TARGETS and TARGETS[name] not in allowed:
            complaints.append(f"{path}: {zone} must not link {name}")
    return complaints


def check(root):
    complaints = []
    for path in common.files(root):
        if path.suffix in common.SOURCE_ENDS:
            complaints += check_source(root, path)
        elif path.name == "CMakeLists.txt":
            complaints += check_links(root, path)
    return complaints


STEP = {"models/step.hpp": "", "core/units.hpp": ""}
BAD = {
    "the trainer reads the prediction":
        ({**STEP, "trainer/a.cpp": '#include "models/step.hpp"\n'}, "trainer must not include"),
    "core reaches up":
        ({**STEP, "core/a.cpp": '#include "models/step.hpp"\n'}, "core must not include"),
    "core uses a library": ({"core/a.cpp": "#include <fmt/format.h>\n"}, "core must not include"),
    "core uses the operating system":
        ({"core/a.cpp": "#include <unistd.h>\n"}, "core must not include"),
    "a model reads a clock": ({"models/a.cpp": "#include <chrono>\n"}, "models are pure"),
    "a model reads the environment":
        ({"models/a.cpp": 'auto x = std::getenv("HOME");\n'}, "must not call"),
    "a model reads JSON":
        ({"models/a.cpp": "#  include <nlohmann/json.hpp>\n"}, "models must not include"),
    "a probe reads the models":
        ({**STEP, "probes/cpu/a.cu": '#include "models/step.hpp"\n'}, "probes must not include"),
    "JSON in a header": ({"reports/a.hpp": "#include <nlohmann/json.hpp>\n"}, "JSON appears"),
    "a relative include": ({"core/b/a.cpp": '#include "units.hpp"\n', **STEP}, "not a path from"),
    "the backend links the trainer":
        ({"trainer/backend/CMakeLists.txt": "target_link_libraries(x plimsoll_train)\n"},
         "must not link"),
    "the trainer links the models":
        ({"trainer/CMakeLists.txt": "plimsoll_library(t PUBLIC plimsoll_models)\n"},
         "must not link"),
}
GOOD = {
    "what the table allows": {
        **STEP, "models/a.cpp": '#include "core/units.hpp"\n#include <cmath>\n',
        "probes/a.cpp": '#include "core/units.hpp"\n#include <benchmark/benchmark.h>\n',
        "reports/a.cpp": "#include <nlohmann/json.hpp>\n",
        "tools/plimsoll/a.cpp": '#include "models/step.hpp"\n#include <CLI/CLI.hpp>\n',
        "models/CMakeLists.txt": "# not plimsoll_reports\nlink(plimsoll_core)\n"},
    "tests may include everything": {**STEP, "tests/a.cpp": '#include "models/step.hpp"\n'},
}

if __name__ == "__main__":
    sys.exit(common.main(check, BAD, GOOD))
