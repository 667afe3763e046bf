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
#include "trainer/data/image.hpp"
#include "trainer/data/random.hpp"
#include "trainer/data/synthetic.hpp"
#include "trainer/data/text.hpp"

namespace plimsoll::trainer {
namespace {

constexpr const char* kDebianDirectory = "/usr/share/datasets/fashion-mnist";
constexpr std::string_view kSynthetic = "synthetic";
constexpr std::int64_t kSyntheticCount = 60'000;
constexpr std::int64_t kSyntheticBytes = std::int64_t{1} << 28;  // and no more than these
constexpr std::int64_t kMostBytes = std::int64_t{1} << 36;
constexpr std::uint64_t kWindowStream = 0x77696E646F77ULL;

const char* const kInstall =
    "apt-get install dataset-fashion-mnist, or name the directory of the "
    "four IDX files with --data-dir or PLIMSOLL_DATA, or use --data-dir "
    "synthetic";

std::string text(const Shape& shape) {
  std::string joined;
  for (const std::int64_t side : shape) {
    joined += (joined.empty() ? "" : " x ") + std::to_string(side);
  }
  return joined;
}

// What the images of a file are to the workload: of its shape, or smaller.
void place_in(const Workload& workload, const IdxArray& images, const std::string& path,
              Dataset& data) {
  data.stored.assign(images.dimensions.begin() + 1, images.dimensions.end());
  if (data.stored.size() == 2) data.stored.push_back(1);
  data.sample = workload.sample_shape;
  if (fits(data.stored, data.sample)) return;
  if (data.row_bytes != elements(workload.sample_shape)) {
    throw Error("samples have " + std::to_string(data.row_bytes) + " bytes, workload '" +
                    workload.name + "' takes " + std::to_string(elements(workload.sample_shape)) +
                    ": " + text(data.stored) + " cannot be placed in " + text(data.sample),
                path, "use data of the workload's shape, or --data-dir synthetic");
  }
  data.sample = data.stored;  // the same bytes, seen as another shape
}

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
  place_in(workload, images, images_path.string(), data);
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

// The count behind "synthetic:", or 0 when there is none.
std::int64_t synthetic_count(const std::string& place, std::int64_t sample_bytes) {
  if (place == kSynthetic) {
    return std::clamp<std::int64_t>(kSyntheticBytes / std::max<std::int64_t>(sample_bytes, 1), 1,
                                    kSyntheticCount);
  }
  const std::string_view digits = std::string_view(place).substr(kSynthetic.size() + 1);
  std::int64_t count = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (code != std::errc() || end != digits.data() + digits.size() || count < 1) {
    throw usage_error("'" + place + "' is not a synthetic data set", "--data-dir",
                      "use synthetic or synthetic:COUNT with COUNT of 1 or more");
  }
  if (count > kMostBytes / std::max<std::int64_t>(sample_bytes, 1)) {
    throw usage_error("'" + place + "' would take more than 64 GiB", "--data-dir",
                      "use a smaller COUNT: samples are seen again in the next epoch");
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

bool is_synthetic(const std::string& place) {
  return place == kSynthetic || place.starts_with(std::string(kSynthetic) + ":");
}

Dataset windows_of(std::string source, std::vector<std::uint8_t> bytes, std::int64_t positions,
                   std::int64_t labels, bool moving) {
  Dataset data;
  data.source = std::move(source);
  data.row_bytes = positions;
  data.rows = std::move(bytes);
  data.labels_per_sample = labels;
  data.windows = Windows{.positions = positions, .moving = moving};
  return data;
}

// Bytes must be tokens of the embedding, and what follows them classes of the loss.
void check_bytes(const Workload& workload, const Text& text) {
  std::int64_t most = workload.classes;
  for (const Op& op : workload.graph.ops) {
    if (const auto* table = std::get_if<Embedding>(&op.attributes)) {
      most = std::min(most, table->vocabulary);
    }
  }
  for (const std::uint8_t byte : text.bytes) {
    if (byte < most) continue;
    throw Error("the text has byte " + std::to_string(byte) + ", workload '" + workload.name +
                    "' knows tokens below " + std::to_string(most),
                text.source, "use a vocabulary of 256");
  }
}

Data load_text(const Workload& workload, const std::string& place, std::uint64_t seed) {
  const std::int64_t positions = elements(workload.sample_shape);
  const std::int64_t labels = labels_per_sample(workload.graph);
  if (is_synthetic(place)) {
    const std::int64_t count = synthetic_count(place, positions);
    const std::int64_t tests = std::max<std::int64_t>(count / 6, 1);
    const std::string source = "synthetic text, seed " + std::to_string(seed);
    const std::int64_t letters = workload.classes;
    return {.train = windows_of(source, synthetic_text(letters, (count + 1) * positions, seed),
                                positions, labels, true),
            .test = windows_of(source, synthetic_text(letters, tests * positions + 1, seed, 1),
                               positions, labels, false)};
  }
  Text text = place.empty() ? default_text() : read_text_file(place);
  check_bytes(workload, text);
  const std::int64_t all = std::ssize(text.bytes);
  const std::int64_t held_out = all / 10;
  if (held_out < positions + 1 || all - held_out < 2 * positions) {
    throw Error("a text of " + std::to_string(all) + " bytes is too short for windows of " +
                    std::to_string(positions) + " (a tenth of it is the test)",
                text.source, "use a longer text, or a shorter sequence");
  }
  std::vector<std::uint8_t> test(text.bytes.end() - held_out, text.bytes.end());
  text.bytes.resize(static_cast<std::size_t>(all - held_out));
  return {.train = windows_of(text.source, std::move(text.bytes), positions, labels, true),
          .test = windows_of(text.source, std::move(test), positions, labels, false)};
}

Data load_images(const Workload& workload, const std::string& place, std::uint64_t seed) {
  const std::int64_t labels = labels_per_sample(workload.graph);
  const bool made_up = is_synthetic(place) || (place.empty() && workload.dataset == kSynthetic);
  if (made_up) {
    const std::int64_t count = synthetic_count(place.empty() ? std::string(kSynthetic) : place,
                                               elements(workload.sample_shape));
    return normalised(
        {.train = synthetic(workload.sample_shape, workload.classes, count, seed, 0, labels),
         .test = synthetic(workload.sample_shape, workload.classes,
                           std::max<std::int64_t>(count / 6, 1), seed,
                           static_cast<std::uint64_t>(count), labels)});
  }
  if (labels != 1) {
    throw Error("workload '" + workload.name + "' wants " + std::to_string(labels) +
                    " labels a sample, images have one",
                place.empty() ? workload.dataset : place, "use --data-dir synthetic");
  }
  std::string directory = place;
  if (directory.empty()) {
    const char* variable = std::getenv("PLIMSOLL_DATA");
    directory = variable != nullptr && *variable != '\0' ? variable : kDebianDirectory;
  }
  if (!std::filesystem::is_directory(directory)) {
    throw Error("the data of workload '" + workload.name + "' (" + workload.dataset +
                    ") is not there: no such directory",
                directory, kInstall);
  }
  return normalised({.train = read_split(workload, directory, "train"),
                     .test = read_split(workload, directory, "t10k")});
}

}  // namespace

std::int64_t Windows::offset(std::uint64_t seed, std::int64_t epoch) const {
  if (!moving) return 0;
  const std::uint64_t bits = random_bits(seed, kWindowStream, static_cast<std::uint64_t>(epoch));
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(positions));
}

// Every window and the byte behind it are inside the text, whatever the offset.
std::int64_t Dataset::count() const {
  if (!windows) return std::ssize(labels) / labels_per_sample;
  const std::int64_t largest_offset = windows->moving ? windows->positions - 1 : 0;
  return std::max<std::int64_t>(std::ssize(rows) - largest_offset - 1, 0) / windows->positions;
}

std::int64_t labels_per_sample(const Graph& graph) {
  const int scores = graph.ops.back().inputs.front();
  const Shape& shape = graph.tensors[static_cast<std::size_t>(scores)].shape;
  return elements(shape) / shape.back();
}

Data load_data(const Workload& workload, const std::string& place, std::uint64_t seed) {
  const bool tokens = workload.graph.tensors[static_cast<std::size_t>(workload.graph.input)].tokens;
  return tokens ? load_text(workload, place, seed) : load_images(workload, place, seed);
}

}  // namespace plimsoll::trainer
