/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ and Rust, and names that mean harm. */
#include "exporter/demangle.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/unit.h"

/* Until the next call. */
static const char *demangled(const char *raw)
{
	static char *name;

	free(name);
	name = demangle(raw);
	return name;
}

#define CHECK_NAME(raw, wanted) CHECK_STR(demangled(raw), wanted)

TEST(c_names_stay_as_they_are)
{
	CHECK_NAME("main", "main");
	CHECK_NAME("", "");
	CHECK_NAME("_start", "_start");
	CHECK_NAME("_Z", "_Z");
	CHECK_NAME("_Zebra", "_Zebra");
	CHECK_NAME("_R", "_R");
	CHECK_NAME("foo.constprop.0", "foo.constprop.0");
}

TEST(cpp_names_bear_their_parameters)
{
	CHECK_NAME("_ZN3foo3barEi", "foo::bar(int)");
	CHECK_NAME("_ZNSt6vectorIiSaIiEE9push_backERKi",
		   "std::vector<int, std::allocator<int> >::"
		   "push_back(int const&)");
	CHECK_NAME("_ZN1aEv.cold", "a() [clone .cold]");
	CHECK_NAME("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()");
	CHECK_NAME("_ZZ4mainENKUlvE_clEv",
		   "main::{lambda()#1}::operator()() const");
	CHECK_NAME("_ZdlPv", "operator delete(void*)");
}

TEST(legacy_rust_names_lose_their_hash)
{
	CHECK_NAME("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
		   "core::fmt::Formatter::pad");
	CHECK_NAME("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo.."
		   "Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
		   "<Test + 'static as foo::Bar<Test>>::bar");
	CHECK_NAME("_ZN7mycrate3foo17h05af221e174051e9E.llvm.1234",
		   "mycrate::foo");
	/* What looks like a hash and isn't one stays. */
	CHECK_NAME("_ZN4main3foo17haaaaaaaaaaaaaaaaE",
		   "main::foo::haaaaaaaaaaaaaaaa");
}

TEST(rust_v0_names_are_read)
{
	CHECK_NAME("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	CHECK_NAME("_RNvC6_123foo3bar", "123foo::bar");
	CHECK_NAME("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
	CHECK_NAME("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyA"
		   "o9fc_7mycrate",
		   "<std::path::PathBuf>::new");
	CHECK_NAME("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfd"
		   "h9hlq6y",
		   "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83"
		   "\x9b\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x90\xe1\x83\x93_\xe1"
		   "\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98"
		   "\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_\xe1\x83\xa1\xe1\x83"
		   "\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98");
}

TEST(names_are_fit_for_a_terminal)
{
	CHECK_NAME("a\x1b[31m\xff", "a?[31m?");
	CHECK_NAME("_ZN3\xff\n\x1b"
		   "3barEv",
		   "???::bar()");
}

/* A string of one piece repeated. The caller frees it. */
static char *repeated(const char *head, const char *piece, int count)
{
	size_t bytes = strlen(head) + strlen(piece) * (size_t)count + 1;
	char *text = malloc(bytes);
	char *at = stpcpy(text, head);

	for (int i = 0; i < count; i++)
		at = stpcpy(at, piece);
	return text;
}

static size_t length_of_demangled(const char *head, const char *piece,
				  int count, const char **end)
{
	static char last[4];
	char *raw = repeated(head, piece, count);
	char *name = demangle(raw);
	size_t len = strlen(name);

	if (len >= 3)
		memcpy(last, name + len - 3, 3);
	*end = last;
	free(raw);
	free(name);
	return len;
}

TEST(long_names_are_cut_with_an_ellipsis)
{
	const char *end;

	CHECK_EQ(length_of_demangled("", "a", 512, &end), 512);
	CHECK_STR(end, "aaa");
	CHECK_EQ(length_of_demangled("", "a", 513, &end), 512);
	CHECK_STR(end, "\xe2\x80\xa6");
	/* 509 bytes are left in front of it: 254 whole characters. */
	CHECK_EQ(length_of_demangled("", "\xc3\xa9", 300, &end), 511);
	CHECK_STR(end, "\xe2\x80\xa6");
	CHECK_EQ(length_of_demangled("", "\xc3\xa9", 256, &end), 512);
	CHECK_EQ(length_of_demangled("_ZN", "3foo", 200, &end), 512);
}

TEST(hostile_names_end_soon)
{
	static const char *const pieces[] = {
		"P",     "Dp",       "N",   "1aI",   "F",       "Z",  "cv",
		"ng",    "S_",       "J",   "M1aF",  "U3abc",   "A_", "T",
		"B_",    "NvB_",     "TB_", "INvB_", "Nv1a",    "D",  "GV",
		"1bIS_", "1bIS_S_E", "X",   "L",     "FS_S_S_E"};
	const char *end;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		for (int count = 1; count < 20000; count = count * 3 + 1) {
			CHECK(length_of_demangled("_Z1f", pieces[i], count,
						  &end) <= 512);
			CHECK(length_of_demangled("_ZN", pieces[i], count,
						  &end) <= 512);
			CHECK(length_of_demangled("_RNvC1a", pieces[i], count,
						  &end) <= 512);
			CHECK(length_of_demangled("_RINvC1a1b", pieces[i],
						  count, &end) <= 512);
		}
}

/* Each pair names the one before it twice: 2^40 names in 600 bytes. */
TEST(a_name_that_doubles_itself_ends_soon)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char raw[2048] = "_Z1f1aIJEE";
	size_t used = strlen(raw);
	char *name;

	for (int i = 0; i < 40; i++) {
		char id[4] = "";
		int n = 2 * i; /* substitutions count in base 36 */

		snprintf(id, sizeof(id), n < 36 ? "%c" : "%c%c",
			 n < 36 ? digits[n] : digits[n / 36], digits[n % 36]);
		used += (size_t)snprintf(raw + used, sizeof(raw) - used,
					 "1bIS%s_S%s_E", id, id);
	}
	name = demangle(raw);
	CHECK_EQ(strlen(name), DEMANGLE_NAME_MAX_BYTES);
	CHECK(strncmp(name, "f(a<>, b<", 9) == 0);
	free(name);
}
