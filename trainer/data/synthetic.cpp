// Pictures and texts from counter-based random numbers.

#include "trainer/data/synthetic.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "trainer/data/random.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::uint64_t kRuleStream = 0x72756C65ULL, kNoiseStream = 0x6E6F697365ULL;

}  // namespace

Dataset synthetic(const Shape& sample, std::int64_t classes, std::int64_t count, std::uint64_t seed,
                  std::uint64_t first, std::int64_t labels_per_sample) {
  expects(classes >= 1 && labels_per_sample >= 1, "synthetic: a sample has labels");
  Dataset data;
  data.source = "synthetic, seed " + std::to_string(seed);
  data.row_bytes = elements(sample);
  data.stored = data.sample = sample;
  data.labels_per_sample = labels_per_sample;
  data.rows.resize(static_cast<std::size_t>(count * data.row_bytes));
  data.labels.reserve(static_cast<std::size_t>(count * labels_per_sample));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t sample_id = first + static_cast<std::uint64_t>(i);
    const std::uint64_t label = sample_id % static_cast<std::uint64_t>(classes);
    for (std::int64_t k = 0; k < labels_per_sample; ++k) {
      const std::uint64_t shifted = label + static_cast<std::uint64_t>(k);
      data.labels.push_back(
          static_cast<std::int32_t>(shifted % static_cast<std::uint64_t>(classes)));
    }
    std::uint8_t* row = data.rows.data() + i * data.row_bytes;
    for (std::int64_t j = 0; j < data.row_bytes; ++j) {
      // A pixel shares its class's level with 15 neighbours; a quarter of the range is noise, which
      // is drawn for eight pixels at once.
      const auto place = static_cast<std::uint64_t>(j);
      const std::uint64_t level = random_bits(seed, 1 + label, place / 16) % 192;
      const std::uint64_t noise =
          random_bits(seed, 1000 + sample_id, place / 8) >> (8 * (place % 8));
      row[j] = static_cast<std::uint8_t>(level + (noise & 0xFF) % 64);
    }
  }
  return data;
}

std::vector<std::uint8_t> synthetic_text(std::int64_t vocabulary, std::int64_t count,
                                         std::uint64_t seed, std::uint64_t first) {
  expects(vocabulary >= 1 && count >= 0, "synthetic text: a vocabulary and a length");
  const auto letters = static_cast<std::uint64_t>(std::min<std::int64_t>(vocabulary, 256));
  std::vector<std::uint8_t> text(static_cast<std::size_t>(count));
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint64_t noise = random_bits(seed, kNoiseStream + first, i);
    const std::uint64_t ruled = random_bits(seed, kRuleStream, before);
    before = (noise % 4 == 0 ? noise / 4 : ruled) % letters;
    text[i] = static_cast<std::uint8_t>(before);
  }
  return text;
}

}  // namespace plimsoll::trainer
