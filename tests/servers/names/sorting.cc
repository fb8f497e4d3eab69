// SPDX-License-Identifier: Apache-2.0
// Sorts for as many seconds of CPU time as it is told: templates, lambdas and
// inlined calls for the tests of names.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <time.h>
#include <vector>

namespace {

inline std::uint64_t mix(std::uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	return x ^ (x >> 29);
}

class Heap {
public:
	explicit Heap(std::size_t size) : values(size) {}

	void fill(std::uint64_t seed)
	{
		for (auto &value : values)
			value = mix(seed += 7);
	}

	template <typename Compare> std::uint64_t sort(Compare compare)
	{
		std::sort(values.begin(), values.end(), compare);
		return std::accumulate(values.begin(), values.begin() + 9,
				       std::uint64_t{0});
	}

private:
	std::vector<std::uint64_t> values;
};

std::uint64_t count_words(std::uint64_t seed)
{
	std::map<std::string, int> words;

	for (int i = 0; i < 400; i++)
		words[std::to_string(mix(seed + i) % 97)]++;
	return words.size();
}

bool is_over(int seconds)
{
	timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec >= seconds;
}

} // namespace

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? std::atoi(argv[1]) : 1;
	std::uint64_t sum = 0;
	Heap heap(4096);

	do {
		heap.fill(sum);
		sum += heap.sort([](auto a, auto b) { return mix(a) < mix(b); });
		sum += heap.sort([](auto a, auto b) { return a > b; });
		sum += count_words(sum);
	} while (!is_over(seconds));
	std::printf("%llu\n", static_cast<unsigned long long>(sum));
	return 0;
}
