/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/itanium_texts.h"

const struct itanium_standard_name itanium_standard_names[N_ITANIUM_STANDARD_NAMES] = {
	{ 'a', "std::allocator", "std::allocator", "allocator" },
	{ 'b', "std::basic_string", "std::basic_string", "basic_string" },
	{ 's', "std::string",
	  "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
	  "basic_string" },
	{ 'i', "std::istream", "std::basic_istream<char, std::char_traits<char> >",
	  "basic_istream" },
	{ 'o', "std::ostream", "std::basic_ostream<char, std::char_traits<char> >",
	  "basic_ostream" },
	{ 'd', "std::iostream", "std::basic_iostream<char, std::char_traits<char> >",
	  "basic_iostream" },
};

/* In the order of `specials` (itanium_encoding.c). */
const char *const itanium_special_names[N_ITANIUM_SPECIAL_NAMES] = {
	"vtable for ",
	"VTT for ",
	"typeinfo for ",
	"typeinfo name for ",
	"typeinfo fn for ",
	"java Class for ",
	"construction vtable for ",
	"template parameter object for ",
	"TLS init function for ",
	"TLS wrapper function for ",
	"non-virtual thunk to ",
	"virtual thunk to ",
	"covariant return thunk to ",
	"guard variable for ",
	"reference temporary #",
	"hidden alias for ",
	"non-transaction clone for ",
	"transaction clone for ",
	"initializer for module ",
};
