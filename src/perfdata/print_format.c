/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The C expressions of TP_printk(): "format", then arguments. An argument consists of fields,
 * numbers, operators, casts and the helpers of include/trace/stages (__print_flags, __get_str …).
 *
 *   text ─► tokens ─► tree of nodes ─► per sample: a number or a text for each argument
 */
#include "perfdata/print_format.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 100
#define MAX_ARGS  64

enum node_kind {
	NODE_NUMBER,
	NODE_TEXT,   /* a literal */
	NODE_FIELD,  /* REC->name; an array's value is its bytes */
	NODE_BYTES,  /* __get_dynamic_array(), __get_str() … */
	NODE_LENGTH, /* __get_dynamic_array_len() */
	NODE_UNARY,
	NODE_BINARY,
	NODE_CHOICE, /* a ? b : c */
	NODE_CAST,
	NODE_FLAGS,    /* __print_flags(a, delimiter, { value, text } …) */
	NODE_SYMBOLIC, /* __print_symbolic(a, { value, text } …) */
	NODE_HEX,      /* __print_hex(a, n) */
	NODE_ARRAY,    /* __print_array(a, n, size) */
};

struct word {
	uint64_t value;
	const char *text;
};

struct node {
	enum node_kind kind;
	int op; /* of UNARY and BINARY: a character, or a PAIR of two (see pairs[]) */
	uint64_t number;
	const char *text; /* of TEXT; the delimiter of FLAGS */
	uint32_t field;   /* index */
	uint32_t cast_size;
	bool is_signed, has_blanks;
	struct node *a, *b, *c;
	struct word *words;
	size_t n_words;
};

struct print_format {
	const char *format;
	struct node *args[MAX_ARGS];
	size_t n_args;
};

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

static struct node *new_node(struct parser *p, enum node_kind kind)
{
	struct node *n = arena_alloc(p->arena, sizeof(*n));

	*n = (struct node){ .kind = kind };
	return n;
}

static uint64_t constant_of(const struct node *n, bool *bad);
static struct node *parse_choice(struct parser *p);
static struct node *parse_unary(struct parser *p);

static struct node *number_node(struct parser *p, uint64_t v)
{
	struct node *n = new_node(p, NODE_NUMBER);

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

static struct node *field_node(struct parser *p, enum node_kind kind)
{
	struct node *n = new_node(p, kind);
	size_t len = peek_word(p);

	n->field = find_field(p, p->at, len);
	p->at += len;
	return n;
}

static struct node *parse_literal_number(struct parser *p)
{
	struct node *n;
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
static void print_format_parse_words(struct parser *p, struct node *n)
{
	VEC(struct word) words = { 0 };

	while (!p->bad && print_format_take(p, ",")) {
		struct node *value;
		struct word w;

		print_format_expect(p, "{");
		value = parse_choice(p);
		print_format_expect(p, ",");
		w.text = print_format_parse_text(p);
		print_format_expect(p, "}");
		/* Enumerators that the kernel has not replaced by numbers are not understood. */
		w.value = p->bad ? 0 : constant_of(value, &p->bad);
		vec_push(&words, w);
	}
	n->n_words = words.n;
	n->words = arena_alloc(p->arena, words.n * sizeof(*words.data) + 1);
	if (words.n)
		memcpy(n->words, words.data, words.n * sizeof(*words.data));
	vec_fini(&words);
}

static struct node *parse_flags(struct parser *p)
{
	struct node *n = new_node(p, NODE_FLAGS);

	n->a = parse_choice(p);
	print_format_expect(p, ",");
	n->text = print_format_parse_text(p);
	print_format_parse_words(p, n);
	return n;
}

static struct node *parse_symbolic(struct parser *p)
{
	struct node *n = new_node(p, NODE_SYMBOLIC);

	n->a = parse_choice(p);
	print_format_parse_words(p, n);
	return n;
}

static struct node *print_format_parse_hex(struct parser *p)
{
	struct node *n = new_node(p, NODE_HEX);

