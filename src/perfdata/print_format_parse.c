/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/print_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/print_format_value.h"

struct parser {
	const char *at, *end;
	const struct trace_fields *fields;
	struct arena *arena;
	int depth;
	bool bad;
};

/* Tokens. */

static void print_format_skip_blanks(struct parser *p)
{
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
}

static bool print_format_take(struct parser *p, const char *text)
{
	size_t len = strlen(text);

	print_format_skip_blanks(p);
	if ((size_t)(p->end - p->at) < len || memcmp(p->at, text, len) != 0)
		return false;
	p->at += len;
	return true;
}

static void print_format_expect(struct parser *p, const char *text)
{
	if (!print_format_take(p, text))
		p->bad = true;
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The length of the identifier that begins here; 0 for none. The parser stays in place. */
static size_t peek_word(struct parser *p)
{
	size_t len = 0;

	print_format_skip_blanks(p);
	if (p->at < p->end && isdigit((unsigned char)*p->at))
		return 0;
	while (p->at + len < p->end && is_word_char(p->at[len]))
		len++;
	return len;
}

static bool print_format_parse_word(struct parser *p, const char *word)
{
	size_t len = peek_word(p);

	if (len != strlen(word) || memcmp(p->at, word, len) != 0)
		return false;
	p->at += len;
	return true;
}

static char print_format_unescape(struct parser *p)
{
	char c = *p->at++;

	if (c != '\\' || p->at >= p->end)
		return c;
	c = *p->at++;
	return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

/* One string literal, or several that the compiler would join. */
static const char *print_format_parse_text(struct parser *p)
{
	struct buf text = { 0 };
	const char *kept = NULL;

	print_format_skip_blanks(p);
	if (p->at >= p->end || *p->at != '"') {
		p->bad = true;
		return "";
	}
	while (print_format_take(p, "\"")) {
		while (p->at < p->end && *p->at != '"')
			buf_u8(&text, (uint8_t)print_format_unescape(p));
		print_format_expect(p, "\"");
	}
	kept = arena_strndup(p->arena, text.len ? (const char *)text.data : "", text.len);
	buf_fini(&text);
	return kept;
}

/* Nodes. */

static struct print_node *new_node(struct parser *p, enum print_node_kind kind)
{
	struct print_node *n = arena_alloc(p->arena, sizeof(*n));

	*n = (struct print_node){ .kind = kind };
	return n;
}

static struct print_node *parse_choice(struct parser *p);
static struct print_node *parse_unary(struct parser *p);

static struct print_node *number_node(struct parser *p, uint64_t v)
{
	struct print_node *n = new_node(p, NODE_NUMBER);

	n->number = v;
	return n;
}

static uint32_t find_field(struct parser *p, const char *name, size_t len)
{
	for (uint32_t i = 0; i < p->fields->n; i++)
		if (strlen(p->fields->data[i].name) == len &&
		    !memcmp(p->fields->data[i].name, name, len))
			return i;
	p->bad = true;
	return 0;
}

static struct print_node *field_node(struct parser *p, enum print_node_kind kind)
{
	struct print_node *n = new_node(p, kind);
	size_t len = peek_word(p);

	n->field = find_field(p, p->at, len);
	p->at += len;
	return n;
}

static struct print_node *parse_literal_number(struct parser *p)
{
	struct print_node *n;
	char digits[32];
	size_t len = 0;

	while (p->at + len < p->end && len + 1 < sizeof(digits) && is_word_char(p->at[len]))
		len++;
	memcpy(digits, p->at, len);
	digits[len] = '\0';
	n = number_node(p, strtoull(digits, NULL, 0));
	p->at += len;
	return n;
}

/* { value, "text" }, … up to the closing parenthesis. */
static void print_format_parse_words(struct parser *p, struct print_node *n)
{
	VEC(struct print_word) words = { 0 };

	while (!p->bad && print_format_take(p, ",")) {
		struct print_node *value;
		struct print_word w;

		print_format_expect(p, "{");
		value = parse_choice(p);
		print_format_expect(p, ",");
		w.text = print_format_parse_text(p);
		print_format_expect(p, "}");
		/* Enumerators that the kernel has not replaced by numbers are not understood. */
		w.value = p->bad ? 0 : print_node_constant(value, &p->bad);
		vec_push(&words, w);
	}
	n->n_words = words.n;
	n->words = arena_alloc(p->arena, words.n * sizeof(*words.data) + 1);
	if (words.n)
		memcpy(n->words, words.data, words.n * sizeof(*words.data));
	vec_fini(&words);
}

static struct print_node *parse_flags(struct parser *p)
{
	struct print_node *n = new_node(p, NODE_FLAGS);

	n->a = parse_choice(p);
	print_format_expect(p, ",");
	n->text = print_format_parse_text(p);
	print_format_parse_words(p, n);
	return n;
}

static struct print_node *parse_symbolic(struct parser *p)
{
	struct print_node *n = new_node(p, NODE_SYMBOLIC);

	n->a = parse_choice(p);
	print_format_parse_words(p, n);
	return n;
}

static struct print_node *print_format_parse_hex(struct parser *p)
{
	struct print_node *n = new_node(p, NODE_HEX);

	n->has_blanks = true;
	n->a = parse_choice(p);
	print_format_expect(p, ",");
	n->b = parse_choice(p);
	return n;
}

static struct print_node *parse_hex_str(struct parser *p)
{
	struct print_node *n = print_format_parse_hex(p);

	n->has_blanks = false;
	return n;
}

static struct print_node *parse_array(struct parser *p)
{
	struct print_node *n = new_node(p, NODE_ARRAY);

	n->a = parse_choice(p);
	print_format_expect(p, ",");
	n->b = parse_choice(p);
	print_format_expect(p, ",");
	n->c = parse_choice(p);
	return n;
}

static struct print_node *parse_bytes(struct parser *p)
{
	return field_node(p, NODE_BYTES);
}

static struct print_node *parse_length(struct parser *p)
{
	return field_node(p, NODE_LENGTH);
}

/* __builtin_expect(value, expected) */
static struct print_node *parse_expected(struct parser *p)
{
	struct print_node *n = parse_choice(p);

	print_format_expect(p, ",");
	parse_choice(p);
	return n;
}

static const struct {
	const char *name;
	struct print_node *(*parse)(struct parser *p);
} helpers[] = {
	{ "__print_flags", parse_flags },
	{ "__print_flags_u64", parse_flags },
	{ "__print_symbolic", parse_symbolic },
	{ "__print_symbolic_u64", parse_symbolic },
	{ "__print_hex", print_format_parse_hex },
	{ "__print_hex_str", parse_hex_str },
	{ "__print_array", parse_array },
	{ "__get_str", parse_bytes },
	{ "__get_rel_str", parse_bytes },
	{ "__get_dynamic_array", parse_bytes },
	{ "__get_rel_dynamic_array", parse_bytes },
	{ "__get_dynamic_array_len", parse_length },
	{ "__get_rel_dynamic_array_len", parse_length },
	{ "__builtin_expect", parse_expected },
};

static struct print_node *parse_name(struct parser *p)
{
	struct print_node *n;

	if (print_format_parse_word(p, "REC")) {
		print_format_expect(p, "->");
		n = field_node(p, NODE_FIELD);
		if (print_format_take(p, "[")) {
			n->a = parse_choice(p);
			print_format_expect(p, "]");
		}
		return n;
	}
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++) {
		if (!print_format_parse_word(p, helpers[i].name))
			continue;
		print_format_expect(p, "(");
		n = helpers[i].parse(p);
		print_format_expect(p, ")");
		return n;
	}
	p->bad = true;
	return number_node(p, 0);
}

/* Casts: the size of a type by its words; 0: not the name of a type. */

static const struct {
	const char *word;
	uint8_t size;
	bool is_unsigned;
} type_words[] = {
	{ "unsigned", 4, true }, { "signed", 4, false },  { "int", 4, false },
	{ "char", 1, false },    { "short", 2, false },   { "long", 8, false },
	{ "void", 8, true },     { "const", 4, false },   { "u8", 1, true },
	{ "u16", 2, true },      { "u32", 4, true },      { "u64", 8, true },
	{ "s8", 1, false },      { "s16", 2, false },     { "s32", 4, false },
	{ "s64", 8, false },     { "__u8", 1, true },     { "__u16", 2, true },
	{ "__u32", 4, true },    { "__u64", 8, true },    { "__s8", 1, false },
	{ "__s16", 2, false },   { "__s32", 4, false },   { "__s64", 8, false },
	{ "bool", 1, true },     { "size_t", 8, true },   { "pid_t", 4, false },
	{ "gfp_t", 4, true },    { "dev_t", 4, true },    { "ino_t", 8, true },
	{ "loff_t", 8, false },  { "umode_t", 2, true },  { "sector_t", 8, true },
	{ "uint64_t", 8, true }, { "uint32_t", 4, true }, { "ssize_t", 8, false },
};

/* "(unsigned long)" after its '('. The parser stays in place if it is no type. */
static bool print_format_parse_type(struct parser *p, uint32_t *size, bool *is_signed)
{
	const char *start = p->at;
	uint32_t found = 0;
	bool is_unsigned = false;

	for (size_t len; (len = peek_word(p));) {
		size_t i = 0;

		while (i < ARRAY_SIZE(type_words) && (strlen(type_words[i].word) != len ||
						      memcmp(type_words[i].word, p->at, len) != 0))
			i++;
		if (i == ARRAY_SIZE(type_words))
			break;
		/* another word overrides the size of "unsigned" and "const" */
		if (!found || type_words[i].size != 4)
			found = type_words[i].size;
		is_unsigned |= type_words[i].is_unsigned;
		p->at += len;
	}
	while (found && print_format_take(p, "*"))
		found = 8;
	if (!found || !print_format_take(p, ")")) {
		p->at = start;
		return false;
	}
	*size = found;
	*is_signed = !is_unsigned;
	return true;
}

static struct print_node *parse_parenthesis(struct parser *p)
{
	struct print_node *n;
	uint32_t size;
	bool is_signed;

	if (print_format_parse_type(p, &size, &is_signed)) {
		n = new_node(p, NODE_CAST);
		n->cast_size = size;
		n->is_signed = is_signed;
		n->a = parse_unary(p);
		return n;
	}
	n = parse_choice(p);
	print_format_expect(p, ")");
	return n;
}

static struct print_node *parse_sizeof(struct parser *p)
{
	uint32_t size = 0;
	bool is_signed;

	print_format_expect(p, "(");
	if (!print_format_parse_type(p, &size, &is_signed))
		p->bad = true;
	return number_node(p, size);
}

static struct print_node *parse_primary(struct parser *p)
{
	struct print_node *n;

	print_format_skip_blanks(p);
	if (p->at >= p->end) {
		p->bad = true;
		return number_node(p, 0);
	}
	if (isdigit((unsigned char)*p->at))
		return parse_literal_number(p);
	if (*p->at == '"') {
		n = new_node(p, NODE_TEXT);
		n->text = print_format_parse_text(p);
		return n;
	}
	if (print_format_take(p, "'")) {
		n = number_node(p, p->at < p->end ? (uint64_t)print_format_unescape(p) : 0);
		print_format_expect(p, "'");
		return n;
	}
	if (print_format_take(p, "("))
		return parse_parenthesis(p);
	if (print_format_parse_word(p, "sizeof"))
		return parse_sizeof(p);
	return parse_name(p);
}

static struct print_node *parse_unary(struct parser *p)
{
	struct print_node *n = NULL;

	if (++p->depth > PRINT_DEPTH_MAX)
		p->bad = true;
	print_format_skip_blanks(p);
	if (!p->bad && p->at < p->end && strchr("-~!+&", *p->at)) {
		char op = *p->at++;

		n = parse_unary(p);
		if (op != '+' && op != '&') {
			struct print_node *of = n;

			n = new_node(p, NODE_UNARY);
			n->op = op;
			n->a = of;
		}
	}
	if (!n)
		n = p->bad ? number_node(p, 0) : parse_primary(p);
	p->depth--;
	return n;
}

/*
 * Operators by precedence, the loosest first. Operators of two characters come before those of one.
 */
static const char *const levels[][5] = {
	{ "||" },
	{ "&&" },
	{ "|" },
	{ "^" },
	{ "&" },
	{ "==", "!=" },
	{ "<=", ">=", "<", ">" },
	{ "<<", ">>" },
	{ "+", "-" },
	{ "*", "/", "%" },
};

static int parse_operator(struct parser *p, size_t level)
{
	for (size_t i = 0; i < 5 && levels[level][i]; i++) {
		const char *op = levels[level][i], *start = p->at;
		char next;

		if (!print_format_take(p, op))
			continue;
		next = p->at < p->end ? *p->at : 0;
		/* "|" must not match in "||", nor "<" in "<<". */
		if (op[1] || (next != op[0] && next != '=') || !strchr("|&<>", op[0]))
			return op[1] ? PAIR(op[0], op[1]) : op[0];
		p->at = start;
	}
	return 0;
}

static struct print_node *parse_binary(struct parser *p, size_t level)
{
	struct print_node *left;
	int op;

	if (level == ARRAY_SIZE(levels))
		return parse_unary(p);
	left = parse_binary(p, level + 1);
	while (!p->bad && (op = parse_operator(p, level))) {
		struct print_node *n = new_node(p, NODE_BINARY);

		n->op = op;
		n->a = left;
		n->b = parse_binary(p, level + 1);
		left = n;
	}
	return left;
}

static struct print_node *parse_choice(struct parser *p)
{
	struct print_node *condition, *n;

	if (++p->depth > PRINT_DEPTH_MAX)
		p->bad = true;
	condition = p->bad ? number_node(p, 0) : parse_binary(p, 0);
	if (!p->bad && print_format_take(p, "?")) {
		n = new_node(p, NODE_CHOICE);
		n->a = condition;
		n->b = parse_choice(p);
		print_format_expect(p, ":");
		n->c = parse_choice(p);
		condition = n;
	}
	p->depth--;
	return condition;
}

struct print_format *print_format_new(const char *text, size_t size,
				      const struct trace_fields *fields, struct arena *arena)
{
	struct parser p = { .at = text, .end = text + size, .fields = fields, .arena = arena };
	struct print_format *f = arena_alloc(arena, sizeof(*f));

	*f = (struct print_format){ .format = print_format_parse_text(&p) };
	while (!p.bad && print_format_take(&p, ",")) {
		if (f->n_args == PRINT_ARGS_MAX)
			return NULL;
		f->args[f->n_args++] = parse_choice(&p);
	}
	print_format_skip_blanks(&p);
	return p.bad || p.at < p.end ? NULL : f;
}
