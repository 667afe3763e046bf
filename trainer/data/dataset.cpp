// Finding a workload's data, and checking that it fits.

#include "trainer/data/dataset.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "core/error.hpp"
#include "trainer/data/idx.hpp"
#include "trainer/data/random.hpp"

namespace plimsoll::trainer {
namespace {

constexpr const char* kDebianDirectory = "/usr/share/datasets/fashion-mnist";
constexpr std::string_view kSynthetic = "synthetic";
constexpr std::int64_t kSyntheticCount = 60'000;

const char* const kInstall =
    "apt-get install dataset-fashion-mnist, or name the directory of the "
    "four IDX files with --data-dir or PLIMSOLL_DATA, or use --data-dir "
    "synthetic";

Dataset read_split(const Workload& workload, const std::filesystem::path& directory,
                   const std::string& prefix) {
  const std::filesystem::path images_path = directory / (prefix + "-images-idx3-ubyte");
  const std::filesystem::path labels_path = directory / (prefix + "-labels-idx1-ubyte");
  for (const auto& path : {images_path, labels_path}) {
    if (!std::filesystem::exists(path) && !std::filesystem::exists(path.string() + ".gz")) {
      throw Error("the data of workload '" + workload.name + "' is not there: no " +
                      path.filename().string() + " or .gz",
                  directory.string(), kInstall);
    }
  }
  IdxArray images = read_idx(images_path);
  const IdxArray labels = read_idx(labels_path);

  Dataset data;
  data.source = directory.string();
  data.row_bytes = static_cast<std::int64_t>(images.bytes.size()) / images.dimensions[0];
  if (data.row_bytes != elements(workload.sample_shape)) {
    throw Error("samples have " + std::to_string(data.row_bytes) + " bytes, workload '" +
                    workload.name + "' takes " + std::to_string(elements(workload.sample_shape)),
                images_path.string(), "use data of the workload's shape");
  }
  if (labels.dimensions != std::vector<std::int64_t>{images.dimensions[0]}) {
    throw Error(std::to_string(labels.bytes.size()) + " labels for " +
                    std::to_string(images.dimensions[0]) + " images",
                labels_path.string(), "use the label file that belongs to the images");
  }
  const auto largest = *std::max_element(labels.bytes.begin(), labels.bytes.end());
  if (largest >= workload.classes) {
    throw Error("label " + std::to_string(largest) + ", workload '" + workload.name + "' has " +
                    std::to_string(workload.classes) + " classes",
                labels_path.string(),
                "use labels from 0 to " + std::to_string(workload.classes - 1));
  }
  data.rows = std::move(images.bytes);
  data.labels.assign(labels.bytes.begin(), labels.bytes.end());
  return data;
}

std::int64_t synthetic_count(const std::string& text) {
  if (text == kSynthetic) return kSyntheticCount;
  const std::string_view digits = std::string_view(text).substr(kSynthetic.size() + 1);
  std::int64_t count = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (code != std::errc() || end != digits.data() + digits.size() || count < 1) {
    throw usage_error("'" + text + "' is not a synthetic data set", "--data-dir",
                      "use synthetic or synthetic:COUNT with COUNT of 1 or more");
  }
  return count;
}

// From the counts of the 256 byte values: exact sums, whatever the size.
Data normalised(Data data) {
  std::array<std::int64_t, 256> counts{};
  for (const std::uint8_t byte : data.train.rows) ++counts[byte];
  const auto all = static_cast<double>(data.train.rows.size());
  double mean = 0;
  for (std::size_t v = 0; v < 256; ++v)
    mean += static_cast<double>(v) * static_cast<double>(counts[v]) / all;
  double variance = 0;
  for (std::size_t v = 0; v < 256; ++v) {
    const double distance = static_cast<double>(v) - mean;
    variance += distance * distance * static_cast<double>(counts[v]) / all;
  }
  if (variance <= 0) return data;  // every byte is the same: nothing to normalise
  for (Dataset* set : {&data.train, &data.test}) {
    set->scale = static_cast<float>(1.0 / std::sqrt(variance));
    set->shift = static_cast<float>(-mean / std::sqrt(variance));
  }
  return data;
}

}  // namespace

Dataset synthetic(const Shape& sample, std::int64_t classes, std::int64_t count, std::uint64_t seed,
                  std::uint64_t first) {
  expects(classes >= 1 && classes <= 256, "synthetic: labels are bytes");
  Dataset data;
  data.source = "synthetic, seed " + std::to_string(seed);
  data.row_bytes = elements(sample);
  data.rows.resize(static_cast<std::size_t>(count * data.row_bytes));
  data.labels.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t sample_id = first + static_cast<std::uint64_t>(i);
    const auto label = static_cast<std::int32_t>(sample_id % static_cast<std::uint64_t>(classes));
    data.labels[static_cast<std::size_t>(i)] = label;
    std::uint8_t* row = data.rows.data() + i * data.row_bytes;
    for (std::int64_t j = 0; j < data.row_bytes; ++j) {
      // A pixel shares its class's level with 15 neighbours; a quarter of the range is noise, which
      // is drawn for eight pixels at once.
      const auto place = static_cast<std::uint64_t>(j);
      const std::uint64_t level =
          random_bits(seed, 1 + static_cast<std::uint64_t>(label), place / 16) % 192;
      const std::uint64_t noise =
          random_bits(seed, 1000 + sample_id, place / 8) >> (8 * (place % 8));
      row[j] = static_cast<std::uint8_t>(level + (noise & 0xFF) % 64);
    }
  }
  return data;
}

Data load_data(const Workload& workload, const std::string& directory, std::uint64_t seed) {
  if (directory == kSynthetic || directory.starts_with(std::string(kSynthetic) + ":")) {
    const std::int64_t count = synthetic_count(directory);
    return normalised({.train = synthetic(workload.sample_shape, workload.classes, count, seed),
                       .test = synthetic(workload.sample_shape, workload.classes,
                                         std::max<std::int64_t>(count / 6, 1), seed,
                                         static_cast<std::uint64_t>(count))});
  }
  std::string place = directory;
  if (place.empty()) {
    const char* variable = std::getenv("PLIMSOLL_DATA");
    place = variable != nullptr && *variable != '\0' ? variable : kDebianDirectory;
  }
  if (!std::filesystem::is_directory(place)) {
    throw Error("the data of workload '" + workload.name + "' (" + workload.dataset +
                    ") is not there: no such directory",
                place, kInstall);
  }
  return normalised(
      {.train = read_split(workload, place, "train"), .test = read_split(workload, place, "t10k")});
}

}  // namespace plimsoll::trainer