	n->has_blanks = true;
	n->a = parse_choice(p);
	print_format_expect(p, ",");
	n->b = parse_choice(p);
	return n;
}

static struct node *parse_hex_str(struct parser *p)
{
	struct node *n = print_format_parse_hex(p);

	n->has_blanks = false;
	return n;
}

static struct node *parse_array(struct parser *p)
{
	struct node *n = new_node(p, NODE_ARRAY);

	n->a = parse_choice(p);
	print_format_expect(p, ",");
	n->b = parse_choice(p);
	print_format_expect(p, ",");
	n->c = parse_choice(p);
	return n;
}

static struct node *parse_bytes(struct parser *p)
{
	return field_node(p, NODE_BYTES);
}

static struct node *parse_length(struct parser *p)
{
	return field_node(p, NODE_LENGTH);
}

/* __builtin_expect(value, expected) */
static struct node *parse_expected(struct parser *p)
{
	struct node *n = parse_choice(p);

	print_format_expect(p, ",");
	parse_choice(p);
	return n;
}

static const struct {
	const char *name;
	struct node *(*parse)(struct parser *p);
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

static struct node *parse_name(struct parser *p)
{
	struct node *n;

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

static struct node *parse_parenthesis(struct parser *p)
{
	struct node *n;
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

static struct node *parse_sizeof(struct parser *p)
{
	uint32_t size = 0;
	bool is_signed;

	print_format_expect(p, "(");
	if (!print_format_parse_type(p, &size, &is_signed))
		p->bad = true;
	return number_node(p, size);
}

static struct node *parse_primary(struct parser *p)
{
	struct node *n;

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

static struct node *parse_unary(struct parser *p)
{
	struct node *n = NULL;

	if (++p->depth > MAX_DEPTH)
		p->bad = true;
	print_format_skip_blanks(p);
	if (!p->bad && p->at < p->end && strchr("-~!+&", *p->at)) {
		char op = *p->at++;

		n = parse_unary(p);
		if (op != '+' && op != '&') {
			struct node *of = n;

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
#define PAIR(a, b) ((a) << 8 | (b))
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

static struct node *parse_binary(struct parser *p, size_t level)
{
	struct node *left;
	int op;

	if (level == ARRAY_SIZE(levels))
		return parse_unary(p);
	left = parse_binary(p, level + 1);
	while (!p->bad && (op = parse_operator(p, level))) {
		struct node *n = new_node(p, NODE_BINARY);

		n->op = op;
		n->a = left;
		n->b = parse_binary(p, level + 1);
		left = n;
	}
	return left;
}

static struct node *parse_choice(struct parser *p)
{
	struct node *condition, *n;

	if (++p->depth > MAX_DEPTH)
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

/* Evaluation. */

struct evaluation {
	const struct trace_fields *fields;
	const uint8_t *raw;
	size_t size;
};

static uint64_t print_format_number_of(const struct evaluation *e, const struct node *n);

static uint64_t print_format_apply(int op, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
		return !y || (y == -1 && x == INT64_MIN) ? 0 : (uint64_t)(x / y);
	case '%':
		return !y || y == -1 ? 0 : (uint64_t)(x % y);
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '<':
		return x < y;
	case '>':
		return x > y;
	case PAIR('<', '='):
		return x <= y;
	case PAIR('>', '='):
		return x >= y;
	case PAIR('=', '='):
		return a == b;
	case PAIR('!', '='):
		return a != b;
	case PAIR('<', '<'):
		return b < 64 ? a << b : 0;
	case PAIR('>', '>'):
		return b < 64 ? a >> b : 0;
	case PAIR('&', '&'):
		return a && b;
	default: /* || */
		return a || b;
	}
}

static uint64_t field_number(const struct evaluation *e, const struct node *n)
{
	const struct trace_field *f = &e->fields->data[n->field];
	size_t offset = f->offset, size = f->size;
	uint64_t v;

	if (n->a) {
		size = f->element_size;
		offset += print_format_number_of(e, n->a) % (f->n_elements ? f->n_elements : 1) *
			  size;
	}
	v = trace_number(e->fields, e->raw, e->size, offset, size);
	return f->is_signed ? trace_extend(v, size) : v;
}

static struct trace_bytes bytes_of(const struct evaluation *e, const struct node *n)
{
	if (n->kind == NODE_CAST)
		return bytes_of(e, n->a);
	if (n->kind != NODE_FIELD && n->kind != NODE_BYTES)
		return (struct trace_bytes){ e->raw, 0 };
	return trace_bytes_of(e->fields, &e->fields->data[n->field], e->raw, e->size);
}

static uint64_t apply_cast(const struct node *n, uint64_t v)
{
	if (n->cast_size >= 8)
		return v;
	if (n->is_signed)
		return trace_extend(v, n->cast_size);
	return v & (((uint64_t)1 << (8 * n->cast_size)) - 1);
}

static uint64_t print_format_number_of(const struct evaluation *e, const struct node *n)
{
	uint64_t v;

	switch (n->kind) {
	case NODE_NUMBER:
		return n->number;
	case NODE_FIELD:
		return field_number(e, n);
	case NODE_LENGTH:
		return trace_bytes_of(e->fields, &e->fields->data[n->field], e->raw, e->size).n;
	case NODE_UNARY:
		v = print_format_number_of(e, n->a);
		return n->op == '-' ? 0 - v : n->op == '~' ? ~v : !v;
	case NODE_BINARY:
		return print_format_apply(n->op, print_format_number_of(e, n->a),
					  print_format_number_of(e, n->b));
	case NODE_CHOICE:
		return print_format_number_of(e, print_format_number_of(e, n->a) ? n->b : n->c);
	case NODE_CAST:
		return apply_cast(n, print_format_number_of(e, n->a));
	default:
		return 0;
	}
}

/* The number of an expression without fields. */
static uint64_t constant_of(const struct node *n, bool *bad)
{
	static const struct evaluation nothing;

	switch (n->kind) {
	case NODE_NUMBER:
		return n->number;
	case NODE_UNARY:
	case NODE_CAST:
		constant_of(n->a, bad);
		break;
	case NODE_BINARY:
		constant_of(n->a, bad);
		constant_of(n->b, bad);
		break;
	default:
		*bad = true;
	}
	return *bad ? 0 : print_format_number_of(&nothing, n);
}

static void put_flags(const struct node *n, uint64_t v, struct buf *out)
{
	bool is_first = true;

	for (size_t i = 0; i < n->n_words; i++) {
		uint64_t flag = n->words[i].value;

		if (!v && !flag && is_first) {
			buf_str(out, n->words[i].text);
			return;
		}
		if (!flag || (v & flag) != flag)
			continue;
		if (!is_first)
			buf_str(out, n->text);
		buf_str(out, n->words[i].text);
		is_first = false;
		v &= ~flag;
	}
	if (v)
		buf_printf(out, "%s0x%" PRIx64, is_first ? "" : n->text, v);
}

static void put_symbolic(const struct node *n, uint64_t v, struct buf *out)
{
	for (size_t i = 0; i < n->n_words; i++) {
		if (n->words[i].value == v) {
			buf_str(out, n->words[i].text);
			return;
		}
	}
	buf_printf(out, "0x%" PRIx64, v);
}

static void put_hex_bytes(const struct evaluation *e, const struct node *n, struct buf *out)
{
	struct trace_bytes b = bytes_of(e, n->a);
	uint64_t wanted = print_format_number_of(e, n->b);

	for (size_t i = 0; i < b.n && i < wanted; i++)
		buf_printf(out, "%s%02x", i && n->has_blanks ? " " : "", b.bytes[i]);
}

static void put_array(const struct evaluation *e, const struct node *n, struct buf *out)
{
	struct trace_bytes b = bytes_of(e, n->a);
	uint64_t count = print_format_number_of(e, n->b), size = print_format_number_of(e, n->c);

	buf_u8(out, '{');
	for (size_t i = 0; size && size <= 8 && i < count && (i + 1) * size <= b.n; i++)
		buf_printf(out, "%s0x%" PRIx64, i ? "," : "",
			   trace_number(e->fields, b.bytes, b.n, i * size, size));
	buf_u8(out, '}');
}

static void print_format_put_bytes(struct trace_bytes b, struct buf *out)
{
	buf_bytes(out, b.bytes, b.n ? strnlen((const char *)b.bytes, b.n) : 0);
}

static void print_format_put_text(const struct evaluation *e, const struct node *n, struct buf *out)
{
	switch (n->kind) {
	case NODE_TEXT:
		buf_str(out, n->text);
		break;
	case NODE_FIELD:
		if (e->fields->data[n->field].is_array && !n->a)
			print_format_put_bytes(bytes_of(e, n), out);
		else
			buf_printf(out, "(0x%" PRIx64 ")", print_format_number_of(e, n));
		break;
	case NODE_BYTES:
		print_format_put_bytes(bytes_of(e, n), out);
		break;
	case NODE_CHOICE:
		print_format_put_text(e, print_format_number_of(e, n->a) ? n->b : n->c, out);
		break;
	case NODE_CAST:
		print_format_put_text(e, n->a, out);
		break;
	case NODE_FLAGS:
		put_flags(n, print_format_number_of(e, n->a), out);
		break;
	case NODE_SYMBOLIC:
		put_symbolic(n, print_format_number_of(e, n->a), out);
		break;
	case NODE_HEX:
		put_hex_bytes(e, n, out);
		break;
	case NODE_ARRAY:
		put_array(e, n, out);
		break;
	default:
		buf_printf(out, "%" PRId64, (int64_t)print_format_number_of(e, n));
	}
}

/* The format. */

#define MAX_WIDTH 4096

/* One conversion: "%-16s", "%08llx", "%.*s". */
struct conversion {
	char flags[8];
	int width, precision; /* -1: none */
	int n_longs, n_shorts;
	char letter;
};

struct printing {
	const struct print_format *format;
	struct evaluation e;
	size_t next; /* argument */
	struct buf *out;
};

static const struct node *next_arg(struct printing *p)
{
	return p->next < p->format->n_args ? p->format->args[p->next++] : NULL;
}

static uint64_t next_number(struct printing *p)
{
	const struct node *n = next_arg(p);

	return n ? print_format_number_of(&p->e, n) : 0;
}

static const char *read_count(struct printing *p, const char *at, int *out)
{
	uint64_t v = 0;

	if (*at == '*') {
		v = next_number(p);
		*out = (int)MIN(v, MAX_WIDTH);
		return at + 1;
	}
	for (; isdigit((unsigned char)*at); at++)
		v = MIN(v * 10 + (uint64_t)(*at - '0'), MAX_WIDTH);
	*out = (int)v;
	return at;
}

/* The conversion behind a '%'. */
static const char *read_conversion(struct printing *p, const char *at, struct conversion *c)
{
	size_t n = 0;

	*c = (struct conversion){ .width = -1, .precision = -1 };
	for (; *at && strchr("-+ #0", *at); at++)
		if (n + 1 < sizeof(c->flags))
			c->flags[n++] = *at;
	if (isdigit((unsigned char)*at) || *at == '*')
		at = read_count(p, at, &c->width);
	if (*at == '.')
		at = read_count(p, at + 1, &c->precision);
	for (; *at && strchr("hlLqjzt", *at); at++)
		*at == 'h' ? c->n_shorts++ : c->n_longs++;
	c->letter = *at;
	return *at ? at + 1 : at;
}

/* A conversion for printf() of a 64-bit number or a text. */
static void make_format(const struct conversion *c, const char *end, char *out, size_t size)
{
	int n = snprintf(out, size, "%%%s", c->flags);

	if (c->width >= 0)
		n += snprintf(out + n, size - (size_t)n, "%d", c->width);
	if (c->precision >= 0)
		n += snprintf(out + n, size - (size_t)n, ".%d", c->precision);
	snprintf(out + n, size - (size_t)n, "%s", end);
}

static uint64_t print_format_narrow(const struct conversion *c, uint64_t v)
{
	size_t size = c->n_longs ? 8 : c->n_shorts > 1 ? 1 : c->n_shorts ? 2 : 4;
	bool is_signed = c->letter == 'd' || c->letter == 'i';

	if (size == 8)
		return v;
	return is_signed ? trace_extend(v, size) : v & (((uint64_t)1 << (8 * size)) - 1);
}

static void print_format_put_number(struct printing *p, const struct conversion *c)
{
	char format[48], end[8], text[MAX_WIDTH + 64];
	uint64_t v = print_format_narrow(c, next_number(p));

	snprintf(end, sizeof(end), "%s",
		 c->letter == 'x'   ? PRIx64
		 : c->letter == 'X' ? PRIX64
		 : c->letter == 'o' ? PRIo64
		 : c->letter == 'u' ? PRIu64
				    : PRId64);
	make_format(c, end, format, sizeof(format));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), format, v);
#pragma GCC diagnostic pop
	buf_str(p->out, text);
}

static void print_format_put_string(struct printing *p, const struct conversion *c)
{
	const struct node *n = next_arg(p);
	struct buf text = { 0 };
	size_t len, width = c->width > 0 ? (size_t)c->width : 0;
	bool is_left = strchr(c->flags, '-');

	if (n)
		print_format_put_text(&p->e, n, &text);
	len = c->precision >= 0 ? MIN(text.len, (size_t)c->precision) : text.len;
	for (size_t i = len; i < width && !is_left; i++)
		buf_u8(p->out, ' ');
	buf_bytes(p->out, text.data, len);
	for (size_t i = len; i < width && is_left; i++)
		buf_u8(p->out, ' ');
	buf_fini(&text);
}

static const char *print_format_put_conversion(struct printing *p, const char *at)
{
	struct conversion c;

	at = read_conversion(p, at, &c);
	switch (c.letter) {
	case '%':
		buf_u8(p->out, '%');
		break;
	case 's':
		print_format_put_string(p, &c);
		break;
	case 'c':
		buf_u8(p->out, (uint8_t)next_number(p));
		break;
	case 'p':
		/* "%pS" and the like: the letters choose a form, but only the address is known */
		while (isalnum((unsigned char)*at))
			at++;
		buf_printf(p->out, "0x%" PRIx64, next_number(p));
		break;
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		print_format_put_number(p, &c);
		break;
	default:
		break;
	}
	return at;
}

void print_format_print(const struct print_format *f, const struct trace_fields *fields,
			const uint8_t *raw, size_t size, struct buf *out)
{
	struct printing p = { .format = f, .e = { fields, raw, size }, .out = out };

	for (const char *at = f->format; *at;) {
		if (*at == '%')
			at = print_format_put_conversion(&p, at + 1);
		else
			buf_u8(out, (uint8_t)*at++);
	}
}

struct print_format *print_format_new(const char *text, size_t size,
				      const struct trace_fields *fields, struct arena *arena)
{
	struct parser p = { .at = text, .end = text + size, .fields = fields, .arena = arena };
	struct print_format *f = arena_alloc(arena, sizeof(*f));

	*f = (struct print_format){ .format = print_format_parse_text(&p) };
	while (!p.bad && print_format_take(&p, ",")) {
		if (f->n_args == MAX_ARGS)
			return NULL;
		f->args[f->n_args++] = parse_choice(&p);
	}
	print_format_skip_blanks(&p);
	return p.bad || p.at < p.end ? NULL : f;
}
